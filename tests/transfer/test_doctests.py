"""The examples in the docstrings of the package run."""

from __future__ import annotations

import doctest
from importlib import import_module
from pkgutil import iter_modules

import pytest

import memoranda.transfer

WITHOUT = {
    *("bundle_fields", "bundle_import", "bundle_lines", "bundle_records", "bundle_turns", "database_files", "errors"),
    *("langgraph", "turns_import", "types"),
}


@pytest.mark.parametrize("name", sorted(module.name for module in iter_modules(memoranda.transfer.__path__)))
def test_examples(name: str) -> None:
    failed, tried = doctest.testmod(import_module(f"memoranda.transfer.{name}"))
    assert not failed
    assert bool(tried) is (name not in WITHOUT)


def test_everything_public_is_there_and_loaded_late() -> None:
    import subprocess
    import sys

    for name in memoranda.transfer.__all__:
        assert getattr(memoranda.transfer, name) is not None
    assert set(memoranda.transfer.__all__) <= set(dir(memoranda.transfer))
    loaded = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys, memoranda.transfer; print('apsw' in sys.modules, 'zstandard' in sys.modules)",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert loaded.stdout.split() == ["False", "False"]
