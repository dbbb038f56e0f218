"""The command line of `benchmarks.turn`."""

from __future__ import annotations

from argparse import Namespace as Options
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from langgraph.store.memory import InMemoryStore

from benchmarks.support import bench, running
from benchmarks.support.bench import Bench
from benchmarks.support.contenders import fill
from benchmarks.support.measure import Budget
from benchmarks.support.postgres import database, settle
from benchmarks.turn import turns
from benchmarks.turn.agents import MEMORY, Agent, bare, ours, ours_guarded, stock, theirs
from memoranda import open_store

NAMESPACE = ("acme", "ann")
OURS, PEER = "Memoranda", "Deep Agents / InMemoryStore"
NOTE = (
    "Deep Agents reads memory and skills once in a thread and never again; Memoranda looks at every call, "
    "so that a change is in the next one"
)
LIMIT = 5.0
"""Milliseconds that memory and skills may add to a turn, at the median, on SQLite."""


def main() -> int:
    """Run what is asked for."""
    return bench.run("benchmarks.turn", _options(), _measure, notes=[NOTE])


def _measure(given: Bench) -> None:
    for engine in given.options.engines:
        _on(engine, given)


def _on(engine: str, given: Bench) -> None:
    """Everything on one engine."""
    options, console, found = given.options, given.console, given.found
    where = f"{engine}, {options.files:,} files"
    plain = bare()
    with running.bars() as progress:
        task = progress.add_task(f"{where}: filling", total=4)
        with _agents(engine, options, given.folder, given.server) as agents:
            measured = turns.measure(
                agents,
                plain,
                Budget(samples=options.samples, seconds=options.seconds),
                lambda kind: progress.update(task, advance=1, description=f"{where}: {kind}"),
            )
    overheads = turns.overheads(measured, plain.name)
    whole = {kind: {name: taken.summary() for name, taken in by_name.items()} for kind, by_name in measured.items()}
    found.results[engine] = {"turns": whole, "overhead": overheads}
    of_what = f"{len(MEMORY)} memory files of {options.memory_bytes:,} bytes and {options.skills} skills"
    console.print(turns.table(f"{where}: what {of_what} add to a turn", overheads))
    bare_turns = ", ".join(
        f"{kind} {by_name[plain.name]['p50_ms']:.2f}" for kind, by_name in whole.items() if plain.name in by_name
    )
    console.print(f"turns without memory, p50 in ms: {bare_turns}", style="dim")
    if not options.no_peers:
        first = overheads[turns.FIRST]
        ratio = first[OURS]["p50_ms"] / first[PEER]["p50_ms"]
        found.promise(f"{where}: {OURS} / {PEER}, {turns.FIRST}, p50", ratio, 1.0, "×")
    if engine == "sqlite":
        for kind, by_name in overheads.items():
            for name in (OURS, f"{OURS}, guarded"):
                found.promise(f"{where}: {name}, {kind}, p50", by_name[name]["p50_ms"], LIMIT, "ms")


@contextmanager
def _agents(engine: str, options: Options, folder: Path, server: str | None) -> Iterator[list[Agent]]:
    """All contenders of one engine, ours first, each with the same files behind it."""
    size, skills, memory_bytes = options.files, options.skills, options.memory_bytes
    expected = [*MEMORY, "Reference: MEM-0000009", "skill-00", f"skill-{skills - 1:02}"]
    with ExitStack() as stack:
        where = str(folder / "turn.db")
        if engine == "postgres":
            assert server is not None
            where = stack.enter_context(database(server, "memoranda_bench_turn"))
        store = stack.enter_context(open_store(where if engine == "postgres" else f"sqlite:///{where}"))
        memory = InMemoryStore()
        for each in [store] if options.no_peers else [store, memory]:
            fill(each, NAMESPACE, stock(size, skills, memory_bytes), lambda _: None)
        if engine == "postgres":
            settle(where)
        agents = [
            ours(OURS, store, NAMESPACE, expected),
            ours_guarded(f"{OURS}, guarded", store, NAMESPACE, expected),
        ]
        if not options.no_peers:
            agents.append(theirs(f"Deep Agents / {OURS}", store, NAMESPACE, expected))
            agents.append(theirs(PEER, memory, NAMESPACE, expected))
        yield agents


def _options() -> Options:
    parser = running.parser(
        "benchmarks.turn",
        "Time what memory and skills in the prompt add to a turn of an agent, beside Deep Agents' own middleware.",
        "examples:\n  python -m benchmarks.turn --engines sqlite --json turn.json\n"
        "  python -m benchmarks.turn --files 1000 --no-peers",
    )
    parser.add_argument(
        "--files", type=int, default=10_000, metavar="N", help="files in the namespace (default: 10000)"
    )
    parser.add_argument("--skills", type=int, default=50, metavar="N", help="skills among them (default: 50)")
    parser.add_argument(
        "--memory-bytes", type=int, default=2_048, metavar="N", help="bytes of each of 10 memory files (default: 2048)"
    )
    parser.add_argument("--no-peers", action="store_true", help="Memoranda alone")
    parser.add_argument("--samples", type=int, default=300, metavar="N", help="turns of each kind (default: 300)")
    parser.add_argument(
        "--seconds",
        type=float,
        default=10.0,
        metavar="S",
        help="seconds after which fewer turns of a kind will do: 3, or 1 if it alone takes longer (default: 10)",
    )
    options = parser.parse_args()
    if options.skills < 1 or options.files < len(MEMORY) + options.skills:
        parser.error(f"--files: at least {len(MEMORY)} of memory and one of each skill")
    if options.quick:
        options.files, options.skills, options.samples, options.seconds = 40, 5, 3, 0.2
    return options


if __name__ == "__main__":
    running.guarded(main)
