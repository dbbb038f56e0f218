"""A job's row as callers see it, and what may be in one."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import orjson

from memoranda.errors import InvalidValueError
from memoranda.store.effects import Row
from memoranda.store.jobs import Job
from memoranda.store.keys import MAX_NAME_BYTES, is_plain_text
from memoranda.store.namespaces import decode_namespace
from memoranda.store.values import stored_json, to_datetime


def job_of(row: Row) -> Job:
    """A row as callers see it."""
    number, queue, labels, origin, state, due_at, attempts, lease, lease_until, worker, payload, error, *times = row
    created_at, started_at, ended_at = times
    return Job(
        int(number),
        queue,
        decode_namespace(labels) if labels else None,
        origin,
        state,
        to_datetime(due_at),
        int(attempts),
        lease,
        moment_of(lease_until),
        worker,
        stored_json(payload),
        error,
        moment_of(created_at),
        moment_of(started_at),
        moment_of(ended_at),
    )


def moment_of(at: int | None) -> datetime | None:
    """A time that may be missing, as callers see it."""
    return None if at is None else to_datetime(at)


def encode_payload(payload: Mapping[str, Any] | None) -> str:
    """A JSON object as its column keeps it.

    Raises:
        InvalidValueError: It is none.
    """
    try:
        # Sorted, so that equal ones are equal texts.
        return orjson.dumps(dict(payload or {}), option=orjson.OPT_SORT_KEYS).decode()
    except (TypeError, ValueError) as error:
        raise InvalidValueError(
            f"The payload is no JSON object: {error}.", "Use string keys and JSON values."
        ) from None


def plain(text: str | None) -> str | None:
    """Words from anywhere, such as those of an error, without what no engine can keep."""
    return None if text is None else text.replace("\x00", "").encode("utf-8", "replace").decode()


def checked_queue(queue: str) -> str:
    """Return the name of a queue, which is that of a consumer too, if every engine can keep it.

    Raises:
        InvalidValueError: It is none.
    """
    if not is_plain_text(queue) or not 0 < len(queue.encode()) <= MAX_NAME_BYTES:
        raise InvalidValueError(
            f"The queue {str(queue)[:80]!r} is no name.", f"Use 1 to {MAX_NAME_BYTES} bytes without NUL characters."
        )
    return queue


def checked_number(number: int) -> int:
    """Return the number of a job as it is, if it is one.

    Raises:
        InvalidValueError: It is none.
    """
    if type(number) is not int or not 0 <= number < 1 << 62:
        raise InvalidValueError(f"{number!r} is no number of a job.", "Pass Job.number.")
    return number
