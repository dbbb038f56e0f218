"""What a beginner types, answered with the way out."""

from __future__ import annotations

from typing import Any

import pytest

from memoranda import Author, ChangeSet, ConflictError, MemorandaError, MemoryStore, Write, acting_as, open_store
from memoranda.errors import InvalidChangeError, InvalidKeyError, InvalidValueError, StoreUrlError

ANN = ("ann",)


@pytest.fixture
def memory() -> Any:
    with open_store("memory://") as store:
        store.write(ANN, "/a.md", "one\n")
        yield store


MISTAKES: dict[str, tuple[Any, type[MemorandaError], str]] = {
    "author": (lambda store: store.edit(ANN, "/a.md", "one", "two", author="ann"), InvalidChangeError, "Author('ann')"),
    "set author": (lambda store: store.commit(ChangeSet([], "ann")), InvalidChangeError, "Author('ann')"),
    "acting": (lambda store: acting_as("ann").__enter__(), InvalidChangeError, "Author('ann')"),
    "time": (lambda store: store.get_at(ANN, "/a.md", at="2020-01-01"), InvalidValueError, "fromisoformat"),
    "list": (lambda store: store.commit([Write(ANN, "/a.md", "x")]), InvalidChangeError, "ChangeSet(["),
    "change": (lambda store: store.commit(Write(ANN, "/a.md", "x")), InvalidChangeError, "ChangeSet(["),
    "one": (lambda store: store.commit(ChangeSet(Write(ANN, "/a.md", "x"))), InvalidChangeError, "ChangeSet(["),
    "mode": (lambda store: store.commit(ChangeSet(), on_conflict="ret"), InvalidChangeError, '"return"'),
    "token": (lambda store: store.changes(since=5), InvalidValueError, "token"),
    "no path": (lambda store: store.write(ANN, "tea.md", "text"), InvalidKeyError, "'/tea.md'"),
    "no path to append": (lambda store: store.append(ANN, "tea.md", "text"), InvalidKeyError, "'/tea.md'"),
    "prefix": (lambda store: store.list_namespaces(prefix="ann"), MemorandaError, "('ann',)"),
    "ttl": (lambda store: open_store("memory://", ttl=5), InvalidValueError, "default_ttl"),
    "ttl key": (lambda store: open_store("memory://", ttl={"default": 5}), InvalidValueError, "default_ttl"),
    "timeout": (lambda store: open_store("memory://", timeout="x"), InvalidValueError, "seconds"),
    "file": (lambda store: open_store("memory.db"), StoreUrlError, "sqlite:///memory.db"),
    "slashes": (lambda store: open_store("sqlite:/m.db"), StoreUrlError, "sqlite:////m.db"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_answered(memory: MemoryStore, mistake: str) -> None:
    make, kind, way_out = MISTAKES[mistake]
    with pytest.raises(kind) as caught:
        make(memory)
    assert way_out in str(caught.value)
    assert caught.value.cause and caught.value.remedy


def test_a_conflict_says_what_and_what_to_do(memory: MemoryStore) -> None:
    memory.put(ANN, "doc", {"a": 1})
    memory.write(ANN, "/twice.md", "x x")
    with pytest.raises(ConflictError) as caught:
        memory.edit(ANN, "/twice.md", "x", "y")
    (conflict,) = caught.value.conflicts
    assert (caught.value.cause, caught.value.remedy) == (conflict.cause, conflict.remedy)
    assert "2 times" in conflict.cause and "replace_all" in conflict.remedy
    assert conflict.message == f"{conflict.cause} {conflict.remedy}"


def test_a_document_may_have_any_name(memory: MemoryStore) -> None:
    memory.write(ANN, "profile", {"name": "Ann"}, author=Author("user:ann"))
    assert memory.get(ANN, "profile") is not None


def test_the_home_folder_is_meant(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with open_store("sqlite:///~/memory.db"):
        assert (tmp_path / "memory.db").exists()


def test_a_token_of_another_namespace_is_refused(memory: MemoryStore) -> None:
    memory.write(("ben",), "/b.md", "b")
    memory.write(("ben",), "/b.md", "c")
    (seen, _) = memory.changes(namespace=("ben",))
    assert [change.revision for change in memory.changes(namespace=("ben",), since=seen.token)] == [2]
    with pytest.raises(InvalidValueError):
        memory.changes(namespace=ANN, since=seen.token)
    with pytest.raises(InvalidValueError):
        memory.changes(namespace=("nobody",), since=seen.token)
