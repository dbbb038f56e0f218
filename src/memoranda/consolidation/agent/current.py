"""Which run the agent's graph works for: it is compiled once, and many runs go through it side by side."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from memoranda.consolidation.agent.supervising import Supervision
    from memoranda.consolidation.agent.tools import Work


class Current(NamedTuple):
    """One run.

    Args:
        work: What its tools work on.
        supervision: Who watches over it.
    """

    work: Work
    supervision: Supervision


_current: ContextVar[Current] = ContextVar("memoranda_consolidating_agent")


def current() -> Current:
    """The run whose graph asks; every thread and task of a graph inherits it."""
    return _current.get()


@contextmanager
def working(run: Current) -> Generator[None]:
    """Let the graph work for a run within the block."""
    token = _current.set(run)
    try:
        yield
    finally:
        _current.reset(token)
