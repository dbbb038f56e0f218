"""Whose memory it is: the agent's, the user's, the organisation's, and combinations, with a server and without."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.config import get_config

from memoranda import MemoryStore
from memoranda.backends import CompositeBackend, StateBackend, StoreBackend, by_assistant, by_org, by_user
from memoranda.testing.scripted import call, say
from tests.recipes.support import Context, User, agent, answers, aturn, tree, turn

FILE = "/memories/AGENTS.md"


def remembering(store: MemoryStore, namespace: Any, **settings: Any) -> Any:
    """An agent that writes one line, over one namespace."""
    script = [call("write_file", file_path=FILE, content="green"), say("Noted.")]
    routes = {"/memories/": StoreBackend(namespace=namespace)}
    graph, _ = agent(
        script,
        memory=[FILE],
        backend=CompositeBackend(StateBackend(), routes),
        context_schema=Context,
        store=store,
        **settings,
    )
    return graph


@pytest.mark.parametrize("namespace", [by_assistant, lambda rt: (rt.server_info.assistant_id,)])
def test_agent_scope_on_a_server(store: MemoryStore, namespace: Any) -> None:
    turn(remembering(store, namespace), assistant_id="asst-1", graph_id="agent")
    assert tree(store) == {("asst-1",): {"/AGENTS.md": "green"}}


def test_agent_scope_from_the_metadata(store: MemoryStore) -> None:
    """Older guides read `get_config()["metadata"]["assistant_id"]`.

    That is metadata, which any caller may set; LangGraph copies `configurable` into it, so it works as long as only a
    server sets it. `by_assistant` reads what the server vouches for, and needs no server where the agent has a name.
    """
    turn(remembering(store, lambda ctx: (get_config().get("metadata", {})["assistant_id"],)), assistant_id="asst-1")
    assert tree(store) == {("asst-1",): {"/AGENTS.md": "green"}}


def test_agent_scope_without_a_server(store: MemoryStore) -> None:
    """`rt.server_info.assistant_id` as published raises AttributeError there, and the run fails."""
    turn(remembering(store, by_assistant, name="secretary"))
    assert tree(store) == {("secretary",): {"/AGENTS.md": "green"}}


@pytest.mark.parametrize("namespace", [by_user, lambda rt: (rt.server_info.user.identity,)])
def test_user_scope_on_a_server(store: MemoryStore, namespace: Any) -> None:
    for name in ("ann@example.org", "ben@example.org"):
        turn(remembering(store, namespace), langgraph_auth_user=User(name), assistant_id="asst-1", graph_id="agent")
    assert tree(store) == {(f"{name}@example.org",): {"/AGENTS.md": "green"} for name in ("ann", "ben")}


@pytest.mark.parametrize(
    "namespace",
    [by_user, lambda rt: (rt.context.user_id,), lambda ctx: (ctx.runtime.context.user_id,)],
    ids=["by_user", "runtime", "older-context"],
)
def test_user_scope_from_the_context(store: MemoryStore, namespace: Any) -> None:
    turn(remembering(store, namespace), context=Context(user_id="ann"))
    turn(remembering(store, namespace), context=Context(user_id="ben"))
    assert tree(store) == {("ann",): {"/AGENTS.md": "green"}, ("ben",): {"/AGENTS.md": "green"}}


async def test_user_scope_in_an_event_loop(store: MemoryStore) -> None:
    await aturn(remembering(store, by_user), context=Context(user_id="ann"))
    assert tree(store) == {("ann",): {"/AGENTS.md": "green"}}


def test_the_server_has_the_last_word(store: MemoryStore) -> None:
    """What a client puts into `context` does not make it somebody else."""
    turn(remembering(store, by_user), context=Context(user_id="ben"), langgraph_auth_user=User("ann"))
    assert tree(store) == {("ann",): {"/AGENTS.md": "green"}}


def test_a_user_given_as_a_dictionary(store: MemoryStore) -> None:
    """LangGraph drops a `langgraph_auth_user` that is a plain dictionary without a word, so nobody is known then.

    A server has to hand over an object with `identity`; the run says what is missing instead of mixing users up.
    """
    state = turn(remembering(store, by_user), langgraph_auth_user={"identity": "ann"})
    assert "user" in answers(state)[0] and "context" in answers(state)[0]
    assert tree(store) == {}


def test_organisation_scope_is_seeded_by_code_and_read_by_agents(store: MemoryStore) -> None:
    """Published with `namespace=lambda ctx: ()`, which no store takes, as an organisation is not everybody.

    The namespace names the organisation, code outside the agent writes there, and `by_org` is read-only for models.
    """
    store.write(("acme",), "/compliance.md", "Never disclose prices.")
    script = [call("edit_file", file_path="/policies/compliance.md", old_string="Never", new_string="Do"), say("No.")]
    graph, model = agent(
        script,
        memory=["/policies/compliance.md"],
        backend=CompositeBackend(StateBackend(), {"/policies/": StoreBackend(namespace=by_org)}),
        context_schema=Context,
        store=store,
    )
    turn(graph, context=Context(user_id="ann", org_id="acme"))
    assert "Never disclose prices." in model.prompts[0]
    assert tree(store) == {("acme",): {"/compliance.md": "Never disclose prices."}}


def test_an_empty_namespace_is_refused(store: MemoryStore) -> None:
    """As it has to be: `()` would be the whole store. The agent is told, and the run goes on."""
    state = turn(remembering(store, lambda ctx: ()))
    assert "namespace" in answers(state)[0] and state["messages"][-1].text == "Noted."
    assert tree(store) == {}


def test_organisation_scope_on_a_server(store: MemoryStore) -> None:
    store.write(("acme",), "/compliance.md", "Never disclose prices.")
    graph, model = agent(
        ["Understood."],
        memory=["/policies/compliance.md"],
        backend=CompositeBackend(StateBackend(), {"/policies/": StoreBackend(namespace=by_org)}),
        store=store,
    )
    turn(graph, langgraph_auth_user=User("ann", org_id="acme"))
    assert "Never disclose prices." in model.prompts[0]


@pytest.mark.parametrize("namespace", [by_assistant + by_user, lambda rt: ("coach", rt.context.user_id)])
def test_several_agents_of_one_deployment(store: MemoryStore, namespace: Any) -> None:
    turn(remembering(store, namespace, name="coach"), context=Context(user_id="ann"))
    turn(remembering(store, by_assistant, name="coach"), context=Context(user_id="ann"))
    assert tree(store) == {("coach", "ann"): {"/AGENTS.md": "green"}, ("coach",): {"/AGENTS.md": "green"}}


def test_the_agents_own_scope_shows_nothing_of_its_users(store: MemoryStore) -> None:
    """`(assistant_id,)` beside `(assistant_id, user_id)` is what the guides recommend.

    Over a store that lists by prefix the first would show the files of the second; a backend of ours has exactly the
    one namespace.
    """
    store.write(("coach", "ann"), "/diary.md", "private")
    script = [
        call("ls", path="/memories"),
        call("grep", pattern="private"),
        call("glob", pattern="**/*.md"),
        call("delete", file_path="/memories/diary.md"),
        say("Nothing."),
    ]
    graph, _ = agent(
        script,
        backend=CompositeBackend(StateBackend(), {"/memories/": StoreBackend(namespace=by_assistant)}),
        store=store,
        name="coach",
    )
    assert not any("diary" in answer for answer in answers(turn(graph))[:3])
    assert tree(store) == {("coach", "ann"): {"/diary.md": "private"}}


def test_nobody_is_named(store: MemoryStore) -> None:
    """The run goes on, and the sentence says what to pass."""
    state = turn(remembering(store, by_user), context=Context())
    assert 'context={"user_id": "…"}' in answers(state)[0]
    assert state["messages"][-1].text == "Noted." and tree(store) == {}
