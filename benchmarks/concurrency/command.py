"""The command line of `benchmarks.concurrency`."""

from __future__ import annotations

from argparse import Namespace as Options

from benchmarks.concurrency import runs
from benchmarks.support import bench, running
from benchmarks.support.bench import Bench


def main() -> int:
    """Run what is asked for."""
    return bench.run("benchmarks.concurrency", _options(), _measure)


def _measure(given: Bench) -> None:
    """All parts that are wanted, each on each engine."""
    measures = {"edits": runs.edits, "writes": runs.writes, "reads": runs.reads}
    for part in given.options.parts:
        for engine in given.options.engines:
            place = runs.Place(engine, given.folder, given.server)
            measures[part](place, given.options, given.console, given.found)


def _options() -> Options:
    parser = running.parser(
        "benchmarks.concurrency",
        "Write the same files from many threads and processes, and count what is lost.\n\n"
        "  edits   edits and appends on 5 files; the same through Deep Agents' StoreBackend over LangGraph's\n"
        "          stores; every reported success is looked for afterwards\n"
        "  writes  distinct files, as fast as it goes: how long a write waits\n"
        "  reads   many readers, first alone, then beside writers, then beside a transaction that stays open",
        "examples:\n"
        "  python -m benchmarks.concurrency --edits 10000 --json concurrency.json\n"
        "  python -m benchmarks.concurrency --parts writes --engines sqlite --seconds 20",
    )
    parser.add_argument(
        "--parts",
        type=running.choices(runs.PARTS),
        default=runs.PARTS,
        metavar="LIST",
        help=f"what to measure (default: {','.join(runs.PARTS)})",
    )
    parser.add_argument(
        "--write-p99",
        dest="parts",
        action="store_const",
        const=("writes",),
        help="the same as --parts writes",
    )
    parser.add_argument("--processes", type=int, default=4, metavar="N", help="processes (default: 4)")
    parser.add_argument("--threads", type=int, default=8, metavar="N", help="threads in each (default: 8)")
    parser.add_argument(
        "--edits", type=int, default=10_000, metavar="N", help="changes of all workers together (default: 10000)"
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=20.0,
        metavar="S",
        help="how long writers write in `writes`, and readers read in each phase of `reads` (default: 20)",
    )
    parser.add_argument(
        "--peer-seconds",
        type=float,
        default=60.0,
        metavar="S",
        help="end a peer's run of `edits` after so long; its losses are of what it did by then (default: 60)",
    )
    parser.add_argument(
        "--readers", type=int, default=1_000, metavar="N", help="readers of all processes (default: 1000)"
    )
    parser.add_argument(
        "--pause",
        type=float,
        default=2.0,
        metavar="S",
        help="mean seconds that a reader waits between two reads (default: 2)",
    )
    parser.add_argument("--no-peers", action="store_true", help="Memoranda alone")
    options = parser.parse_args()
    if options.quick:
        options.processes, options.threads, options.edits, options.seconds = 2, 2, 80, 0.2
        options.peer_seconds, options.readers, options.pause = 3.0, 8, 0.05
    return options
