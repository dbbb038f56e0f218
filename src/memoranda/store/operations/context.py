"""What every operation knows about its store."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from uuid import uuid4

from memoranda.errors import InvalidValueError
from memoranda.store.block_cache import BlockCache
from memoranda.store.keys import MAX_NAME_BYTES, is_plain_text
from memoranda.store.meaning import EmbedQuery

_LONGEST_TTL = 1e10
_MOST = (1 << 62) - 1


def _now() -> int:
    return time.time_ns() // 1_000


@dataclass(frozen=True, slots=True)
class Context:
    """The settings of one store that its operations depend on.

    Args:
        tenant: The customer whose data this store sees.
        clock: Returns the time in microseconds since the epoch, UTC. Times are always bound by the application.
        default_ttl: Minutes until a new item expires where the caller says nothing; None: never.
        refresh_on_read: Whether reading an item restarts its time to live.
        indexing: Whether what is written is indexed for search.
        index_fields: Which fields of a value are indexed where its writer says nothing.
        blocks: The parts of the index that this process has read.
        embed_query: Gives the meaning of a query; called outside of transactions. None: words alone are searched.
        on_write: Told after every write that there may be something to embed.
        workers: Told when there may be something to do: functions that return at once, of this process's workers.
        database: What tells the store's database from all others.
    """

    tenant: str = ""
    clock: Callable[[], int] = _now
    default_ttl: float | None = None
    refresh_on_read: bool = True
    indexing: bool = True
    index_fields: tuple[str, ...] = ("$",)
    blocks: BlockCache = field(default_factory=BlockCache, compare=False)
    embed_query: EmbedQuery | None = None
    on_write: Callable[[], None] | None = None
    workers: list[Callable[[], None]] = field(default_factory=list[Callable[[], None]], compare=False)
    database: str = field(default_factory=lambda: uuid4().hex, compare=False)

    def wake_workers(self) -> None:
        """Let this process's workers look at once; those of others look every few seconds."""
        for wake in tuple(self.workers):
            wake()


def countable(limit: int | None) -> int:
    """How many rows to ask for: None stands for all, and no number is more than a database can add to another."""
    return _MOST if limit is None else min(max(limit, 0), _MOST)


def checked_tenant(tenant: str) -> str:
    """Return the name of a tenant as it is, if every engine can keep it exactly.

    Raises:
        InvalidValueError: It is no string, too long, or holds a NUL or a lone surrogate.
    """
    if not is_plain_text(tenant) or len(tenant.encode()) > MAX_NAME_BYTES:
        raise InvalidValueError(
            f"The tenant {str(tenant)[:80]!r} is no name.",
            f"Use at most {MAX_NAME_BYTES} bytes, without NUL characters.",
        )
    return tenant


def checked_ttl(minutes: float | None) -> float | None:
    """Return a time to live as it is, if it can be added to a time.

    Raises:
        InvalidValueError: It is no number of minutes from 0 to 10 billion.
    """
    if minutes is None:
        return None
    if isinstance(minutes, bool) or not isinstance(minutes, (int, float)) or not 0 <= minutes <= _LONGEST_TTL:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidValueError(
            f"The time to live {minutes!r} is no number of minutes.", "Pass minutes, or None for no end."
        )
    return minutes
