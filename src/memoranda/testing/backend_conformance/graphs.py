"""Running a check inside a graph, for backends that keep their files in its state."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Annotated, Any, TypedDict

from memoranda.backends.tree import merge_file_states


class _Files(TypedDict, total=False):
    files: Annotated[dict[str, Any], merge_file_states]


def in_graph(check: Callable[[], None], *, schema: Any = _Files, store: Any = None) -> None:
    """Run something as the one step of a graph, in a thread of its own with an empty state.

    Args:
        check: What to run; what it raises is raised.
        schema: The state of the graph; by default one with a channel `files`, as our agents have it.
        store: What the graph is compiled with.

    Example:
        >>> from memoranda.backends import StateBackend
        >>> in_graph(lambda: print(StateBackend().write("/tea.md", "green").path))
        /tea.md
    """
    graphs: Any = import_module("langgraph.graph")  # an extra, and without stubs

    def step(_: Any) -> None:
        check()

    graph = graphs.StateGraph(schema)
    graph.add_node("check", step)
    graph.add_edge(graphs.START, "check")
    graph.compile(store=store).invoke({"files": {}}, {"configurable": {"thread_id": "check"}})
