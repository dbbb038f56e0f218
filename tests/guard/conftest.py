"""Fixtures: each world of files, on each engine where it has a store in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ENGINES
from tests.guard.support import World
from tests.guard.worlds import WITHOUT_STORE, WORLDS
from tests.support.scale import FULL

HERE = Path(__file__).parent
KINDS = [
    pytest.param((name, engine), id=name if name in WITHOUT_STORE else f"{name}-{engine}")
    for name in WORLDS
    for engine in ENGINES
    if engine == "sqlite" or name not in WITHOUT_STORE
]

ON_POSTGRES = {"store", "routed", "staged"}
"""The worlds that are tried on PostgreSQL each time, by the async methods: the guard knows of no engine."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what only crosses two axes that have nothing to do with each other, unless all is asked for."""
    crossed = [] if FULL else [item for item in items if item.path.is_relative_to(HERE) and not _is_worth_it(item)]
    if crossed:
        config.hook.pytest_deselected(items=crossed)
        left_out = set(crossed)
        items[:] = [item for item in items if item not in left_out]


def _is_worth_it(item: pytest.Item) -> bool:
    params: dict[str, Any] = item.callspec.params if hasattr(item, "callspec") else {}
    name, engine = params.get("world", ("", ""))
    is_async = params.get("is_async")
    if engine == "postgres" and (name not in ON_POSTGRES or is_async is False):
        return False
    # Blocking and async methods are one piece of code under two drivers: every mode is tried by one of them.
    for modes in (["hook", "interrupt", "subagent"], ["plainly", "replacing", "propose", "widening subagent"]):
        if is_async is not None and {params.get("how"), params.get("mode"), params.get("who")} & {*modes}:
            return is_async == (modes[0] == "hook") or engine == "postgres"
    return True


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
