"""A database from before there were jobs: what was said there is unread."""

from __future__ import annotations

from collections.abc import Callable

import apsw
import psycopg
import pytest

from memoranda import MemoryStore
from tests.store.jobs_support import say, timed

BACK = (
    "DROP TABLE jobs",
    "DROP TABLE schedules",
    "DROP TABLE runs",
    "DROP INDEX namespaces_by_turn",
    "ALTER TABLE namespaces DROP COLUMN turned_at",
    "DELETE FROM memoranda_schema WHERE number >= 7",
)


def go_back(url: str) -> None:
    if url.startswith("sqlite"):
        connection = apsw.Connection(url.removeprefix("sqlite:///"))
        for statement in BACK:
            connection.execute(statement)
        connection.close()
        return
    with psycopg.connect(url, options="-c search_path=memoranda") as server:
        for statement in BACK:
            server.execute(statement)  # type: ignore[arg-type]


@pytest.mark.blank
def test_what_was_said_before_the_migration_is_read(store_url: str, open_here: Callable[..., MemoryStore]) -> None:
    old, clock = timed(open_here(store_url))
    say(old, "ann", count=2)
    said_at = clock.now
    clock.wait(hours=1)
    say(old, "bob", count=1)
    old.write(("cat",), "/x.md", "no turn")
    old.close()
    go_back(store_url)

    store, clock = timed(open_here(store_url))
    clock.wait(hours=2)
    assert [(each.namespace, each.turns) for each in store.runs.unread("tidy")] == [(("ann",), 2), (("bob",), 1)]
    assert store.runs.unread("tidy")[0].turned_at == said_at
    store.schedules.put("quiet", "tidy", idle_minutes=90)
    assert store.schedules.fire(["tidy"]) == 1
    assert store.jobs.list("tidy")[0].scope == ("ann",)
