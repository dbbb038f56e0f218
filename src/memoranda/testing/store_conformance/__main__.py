"""Run stores through the checks: `python -m memoranda.testing.store_conformance package.module:factory …`."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from typing import Any, cast

from memoranda.testing.store_conformance.checks import Capabilities, StoreFactory
from memoranda.testing.store_conformance.suite import run_conformance
from memoranda.testing.store_conformance.table import markdown_table


def main(arguments: list[str] | None = None) -> int:
    """Print the table; the exit code is 0 only if no store fails a check it claims.

    Args:
        arguments: Those of the command line; None takes the process's own.
    """
    parser = argparse.ArgumentParser(
        prog="python -m memoranda.testing.store_conformance",
        description="Check what LangGraph BaseStores do, and print a Markdown table.",
    )
    parser.add_argument(
        "factory",
        nargs="+",
        help="module:callable that returns a store; it is called with ttl=… by the checks of expiry",
    )
    parser.add_argument("--no-ttl", action="store_true", help="the stores do not claim expiry")
    parser.add_argument("--dotted-labels", action="store_true", help="the stores accept labels with a dot")
    parser.add_argument("--short-ttl", type=float, default=1.0, help="seconds that items live (default: 1)")
    given = parser.parse_args(arguments)
    claimed = Capabilities(ttl=not given.no_ttl, dotted_labels=given.dotted_labels)
    results = {
        name: run_conformance(_factory(parser, name), capabilities=claimed, short_ttl=given.short_ttl)
        for name in given.factory
    }
    print(markdown_table(results), end="")
    failed = any(not result.passed and not result.skipped for found in results.values() for result in found)
    return 1 if failed else 0


def _factory(parser: argparse.ArgumentParser, name: str) -> StoreFactory:
    module, _, path = name.partition(":")
    try:
        found: Any = import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError) as error:
        parser.error(f"{name} cannot be loaded: {error}. Write package.module:callable.")
    if not callable(found):
        parser.error(f"{name} is not callable. Write package.module:callable.")
    return cast("StoreFactory", found)


if __name__ == "__main__":
    sys.exit(main())
