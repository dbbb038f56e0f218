"""Looking at runs: which there are, how far they have come, and whether they leave anything out."""

from __future__ import annotations

import secrets
from functools import partial
from typing import Any

from memoranda.errors import InvalidValueError
from memoranda.store.changes import Namespace
from memoranda.store.effects import Batch, Body, Operation, Sql, query, transact
from memoranda.store.namespaces import encode_namespace
from memoranda.store.operations.context import Context, countable
from memoranda.store.operations.job_rows import checked_queue
from memoranda.store.operations.run_rows import find, run_of
from memoranda.store.runs import RUN_STATUSES, Run

_ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz"  # as the ids of proposals
_ID_LENGTH = 8  # among a million runs one draw in a million is taken


def list_runs(
    context: Context,
    consumer: str | None = None,
    scope: Namespace | None = None,
    status: str | None = None,
    limit: int | None = 100,
) -> Operation[list[Run]]:
    """List runs, newest first.

    Args:
        context: The store's settings.
        consumer: Only those of this one; None: all.
        scope: Only those of exactly this namespace; None: all.
        status: `applied`, `unchanged`, `proposed`, `rejected`, `parked` or `undone`; None: all.
        limit: At most so many; None: all.

    Returns:
        The runs.

    Raises:
        InvalidValueError: There is no such status.
    """
    if status is not None and status not in RUN_STATUSES:
        raise InvalidValueError(f"{status!r} is no status of a run.", f"Use {', '.join(RUN_STATUSES)} or None.")
    params: dict[str, Any] = {
        "tenant": context.tenant,
        "consumer": "" if consumer is None else checked_queue(consumer),
        "status": status or "",
        "limit": countable(limit),
    }
    name = "runs_newest"
    if scope is not None:
        name, params = "runs_of_scope", {**params, "labels": encode_namespace(tuple(scope))}
    rows = yield from transact("read", partial(query, name, **params))
    return [run_of(row) for row in rows]


def get(context: Context, id: str) -> Operation[Run]:
    """Read one run.

    Args:
        context: The store's settings.
        id: Its id.

    Returns:
        The run.

    Raises:
        RunNotFoundError: There is none of this id.
    """
    return (yield from transact("read", partial(find, context, id))).run


def cursor(context: Context, consumer: str, scope: Namespace) -> Operation[int]:
    """Say how far a consumer has read in a scope.

    Args:
        context: The store's settings.
        consumer: Whose cursor.
        scope: The namespace that is read.

    Returns:
        The position of the last turn that it has read; 0: none.
    """
    place = {"tenant": context.tenant, "consumer": checked_queue(consumer), "labels": encode_namespace(tuple(scope))}
    rows = yield from transact("read", partial(query, "cursor", **place))
    return int(rows[0][0]) if rows else 0


def covered(context: Context, consumer: str, scope: Namespace) -> Operation[list[tuple[int, int]]]:
    """List the ranges of turns that are covered by the runs of a consumer in a scope.

    Args:
        context: The store's settings.
        consumer: Whose runs.
        scope: The namespace that is read.

    Returns:
        Pairs of positions in order, each standing for the turns behind the first, up to the second.
    """
    place = {"tenant": context.tenant, "consumer": checked_queue(consumer), "labels": encode_namespace(tuple(scope))}
    rows = yield from transact("read", partial(query, "ranges_covered", **place))
    return [(int(after), int(to)) for after, to in rows]


def new_id(context: Context) -> Operation[str]:
    """Draw an id for a run that is about to begin; nothing is asked of the database.

    Args:
        context: The store's settings.

    Returns:
        An id that no run has, as good as certainly; where one has it, the run is not recorded and has to begin anew.
    """
    return "r-" + "".join(secrets.choice(_ALPHABET) for _ in range(_ID_LENGTH))
    yield  # pragma: no cover - makes this a generator


def check_ranges(context: Context, labels: str) -> Body[list[str]]:
    """Say where the runs of a scope do not cover every turn up to their consumer's cursor once."""
    place = {"tenant": context.tenant, "labels": labels}
    ranges, cursors = yield Batch([Sql("ranges_of_scope", place), Sql("cursors_of_scope", place)])
    problems: list[str] = []
    positions: dict[str, int] = {}
    for consumer, after, to in ranges:
        before = positions.get(consumer, 0)
        if after > before:
            problems.append(f"no run of {consumer} covers the turns behind {before} up to {after}.")
        elif after < before:
            problems.append(f"two runs of {consumer} cover the turns behind {after} up to {min(before, to)}.")
        positions[consumer] = max(before, to)
    standing = {str(consumer): int(position) for consumer, position in cursors}
    for consumer, to in positions.items():
        stands = standing.get(consumer, 0)
        if stands != to:
            problems.append(f"the runs of {consumer} go up to {to}, but its cursor stands at {stands}.")
    return problems
