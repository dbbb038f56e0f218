"""Files that may not be changed directly at present, because a run that is at work on a stage of them is to do it."""

from __future__ import annotations

from collections.abc import Collection, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from memoranda.backends.places import Place
from memoranda.store.changes import Namespace
from memoranda.store.store import MemoryStore


@dataclass(frozen=True)
class Fence:
    """Namespaces whose files are changed on a stage alone.

    Args:
        store: The store that they are in.
        namespaces: The namespaces.
        instead: What to use, such as `task.files`.
        strayed: What was refused, in the order in which it was tried.
    """

    store: MemoryStore
    namespaces: Collection[Namespace]
    instead: str
    strayed: list[str] = field(default_factory=list[str])

    def around(self, store: object, namespace: Namespace) -> bool:
        """Whether it stands around the files of a namespace."""
        return (
            isinstance(store, MemoryStore)
            and namespace in self.namespaces
            and (store.identity, store.context.tenant) == (self.store.identity, self.store.context.tenant)
        )

    def refusal(self, place: Place) -> str:
        """Why a file cannot be changed; it is noted that somebody tried."""
        said = (
            f"{place.shown} was to be changed in the store itself, past the run, so that no dry run would show it and "
            f"no undo take it back. Change it through {self.instead}."
        )
        self.strayed.append(said)
        return f"Error: {said}"


_fence: ContextVar[Fence | None] = ContextVar("memoranda_fence", default=None)


@contextmanager
def fenced(fence: Fence) -> Generator[Fence]:
    """Let a fence stand within the block, and in whatever threads and tasks begin there with its context."""
    token = _fence.set(fence)
    try:
        yield fence
    finally:
        _fence.reset(token)


def current_fence() -> Fence | None:
    """The fence that stands at present."""
    return _fence.get()
