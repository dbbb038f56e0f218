"""The examples in the docstrings of the guard and its hooks."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest

MODULES = [
    "guarded",
    "permissions",
    "guard.waiting",
    "hooks.limits",
    "hooks.observers",
    "hooks.origin",
    "hooks.secrets",
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    outcome = doctest.testmod(import_module(f"memoranda.backends.{name}"))
    assert outcome.attempted > 0
    assert outcome.failed == 0
