"""Acting for somebody: scopes name them, and nobody else, whatever graph runs."""

from __future__ import annotations

import asyncio
import threading
from contextvars import copy_context
from dataclasses import dataclass
from typing import Any

import pytest

from memoranda import MemoryStore, create_deep_agent, open_store
from memoranda.backends import ScopeError, StoreBackend, acting_for, by_assistant, by_org, by_user
from memoranda.backends.runtime import current_runtime
from memoranda.backends.scopes import NamespaceLike, resolve_namespace
from memoranda.testing.scripted import ScriptedChatModel, call, say


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        (by_user, ("ann",)),
        (by_org, ("acme",)),
        (by_assistant, ("helper",)),
        (by_org + by_user + "notes", ("acme", "ann", "notes")),
        (lambda runtime: (runtime.context["user_id"],), ("ann",)),
        (lambda runtime: (runtime.context.user_id, runtime.context.team), ("ann", "red")),
        (lambda runtime: (runtime.server_info.user.identity,), ("ann",)),
        (lambda runtime: (runtime.server_info.assistant_id,), ("helper",)),
    ],
)
def test_scopes_and_functions_name_whom_it_is_for(scope: NamespaceLike, expected: tuple[str, ...]) -> None:
    with acting_for(user_id="ann", org_id="acme", assistant_id="helper", team="red"):
        assert resolve_namespace(scope) == expected


def test_who_is_not_named_is_nobody() -> None:
    with acting_for(user_id="ann"):
        with pytest.raises(ScopeError, match="No organisation"):
            resolve_namespace(by_org)
        with acting_for(org_id="acme"):
            assert resolve_namespace(by_org) == ("acme",)
            with pytest.raises(ScopeError, match="No user"):
                resolve_namespace(by_user)
        assert resolve_namespace(by_user) == ("ann",)
    with pytest.raises(ScopeError):
        resolve_namespace(by_user)
    assert current_runtime() is None


def test_an_unknown_field_is_an_error_of_the_function() -> None:
    with acting_for(user_id="ann"), pytest.raises(ScopeError, match="team"):
        resolve_namespace(lambda runtime: (runtime.context.team,))


@dataclass
class Context:
    user_id: str


@pytest.mark.parametrize("in_loop", [False, True])
def test_it_holds_inside_an_agent_that_runs_for_another(store: MemoryStore, in_loop: bool) -> None:
    agent: Any = create_deep_agent(
        model=ScriptedChatModel(script=[call("write_file", file_path="/tea.md", content="green"), say("Done.")]),
        backend=StoreBackend(namespace=by_user, store=store),
        context_schema=Context,
    )
    with acting_for(user_id="ann"):
        if in_loop:
            asyncio.run(agent.ainvoke({"messages": "Hi."}, context=Context("bob")))
        else:
            agent.invoke({"messages": "Hi."}, context=Context("bob"))
    assert store.get(("ann",), "/tea.md") is not None
    assert store.get(("bob",), "/tea.md") is None


def test_the_rest_is_that_of_the_graph(store: MemoryStore) -> None:
    seen: list[Any] = []

    def namespace(runtime: Any) -> tuple[str, ...]:
        seen.append((runtime.store, runtime.execution_info is not None))
        return (runtime.context.user_id,)

    agent: Any = create_deep_agent(
        model=ScriptedChatModel(script=[call("write_file", file_path="/tea.md", content="green"), say("Done.")]),
        backend=StoreBackend(namespace=namespace),
        store=store,
    )
    with acting_for(user_id="ann"):
        agent.invoke({"messages": "Hi."}, {"configurable": {"thread_id": "t1"}})
    assert (store, True) in seen
    assert store.history(("ann",), "/tea.md")[0].author.thread_id == "t1"


def test_a_store_goes_with_it() -> None:
    with open_store("memory://") as store, open_store("memory://") as other:
        with acting_for(user_id="ann", store=store):
            assert StoreBackend(namespace=by_user).write("/tea.md", "green").error is None
            assert StoreBackend(namespace=by_user, store=other).write("/tea.md", "black").error is None
        assert store.get(("ann",), "/tea.md").value["content"] == "green"  # type: ignore[union-attr]
        assert other.get(("ann",), "/tea.md").value["content"] == "black"  # type: ignore[union-attr]
        assert "no store" in (StoreBackend(namespace=("ann",)).write("/tea.md", "x").error or "")


def test_threads_do_not_see_each_others() -> None:
    seen: list[Any] = []
    with acting_for(user_id="ann"):
        alone = threading.Thread(target=lambda: seen.append(current_runtime()))
        along = threading.Thread(target=copy_context().run, args=(lambda: seen.append(resolve_namespace(by_user)),))
        for thread in (alone, along):
            thread.start()
            thread.join()
    assert seen == [None, ("ann",)]
