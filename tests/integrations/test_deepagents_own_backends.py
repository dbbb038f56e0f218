"""Our store under Deep Agents' own backends: it is a LangGraph store there, with a history behind it."""

from __future__ import annotations

from typing import Any

import pytest
from deepagents.backends import CompositeBackend, StateBackend, StoreBackend

from memoranda import MemoryStore
from memoranda.testing.scripted import call, calls, say
from tests.integrations.support import WAYS, agent, answers, keys_in, run, text_in

ANN = ("ann",)


def backend() -> Any:
    return CompositeBackend(default=StateBackend(), routes={"/memories/": StoreBackend(namespace=lambda _: ANN)})


@pytest.mark.parametrize("way", WAYS)
def test_their_backends_on_our_store(store: MemoryStore, way: str) -> None:
    store.write(("ann", "private"), "/secret.md", "not in this scope")
    script = [
        calls(
            ("write_file", {"file_path": "/memories/tea.md", "content": "green"}),
            ("write_file", {"file_path": "/memories/gone.md", "content": "x"}),
        ),
        call("edit_file", file_path="/memories/tea.md", old_string="green", new_string="black"),
        call("delete", file_path="/memories/gone.md"),
        call("read_file", file_path="/memories/tea.md"),
        say("Done."),
    ]
    state = run(agent(script, backend=backend(), store=store), "Work.", way=way)
    assert keys_in(store, ANN) == ["/tea.md"] and text_in(store, ANN, "/tea.md") == "black"
    assert [entry.operation for entry in store.history(ANN, "/tea.md")] == ["write", "write"]
    assert store.get_at(ANN, "/tea.md", revision=1).value["content"] == "green"
    assert "black" in answers(state)[-1]


@pytest.mark.parametrize("way", WAYS)
def test_their_memory_on_our_store(store: MemoryStore, way: str) -> None:
    store.write(ANN, "/AGENTS.md", "Ann likes green tea.")
    graph = agent(["Green."], backend=backend(), store=store, memory=["/memories/AGENTS.md"])
    run(graph, "Tea?", way=way)
    edit = call("edit_file", file_path="/memories/AGENTS.md", old_string="green", new_string="black")
    run(agent([edit, say("Noted.")], backend=backend(), store=store, memory=["/memories/AGENTS.md"]), "Black.", way=way)
    assert text_in(store, ANN, "/AGENTS.md") == "Ann likes black tea."
    assert len(store.history(ANN, "/AGENTS.md")) == 2
