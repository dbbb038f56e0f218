"""Forgetting what was to be done about a namespace, what came of it, and when it was planned.

Runs of a namespace that stays keep their range, so that nothing is read twice; of what is forgotten they lose the
positions of turns, the digests of lines that came from them, their summary and their error, which are made of what was
said.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import partial
from typing import Any, Final, NamedTuple

import orjson

from memoranda.store.effects import Batch, Body, Operation, Sql, query, transact
from memoranda.store.namespaces import decode_namespace
from memoranda.store.operations.context import Context
from memoranda.store.operations.run_rows import decode_changes, encode_changes
from memoranda.store.runs import RunChange
from memoranda.store.selection import Selection
from memoranda.store.values import stored_json

_PAGE: Final = 200


class Work(NamedTuple):
    """How much of it is gone.

    Args:
        jobs: Jobs, done or not.
        runs: Runs.
        schedules: Schedules for a prefix that is meant.
    """

    jobs: int = 0
    runs: int = 0
    schedules: int = 0


def count_work(context: Context, selection: Selection) -> Operation[Work]:
    """What forgetting would remove."""
    place = {"tenant": context.tenant, **selection.params}
    ((jobs, runs, schedules),) = yield from transact("read", partial(query, "count_work", **place))
    return Work(int(jobs) + len((yield from _spread_over(context, selection))), int(runs), int(schedules))


def forget_jobs(context: Context, selection: Selection) -> Operation[int]:
    """Remove the jobs about some namespaces; what their workers are at does not land any more."""
    gone = yield from _delete(context, "forget_jobs", selection)
    numbers = yield from _spread_over(context, selection)
    for start in range(0, len(numbers), _PAGE):
        yield from transact("write", partial(_delete_jobs, numbers[start : start + _PAGE]))
    return gone + len(numbers)


def forget_runs(context: Context, selection: Selection, actors: Collection[str] = ()) -> Operation[int]:
    """Remove the runs over some namespaces, and from those over others what they say about these.

    Args:
        context: The store's settings.
        selection: The namespaces.
        actors: How the person signs who is forgotten.
    """
    gone = yield from _delete(context, "forget_runs", selection)
    for actor in actors:
        yield from transact("write", partial(query, "forget_undoer", tenant=context.tenant, actor=actor))
    named = selection.subject or (decode_namespace(selection.low)[-1] if selection.low else None)
    after = 0
    while named is not None:
        found = yield from transact("write", partial(_reduce, context, selection, named, after))
        if found is None:
            break
        after = found
    return gone


def forget_schedules(context: Context, selection: Selection) -> Operation[int]:
    """Remove the schedules for a prefix that is meant."""
    place = {"tenant": context.tenant, **selection.params}
    return len((yield from transact("write", partial(query, "forget_schedules", **place))))


def clear_runs(context: Context, labels: str, said: Collection[int]) -> Body[int]:
    """Take out of the runs over a namespace what came from turns that are forgotten.

    Args:
        context: The store's settings.
        labels: The namespace, whose row is locked.
        said: The positions of the turns.

    Returns:
        From how many runs something was taken out.
    """
    if not said:
        return 0
    place = {"tenant": context.tenant, "labels": labels}
    # Whoever works on these turns at present begins again without them; what is about to land is waited for. What went
    # wrong with a job is told in words of what it read.
    yield Batch([Sql("begin_jobs_again", {**place, "now": context.clock()}), Sql("forget_errors_of_jobs", place)])
    rows = yield from query("runs_over", **place, first=min(said), last=max(said))
    written: list[Sql] = []
    for number, after, to, changes, summary, error in rows:
        gone = {position for position in said if after < position <= to}
        if gone:
            left = encode_changes([_without(change, gone) for change in decode_changes(changes)])
            if left != changes or summary is not None or error is not None:
                written.append(Sql("reduce_run", {"number": number, "changes": left}))
    if written:
        yield Batch(written)
    return len(written)


def _without(change: RunChange, gone: Collection[int]) -> RunChange:
    lines = {
        digest: left
        for digest, sources in change.lines.items()
        if (left := tuple(source for source in sources if source not in gone)) or not sources
    }
    return replace(change, sources=tuple(source for source in change.sources if source not in gone), lines=lines)


def _delete(context: Context, statement: str, selection: Selection) -> Operation[int]:
    params = {"tenant": context.tenant, **selection.params, "limit": _PAGE}
    gone = 0
    while True:
        rows = yield from transact("write", partial(query, statement, **params))
        gone += len(rows)
        if len(rows) < _PAGE:
            return gone


def _spread_over(context: Context, selection: Selection) -> Operation[list[int]]:
    """The jobs that a schedule for a prefix has made, of the prefixes that are meant."""
    numbers: list[int] = []
    after = 0
    while True:
        asked = partial(query, "jobs_for_prefixes", tenant=context.tenant, after=after, limit=_PAGE)
        rows = yield from transact("read", asked)
        for number, payload in rows:
            prefix: Any = stored_json(payload).get("prefix")
            if prefix and isinstance(prefix, list) and selection.holds(tuple(map(str, prefix))):  # pyright: ignore[reportUnknownArgumentType]
                numbers.append(int(number))
        if len(rows) < _PAGE:
            return numbers
        after = int(rows[-1][0])


def _delete_jobs(numbers: list[int]) -> Body[None]:
    yield Batch([Sql("delete_job", {"number": number}) for number in numbers], last=True)


def _reduce(context: Context, selection: Selection, named: str, after: int) -> Body[int | None]:
    """Take what is meant out of a page of runs; the number of the last one, None where it was the last page."""
    said = orjson.dumps(named).decode()
    rows = yield from query("runs_naming", tenant=context.tenant, after=after, said=said, limit=_PAGE)
    written: list[Sql] = []
    for number, changes in rows:
        found = decode_changes(changes)
        left = [change for change in found if not selection.holds(change.namespace)]
        if len(left) < len(found):
            written.append(Sql("reduce_run", {"number": number, "changes": encode_changes(left)}))
    if written:
        yield Batch(written)
    return int(rows[-1][0]) if len(rows) == _PAGE else None
