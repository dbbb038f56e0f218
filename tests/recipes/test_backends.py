"""Ways to give an agent its backend: instances, factories of older releases, policies, another database."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from deepagents.backends import StoreBackend as TheirStoreBackend
from langgraph.store.memory import InMemoryStore

from memoranda import MemoryStore, open_store
from memoranda.backends import (
    CompositeBackend,
    FilesystemPermission,
    GuardedBackend,
    Refuse,
    StateBackend,
    StoreBackend,
    WriteEvent,
    by_user,
)
from memoranda.backends.protocol import WriteResult
from memoranda.testing.scripted import call, calls, say
from tests.recipes.support import Context, agent, answers, aturn, tree, turn

WRITE = call("write_file", file_path="/memories/tea.md", content="green")
ANN = Context(user_id="ann")


@pytest.mark.parametrize(
    "backend",
    [
        CompositeBackend(StateBackend(), {"/memories/": StoreBackend(namespace=by_user)}),
        CompositeBackend(default=StateBackend(), routes={"/memories": StoreBackend(namespace=lambda rt: ("ann",))}),
        lambda rt: CompositeBackend(
            default=StateBackend(rt),
            routes={"/memories/": StoreBackend(rt, namespace=lambda rt: (rt.context.user_id,))},
        ),
        lambda rt: CompositeBackend(
            default=StateBackend(rt),
            routes={"/memories/": StoreBackend(rt, namespace=lambda ctx: (ctx.runtime.context.user_id,))},
        ),
        lambda rt: CompositeBackend(
            StateBackend(rt), {"/memories/": StoreBackend(rt, namespace=(rt.context.user_id,))}
        ),
    ],
    ids=["instance", "keywords", "factory", "factory-older-context", "factory-reads-runtime"],
)
@pytest.mark.parametrize("runs", ["blocking", "async"])
def test_instances_and_factories(store: MemoryStore, backend: Any, runs: str) -> None:
    """Deep Agents 0.7 refuses a function as `backend`, although its guide still shows one; both forms work here."""
    plan = call("write_file", file_path="/plan.md", content="scratch")
    graph, _ = agent([WRITE, plan, say("Done.")], backend=backend, context_schema=Context, store=store)
    state = turn(graph, context=ANN) if runs == "blocking" else asyncio.run(aturn(graph, context=ANN))
    assert tree(store) == {("ann",): {"/tea.md": "green"}}
    assert state["files"]["/plan.md"]["content"] == "scratch"


def test_a_store_backend_without_a_namespace() -> None:
    """`StoreBackend(runtime)` of older guides took the assistant's id, silently shared by all of its users.

    A namespace has to be said, as Deep Agents 0.7 asks too: `by_assistant` is what that was.
    """
    with pytest.raises(TypeError, match="namespace"):
        StoreBackend(object())  # type: ignore[call-arg]


def test_by_default_files_stay_in_the_thread(store: MemoryStore) -> None:
    graph, _ = agent([WRITE, say("Done."), call("read_file", file_path="/memories/tea.md"), say("?")], store=store)
    assert turn(graph)["files"]["/memories/tea.md"]["content"] == "green"
    assert "not found" in answers(turn(graph))[0]
    assert tree(store) == {}


@pytest.mark.parametrize("runs", ["blocking", "async"])
def test_a_policy_as_rules(store: MemoryStore, runs: str) -> None:
    """The guides enforce a policy in a subclass that overrides `write` and `edit`.

    Over a backend with async methods of its own that policy is passed by `ainvoke`, and by `delete` and uploads in any
    case. `permissions` hold below the tools, for every operation, blocking and async, subagents included.
    """
    store.write(("ann",), "/policy.md", "Be kind.")
    script = [
        calls(
            ("write_file", {"file_path": "/memories/policy.md", "content": "Be rude."}),
            ("delete", {"file_path": "/memories/policy.md"}),
            ("move", {"file_path": "/memories/policy.md", "to": "/memories/old.md"}),
        ),
        call("task", description="Change the policy.", subagent_type="general-purpose"),
        call("edit_file", file_path="/memories/policy.md", old_string="kind", new_string="rude"),
        say("I may not."),
        say("Nor may I."),
    ]
    graph, _ = agent(
        script,
        backend=CompositeBackend(StateBackend(), {"/memories/": StoreBackend(namespace=by_user)}),
        permissions=[FilesystemPermission(operations=["write"], paths=["/memories/policy.md"], mode="deny")],
        context_schema=Context,
        store=store,
    )
    if runs == "blocking":
        turn(graph, context=ANN)
    else:
        asyncio.run(aturn(graph, context=ANN))
    assert tree(store) == {("ann",): {"/policy.md": "Be kind."}}
    assert len(store.history(("ann",), "/policy.md")) == 1


@pytest.mark.parametrize("runs", ["blocking", "async"])
def test_a_policy_as_a_function(store: MemoryStore, runs: str) -> None:
    """The guides' `PolicyWrapper` lacks downloads, so an agent with `memory=` on it fails. A hook needs no class."""

    def no_names(event: WriteEvent) -> Refuse | None:
        return Refuse("Write no names down.") if "Ann" in str(event.after) else None

    store.write(("ann",), "/notes.md", "Likes tea.")
    script = [
        call("edit_file", file_path="/memories/notes.md", old_string="Likes", new_string="Ann likes"),
        call("write_file", file_path="/memories/more.md", content="Drinks it hot."),
        say("Done."),
    ]
    graph, model = agent(
        script,
        memory=["/memories/notes.md"],
        hooks=[no_names],
        backend=CompositeBackend(StateBackend(), {"/memories/": StoreBackend(namespace=by_user)}),
        context_schema=Context,
        store=store,
    )
    state = turn(graph, context=ANN) if runs == "blocking" else asyncio.run(aturn(graph, context=ANN))
    assert "Likes tea." in model.prompts[0] and "Write no names down." in answers(state)[0]
    assert tree(store) == {("ann",): {"/more.md": "Drinks it hot.", "/notes.md": "Likes tea."}}


