"""What a check is: a method that gets an open store and a namespace of its own."""

from __future__ import annotations

import asyncio
import json
import time
import unittest
import uuid
from collections.abc import Callable, Coroutine, Generator, Iterable
from contextlib import AbstractContextManager, contextmanager
from copy import copy
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypeVar

from langgraph.store.base import BaseStore, Item, SearchItem, TTLConfig

Namespace: TypeAlias = tuple[str, ...]
StoreFactory: TypeAlias = Callable[..., BaseStore | AbstractContextManager[BaseStore]]
"""Called without arguments, and with `ttl=TTLConfig(…)` by the checks that need one."""

Need: TypeAlias = Literal["ttl", "dotted_labels", "asynchronous"]
Body: TypeAlias = Callable[[Any, BaseStore, Namespace], "Coroutine[Any, Any, None] | None"]
T = TypeVar("T")

_TRIES = 3
_LATE = 0.2
"""How much of an item's short life may be lost to a busy machine before a check that failed is tried again."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a store claims beyond the common contract; checks of what it does not claim are skipped.

    Args:
        ttl: Items can expire.
        dotted_labels: A namespace label may hold a `.`, as e-mail addresses do. LangGraph's own check refuses it.
        asynchronous: The methods with an `a` in front work on the same store as the blocking ones.
    """

    ttl: bool = True
    dotted_labels: bool = False
    asynchronous: bool = True


class Checks:
    """The ground of every group of checks; see `StoreConformance`."""

    capabilities: Capabilities = Capabilities()
    """What this store claims."""

    short_ttl: float = 1.0
    """Seconds that items live in the checks of expiry. Raise it for a store behind a slow network."""

    paused: float = 0.0
    """Seconds that the check under way has waited on purpose."""

    async def pause(self, seconds: float) -> None:
        """Let time pass."""
        self.paused += seconds
        await asyncio.sleep(seconds)

    def store_factory(self, *, ttl: TTLConfig | None = None) -> BaseStore | AbstractContextManager[BaseStore]:
        """Give the store under test.

        Args:
            ttl: How long items live by default, and whether reading renews them; None: nothing expires by itself.

        Returns:
            A store, which is used and left open (so it may be the same one every time), or a context manager that
            gives one and closes it.
        """
        raise NotImplementedError("Override store_factory() to return the store under test.")

    @contextmanager
    def opened(self, ttl: TTLConfig | None = None) -> Generator[BaseStore]:
        """The store for the length of one check."""
        given = self.store_factory() if ttl is None else self.store_factory(ttl=ttl)
        if isinstance(given, BaseStore):
            yield given
        else:
            with given as store:
                yield store


def check(
    *, needs: Need | None = None, ttl: Callable[[float], TTLConfig] | None = None
) -> Callable[[Body], Callable[[Any], None]]:
    """Make a check of a function of the store and a namespace that nobody else uses.

    Args:
        needs: The capability without which the check is skipped.
        ttl: The expiry settings to open the store with, made from the suite's `short_ttl` in minutes.
    """

    def decorate(body: Body) -> Callable[[Any], None]:
        def method(self: Checks) -> None:
            if needs is not None and not getattr(self.capabilities, needs):
                raise unittest.SkipTest(f"The store does not claim {needs}.")
            patient = self
            for _ in range(_TRIES):
                begin, patient.paused = time.monotonic(), 0.0
                try:
                    _run(patient, body, ttl)
                    return
                except AssertionError:
                    late = time.monotonic() - begin - patient.paused
                    if not patient.paused or late < patient.short_ttl * _LATE:
                        raise
                # The machine was too busy to keep the times of this check: once more, with more time.
                patient = copy(patient)
                patient.short_ttl *= 2
            _run(patient, body, ttl)

        # Not functools.wraps: pytest would look for fixtures named after the body's parameters.
        method.__name__, method.__qualname__, method.__doc__ = body.__name__, body.__qualname__, body.__doc__
        return method

    return decorate


def _run(checks: Checks, body: Body, ttl: Callable[[float], TTLConfig] | None) -> None:
    with checks.opened(None if ttl is None else ttl(checks.short_ttl / 60)) as store:
        running = body(checks, store, (f"scope-{uuid.uuid4().hex[:12]}",))
        if running is not None:
            asyncio.run(running)


def expect(actual: T, expected: T, what: str) -> None:
    """Fail with a sentence unless the two are equal.

    Args:
        actual: What the store gave.
        expected: What it should have given.
        what: What this is about, as the start of a sentence.
    """
    if actual != expected:
        raise AssertionError(f"{what}: expected {_short(expected)}, got {_short(actual)}")


def expect_same_json(actual: Any, expected: Any, what: str) -> None:
    """Like `expect`, telling `1` from `True` and `1.0`, and an empty list from a tuple."""
    if json.dumps(actual, sort_keys=True) != json.dumps(expected, sort_keys=True):
        raise AssertionError(f"{what}: expected {_short(expected)}, got {_short(actual)}")


def expect_refused(call: Callable[[], Any], what: str) -> None:
    """Fail unless a call raises a `ValueError` or a `TypeError`, which LangGraph's own errors are."""
    try:
        call()
    except (ValueError, TypeError):
        return
    raise AssertionError(f"{what} was accepted")


def value_of(store: BaseStore, namespace: Namespace, key: str) -> Any:
    """The value of an item, or None."""
    item = store.get(namespace, key)
    return None if item is None else item.value


def places(items: Iterable[SearchItem]) -> set[tuple[Namespace, str]]:
    """Where items lie."""
    return {(tuple(item.namespace), item.key) for item in items}


def _short(value: Any) -> str:
    if isinstance(value, Item):
        return f"an item with {value.value}"
    text = repr(sorted(value, key=repr) if isinstance(value, (set, frozenset)) else value)  # pyright: ignore[reportUnknownArgumentType]
    return text if len(text) <= 120 else f"{text[:120]}…"
