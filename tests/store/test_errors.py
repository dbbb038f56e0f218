"""Bad namespaces and bad calls: a named error, one sentence of cause, one of remedy, nothing written."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from langgraph.store.base import GetOp, PutOp, SearchOp
from langgraph.store.base import InvalidNamespaceError as LangGraphError

from memoranda import ChangeSet, MemorandaError, MemoryStore, Write
from memoranda.errors import InvalidChangeError, InvalidValueError, SearchUnavailableError
from memoranda.store.namespaces import InvalidNamespaceError
from tests.store.conftest import Namespace

NAMESPACES = {
    "a string": "ann",
    "an empty label": ("ann", ""),
    "a number": ("ann", 7),
    "none as label": ("ann", None),
    "bytes": (b"ann",),
    "a NUL": ("a\x00b",),
    "a surrogate": ("a\ud800",),
    "too long": ("x" * 2_001,),
    "too long in bytes": ("\u4e2d" * 700,),
    "too many": tuple("x" for _ in range(1_500)),
    "none": None,
    "a number for all": 7,
    "a set": {"ann"},
    "nested": (("ann",),),
    "a list as label": (["ann"],),
}
EVERYWHERE = {
    "put": lambda store, ns: store.put(ns, "k", {"n": 1}),
    "get": lambda store, ns: store.get(ns, "k"),
    "delete": lambda store, ns: store.delete(ns, "k"),
    "search": lambda store, ns: store.search(ns),
    "batch put": lambda store, ns: store.batch([PutOp(ns, "k", {"n": 1})]),
    "batch get": lambda store, ns: store.batch([GetOp(ns, "k")]),
    "batch search": lambda store, ns: store.batch([SearchOp(ns)]),
    "write": lambda store, ns: store.write(ns, "/k", "x"),
    "edit": lambda store, ns: store.edit(ns, "/k", "a", "b"),
    "append": lambda store, ns: store.append(ns, "/k", "x"),
    "move": lambda store, ns: store.move(ns, "/k", "/l"),
    "move to": lambda store, ns: store.move(("ann",), "/k", "/l", to_namespace=ns),
    "restore": lambda store, ns: store.restore(ns, "/k", 1),
    "history": lambda store, ns: store.history(ns, "/k"),
    "get_at": lambda store, ns: store.get_at(ns, "/k", revision=1),
    "diff": lambda store, ns: store.diff(ns, "/k"),
    "blame": lambda store, ns: store.blame(ns, "/k"),
    "list_keys": lambda store, ns: store.list_keys(ns),
    "glob": lambda store, ns: store.glob(ns, "*"),
    "grep": lambda store, ns: store.grep(ns, "x"),
    "delete_prefix": lambda store, ns: store.delete_prefix(ns, "/"),
    "changes": lambda store, ns: store.changes(namespace=ns),
    "verify": lambda store, ns: store.verify(ns),
    "commit": lambda store, ns: store.commit(ChangeSet([Write(ns, "/k", "x")])),
}
# None and a string mean "not given" and a path somewhere; these calls may read them so.
LENIENT = {("none", "changes"), ("none", "move to")}


@pytest.mark.parametrize("what", NAMESPACES)
def test_bad_namespaces_are_refused_everywhere(shared: MemoryStore, what: str) -> None:
    namespace = NAMESPACES[what]
    wrong: list[str] = []
    for name, call in EVERYWHERE.items():
        if (what, name) in LENIENT:
            continue
        try:
            call(shared, namespace)
        except InvalidNamespaceError as error:
            assert isinstance(error, (LangGraphError, ValueError)) and isinstance(error, MemorandaError)
            assert error.cause.endswith(".") and error.remedy.endswith("."), name
        except Exception as error:  # noqa: BLE001 - any other error is the finding
            wrong.append(f"{name}: {type(error).__name__}: {str(error)[:80]}")
        else:
            wrong.append(f"{name}: accepted")
    assert wrong == []


@pytest.mark.parametrize("namespace", [(), ("langgraph",), ("langgraph", "ann")])
def test_namespaces_that_hold_nothing(shared: MemoryStore, namespace: Namespace) -> None:
    for call in (
        lambda: shared.put(namespace, "k", {"n": 1}),
        lambda: shared.write(namespace, "/k", "x"),
        lambda: shared.append(namespace, "/k", "x"),
        lambda: shared.batch([PutOp(namespace, "k", {"n": 1})]),
        lambda: shared.move(("ann",), "/k", "/l", to_namespace=namespace),
    ):
        with pytest.raises(InvalidNamespaceError):
            call()
    assert shared.get(namespace, "k") is None
    shared.delete(namespace, "k")


def test_labels_with_a_dot_are_welcome(shared: MemoryStore, ns: Namespace) -> None:
    for label in ("ann@example.com", ".", "..", "a.b", "*", "%"):
        shared.put((*ns, label), "k", {"label": label})
        assert shared.get((*ns, label), "k").value == {"label": label}
    assert len(shared.list_namespaces(prefix=ns)) == 6


def test_without_an_index_a_query_is_refused_not_ignored(store_url: str, open_here: Callable[..., MemoryStore]) -> None:
    store = open_here(store_url, index=False)
    with pytest.raises(SearchUnavailableError) as caught:
        store.search(("ann",), query="tea")
    assert isinstance(caught.value, NotImplementedError)
    with pytest.raises(SearchUnavailableError):
        store.batch([SearchOp(("ann",), query="tea")])
    with pytest.raises(SearchUnavailableError):
        store.recall(("ann",), "tea")
    assert store.search(("ann",), query="") == []


def test_unknown_operators_and_operations(shared: MemoryStore, ns: Namespace) -> None:
    for condition in ({"n": {"$near": 1}}, {"n": {"m": {"$in": [1]}}}, {"n": {"$gt": 1, "m": 2}}):
        with pytest.raises(InvalidValueError):
            shared.search(ns, filter=condition)
    with pytest.raises(InvalidChangeError):
        shared.batch(["nonsense"])  # type: ignore[list-item]
    with pytest.raises(InvalidChangeError):
        shared.batch([PutOp(ns, "k", {"n": 1}), None])  # type: ignore[list-item]
    assert shared.get(ns, "k") is None


async def test_the_async_face_raises_the_same(shared: MemoryStore, ns: Namespace) -> None:
    with pytest.raises(InvalidNamespaceError):
        await shared.aput((), "k", {"n": 1})
    with pytest.raises(InvalidValueError):
        await shared.aput(ns, "k", {"n": float("nan")})
    with pytest.raises(InvalidValueError):
        await shared.arecall(ns, " ")
    with pytest.raises(InvalidNamespaceError):
        await shared.awrite(("a\x00",), "/k", "x")