@pytest.mark.parametrize("runs", ["blocking", "async"])
def test_a_subclass_of_ours_holds_in_both_forms(store: MemoryStore, runs: str) -> None:
    """Whoever keeps the subclass of the guides: a blocking method that is overridden is what the async one calls."""

    class Policy(StoreBackend):
        def write(self, file_path: str, content: str, *args: Any, **more: Any) -> Any:
            if "secret" in content:
                return WriteResult(error="Error: no secrets here.")
            return super().write(file_path, content, *args, **more)

    graph, _ = agent(
        [
            call("write_file", file_path="/memories/a.md", content="a secret"),
            call("write_file", file_path="/memories/b.md", content="no matter"),
            say("Done."),
        ],
        backend=CompositeBackend(StateBackend(), {"/memories/": Policy(namespace=by_user)}),
        context_schema=Context,
        store=store,
    )
    state = turn(graph, context=ANN) if runs == "blocking" else asyncio.run(aturn(graph, context=ANN))
    assert "no secrets" in answers(state)[0]
    assert tree(store) == {("ann",): {"/b.md": "no matter"}}


def test_a_guard_of_ones_own(store: MemoryStore) -> None:
    """Rules can also stand before one route only, with paths as that route has them."""
    guarded = GuardedBackend(
        StoreBackend(namespace=by_user),
        permissions=[FilesystemPermission(operations=["write"], paths=["/policy.md"], mode="deny")],
    )
    graph, _ = agent(
        [
            call("write_file", file_path="/memories/policy.md", content="x"),
            call("write_file", file_path="/memories/notes.md", content="y"),
            say("Done."),
        ],
        backend=CompositeBackend(StateBackend(), {"/memories/": guarded}),
        context_schema=Context,
        store=store,
    )
    turn(graph, context=ANN)
    assert tree(store) == {("ann",): {"/notes.md": "y"}}


def test_their_backends_under_our_agent(store: MemoryStore) -> None:
    their: Any = TheirStoreBackend(namespace=lambda rt: ("ann",))
    graph, model = agent(
        [WRITE, say("Done."), say("Green.")],
        memory=["/memories/tea.md"],
        backend=CompositeBackend(StateBackend(), {"/memories/": their}),
        store=store,
    )
    turn(graph)
    turn(graph)
    assert tree(store) == {("ann",): {"/tea.md": "green"}} and "green" in model.prompts[-1]


def test_another_store(store: MemoryStore) -> None:
    """Any LangGraph store works, without history, merging and exact listings of that store's own."""
    other = InMemoryStore()
    graph, model = agent(
        [WRITE, say("Done."), say("Green.")],
        memory=["/memories/tea.md"],
        backend=CompositeBackend(StateBackend(), {"/memories/": StoreBackend(namespace=("ann",))}),
        store=other,
    )
    turn(graph)
    turn(graph)
    item = other.get(("ann",), "/tea.md")
    assert item is not None and item.value["content"] == "green" and "green" in model.prompts[-1]
    assert tree(store) == {}


@pytest.mark.blank
def test_opened_as_langgraphs_stores_are(store_url: str) -> None:
    """`PostgresStore.from_conn_string(…)` and `setup()` of the guides; here one call serves both engines."""
    with MemoryStore.from_conn_string(store_url) as store:
        store.setup()
        graph, _ = agent([WRITE, say("Done.")], backend=StoreBackend(namespace=("ann",)), store=store)
        turn(graph)
    with open_store(store_url) as store:
        assert tree(store) == {("ann",): {"/memories/tea.md": "green"}}


@pytest.mark.blank
async def test_opened_in_an_event_loop(store_url: str) -> None:
    """The guides switch to `AsyncPostgresStore` there; here it is the same store."""
    async with MemoryStore.from_conn_string(store_url) as store:
        await store.asetup()
        graph, _ = agent([WRITE, say("Done.")], backend=StoreBackend(namespace=("ann",)), store=store)
        await aturn(graph)
        item = await store.aget(("ann",), "/memories/tea.md")
        assert item is not None and item.value["content"] == "green"
