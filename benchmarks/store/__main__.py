"""The command line of `benchmarks.store`."""

from __future__ import annotations

from argparse import Namespace as Options

from benchmarks.store.suite import PARTS, Suite
from benchmarks.support import bench, running
from benchmarks.support.bench import Bench


def main() -> int:
    """Run what is asked for."""
    return bench.run("benchmarks.store", _options(), _measure)


def _measure(given: Bench) -> None:
    """All parts that are wanted."""
    suite, options = Suite(given), given.options
    if "operations" in options.parts:
        for size in options.sizes:
            for engine in options.engines:
                suite.operations(engine, size)
    if "imports" in options.parts:
        suite.imports()
    if "history" in options.parts:
        suite.histories()
    if options.million:
        for engine in options.engines:
            suite.million(engine)


def _options() -> Options:
    parser = running.parser(
        "benchmarks.store",
        "Time single operations beside LangGraph's stores and Deep Agents' StoreBackend, all in one run.\n\n"
        "  operations  get, search, ls, glob, grep, edit, put, delete, at several sizes\n"
        "  imports     importing and opening, in fresh processes\n"
        "  history     1,000 one-line edits of a 100 KB file: the room they take, get_at(1) and blame",
        "examples:\n"
        "  python -m benchmarks.store --sizes 100,1000 --engines sqlite --json store.json\n"
        "  python -m benchmarks.store --parts history,imports\n"
        "  python -m benchmarks.store --parts none --million",
    )
    parser.add_argument(
        "--sizes",
        type=running.numbers,
        default=(100, 1_000, 10_000, 100_000),
        metavar="LIST",
        help="files in the namespace (default: 100,1000,10000,100000)",
    )
    parser.add_argument(
        "--peer-limit",
        type=int,
        default=10_000,
        metavar="N",
        help="leave peers out above this size, where they take minutes (default: 10000)",
    )
    parser.add_argument("--no-peers", action="store_true", help="Memoranda alone")
    parser.add_argument("--samples", type=int, default=300, metavar="N", help="calls of each operation (default: 300)")
    parser.add_argument(
        "--seconds",
        type=float,
        default=2.0,
        metavar="S",
        help="seconds after which fewer calls of an operation will do: 3, or 1 if it alone takes longer (default: 2)",
    )
    parser.add_argument(
        "--parts",
        type=running.choices((*PARTS, "none")),
        default=PARTS,
        metavar="LIST",
        help=f"what to measure (default: {','.join(PARTS)}); none: only what --million asks for",
    )
    parser.add_argument(
        "--million",
        type=int,
        nargs="?",
        const=1_000_000,
        metavar="N",
        help="also compare a namespace of 10,000 files alone with the same in a store of N files "
        "(default N: 1000000; takes 10 minutes and 10 GB)",
    )
    options = parser.parse_args()
    if min(options.sizes) < 2:
        parser.error("--sizes: 2 files at least")
    options.history_edits, options.import_rounds, options.million_namespace = 1_000, 9, 10_000
    if options.quick:
        options.sizes, options.samples, options.seconds = (60,), 3, 0.2
        options.history_edits, options.import_rounds = 20, 1
        options.million_namespace = 100
        options.million = options.million and 1_000
    return options


if __name__ == "__main__":
    running.guarded(main)
