"""What every LangGraph `BaseStore` should do, as checks that any store can be run through.

Each check is one method of `StoreConformance` and keeps to a namespace of its own, so the store need not be empty.
Nothing here needs pytest: subclass `StoreConformance` to let pytest collect the checks, or call `run_conformance` to
get a list of results.

Example:
    >>> from langgraph.store.memory import InMemoryStore
    >>> results = run_conformance(InMemoryStore, capabilities=Capabilities(ttl=False))
    >>> [result.passed for result in results if result.name == "test_get_returns_what_was_put"]
    [True]
"""

from memoranda.testing.store_conformance.checks import Capabilities, StoreFactory
from memoranda.testing.store_conformance.suite import CheckResult, StoreConformance, run_conformance
from memoranda.testing.store_conformance.table import markdown_table

__all__ = [
    "Capabilities",
    "CheckResult",
    "StoreConformance",
    "StoreFactory",
    "markdown_table",
    "run_conformance",
]
