"""Run backends through the checks: `python -m memoranda.testing.backend_conformance package.module:factory …`."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from memoranda.testing.backend_conformance import Capabilities, in_graph, markdown_table, run_conformance


def main(arguments: list[str] | None = None) -> int:
    """Print the table; the exit code is 0 only if no backend fails a check it claims.

    Args:
        arguments: Those of the command line; None takes the process's own.
    """
    parser = argparse.ArgumentParser(
        prog="python -m memoranda.testing.backend_conformance",
        description="Check what backends with Deep Agents' BackendProtocol do, and print a Markdown table.",
    )
    parser.add_argument("factory", nargs="+", help="module:callable that returns a backend over an empty tree")
    parser.add_argument(
        "--routed",
        help="module:callable that gets a dictionary of routes (None: an empty tree) and returns (backend, default)",
    )
    parser.add_argument("--in-graph", action="store_true", help="the backends work inside a LangGraph graph only")
    parser.add_argument("--no-async", action="store_true", help="the backends do not claim the async methods")
    parser.add_argument("--no-threads", action="store_true", help="the backends do not claim use by several threads")
    parser.add_argument("--no-canonical", action="store_true", help="the backends take paths as they come")
    given = parser.parse_args(arguments)
    logging.getLogger("memoranda").addHandler(logging.NullHandler())  # failures are in the table
    claimed = Capabilities(not given.no_async, not given.no_threads, not given.no_canonical)
    routed = None if given.routed is None else _routed(_loaded(parser, given.routed))
    results = {
        name: run_conformance(
            _loaded(parser, name), routed=routed, inside=in_graph if given.in_graph else None, capabilities=claimed
        )
        for name in given.factory
    }
    print(markdown_table(results), end="")
    failed = any(not result.passed and not result.skipped for found in results.values() for result in found)
    return 1 if failed else 0


def _routed(build: Callable[..., Any]) -> Callable[..., Any]:
    from memoranda.testing.backend_conformance import Routed

    def factory(routes: Any) -> Any:
        built = build(routes)
        return built if hasattr(built, "__enter__") else Routed(*built)

    return factory


def _loaded(parser: argparse.ArgumentParser, name: str) -> Callable[..., Any]:
    module, _, path = name.partition(":")
    try:
        found: Any = import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError) as error:
        parser.error(f"{name} cannot be loaded: {error}. Write package.module:callable.")
    if not callable(found):
        parser.error(f"{name} is not callable. Write package.module:callable.")
    return found


if __name__ == "__main__":
    sys.exit(main())
