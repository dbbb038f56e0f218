"""How long it takes until a store can be used: importing and opening, in fresh processes."""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections.abc import Callable

_TIMED = """
from time import perf_counter
start = perf_counter()
{statement}
print(perf_counter() - start)
"""
OURS = "import memoranda"


def opening(engine: str) -> str:
    """What importing and opening our own store on an engine is called."""
    return f"import and open_store, {engine}"


def statements(urls: dict[str, str]) -> dict[str, str]:
    """What is timed, by name.

    Args:
        urls: Of a store that exists, for each engine.
    """
    made = {
        OURS: OURS,
        "import langgraph.store.base": "import langgraph.store.base",
        "import langgraph.store.memory": "import langgraph.store.memory",
    }
    for engine, url in urls.items():
        made[opening(engine)] = f"from memoranda import open_store; store = open_store({url!r})"
        made[f"import langgraph.store.{engine}"] = f"import langgraph.store.{engine}"
    return made


def turns(rounds: int) -> int:
    """How often everything is started: once more than counted, to compile and to fill the page cache."""
    return rounds + (rounds > 1)


def measure(urls: dict[str, str], rounds: int, progress: Callable[[str], None]) -> dict[str, dict[str, float]]:
    """Time every statement, in turns.

    Args:
        urls: Of a store that exists, for each engine.
        rounds: How often.
        progress: Called with the name of each statement.

    Returns:
        The median and the shortest time of each, in seconds.
    """
    taken: dict[str, list[float]] = {}
    for turn in range(turns(rounds)):
        for name, statement in statements(urls).items():
            progress(name)
            code = _TIMED.format(statement=statement)
            output = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
            if turn or rounds == 1:
                taken.setdefault(name, []).append(float(output.stdout))
    return {name: {"median_s": statistics.median(times), "shortest_s": min(times)} for name, times in taken.items()}
