"""Worlds of files behind a guard: each kind of backend with the same public and hidden files in it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any
from unicodedata import normalize

from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

from memoranda.backends import Backend
from memoranda.backends.tree import merge_file_states

CANARY = "CANARY-5f2c"
"""What no result may hold."""

HIDDEN: dict[str, str] = {
    "/secrets/.env": f"key={CANARY}\n",
    "/secrets/plan.md": f"first {CANARY}\nsecond {CANARY}\n",
    "/secrets/.ssh/id": f"{CANARY}\n",
    "/secrets/deep/café/.hidden/note.md": f"{CANARY}\n",
}
PUBLIC: dict[str, str] = {
    "/pub/a.md": "alpha\nbeta\n",
    "/pub/.dot": "dotted\n",
    "/pub/sub/b.md": "gamma\n",
    "/top.md": "top\n",
}

Scenario = Generator[tuple[str, tuple[Any, ...], dict[str, Any]], Any, None]


class FilesState(TypedDict):
    files: Annotated[dict[str, Any], merge_file_states]


@dataclass
class World:
    """Files behind a backend.

    Args:
        name: The kind of backend.
        backend: It, without a guard.
        snapshot: Everything that the storage holds, whatever the backend shows of it.
        hidden: The paths by which hidden files are known here, links and twins included.
        inside_graph: The files to run a graph with, where the files live in its state.
        denied: What rules have to deny here, so that nothing hidden can be reached.
        has_history: Whether files keep revisions.
    """

    name: str
    backend: Backend
    snapshot: Callable[[], dict[str, bytes]]
    hidden: list[str] = field(default_factory=lambda: list(HIDDEN))
    inside_graph: dict[str, Any] | None = None
    denied: list[str] = field(default_factory=lambda: ["/secrets/**"])
    has_history: bool = False

    def run(self, backend: Any, scenario: Callable[[], Scenario], *, is_async: bool) -> None:
        """Run a scenario against a backend, blocking or async, in a graph where the files need one."""
        if self.inside_graph is None:
            if is_async:
                asyncio.run(adrive(backend, scenario()))
            else:
                drive(backend, scenario())
            return

        def node(state: FilesState) -> dict[str, Any]:
            drive(backend, scenario())
            return {}

        async def anode(state: FilesState) -> dict[str, Any]:
            await adrive(backend, scenario())
            return {}

        builder = StateGraph(FilesState)
        builder.add_node("work", anode if is_async else node)
        builder.add_edge(START, "work")
        builder.add_edge("work", END)
        graph = builder.compile()
        files = {"files": self.inside_graph}
        final = asyncio.run(graph.ainvoke(files)) if is_async else graph.invoke(files)
        self.inside_graph = final["files"]


def drive(backend: Any, scenario: Scenario) -> None:
    """Run a scenario with the blocking methods."""
    try:
        method, args, kwargs = next(scenario)
        while True:
            method, args, kwargs = scenario.send(getattr(backend, method)(*args, **kwargs))
    except StopIteration:
        pass


async def adrive(backend: Any, scenario: Scenario) -> None:
    """Run a scenario with the async methods."""
    try:
        method, args, kwargs = next(scenario)
        while True:
            method, args, kwargs = scenario.send(await getattr(backend, "a" + method)(*args, **kwargs))
    except StopIteration:
        pass


def forms(path: str) -> list[str]:
    """Ways to write one path, and paths that only look like it."""
    folder, _, name = path.rpartition("/")
    found = [
        path,
        path.lstrip("/"),
        "/" + path,
        folder + "//" + name,
        folder + "/./" + name,
        path + "/",
        path + "//",
        path.replace("/", "\\"),
        "/pub/.." + path,
        "/pub/../" + path,
        normalize("NFD", path),
        normalize("NFKD", path),
        path.upper(),
        path.capitalize(),
        path.replace("s", "ſ"),  # folds to an s
        path.replace("/", "／"),  # looks like a slash
        path + " ",
        path + "\u200b",
        "~" + path,
        path + "\0",
        "C:" + path,
    ]
    return list(dict.fromkeys(found))


def said(result: Any) -> str:
    """All that a result holds, bytes as text included."""
    if isinstance(result, bytes):
        return result.decode("utf-8", "replace")
    if isinstance(result, Mapping):
        return " ".join(f"{said(key)} {said(value)}" for key, value in result.items())
    if isinstance(result, (list, tuple)):
        return " ".join(said(one) for one in result)
    if hasattr(result, "__dict__"):
        return said(vars(result))
    if hasattr(result, "__slots__"):
        return " ".join(said(getattr(result, name)) for name in result.__slots__)
    return str(result)


def store_snapshot(*stores: Any) -> Callable[[], dict[str, bytes]]:
    """Everything in stores, by store, namespace and key."""

    def snapshot() -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        for number, store in enumerate(stores):
            for item in store.search((), limit=10_000):
                content = item.value["content"]
                found[f"{number}|{'/'.join(item.namespace)}|{item.key}"] = (
                    content if isinstance(content, str) else "\n".join(content)
                ).encode()
        return found

    return snapshot
