"""All checks together, and a runner that needs no test framework."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any

from memoranda.testing.backend_conformance.checks import BackendFactory, Capabilities, Routed, RoutedFactory
from memoranda.testing.backend_conformance.finding import FindChecks
from memoranda.testing.backend_conformance.listing import DeleteChecks, GlobChecks, ListChecks
from memoranda.testing.backend_conformance.reading import ReadChecks
from memoranda.testing.backend_conformance.routes import RouteChecks
from memoranda.testing.backend_conformance.searching import GrepChecks
from memoranda.testing.backend_conformance.together import AsyncChecks, HostileChecks
from memoranda.testing.backend_conformance.transfers import TransferChecks
from memoranda.testing.backend_conformance.writing import EditChecks, WriteChecks
from memoranda.testing.outcomes import CheckResult, outcome

GROUPS: dict[str, type] = {
    "Reading": ReadChecks,
    "Writing": WriteChecks,
    "Editing": EditChecks,
    "Folders": ListChecks,
    "Patterns": GlobChecks,
    "Searching": GrepChecks,
    "Finding passages": FindChecks,
    "Deleting": DeleteChecks,
    "Uploads and downloads": TransferChecks,
    "Async, and many at once": AsyncChecks,
    "Hostile input": HostileChecks,
    "Routes": RouteChecks,
}

_ADDRESS = re.compile(r"(/[\w.+-]+)*/(tmp|pytest)[\w./+-]*|0x[0-9a-f]+")


class BackendConformance(
    ReadChecks,
    WriteChecks,
    EditChecks,
    ListChecks,
    GlobChecks,
    GrepChecks,
    FindChecks,
    DeleteChecks,
    TransferChecks,
    AsyncChecks,
    HostileChecks,
    RouteChecks,
):
    """Every check as a method; subclass it under a name that pytest collects.

    Override `backend_factory`, `routed_factory` for a backend with routes, `run_inside` for one that works only
    somewhere (see `in_graph`), and `capabilities` where the defaults do not fit. Checks are blocking methods, those of
    the async form too, so no pytest plugin is needed.

    Example:
        >>> from langgraph.store.memory import InMemoryStore
        >>> from memoranda.backends import StoreBackend
        >>> class TestMine(BackendConformance):
        ...     def backend_factory(self):
        ...         return StoreBackend(namespace=("ann",), store=InMemoryStore())
        >>> TestMine().test_read_gives_what_was_written()
    """


def checks() -> Iterator[tuple[str, str, str]]:
    """Every check as (group, name, title), in order.

    Example:
        >>> next(checks())[:2]
        ('Reading', 'test_read_gives_what_was_written')
    """
    for group, holder in GROUPS.items():
        for name, method in vars(holder).items():
            if name.startswith("test_"):
                yield group, name, (method.__doc__ or name).strip()


def run_conformance(
    factory: BackendFactory,
    *,
    routed: RoutedFactory | None = None,
    inside: Callable[[Callable[[], None]], None] | None = None,
    capabilities: Capabilities | None = None,
) -> list[CheckResult]:
    """Run every check over a backend.

    Args:
        factory: Gives a backend over an empty tree, or a context manager that does; called once for each check.
        routed: Builds the backend with routes; None: it has none, and those checks are skipped.
        inside: Runs a check where the backend works, such as `in_graph`; None: just here.
        capabilities: What the backend claims; None: all of it.

    Returns:
        One result for each check, in order.

    Example:
        >>> from langgraph.store.memory import InMemoryStore
        >>> from memoranda.backends import StoreBackend
        >>> results = run_conformance(lambda: StoreBackend(namespace=("ann",), store=InMemoryStore()))
        >>> [result.name for result in results if not result.passed and not result.skipped]
        []
    """

    class Suite(BackendConformance):
        def backend_factory(self) -> Any:
            return factory()

        def routed_factory(self, routes: Mapping[str, Any]) -> Routed | AbstractContextManager[Routed]:
            return super().routed_factory(routes) if routed is None else routed(routes)

        def run_inside(self, check: Callable[[], None]) -> None:
            check() if inside is None else inside(check)

    suite = Suite()
    suite.capabilities = capabilities or Capabilities()
    return [outcome(suite, *entry, varying=(_ADDRESS, "…")) for entry in checks()]
