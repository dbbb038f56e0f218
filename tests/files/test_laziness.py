"""Importing the package costs next to nothing, and every public name is there."""

from __future__ import annotations

import subprocess
import sys

import pytest

import memoranda.files


def test_every_public_name_loads() -> None:
    for name in memoranda.files.__all__:
        assert getattr(memoranda.files, name) is not None
        # A function named like its module would be shadowed once that is imported.
        assert name not in memoranda.files._MODULE_OF.values()
    assert set(memoranda.files.__all__) == set(memoranda.files._MODULE_OF)
    with pytest.raises(AttributeError):
        memoranda.files.nothing  # noqa: B018


def test_heavy_modules_wait() -> None:
    program = (
        "import sys; before = set(sys.modules); import memoranda.files as f\n"
        "[getattr(f, name) for name in f.__all__]\n"
        "f.encode_previous(b'a\\n', b'b\\n'); f.merge_text('a', 'b', 'a'); f.canonical_path('/a')\n"
        "heavy = {'wcmatch', 'difflib', 'zstandard', 'memoranda.store', 'deepagents'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    out = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": ":".join(sys.path)},
    )
    assert out.stdout.strip() == "[]"
