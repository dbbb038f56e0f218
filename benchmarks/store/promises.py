"""The targets that these figures are held against."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from benchmarks.store.imports import OURS as IMPORT
from benchmarks.store.imports import opening
from benchmarks.store.stocks import LABELS, OURS
from benchmarks.support.report import Report

Summaries = Mapping[str, Mapping[str, Mapping[str, float]]]

_SINGLE = ("ls one folder", "glob one folder", "grep one file", "delete one")
_WRITES = ("put, create", "put, 3 lines changed", "put, all new")


def operations(found: Report, engine: str, size: int, measured: Summaries) -> None:
    """Hold single operations against their limits, and against the peer's."""
    where = f"{engine}, {size:,} files"

    def p50(operation: str, contender: str = OURS) -> float:
        return measured[operation].get(contender, {}).get("p50_ms", math.nan)

    limit = {"sqlite": 5.0, "postgres": 10.0}[engine]
    for operation in _SINGLE:
        found.promise(f"{where}: {operation}, p50", p50(operation), limit, "ms")
    if engine == "sqlite":
        for operation in _WRITES:
            found.promise(f"{where}: {operation}, with history, p50", p50(operation), 0.15, "ms")
        found.promise(f"{where}: get, p50", p50("get"), 0.025, "ms")
        return
    peer = LABELS[engine]
    for operation in ("get", "edit one line", *_WRITES):
        ratio = p50(operation) / p50(operation, peer)
        if not math.isnan(ratio):
            found.promise(f"{where}: {operation}, with history / {peer} without, p50", ratio, 1.0, "×")


def imports(found: Report, measured: Mapping[str, Mapping[str, float]], engines: tuple[str, ...]) -> None:
    """Hold import and opening against LangGraph's import."""
    found.promise("import memoranda, median", measured[IMPORT]["median_s"], 0.1, "s")
    for engine in engines:
        theirs = measured[f"import langgraph.store.{engine}"]["median_s"]
        ratio = measured[opening(engine)]["median_s"] / theirs
        found.promise(f"{engine}: import and open_store / import langgraph.store.{engine}, median", ratio, 1.2, "×")


def history(found: Report, engine: str, edits: int, measured: Mapping[str, Any]) -> None:
    """Hold the size of a history and the way into the past against their limits."""
    what = f"{engine}: {edits:,} one-line edits of a 100 KB file"
    found.promise(f"{what}: history with indexes", measured["history_bytes"] / 1e6, 3.0, "MB")
    found.promise(f"{what}: get_at(1), p50", measured["get_at_1_p50_ms"], 50, "ms")
    found.promise(f"{what}: get_at of any revision, longest", measured["get_at_any_max_ms"], 50, "ms")
    found.promise(f"{what}: blame, p50", measured["blame_p50_ms"], 50, "ms")


def million(found: Report, engine: str, measured: Summaries, large: str, small: str) -> None:
    """Hold a namespace of a large store against the same namespace alone."""
    for operation in (*_SINGLE, "get", *_WRITES):
        by_store = measured[operation]
        ratio = by_store[large]["p50_ms"] / by_store[small]["p50_ms"]
        what = f"{engine}: {operation}, {large} / {small.removeprefix(OURS).lstrip(', ')}, p50"
        found.promise(what, ratio, 2.0, "×")
