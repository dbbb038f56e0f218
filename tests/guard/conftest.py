"""Fixtures: each world of files, on each engine where it has a store in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ENGINES
from tests.guard.support import World
from tests.guard.worlds import WITHOUT_STORE, WORLDS

KINDS = [
    pytest.param((name, engine), id=name if name in WITHOUT_STORE else f"{name}-{engine}")
    for name in WORLDS
    for engine in ENGINES
    if engine == "sqlite" or name not in WITHOUT_STORE
]


@pytest.fixture(params=KINDS)
def world(request: pytest.FixtureRequest, tmp_path: Path, open_here: Any) -> World:
    """The files of `support`, behind each kind of backend in turn; or behind those that a test names."""
    name, engine = request.param
    if name in WITHOUT_STORE:
        return WORLDS[name](None, tmp_path)
    postgres = engine == "postgres"
    url = request.getfixturevalue("postgres_url") if postgres else f"sqlite:///{tmp_path / 'memory.db'}"
    return WORLDS[name](open_here(url), tmp_path)


@pytest.fixture(params=[False, True], ids=["blocking", "async"])
def is_async(request: pytest.FixtureRequest) -> bool:
    """Whether the async methods are called."""
    return request.param
