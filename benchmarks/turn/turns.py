"""How long turns take, with and without memory, and how long its middleware takes by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from rich.table import Table

from benchmarks.support.measure import Budget, Samples, Trial, race
from benchmarks.turn.agents import Agent

FIRST, LATER, ASYNC = "first turn of a thread", "later turn", "first turn, in an event loop"
ALONE = "middleware alone, blocking"
POINTS = {"p50_ms": 0.5, "p95_ms": 0.95}

Summaries = dict[str, dict[str, dict[str, float]]]


def measure(
    agents: Sequence[Agent], bare: Agent, budget: Budget, progress: Callable[[str], None]
) -> dict[str, dict[str, Samples]]:
    """Time turns of every agent side by side with those of the bare one.

    Args:
        agents: The contenders.
        bare: The agent without memory.
        budget: How much to measure.
        progress: Called with the name of each kind.

    Returns:
        Kind, contender, samples.
    """
    loop = asyncio.new_event_loop()
    results: dict[str, dict[str, Samples]] = {}
    try:
        for kind in (FIRST, LATER, ASYNC):
            progress(kind)
            results[kind] = race([_trial(kind, agent, loop) for agent in [*agents, bare]], budget)
    finally:
        loop.close()
    progress(ALONE)
    results[ALONE] = race([Trial(agent.name, int, agent.alone, agent.check_alone) for agent in agents], budget)
    return results


def _trial(kind: str, agent: Agent, loop: asyncio.AbstractEventLoop) -> Trial:
    call = partial(agent.async_turn, loop) if kind == ASYNC else agent.turn
    return Trial(agent.name, agent.used_thread if kind == LATER else agent.new_thread, call, agent.check)


def overheads(measured: Mapping[str, Mapping[str, Samples]], bare: str) -> Summaries:
    """What memory adds to a turn: the quantiles of turns with it less the median of turns without.

    Args:
        measured: As `measure` gives it.
        bare: The name of the agent without memory.
    """
    found: Summaries = {}
    for kind, by_name in measured.items():
        plain = by_name[bare].quantile(0.5) if bare in by_name else 0.0
        found[kind] = {
            name: {point: (taken.quantile(share) - plain) * 1_000 for point, share in POINTS.items()}
            for name, taken in by_name.items()
            if name != bare
        }
    return found


def table(title: str, found: Summaries) -> Table:
    """The overheads for people."""
    made = Table(title=title, title_justify="left", caption="ms: p50 · p95", caption_justify="left")
    made.add_column("")
    names = list(dict.fromkeys(name for by_name in found.values() for name in by_name))
    for name in names:
        made.add_column(name, justify="right")
    for kind, by_name in found.items():
        made.add_row(kind, *(f"{by_name[name]['p50_ms']:.2f} · {by_name[name]['p95_ms']:.2f}" for name in names))
    return made
