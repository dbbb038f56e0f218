"""The examples in the docstrings of the package run."""

from __future__ import annotations

import doctest
from importlib import import_module
from pkgutil import iter_modules

import pytest

import memoranda.files


@pytest.mark.parametrize("name", sorted(module.name for module in iter_modules(memoranda.files.__path__)))
def test_examples(name: str) -> None:
    failed, tried = doctest.testmod(import_module(f"memoranda.files.{name}"))
    assert tried and not failed
