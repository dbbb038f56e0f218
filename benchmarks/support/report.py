"""Results for people and for machines: tables with ratios, targets met or missed, JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.support import machine as machines


@dataclass(frozen=True, slots=True)
class Target:
    """A figure that was promised.

    Args:
        what: In words.
        value: What was measured.
        limit: What it must not exceed, or must reach.
        unit: Of both.
        at_least: The limit is to be reached.
    """

    what: str
    value: float
    limit: float
    unit: str
    at_least: bool = False

    @property
    def met(self) -> bool:
        """Whether the promise is kept; a figure that is missing keeps none."""
        if math.isnan(self.value):
            return False
        return self.value >= self.limit if self.at_least else self.value <= self.limit


@dataclass(slots=True)
class Report:
    """Everything that one run found out."""

    benchmark: str
    options: dict[str, Any]
    machine: dict[str, Any]
    results: dict[str, Any] = field(default_factory=dict[str, Any])
    targets: list[Target] = field(default_factory=list[Target])
    notes: list[str] = field(default_factory=list[str])

    def promise(self, what: str, value: float, limit: float, unit: str, *, at_least: bool = False) -> None:
        """Hold a figure against its target."""
        self.targets.append(Target(what, value, limit, unit, at_least))

    def show_machine(self, console: Console) -> None:
        """Print what this runs on."""
        console.print(f"[bold]{self.benchmark}[/bold]")
        for line in machines.lines(self.machine):
            console.print(line, style="dim")

    def show_targets(self, console: Console) -> None:
        """Print which targets are met."""
        for note in self.notes:
            console.print(f"note: {note}", style="dim")
        if not self.targets:
            return
        table = Table(title="Targets", title_justify="left")
        table.add_column("what")
        table.add_column("measured", justify="right")
        table.add_column("target", justify="right")
        table.add_column("")
        for target in self.targets:
            sign = "≥" if target.at_least else "≤"
            mark = "[green]met[/green]" if target.met else "[bold red]missed[/bold red]"
            table.add_row(target.what, f"{_short(target.value)} {target.unit}", f"{sign} {_short(target.limit)}", mark)
        console.print(table)
        missed = sum(not target.met for target in self.targets)
        console.print(f"{len(self.targets) - missed} of {len(self.targets)} targets met")

    def save(self, path: Path) -> None:
        """Write everything as JSON."""
        content = asdict(self)
        content["targets"] = [asdict(target) | {"met": target.met} for target in self.targets]
        path.write_text(json.dumps(_plain(content), indent=2, ensure_ascii=False) + "\n")


def comparison(
    title: str, measured: Mapping[str, Mapping[str, Mapping[str, float]]], contenders: Sequence[str]
) -> Table:
    """A table of operations by contenders, the first of which is ours.

    Args:
        title: Of the table.
        measured: Operation, contender, summary of its samples.
        contenders: The columns, ours first; other cells carry the ratio ours / theirs.
    """
    table = Table(
        title=title,
        title_justify="left",
        caption="ms: p50 · p95"
        if len(contenders) == 1
        else "ms: p50 · p95 (once: it took so long that it was called once); "
        "in brackets the first column's p50 / this one's (below 1: the first is faster)",
        caption_justify="left",
    )
    table.add_column("operation")
    for name in contenders:
        table.add_column(name, justify="right")
    for operation, by_contender in measured.items():
        ours = by_contender.get(contenders[0])
        cells: list[str] = []
        for name in contenders:
            theirs = by_contender.get(name)
            if theirs is None:
                cells.append("–")
                continue
            text = f"{_short(theirs['p50_ms'])} · {_short(theirs['p95_ms'])}"
            if theirs["count"] == 1:
                text = f"{_short(theirs['p50_ms'])} once"
            if theirs["wrong"]:
                text = f"[bold red]{theirs['wrong']} of {theirs['count']} wrong[/] {text}"
            if ours is not None and name != contenders[0]:
                ratio = ours["p50_ms"] / theirs["p50_ms"]
                style = "green" if ratio <= 1 else "yellow"
                text += f" [{style}]({_short(ratio)}×)[/{style}]"
            cells.append(text)
        table.add_row(operation, *cells)
    return table


def _short(value: float) -> str:
    """Three significant digits, no exponent."""
    if math.isnan(value):
        return "none"
    if value == 0:
        return "0"
    digits = max(2 - math.floor(math.log10(abs(value))), 0)
    return f"{value:,.{min(digits, 5)}f}"


def _plain(content: Any) -> Any:
    """The same without NaN, which JSON does not know."""
    if isinstance(content, dict):
        return {str(name): _plain(value) for name, value in content.items()}
    if isinstance(content, (list, tuple)):
        return [_plain(value) for value in content]
    if isinstance(content, float) and math.isnan(content):
        return None
    return content
