"""What looking for work costs where the database's statistics know nothing of it yet: by rows, not by time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import apsw
import psycopg
import pytest

from memoranda import MemoryStore, Turn
from memoranda.store.engines.postgres.engine import POSTGRES
from memoranda.store.engines.sqlite.engine import SQLITE
from memoranda.store.namespaces import encode_namespace, prefix_range

SCOPES = 120
RUNNING = 40

LOW, HIGH = prefix_range(())
ASKED: dict[str, Any] = {
    "tenant": "",
    "queue": "tidy",
    "consumer": "tidy",
    "low": LOW,
    "high": HIGH,
    "after": "",
    "since": 0,
    "until": 1 << 62,
    "page": SCOPES,
    "origin": "cron:1@monday",
    "timed": 0,
    "now": 1 << 61,
    "lease": "lease",
    "lease_until": 1 << 62,
    "worker": "w1",
}

WAITING = """
INSERT INTO jobs (tenant, queue, labels, origin, state, due_at, attempts, payload, created_at)
VALUES (%(tenant)s, 'tidy', %(labels)s, %(origin)s, 'waiting', %(due_at)s, 0, '{}', 0)
"""
BEGUN = "UPDATE jobs SET state = 'running', lease = 'other', lease_until = %(until)s WHERE due_at < 0"


def _looked_at(node: dict[str, Any]) -> float:
    """How many rows a plan's steps took in their hands."""
    counted = ("Actual Rows", "Rows Removed by Filter", "Rows Removed by Join Filter", "Rows Removed by Index Recheck")
    own = sum(node.get(name, 0) for name in counted) * node["Actual Loops"]
    return own + sum(_looked_at(part) for part in node.get("Plans", ()))


def test_what_has_a_job_is_looked_up_scope_by_scope_on_postgresql(
    postgres_url: str, open_here: Callable[..., MemoryStore]
) -> None:
    store = open_here(postgres_url)
    for number in range(SCOPES):
        store.record_turns((f"s{number}",), "t", [Turn("m", "user", "x")])
    with _unsettled(postgres_url) as connection:
        _fill(connection, "cron:1@monday", {f"s{number}": number for number in range(SCOPES)})
        assert _cost(connection, "unread_scopes_since") < 8 * SCOPES


@pytest.mark.parametrize("name", ["take_next_job", "next_job_due"])
def test_what_runs_is_looked_up_job_by_job_on_postgresql(
    name: str, postgres_url: str, open_here: Callable[..., MemoryStore]
) -> None:
    open_here(postgres_url).jobs.list()
    with _unsettled(postgres_url) as connection:
        _fill(connection, "begun", {f"s{number}": -1 - number for number in range(RUNNING)})
        connection.execute(BEGUN, {"until": 1 << 62})
        _fill(connection, "behind", {f"s{number}": number for number in range(RUNNING)})
        _fill(connection, "free", {"other": RUNNING})
        assert _cost(connection, name) < 8 * RUNNING


@pytest.mark.parametrize("name", ["unread_scopes_since", "take_over_job", "take_next_job", "next_job_due"])
def test_no_job_is_found_by_looking_through_all_on_sqlite(
    name: str, open_here: Callable[..., MemoryStore], tmp_path: Any
) -> None:
    file = tmp_path / "memory.db"
    open_here(f"sqlite:///{file}").jobs.list()
    connection = apsw.Connection(str(file))
    try:
        plan = [row[-1] for row in connection.execute(f"EXPLAIN QUERY PLAN {SQLITE.statements()[name]}", ASKED)]
    finally:
        connection.close()
    # `p` is the page that is looked through.
    assert any("SEARCH" in step for step in plan) and not [
        step for step in plan if step.startswith("SCAN") and step != "SCAN p"
    ], plan


def _unsettled(url: str) -> psycopg.Connection[Any]:
    """A transaction that is given up: its rows are in no statistics."""
    connection = psycopg.connect(url, options="-c search_path=memoranda")
    connection.execute("ANALYZE namespaces, cursors, turns, jobs")
    connection.execute("SET LOCAL enable_seqscan = off")  # as with more rows than a test has
    return connection


def _fill(connection: psycopg.Connection[Any], origin: str, due: dict[str, int]) -> None:
    rows = [
        {"tenant": "", "labels": encode_namespace((label,)), "origin": origin, "due_at": at}
        for label, at in due.items()
    ]
    connection.cursor().executemany(WAITING, rows)


def _cost(connection: psycopg.Connection[Any], name: str) -> float:
    try:
        cursor = connection.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {POSTGRES.statements()[name]}".encode(), ASKED)
        (((plan,),),) = cursor.fetchall()
        return _looked_at(plan["Plan"])
    finally:
        connection.rollback()
