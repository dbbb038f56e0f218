"""The command line of `benchmarks.consolidation`."""

from __future__ import annotations

from argparse import Namespace as Options

from benchmarks.consolidation import idle, peers, runs, schedules
from benchmarks.consolidation.stations import WORKS
from benchmarks.support import bench, running
from benchmarks.support.bench import Bench

PARTS = ("runs", "idle", "schedules", "peers")
_MEASURES = {"runs": runs.measure, "idle": idle.measure, "schedules": schedules.measure, "peers": peers.measure}


def main() -> int:
    """Run what is asked for."""
    return bench.run("benchmarks.consolidation", _options(), _measure)


def _measure(given: Bench) -> None:
    """All parts that are wanted, on each engine."""
    for part in given.options.parts:
        for engine in given.options.engines:
            _MEASURES[part](engine, given)


def _counts(text: str) -> tuple[int, ...]:
    """Whole numbers in a list with commas, 0 among them."""
    return tuple(number - 1 for number in running.numbers(",".join(_raised(part) for part in text.split(","))))


def _raised(part: str) -> str:
    return str(int(part) + 1) if part.strip().isdigit() else part


def _options() -> Options:
    parser = running.parser(
        "benchmarks.consolidation",
        "Time the consolidation of many scopes with a scripted model, and schedules with nothing to do.\n\n"
        "  runs       runs per second with several workers, what a run takes, and memory over the runs\n"
        "  idle       what a worker with nothing to do asks of the database\n"
        "  schedules  what firing costs where few, none or all of many scopes have something new\n"
        "  peers      a run without a model beside a consolidation by cron and time window over LangGraph's stores",
        "examples:\n"
        "  python -m benchmarks.consolidation --json consolidation.json\n"
        "  python -m benchmarks.consolidation --parts runs --engines sqlite --workers 1,2",
    )
    parser.add_argument(
        "--parts",
        type=running.choices(PARTS),
        default=PARTS,
        metavar="LIST",
        help=f"what to measure (default: {','.join(PARTS)})",
    )
    parser.add_argument("--scopes", type=int, default=1_000, metavar="N", help="scopes in `runs` (default: 1000)")
    parser.add_argument("--turns", type=int, default=20, metavar="N", help="turns of each (default: 20)")
    parser.add_argument(
        "--workers", type=running.numbers, default=(1, 2, 4), metavar="LIST", help="processes (default: 1,2,4)"
    )
    parser.add_argument(
        "--concurrency", type=int, default=4, metavar="N", help="scopes side by side in each worker (default: 4)"
    )
    parser.add_argument(
        "--works",
        type=running.choices(WORKS),
        default=WORKS,
        metavar="LIST",
        help="agent: the ready-made one with a scripted model; function: the floor (default: both)",
    )
    parser.add_argument(
        "--idle-seconds", type=float, default=60.0, metavar="S", help="how long `idle` watches (default: 60)"
    )
    parser.add_argument(
        "--schedule-scopes",
        type=running.numbers,
        default=(10_000, 100_000),
        metavar="LIST",
        help="scopes in `schedules`, the first number also those of `idle` (default: 10000,100000)",
    )
    parser.add_argument(
        "--changed", type=int, default=100, metavar="N", help="scopes with something new in `schedules` (default: 100)"
    )
    parser.add_argument(
        "--earlier",
        type=_counts,
        default=(0, 200),
        metavar="LIST",
        help="earlier conversations of each scope in `peers` (default: 0,200)",
    )
    parser.add_argument("--no-peers", action="store_true", help="Memoranda alone")
    parser.add_argument("--samples", type=int, default=200, metavar="N", help="runs of each in `peers` (default: 200)")
    parser.add_argument(
        "--seconds", type=float, default=10.0, metavar="S", help="seconds after which fewer will do (default: 10)"
    )
    options = parser.parse_args()
    if options.quick:
        options.scopes, options.turns, options.workers = 12, 4, (1, 2)
        options.idle_seconds, options.schedule_scopes, options.changed = 0.5, (40, 120), 4
        options.earlier, options.samples, options.seconds = (0, 3), 3, 0.2
    if options.changed * 5 > min(options.schedule_scopes):
        parser.error("--changed: at most a fifth of the smallest of --schedule-scopes")
    return options


if __name__ == "__main__":
    running.guarded(main)
