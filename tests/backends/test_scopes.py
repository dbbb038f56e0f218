"""Who shares a memory is decided by who runs: server identities, contexts, functions and fixed tuples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel
from typing_extensions import TypedDict

from memoranda import MemoryStore
from memoranda.backends import ScopeError, StoreBackend, by_assistant, by_org, by_user
from memoranda.backends.runtime import current_runtime
from memoranda.backends.scopes import Scope, resolve_namespace
from memoranda.store.namespaces import InvalidNamespaceError

Run = Callable[..., Any]


class User:
    """A user as a server's authentication gives it."""

    is_authenticated = True
    display_name = "Ann"
    permissions = ()

    def __init__(self, identity: str, **fields: Any) -> None:
        self.identity = identity
        self.__dict__.update(fields)

    def __getitem__(self, key: str) -> Any:
        return self.__dict__[key]

    def __contains__(self, key: object) -> bool:
        return key in self.__dict__

    def __iter__(self) -> Any:
        return iter(self.__dict__)


@dataclass
class DataContext:
    user_id: str = "ann"
    org_id: str | None = None
    assistant_id: str | None = None


class ModelContext(BaseModel):
    user_id: str = "ann"
    org_id: str | None = None


class DictContext(TypedDict, total=False):
    user_id: str
    org_id: str


def resolved(in_thread: Run, namespace: Any, **settings: Any) -> tuple[str, ...]:
    return in_thread("scopes", lambda: resolve_namespace(namespace), **settings)


def test_server_identities_come_first(in_thread: Run) -> None:
    server = {
        "assistant_id": "asst1",
        "graph_id": "g1",
        "langgraph_auth_user": User("ann@example.com", org_id="acme"),
        "context": {"user_id": "mallory", "org_id": "evil", "assistant_id": "evil"},
    }
    assert resolved(in_thread, by_user, **server) == ("ann@example.com",)
    assert resolved(in_thread, by_assistant, **server) == ("asst1",)
    assert resolved(in_thread, by_org, **server) == ("acme",)
    assert resolved(in_thread, by_assistant + by_user + "notes", **server) == ("asst1", "ann@example.com", "notes")
    assert resolved(in_thread, "org" + by_org + ("a", "b"), **server) == ("org", "acme", "a", "b")
    in_front = ("x", "y") + by_user  # noqa: RUF005 - a scope is no tuple
    assert resolved(in_thread, in_front, **server) == ("x", "y", "ann@example.com")
    old = lambda rt: (rt.server_info.assistant_id, rt.server_info.user.identity)  # noqa: E731
    assert resolved(in_thread, old, **server) == ("asst1", "ann@example.com")


@pytest.mark.parametrize(
    ("context", "schema"),
    [
        ({"user_id": "ann"}, None),
        ({"user_id": "ann"}, DictContext),
        (DataContext(), DataContext),
        ({"user_id": "ann"}, DataContext),
        (ModelContext(), ModelContext),
        ({"user_id": "ann"}, ModelContext),
    ],
    ids=["dict", "typed dict", "dataclass", "dict as dataclass", "model", "dict as model"],
)
def test_the_context_comes_next_in_every_form(in_thread: Run, context: Any, schema: Any) -> None:
    assert resolved(in_thread, by_user, context=context, schema=schema) == ("ann",)
    with pytest.raises(
        ScopeError, match=r"No organisation is known to this run: .* Pass context=\{\"org_id\": \"…\"\}"
    ):
        resolved(in_thread, by_org, context=context, schema=schema)


def test_a_server_without_a_user_falls_back_to_the_context(in_thread: Run) -> None:
    settings = {"assistant_id": "asst1", "context": {"user_id": "ann"}}
    assert resolved(in_thread, by_assistant + by_user, **settings) == ("asst1", "ann")


def test_numbers_are_names_and_empty_ones_are_none(in_thread: Run) -> None:
    assert resolved(in_thread, by_user, context={"user_id": 7}) == ("7",)
    for nobody in ("", None):
        with pytest.raises(ScopeError):
            resolved(in_thread, by_user, context={"user_id": nobody})


