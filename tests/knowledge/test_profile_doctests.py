"""The examples in the docstrings are true."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest

MODULES = ["asking", "schemas", "documents", "patching", "conversation", "profile", "drift", "instructions"]


@pytest.mark.parametrize("name", MODULES)
def test_doctests(name: str) -> None:
    result = doctest.testmod(import_module(f"memoranda.knowledge.{name}"))
    assert result.attempted and not result.failed


def test_everything_public_is_loaded_when_it_is_used() -> None:
    knowledge = import_module("memoranda.knowledge")
    assert {"Profile", "Instructions", "Collection", "Examples", "memory_tools"} <= set(knowledge.__all__)
    for name in knowledge.__all__:
        assert getattr(knowledge, name).__name__ == name and name in dir(knowledge)
    with pytest.raises(AttributeError, match="no attribute 'Porfile'"):
        _ = knowledge.Porfile
