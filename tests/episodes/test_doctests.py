"""The examples in the docstrings are true."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest

MODULES = [
    *(f"memoranda.episodes.{name}" for name in ("masking", "messages", "recording", "backfilling", "tool")),
    "memoranda.store.turns",
    *(f"memoranda.store.operations.{name}" for name in ("turns", "turn_reading", "episode_searching")),
]


@pytest.mark.parametrize("name", MODULES)
def test_doctests(name: str) -> None:
    result = doctest.testmod(import_module(name))
    assert result.attempted and not result.failed
