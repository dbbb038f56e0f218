"""`bench`: measure recall on a copy of a published set of conversations."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from memoranda.cli.command import WHOLE, command
from memoranda.cli.failures import UsageError
from memoranda.cli.opening import index_setting, open_to_write
from memoranda.cli.output import Part, counted, printable
from memoranda.cli.session import Session

if TYPE_CHECKING:
    from memoranda.evaluation import Dataset, Run
    from memoranda.store.store import MemoryStore


@command(
    "bench",
    "memoranda bench locomo --data locomo10.json",
    "memoranda bench memdaily --data messages_and_QAs/ --embed local --limit 200",
    panel=WHOLE,
)
def bench(
    session: Session,
    name: Annotated[
        Literal["locomo", "memdaily", "beam"],
        typer.Argument(metavar="SET", help="locomo, memdaily or beam.", show_default=False),
    ],
    data: Annotated[
        Path,
        typer.Option("--data", metavar="FILE", help="The file or folder of it that you have.", show_default=False),
    ],
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit", metavar="N", min=1, help="Only the first so many questions, and what these are asked of."
        ),
    ] = None,
) -> None:
    """Measure how much of what is asked for is among the first found, on conversations with labelled questions.

    The conversations are recorded in a store in memory, or with --store in that one, which has to be empty, and the
    questions are put to `recall`: by words, and with --embed by meaning too. No language model takes part, and nothing
    is downloaded.
    """
    from memoranda.evaluation import ask, load, record

    dataset = load(name, data)
    dataset = dataset if limit is None else dataset.cut(limit)
    with _empty_store(session) as store:
        with session.out.progress(f"Recording {name}") as advance:
            record(store, dataset, progress=advance)
        if index_setting(session.settings) is not None:
            with session.out.progress("Embedding") as advance:
                store.reindex(progress=advance, keep_old=True)
        with session.out.progress("Asking") as advance:
            run = ask(store, dataset, progress=advance)
        _show(session, store, dataset, run)


@contextmanager
def _empty_store(session: Session) -> Generator[MemoryStore]:
    """A store for the set alone: in memory, unless the command line itself names one."""
    from memoranda.evaluation.asking import ROOT

    url = session.given.store
    with open_to_write(replace(session.settings, store=url or "memory://")) as store:
        if store.stats().namespaces or store.threads((), below=True, limit=1):
            raise UsageError(
                "The store holds something, and a benchmark shall neither read nor change it.",
                "Name an empty one with --store, such as --store sqlite:///bench.db, or none.",
            )
        try:
            yield store
        finally:
            if url is not None:
                store.forget((ROOT,), below=True, vacuum=False)


def _show(session: Session, store: MemoryStore, dataset: Dataset, run: Run) -> None:
    summary, index = run.summary(), store.index_status().in_use
    embedder = None if index is None else index.name
    if session.json:
        session.out.data(
            {
                "set": dataset.name,
                "scopes": len(dataset.scopes),
                "messages": dataset.messages,
                "questions": len(run.main),
                "engine": store.engine.name,
                "embedder": embedder,
                **summary,
                "categories": {name: {"questions": n, **found} for name, (n, found) in run.categories().items()},
                "aside": sorted(dataset.aside),
            }
        )
        return
    how = "words" if embedder is None else f"words and the meaning that {printable(embedder)} sees"
    session.out.line(
        (dataset.name, "bold"),
        f": {counted(len(dataset.scopes), 'scope')}, {counted(dataset.messages, 'message')}, "
        f"{counted(dataset.questions, 'question')}; by {how}, in {store.engine.name}.",
    )
    measures = ("recall@5", "recall@10", "ndcg@10")
    rows: list[list[Part]] = [["", ("questions", "dim"), *((name, "dim") for name in measures)]]
    for category, (questions, found) in run.categories().items():
        aside = " (aside)" if category in dataset.aside else ""
        rows.append([f"{category}{aside}", f"{questions:,}", *_cells(found, measures)])
    rows.append([("all", "bold"), f"{len(run.main):,}", *((cell, "bold") for cell in _cells(summary, measures))])
    session.out.rows(rows, right=frozenset({1, 2, 3, 4}))
    if "p50_ms" in summary:
        session.out.line(f"A question takes {summary['p50_ms']:.1f} ms, 95 % at most {summary['p95_ms']:.1f} ms.")


def _cells(found: dict[str, Any], measures: tuple[str, ...]) -> list[str]:
    return [f"{found[name]:.3f}" for name in measures]
