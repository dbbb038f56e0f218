"""What rules were asked about a path, so that a link swapped in the meantime leads to nothing that they were not."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TypeVar

from memoranda.backends.steps import Steps

T = TypeVar("T")
Key = tuple[str, str]
"""The root folder, and a path below it."""


@dataclass(slots=True)
class Judging:
    """The paths of one operation that passes rules.

    Args:
        reached: Where each path has led before the rules were asked about it.
        judged: Where each path may lead, now that the rules were asked.
    """

    reached: dict[Key, set[str]] = field(default_factory=dict[Key, "set[str]"])
    judged: dict[Key, set[str]] = field(default_factory=dict[Key, "set[str]"])

    def may_lead(self, key: Key, real: str) -> bool:
        """Whether a path may lead to a file, which is noted until the rules are asked."""
        if key in self.judged:
            return real in self.judged[key]
        self.reached.setdefault(key, set()).add(real)
        return True

    def ask(self, key: Key, names: Iterable[str]) -> tuple[str, ...]:
        """The names that rules have to be asked about: those of now, and those of what was read already."""
        every = tuple(dict.fromkeys([*names, *sorted(self.reached.get(key, ()))]))
        # Each rule is asked by itself: only what all of them heard of was judged by all of them.
        self.judged[key] = self.judged.get(key, set(every)) & set(every)
        return every


_current: ContextVar[Judging | None] = ContextVar("memoranda_judging", default=None)


def current_judging() -> Judging | None:
    """The operation that passes rules, if one does."""
    return _current.get()


@contextmanager
def _judging() -> Generator[None]:
    token = _current.set(_current.get() or Judging())
    try:
        yield
    finally:
        _current.reset(token)


def as_judged(steps: Steps[T]) -> Steps[T]:
    """Do an operation that passes rules: what a path leads to is what they were asked about, or it is refused."""
    with _judging():
        return (yield from steps)