@pytest.mark.parametrize(
    ("namespace", "error"),
    [
        (lambda rt: rt.context.user_id, InvalidNamespaceError),
        (lambda rt: (), InvalidNamespaceError),
        (lambda rt: None, InvalidNamespaceError),
        (lambda rt: ("ann", ""), InvalidNamespaceError),
        (lambda rt: ("ann", 7), InvalidNamespaceError),
        (lambda rt: rt.context.missing, ScopeError),
        (lambda rt: (rt.server_info.user.identity,), ScopeError),
    ],
    ids=["text", "empty", "none", "empty label", "number", "missing field", "no server"],
)
def test_functions_that_give_no_namespace_are_told(in_thread: Run, namespace: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        resolved(in_thread, namespace, context=DataContext(), schema=DataContext)


def test_lists_are_taken_for_tuples(in_thread: Run) -> None:
    assert resolved(in_thread, lambda rt: [rt.context.user_id], context=DataContext(), schema=DataContext) == ("ann",)
    assert resolve_namespace(["ann"]) == ("ann",)  # type: ignore[arg-type]


@pytest.mark.parametrize("namespace", ["ann", (), ("",), ("a", 7), ("a\0b",), 7])
def test_a_wrong_tuple_is_told_when_the_backend_is_made(namespace: Any) -> None:
    with pytest.raises(InvalidNamespaceError):
        StoreBackend(namespace=namespace)


def test_functions_written_for_earlier_releases_work(store: MemoryStore, in_thread: Run) -> None:
    def factory(runtime: Any) -> StoreBackend:
        return StoreBackend(runtime, namespace=lambda ctx: (ctx.runtime.context.user_id, "memories"))

    def work() -> Any:
        return factory(current_runtime()).write("/a.md", "x")

    assert in_thread("old", work, store=store, context=DataContext("ann"), schema=DataContext).error is None
    assert store.get(("ann", "memories"), "/a.md") is not None
    config = lambda ctx: (ctx.config["configurable"]["thread_id"],)  # noqa: E731
    assert resolved(in_thread, config) == ("scopes",)
    assert resolved(in_thread, lambda ctx: (str(len(ctx.state["messages"])),)) == ("0",)


def test_outside_a_graph_a_function_is_given_none() -> None:
    assert resolve_namespace(lambda rt: ("nobody",) if rt is None else ("somebody",)) == ("nobody",)
    with pytest.raises(ScopeError, match="failed outside a graph"):
        resolve_namespace(lambda rt: (rt.context.user_id,))
    with pytest.raises(ScopeError, match="No user is known"):
        resolve_namespace(by_user)


async def test_two_users_never_meet(store: MemoryStore, ain_thread: Run) -> None:
    backend = StoreBackend(namespace=by_assistant + by_user, store=store)
    for user in ("ann@example.com", "bob@example.com"):
        context = {"user_id": user, "assistant_id": "helper"}
        result = await ain_thread(user, lambda user=user: backend.awrite("/a.md", user), context=context)
        assert result.error is None
    for user in ("ann@example.com", "bob@example.com"):
        context = {"user_id": user, "assistant_id": "helper"}
        read = await ain_thread("other " + user, lambda: backend.aread("/a.md"), context=context)
        assert read.file_data["content"] == user


def test_scopes_are_values() -> None:
    assert by_org.is_read_only and not by_user.is_read_only and not (by_org + by_user).is_read_only
    assert (by_org + "policies").is_read_only and not by_org(read_only=False).is_read_only
    assert by_user(read_only=True).is_read_only and (by_user(read_only=True) + "x").is_read_only
    assert repr(by_assistant + by_user + "notes") == "by_assistant + by_user + 'notes'"
    assert by_user + "x" == by_user + ("x",)  # noqa: RUF005 - a scope is no tuple
    assert isinstance(hash(by_user), int)
    assert by_user() is by_user and isinstance(by_user, Scope)
