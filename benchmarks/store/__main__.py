"""The command line of `benchmarks.store`."""

from __future__ import annotations

from argparse import Namespace as Options
from contextlib import ExitStack, nullcontext

from rich.console import Console

from benchmarks.store import operations
from benchmarks.store.stocks import OURS, stocks
from benchmarks.support import machine, report, running
from benchmarks.support.measure import Budget
from benchmarks.support.postgres import running_server, settings

PARTS = ("operations", "imports", "history")


def main() -> int:
    """Run what is asked for."""
    options = _options()
    console = running.console()
    with ExitStack() as stack:
        folder = stack.enter_context(running.workplace(options.folder))
        server = None
        if "postgres" in options.engines and options.parts != ("imports",):
            server = stack.enter_context(running_server(options.postgres_url))
        found = report.Report(
            "benchmarks.store",
            {name: value for name, value in vars(options).items() if name not in ("json", "postgres_url", "folder")},
            machine.describe(settings(server) if server else None),
        )
        found.show_machine(console)
        if "operations" in options.parts:
            for size in options.sizes:
                for engine in options.engines:
                    _operations(options, console, found, engine, size, folder, server)
        found.show_targets(console)
        if options.json:
            found.save(options.json)
    return int(options.strict and any(not target.met for target in found.targets))


def _operations(options: Options, console: Console, found, engine, size, folder, server) -> None:
    peers = not options.no_peers and size <= options.peer_limit
    budget = Budget(samples=options.samples, seconds=options.seconds)
    with running.bars() as progress:
        filling = progress.add_task(f"{engine}, {size:,} files: filling", total=size * (3 if peers else 1))
        with stocks(
            engine,
            size,
            folder=folder,
            server=server,
            peers=peers,
            progress=lambda name, count: progress.update(
                filling, advance=count, description=f"{engine}, {size:,} files: filling {name}"
            ),
        ) as entries:
            progress.remove_task(filling)
            timing = progress.add_task(f"{engine}, {size:,} files", total=10)
            measured = operations.measure(
                entries,
                size,
                budget,
                lambda name: progress.update(
                    timing, advance=1, description=f"{engine}, {size:,} files: {name}"
                ),
            )
            contenders = [entry.contender.name for entry in entries]
    summaries = {
        operation: {name: samples.summary() for name, samples in by_name.items()}
        for operation, by_name in measured.items()
    }
    found.results[f"{engine}/{size}"] = summaries
    title = f"{engine}, {size:,} files of 2 KB in 50 folders"
    if not peers and not options.no_peers:
        title += f" (peers left out above --peer-limit {options.peer_limit:,})"
    console.print(report.comparison(title, summaries, contenders))


def _options() -> Options:
    parser = running.parser(
        "benchmarks.store",
        "Time put, get, edit, ls, glob, grep and delete beside LangGraph's stores and Deep Agents' StoreBackend.",
        "example:\n  python -m benchmarks.store --sizes 100,1000 --engines sqlite --json store.json",
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
    parser.add_argument(
        "--samples", type=int, default=300, metavar="N", help="calls of each operation (default: 300)"
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=2.0,
        metavar="S",
        help="seconds after which fewer calls of one operation will do, 3 at least (default: 2)",
    )
    parser.add_argument(
        "--parts",
        type=lambda text: tuple(text.split(",")),
        default=PARTS,
        metavar="LIST",
        help=f"what to measure (default: {','.join(PARTS)})",
    )
    options = parser.parse_args()
    if set(options.parts) - set(PARTS):
        parser.error(f"--parts takes {', '.join(PARTS)}")
    if options.quick:
        options.sizes, options.samples, options.seconds = (60,), 3, 0.2
    return options


if __name__ == "__main__":
    running.guarded(main)
