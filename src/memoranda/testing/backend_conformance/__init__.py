"""What every backend with Deep Agents' `BackendProtocol` should do, as checks that any backend can be run through.

Each check is one method of `BackendConformance` and gets a backend over an empty tree of its own. Nothing here needs
pytest or deepagents: subclass `BackendConformance` to let pytest collect the checks, or call `run_conformance` to get
a list of results.

Example:
    >>> from langgraph.store.memory import InMemoryStore
    >>> from memoranda.backends import StoreBackend
    >>> results = run_conformance(lambda: StoreBackend(namespace=("ann",), store=InMemoryStore()))
    >>> [result.passed for result in results if result.name == "test_windows"]
    [True]
"""

from memoranda.testing.backend_conformance.checks import BackendFactory, Capabilities, Routed, RoutedFactory
from memoranda.testing.backend_conformance.graphs import in_graph
from memoranda.testing.backend_conformance.suite import BackendConformance, run_conformance
from memoranda.testing.store_conformance import CheckResult, markdown_table

__all__ = [
    "BackendConformance",
    "BackendFactory",
    "Capabilities",
    "CheckResult",
    "Routed",
    "RoutedFactory",
    "in_graph",
    "markdown_table",
    "run_conformance",
]
