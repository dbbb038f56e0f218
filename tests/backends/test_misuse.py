"""What is given where something else is meant: the error names the right form."""

from __future__ import annotations

import gc
import subprocess
import sys
import warnings
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
from langgraph.graph import START, StateGraph
from langgraph.store.memory import InMemoryStore
from pydantic import BaseModel
from typing_extensions import TypedDict

from memoranda import MemoryStore, aopen_store
from memoranda.backends import (
    CompositeBackend,
    GuardedBackend,
    NoBackendError,
    NoNamespaceError,
    NotAStoreError,
    RouteError,
    ScopeError,
    StateBackend,
    StoreBackend,
    as_backend,
    by_assistant,
    by_org,
    by_user,
)
from memoranda.backends.scopes import resolve_namespace

Run = Callable[..., Any]


def refusal(kind: type[Exception], act: Callable[[], Any]) -> str:
    """The error's text; what it left behind is collected, so that a coroutine nobody awaited would warn."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(kind) as caught:
            act()
        text = str(caught.value)
        del caught
        gc.collect()
    return text


# --- composites -------------------------------------------------------------------------------------------------


def test_default_and_routes_in_each_others_place() -> None:
    swapped: Any = CompositeBackend
    said = refusal(RouteError, lambda: swapped({"/memories/": StateBackend()}, StateBackend()))
    assert "each in the other's place" in said and "CompositeBackend(default, {folder: backend})" in said


@pytest.mark.parametrize("routes", [[("/m/", StateBackend())], None, "/m/", StateBackend()])
def test_routes_that_are_no_mapping(routes: Any) -> None:
    said = refusal(RouteError, lambda: CompositeBackend(StateBackend(), routes))
    assert "is no mapping" in said and '{"/memories/": StoreBackend(namespace=by_user)}' in said


def test_a_composite_says_what_misses_of_a_function() -> None:
    wrong: Any = lambda: StateBackend()  # noqa: E731
    for act in (lambda: CompositeBackend(wrong, {}), lambda: CompositeBackend(StateBackend(), {"/m": wrong})):
        said = refusal(RouteError, act)
        assert "of a CompositeBackend leads to no backend" in said and "`lambda runtime: …`" in said
    said = refusal(RouteError, lambda: CompositeBackend(StateBackend(), {"/m": by_user}))
    assert "The route '/m/'" in said and "StoreBackend(namespace=by_user)" in said


# --- namespaces and stores of a StoreBackend --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "remedy"),
    [
        (by_user, "Pass namespace=by_user by name."),
        (by_assistant + "notes", "Pass namespace=by_assistant + 'notes' by name."),
        (("ann",), "Pass namespace=('ann',) by name."),
        (["ann"], "Pass namespace=('ann',) by name."),
        ("ann", "Pass namespace=('ann',) by name."),
        (lambda runtime: ("ann",), "Pass namespace=… by name."),
        (InMemoryStore(), "Pass store=… by name."),
    ],
)
def test_what_stands_in_the_place_of_the_runtime(given: Any, remedy: str) -> None:
    made: Any = StoreBackend
    for more in ({}, {"namespace": ("bob",)}):
        assert remedy in refusal(NoNamespaceError, partial(made, given, **more))


def test_a_namespace_has_to_be_given(store: MemoryStore) -> None:
    for act in (StoreBackend, lambda: StoreBackend(object(), store=store)):
        assert "Pass namespace=by_user" in refusal(NoNamespaceError, act)
    assert issubclass(NoNamespaceError, TypeError)


@contextmanager
def connecting() -> Any:
    yield InMemoryStore()


@pytest.mark.parametrize(
    ("made", "remedy"),
    [
        (lambda: "sqlite:///m.db", "Pass store=open_store('sqlite:///m.db')."),
        (lambda: "postgresql://ann:secret@db/m", "open_store('postgresql://ann:***@db/m')"),
        (lambda: aopen_store("memory://"), "Pass store=await aopen_store(…)."),
        (connecting, "Write `with … as store:`"),
        (dict, "Pass store=open_store(…)"),
        (lambda: MemoryStore, "Pass store=open_store(…)"),
    ],
)
def test_what_is_no_store(in_thread: Run, made: Callable[[], Any], remedy: str) -> None:
    assert remedy in refusal(NotAStoreError, lambda: StoreBackend(namespace=("ann",), store=made()))


@pytest.mark.parametrize(
    ("made", "remedy"),
    [
        (lambda: "sqlite:///m.db", "open_store('sqlite:///m.db')"),
        (lambda: aopen_store("memory://"), "await aopen_store"),
    ],
)
def test_a_graph_without_a_store(in_thread: Run, made: Callable[[], Any], remedy: str) -> None:
    files = StoreBackend(namespace=("ann",))
    answer = in_thread("1", lambda: files.write("/a.md", "a"), store=made())
    assert remedy in answer.error and answer.error.startswith("Error: ")


# --- functions of the runtime -----------------------------------------------------------------------------------


async def awaited(runtime: Any) -> Any:
    return ("ann",)


class Awaited:
    async def __call__(self, runtime: Any) -> Any:
        return ("ann",)


@pytest.mark.parametrize("function", [lambda: ("ann",), lambda one, two: ("ann",), lambda *, user: ("ann",)])
def test_functions_that_take_no_runtime(function: Any) -> None:
    said = refusal(ScopeError, lambda: StoreBackend(namespace=function))
    assert "cannot be called with the runtime" in said and "`lambda runtime: …`" in said
    assert "`lambda runtime: …`" in refusal(ScopeError, lambda: resolve_namespace(function))
    for act in (lambda: as_backend(function), lambda: GuardedBackend(function)):
        said = refusal(NoBackendError, act)
        assert "The backend function cannot be called with the runtime" in said and "`lambda runtime: …`" in said


@pytest.mark.parametrize("function", [awaited, Awaited()])
def test_async_functions(function: Any) -> None:
    assert "must not be" in refusal(ScopeError, lambda: StoreBackend(namespace=function))
    assert "must not be" in refusal(ScopeError, lambda: resolve_namespace(function))
    assert "must not be" in refusal(NoBackendError, lambda: as_backend(function))


def test_functions_that_answer_with_a_coroutine() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hidden = as_backend(lambda runtime: awaited(runtime))
        answer = hidden.read("/a.md")
        assert "The backend function is async. It must not be" in (answer.error or "")
        namespace: Any = lambda runtime: awaited(runtime)  # noqa: E731 - hides that it is async
        files = StoreBackend(namespace=namespace, store=InMemoryStore())
        answer = files.read("/a.md")
        assert "The namespace function is async. It must not be" in (answer.error or "")
        gc.collect()


def test_functions_as_they_should_be(store: MemoryStore) -> None:
    for function in (lambda runtime: ("ann",), lambda *args: ("ann",), lambda runtime, other=1: ("ann",)):
        assert StoreBackend(namespace=function, store=store).write("/a.md", "a").error is None
    assert as_backend(StateBackend) and as_backend(lambda _: StateBackend())


# --- whom a scope does not find ---------------------------------------------------------------------------------


@dataclass
class DataContext:
    userid: str = "ann"
    org: str = "acme"


class ModelContext(BaseModel):
    userid: str = "ann"
    org: str = "acme"


@pytest.mark.parametrize("context", [{"userid": "ann", "org": "acme"}, DataContext(), ModelContext()])
def test_a_context_with_other_names(in_thread: Run, context: Any) -> None:
    schema = dict if isinstance(context, dict) else type(context)

    def resolve(scope: Any) -> str:
        with pytest.raises(ScopeError) as caught:
            resolve_namespace(scope)
        return str(caught.value)

    said = in_thread("1", lambda: resolve(by_user), context=context, schema=schema)
    assert "its context has 'userid', 'org', not 'user_id'." in said and 'context={"user_id": "…"}' in said
    assert "not 'org_id'." in in_thread("1", lambda: resolve(by_org), context=context, schema=schema)


class Empty(TypedDict, total=False):
    nothing: str


@pytest.mark.parametrize(
    "config",
    [
        {"configurable": {"user_id": "ann"}},
        {"user_id": "ann"},  # the context as the second positional argument
        {"context": {"user_id": "ann"}},
        {"configurable": {"context": {"user_id": "ann"}}},
    ],
)
def test_a_user_in_the_configuration(config: Any) -> None:
    said: list[str] = []

    def work(state: Any) -> None:
        with pytest.raises(ScopeError) as caught:
            resolve_namespace(by_user)
        said.append(str(caught.value))

    built = StateGraph(Empty)
    built.add_node("work", work)
    built.add_edge(START, "work")
    built.compile().invoke({"nothing": ""}, config)
    assert "'user_id' came with its configuration (configurable)" in said[0]
    assert "a scope comes from the context alone" in said[0] and 'context={"user_id": "…"}' in said[0]


def test_nothing_and_an_empty_name(in_thread: Run) -> None:
    with pytest.raises(ScopeError, match=r"No user is known to this run\. Pass context="):
        resolve_namespace(by_user)

    def empty() -> None:
        with pytest.raises(ScopeError, match="its user_id is empty"):
            resolve_namespace(by_user)

    def none() -> None:
        with pytest.raises(ScopeError, match="the user_id of its context is None"):
            resolve_namespace(by_user)

    in_thread("1", empty, context={"user_id": ""}, schema=dict)
    in_thread("1", none, context={"user_id": None}, schema=dict)


# --- integrations -----------------------------------------------------------------------------------------------


def test_deep_agents_that_is_not_installed() -> None:
    code = (
        "import sys; sys.modules['deepagents'] = None\n"
        "try:\n    import memoranda.integrations.deepagents\n"
        "except ImportError as error:\n    print(type(error).__name__, error)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "NotInstalledError Deep Agents is not installed. Run `pip install deepagents`."
