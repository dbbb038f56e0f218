"""Staged changes over a guard: they are checked when they land."""

from __future__ import annotations

from typing import Any

import pytest

from memoranda import MemoryStore
from memoranda.backends import FilesystemPermission, GuardedBackend, Refuse, StoreBackend
from memoranda.backends.hooks import secrets
from memoranda.backends.staged import StagedBackend
from tests.guard.support import CANARY, HIDDEN, Scenario, said, store_snapshot
from tests.guard.test_matrix import changings, folder_changings, readings, searches
from tests.guard.worlds import EVERYTHING, fill

P = FilesystemPermission


@pytest.fixture
def inner(store: MemoryStore) -> StoreBackend:
    backend = StoreBackend(namespace=("ann",), store=store)
    fill(backend, EVERYTHING)
    return backend


def test_nothing_denied_is_read_or_lands(inner: Any, store: MemoryStore, is_async: bool) -> None:
    from tests.guard.support import World

    guard = GuardedBackend(inner, [P(["read", "write"], ["/secrets/**"], "deny")])
    before = {key: value for key, value in store_snapshot(store)().items() if CANARY.encode() in value}

    def scenario() -> Scenario:
        for path in HIDDEN:
            for ask in [*readings(path), *searches(path), *changings(path), *folder_changings(path)]:
                result = yield ask
                assert CANARY not in said(result), (ask, result)
        yield "commit_staged", (), {}

    World("staged", inner, store_snapshot(store)).run(StagedBackend(guard), scenario, is_async=is_async)
    after = {key: value for key, value in store_snapshot(store)().items() if CANARY.encode() in value}
    assert after == before


@pytest.mark.parametrize("path", [*HIDDEN, "/secrets/new.md"])
@pytest.mark.parametrize("way", ["write", "edit", "delete", "move", "append"])
def test_one_staged_change_of_what_is_denied_stops_all(inner: Any, store: MemoryStore, path: str, way: str) -> None:
    staged = StagedBackend(GuardedBackend(inner, [P(["write"], ["/secrets/**"], "deny")]))
    staged.write("/pub/new.md", "new")
    before = store_snapshot(store)()
    {
        "write": lambda: staged.write(path, "x"),
        "edit": lambda: staged.edit(path, "CANARY", "x"),
        "delete": lambda: staged.delete(path),
        "move": lambda: staged.move(path, "/pub/out.md"),
        "append": lambda: staged.append(path, "x"),
    }[way]()
    result = staged.commit_staged()
    after = store_snapshot(store)()
    assert result.error is None or after == before
    assert {key: value for key, value in after.items() if "/secrets" in key} == {
        key: value for key, value in before.items() if "/secrets" in key
    }
    assert staged.propose_staged().proposal is None or store.proposals() != []
    for proposal in store.proposals():
        assert not any("/secrets" in getattr(change, "key", "") for change in proposal.changes)


def test_hooks_see_what_lands_from_the_stage(inner: Any, store: MemoryStore) -> None:
    seen: list[Any] = []

    def hook(event: Any) -> Any:
        seen.append((event.path, event.after))
        return Refuse("no") if "bad" in str(event.after) else None

    staged = StagedBackend(GuardedBackend(inner, hooks=[hook, secrets()]))
    staged.write("/a.md", "good\n")
    staged.append("/a.md", "bad")
    staged.edit("/a.md", "bad", "fine")
    assert seen == []
    assert staged.commit_staged().error is None
    assert seen == [("/a.md", "good\nfine")]
    staged.append("/a.md", "bad")
    assert "refused: no" in (staged.commit_staged().error or "")
    item = store.get(("ann",), "/a.md")
    assert item is not None
    assert item.value["content"] == "good\nfine"
