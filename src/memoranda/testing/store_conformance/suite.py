"""All checks together, and a runner that needs no test framework."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager

from langgraph.store.base import BaseStore, TTLConfig

from memoranda.testing.outcomes import CheckResult, outcome
from memoranda.testing.store_conformance.basics import BasicChecks
from memoranda.testing.store_conformance.batches import BatchChecks
from memoranda.testing.store_conformance.checks import Capabilities, StoreFactory
from memoranda.testing.store_conformance.expiry import ExpiryChecks
from memoranda.testing.store_conformance.filters import FilterChecks
from memoranda.testing.store_conformance.namespaces import NamespaceChecks
from memoranda.testing.store_conformance.searching import SearchChecks
from memoranda.testing.store_conformance.values import ValueChecks

GROUPS = {
    "Items": BasicChecks,
    "Batches": BatchChecks,
    "Search and scopes": SearchChecks,
    "Filters": FilterChecks,
    "Namespaces": NamespaceChecks,
    "Keys and values": ValueChecks,
    "Expiry": ExpiryChecks,
}

_OWN_SCOPE = re.compile(r"scope-[0-9a-f]{12}")


class StoreConformance(
    BasicChecks, BatchChecks, SearchChecks, FilterChecks, NamespaceChecks, ValueChecks, ExpiryChecks
):
    """Every check as a method; subclass it under a name that pytest collects.

    Override `store_factory`, and `capabilities` where the defaults do not fit. Checks are blocking methods, those of
    the async face too, so no pytest plugin is needed.

    Example:
        >>> from langgraph.store.memory import InMemoryStore
        >>> class TestInMemoryStore(StoreConformance):
        ...     capabilities = Capabilities(ttl=False)
        ...     def store_factory(self, *, ttl=None):
        ...         return InMemoryStore()
        >>> TestInMemoryStore().test_get_returns_what_was_put()
    """


def checks() -> Iterator[tuple[str, str, str]]:
    """Every check as (group, name, title), in order.

    Example:
        >>> next(checks())[:2]
        ('Items', 'test_get_returns_what_was_put')
    """
    for group, holder in GROUPS.items():
        for name, method in vars(holder).items():
            if name.startswith("test_"):
                yield group, name, (method.__doc__ or name).strip()


def run_conformance(
    factory: StoreFactory, *, capabilities: Capabilities | None = None, short_ttl: float | None = None
) -> list[CheckResult]:
    """Run every check over a store.

    Args:
        factory: Returns the store, or a context manager that gives it and closes it; called once for each check,
            with `ttl=` only by checks of expiry. The store need not be empty, and may be the same every time.
        capabilities: What the store claims; None: expiry, but no labels with dots.
        short_ttl: Seconds that items live in the checks of expiry; None: 1.

    Returns:
        One result for each check, in order.

    Example:
        >>> from memoranda import open_store
        >>> with open_store("memory://") as store:
        ...     results = run_conformance(lambda: store, capabilities=Capabilities(ttl=False, dotted_labels=True))
        >>> [result.name for result in results if not result.passed and not result.skipped]
        []
    """

    class Suite(StoreConformance):
        def store_factory(self, *, ttl: TTLConfig | None = None) -> BaseStore | AbstractContextManager[BaseStore]:
            return factory() if ttl is None else factory(ttl=ttl)

    suite = Suite()
    suite.capabilities = capabilities or Capabilities()
    if short_ttl is not None:
        suite.short_ttl = short_ttl
    return [outcome(suite, *entry, varying=(_OWN_SCOPE, "scope")) for entry in checks()]
