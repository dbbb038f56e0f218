"""The figures for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from benchmarks.recall.measures import MEASURES, interval
from benchmarks.recall.targets import BASE
from memoranda.evaluation import Dataset, Run

Figures = Mapping[str, Mapping[str, Any]]
Differences = Mapping[str, Mapping[str, tuple[float, float]]]


def figures_table(dataset: Dataset, figures: Figures, differences: Differences) -> Table:
    """Contenders by measures, the best of each measure marked."""
    aside = f"; {', '.join(sorted(dataset.aside))} aside" if dataset.aside else ""
    size = f"{len(dataset.scopes)} scopes, {dataset.messages:,} turns, {dataset.questions:,} questions"
    made = Table(title=f"{dataset.name}: {size}{aside}", title_justify="left")
    made.add_column("")
    for name in (*MEASURES, "p50 ms", "p95 ms", f"recall@10 over {BASE}"):
        made.add_column(name, justify="right")
    best = {name: max(values[name] for values in figures.values()) for name in MEASURES}
    for who, values in figures.items():
        cells = [
            f"[bold]{values[name]:.3f}[/bold]" if values[name] == best[name] else f"{values[name]:.3f}"
            for name in MEASURES
        ]
        over = differences.get(who, {}).get("recall@10")
        cells += [
            f"{values['p50_ms']:.2f}",
            f"{values['p95_ms']:.2f}",
            f"{over[0]:+.3f} … {over[1]:+.3f}" if over else "",
        ]
        made.add_row(who, *cells)
    return made


def categories_table(dataset: Dataset, figures: Figures) -> Table:
    """Recall@10 by category."""
    made = Table(title=f"{dataset.name}: recall@10 by category", title_justify="left")
    made.add_column("")
    names = list(next(iter(figures.values()))["categories"]) if figures else []
    for name in names:
        made.add_column(name.partition("_")[0], justify="right")
    for who, values in figures.items():
        made.add_row(who, *(f"{values['categories'][name]:.3f}" for name in names))
    return made


def differences(runs: Mapping[str, Run]) -> Differences:
    """How far each contender is from FTS5 with Porter's stems: 95 % intervals of the differences."""
    if BASE not in runs:
        return {}
    base = runs[BASE].main
    return {
        name: {measure: interval(run.main, base, measure) for measure in ("recall@10", "ndcg@10")}
        for name, run in runs.items()
        if name != BASE
    }


def unlike(runs: Mapping[str, Run]) -> dict[str, int]:
    """For whatever was asked of both engines, how many questions they answered otherwise."""
    found: dict[str, int] = {}
    for name, run in runs.items():
        other = runs.get(name.replace("(sqlite)", "(postgres)"))
        if name.endswith("(sqlite)") and other is not None:
            pairs = zip(run.answers, other.answers, strict=True)
            found[name.removesuffix(" (sqlite)")] = sum(one.ranked != two.ranked for one, two in pairs)
    return found
