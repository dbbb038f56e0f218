"""What lands together with the next change set of a store, made by someone above who does not commit it himself.

Between a consolidator and the commit of its changes lie guards and composites, which know nothing of runs and jobs. So
it comes along in a context variable, as the author does with `acting_as`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from memoranda.store.changes import Committed, CursorMove, Namespace
from memoranda.store.effects import Body, Sql

if TYPE_CHECKING:
    from memoranda.store.operations.context import Context


@dataclass(frozen=True, slots=True)
class Landed:
    """What a companion travels with.

    Args:
        committed: The revisions that land.
        proposal: The proposal that is recorded instead; None: changes land.
        now: The time of it, in microseconds since the epoch.
        before: For each item that was opened: the revision that it had; 0: it did not exist.
    """

    committed: tuple[Committed, ...]
    proposal: str | None
    now: int
    before: Mapping[tuple[Namespace, str], int] = field(default_factory=dict[tuple[Namespace, str], int])


class Companion:
    """What lands in one transaction with the next change set, or the next proposal, of a store: both, or neither.

    Args:
        body: Looks at what lands, and gives the statements that travel along; it may lock and read, and what it
            raises undoes everything. It is called again when the transaction has to be repeated.
        advance: Cursors that move with it.
        store: The settings of the store that it is for; others leave it alone. None: the first that commits.

    Attributes:
        taken: Whether it has landed.
    """

    __slots__ = ("advance", "body", "store", "taken")

    def __init__(
        self,
        body: Callable[[Context, Landed], Body[list[Sql]]],
        advance: Sequence[CursorMove] = (),
        store: Context | None = None,
    ) -> None:
        self.body = body
        self.advance = tuple(advance)
        self.store = store
        self.taken = False

    def is_for(self, context: Context) -> bool:
        """Whether it waits for what a store commits."""
        if self.taken:
            return False
        return self.store is None or (self.store.database, self.store.tenant) == (context.database, context.tenant)


_companion: ContextVar[Companion | None] = ContextVar("memoranda_companion", default=None)


@contextmanager
def accompanied(companion: Companion) -> Generator[Companion]:
    """Let the first commit or proposal inside the block take a companion along; what follows it goes without.

    Args:
        companion: What is to land with it.

    Yields:
        The companion, which knows afterwards whether it was taken.
    """
    token = _companion.set(companion)
    try:
        yield companion
    finally:
        _companion.reset(token)


@contextmanager
def unaccompanied() -> Generator[None]:
    """Let what is committed inside the block go without: it is somebody else's, such as a hook's own note."""
    token = _companion.set(None)
    try:
        yield
    finally:
        _companion.reset(token)


def waiting_companion(context: Context) -> Companion | None:
    """The companion of the innermost block, if it is for this store and nobody has taken it yet."""
    companion = _companion.get()
    return companion if companion is not None and companion.is_for(context) else None
