"""A run's row as callers see it, and the changes of a run as their column keeps them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

import orjson

from memoranda.errors import RunNotFoundError
from memoranda.store.changes import Committed, Namespace
from memoranda.store.effects import Body, Row, query
from memoranda.store.jobs import Job
from memoranda.store.keys import is_plain_text
from memoranda.store.namespaces import decode_namespace, encode_namespace
from memoranda.store.operations.context import Context
from memoranda.store.operations.job_rows import checked_queue, plain
from memoranda.store.runs import Run, RunChange, RunRecord
from memoranda.store.values import stored_json, to_datetime, to_microseconds

Before = Mapping[tuple[Namespace, str], int]


class Found(NamedTuple):
    """A run with the number of its row."""

    number: int
    run: Run


def find(context: Context, id: str, statement: str = "run") -> Body[Found]:
    """The run of this id.

    Raises:
        RunNotFoundError: There is none.
    """
    rows = (yield from query(statement, tenant=context.tenant, id=id if is_plain_text(id) else "")) or []
    if not rows:
        raise RunNotFoundError(f"There is no run {id!r}.", "List the runs to see which there are.")
    return found_in(rows[0])


def found_in(row: Row) -> Found:
    """The run of a row."""
    number, id, consumer, labels, after, to, status, turns, changes, model, *rest = row
    tokens_in, tokens_out, attempts, started_at, ended_at, proposal, undone_by, error, summary, job = rest
    run = Run(
        id,
        consumer,
        decode_namespace(labels),
        int(after),
        int(to),
        status,
        int(turns),
        decode_changes(changes),
        model,
        int(tokens_in),
        int(tokens_out),
        int(attempts),
        to_datetime(started_at),
        to_datetime(ended_at),
        proposal,
        undone_by,
        error,
        summary,
        job,
    )
    return Found(int(number), run)


def run_of(row: Row) -> Run:
    """A row as callers see it."""
    return found_in(row).run


def row_of(
    context: Context,
    run: RunRecord,
    status: str,
    now: int,
    job: Job | None,
    *,
    changes: Sequence[RunChange] | None = None,
    proposal: str | None = None,
) -> dict[str, Any]:
    """The row of a run that is about to be recorded."""
    return {
        "tenant": context.tenant,
        "id": run.id,
        "consumer": checked_queue(run.consumer),
        "labels": encode_namespace(tuple(run.scope)),
        "after_position": run.after,
        "to_position": run.to,
        "status": status,
        "turns": run.turns,
        "changes": encode_changes(run.changes if changes is None else changes),
        "model": plain(run.model),
        "tokens_in": run.tokens_in,
        "tokens_out": run.tokens_out,
        "attempts": run.attempts,
        "started_at": to_microseconds(run.started_at),
        "ended_at": now,
        "proposal": proposal,
        "error": plain(run.error),
        "summary": plain(run.summary),
        "job": None if job is None else job.number,
    }


def recorded(row: Mapping[str, Any]) -> Run:
    """A run that is about to be recorded, as it will be read."""
    return Run(
        row["id"],
        row["consumer"],
        decode_namespace(row["labels"]),
        row["after_position"],
        row["to_position"],
        row["status"],
        row["turns"],
        decode_changes(row["changes"]),
        row["model"],
        row["tokens_in"],
        row["tokens_out"],
        row["attempts"],
        to_datetime(row["started_at"]),
        to_datetime(row["ended_at"]),
        proposal=row["proposal"],
        error=row["error"],
        summary=row["summary"],
        job=row["job"],
    )


def landed_changes(
    changes: Sequence[RunChange], committed: Sequence[Committed], before: Before
) -> tuple[RunChange, ...]:
    """The changes of a run with the revisions that landed; what it did not name but landed is added."""
    landed: dict[tuple[Namespace, str], Committed] = {}
    landed_at: dict[tuple[Namespace, str], int] = {}
    for at, done in enumerate(committed):
        if done.revision:
            landed[tuple(done.namespace), done.key] = done
            landed_at[tuple(done.namespace), done.key] = at
    filled: list[RunChange] = []
    for change in changes:
        namespace = tuple(change.namespace)
        done = landed.pop((namespace, change.to or change.key), None)
        if done is not None:
            change = replace(
                change,
                revision=done.revision,
                operation=done.operation,
                before=before.get((namespace, change.key), change.before),
            )
            if change.to is not None and landed_at.get((namespace, change.key), -1) < landed_at[namespace, change.to]:
                landed.pop((namespace, change.key), None)  # what was changed before it moved is one with the move
        filled.append(replace(change, namespace=namespace))
    filled += [
        RunChange(place[0], place[1], done.operation, done.revision, before.get(place, 0))
        for place, done in landed.items()
    ]
    return tuple(filled)


def encode_changes(changes: Sequence[RunChange]) -> str:
    """The changes of a run as their column keeps them."""
    return orjson.dumps(
        [
            {
                "namespace": [*change.namespace],
                "key": change.key,
                "operation": change.operation,
                "revision": change.revision,
                "before": change.before,
                "to": change.to,
                "sources": [*change.sources],
                "lines": {line: [*sources] for line, sources in change.lines.items()},
            }
            for change in changes
        ]
    ).decode()


def decode_changes(text: str) -> tuple[RunChange, ...]:
    """The changes of a run as callers see them."""
    found = cast("list[dict[str, Any]]", stored_json(text))
    return tuple(
        RunChange(
            tuple(change["namespace"]),
            change["key"],
            change["operation"],
            change["revision"],
            change["before"],
            change["to"],
            tuple(change["sources"]),
            {line: tuple(sources) for line, sources in change["lines"].items()},
        )
        for change in found
    )
