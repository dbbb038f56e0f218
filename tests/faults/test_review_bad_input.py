"""Settings, numbers and cursors that no engine can take: a named error, or the nearest that makes sense."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from memoranda import ChangeSet, CursorMove, MemoryStore, Write
from memoranda.errors import InvalidChangeError, InvalidValueError
from memoranda.store.engines.base import SchemaState
from memoranda.store.migrations import migrations
from memoranda.store.opening import open_engine
from memoranda.store.urls import redacted

SPACE = ("ann",)


@pytest.mark.parametrize("number", [sys.maxsize, 1 << 63, 10**30])
def test_numbers_beyond_any_store(store: MemoryStore, number: int) -> None:
    store.write(SPACE, "/a.md", "a")
    assert len(store.search(SPACE, limit=number)) == 1
    assert len(store.search(SPACE, limit=number, offset=1)) == 0
    assert store.search(SPACE, offset=number) == []
    assert store.search(SPACE, limit=number, offset=number) == []
    assert len(store.search(SPACE, filter={"content": "a"}, limit=number, offset=0)) == 1
    assert store.list_namespaces(limit=number) == [SPACE]
    assert store.list_namespaces(offset=number) == []
    assert len(store.list_keys(SPACE, limit=number)) == 1
    assert len(store.list_keys(SPACE, recursive=True, limit=number)) == 1
    assert len(store.grep(SPACE, "a", limit=number).matches) == 1
    assert len(store.history(SPACE, "/a.md", limit=number)) == 1
    assert len(store.history(SPACE, "/a.md", before=number)) == 1
    assert store.history(SPACE, "/a.md", before=-number) == []
    assert len(store.changes(namespace=SPACE, limit=number)) == 1


@pytest.mark.parametrize("number", [True, 1 << 63, "5", 1.5, None])
def test_cursors_go_to_whole_numbers(store: MemoryStore, number: Any) -> None:
    with pytest.raises(InvalidChangeError):
        store.commit(ChangeSet([Write(SPACE, "/a.md", "a")], advance=[CursorMove("reader", SPACE, 0, number)]))
    with pytest.raises(InvalidChangeError):
        store.commit(ChangeSet([Write(SPACE, "/a.md", "a")], advance=[CursorMove("reader", SPACE, number, 1)]))
    assert store.list_namespaces() == []


@pytest.mark.parametrize("name", ["", "a\0", "\ud800", None, 7, "x" * 2_000])
def test_consumers_have_names(store: MemoryStore, name: Any) -> None:
    with pytest.raises(InvalidChangeError):
        store.commit(ChangeSet(advance=[CursorMove(name, SPACE, 0, 1)]))


@pytest.mark.parametrize("lease", ["a\0", "\ud800", 7])
def test_leases_are_text(store: MemoryStore, lease: Any) -> None:
    store.commit(ChangeSet(advance=[CursorMove("reader", SPACE, 0, 1)]))
    with pytest.raises(InvalidChangeError):
        store.commit(ChangeSet(advance=[CursorMove("reader", SPACE, 1, 2, lease)]))


@pytest.mark.parametrize("second", [(0, 7), (5, 7), (0, 5)])
def test_a_cursor_moves_once_in_a_change_set(store: MemoryStore, second: tuple[int, int]) -> None:
    moves = [CursorMove("reader", SPACE, 0, 5), CursorMove("reader", SPACE, *second)]
    with pytest.raises(InvalidChangeError, match="twice"):
        store.commit(ChangeSet([Write(SPACE, "/a.md", "a")], advance=moves))
    assert store.list_namespaces() == []


def test_a_restored_revision_has_a_number(store: MemoryStore) -> None:
    store.write(SPACE, "/a.md", "a")
    with pytest.raises(InvalidChangeError):
        store.restore(SPACE, "/a.md", None)  # type: ignore[arg-type]


@pytest.mark.parametrize("after", ["\ud800", "/a\0", 7])
def test_a_page_goes_on_after_a_key(store: MemoryStore, after: Any) -> None:
    for settings in ({}, {"recursive": True}):
        with pytest.raises(InvalidValueError):
            store.list_keys(SPACE, after=after, **settings)


@pytest.mark.parametrize("tenant", [None, 7, "a\0", "\ud800", "x" * 2_000])
def test_tenants_are_short_texts(store_url: str, open_here: Callable[..., MemoryStore], tenant: Any) -> None:
    with pytest.raises(InvalidValueError):
        open_here(store_url, tenant=tenant)


def test_the_longest_names_fit_together(store_url: str, open_here: Callable[..., MemoryStore]) -> None:
    import random

    letters = random.Random(7)
    labels = ("".join(chr(letters.randrange(33, 127)) for _ in range(1_999)),)
    tenant = "".join(chr(letters.randrange(33, 127)) for _ in range(200))
    store = open_here(store_url, tenant=tenant)
    key = "/" + "".join(chr(letters.randrange(48, 122)) for _ in range(1_023)).replace("\\", "x").replace("/", "x")
    consumer = "".join(chr(letters.randrange(33, 127)) for _ in range(200))
    store.commit(ChangeSet([Write(labels, key, "a")], advance=[CursorMove(consumer, labels, 0, 1)]))
    assert store.list_namespaces() == [labels]


@pytest.mark.blank
def test_every_migration_is_announced(store_url: str) -> None:
    told: list[SchemaState] = []
    engine = open_engine(store_url)
    try:
        engine.setup(told.append)
        assert [state.applied for state in told] == list(range(len(migrations())))
        assert {state.known for state in told} == {migrations()[-1].number}
        engine.setup(told.append)
        assert len(told) == len(migrations())
    finally:
        engine.close()


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ann:sec?ret@db/memory",
        "postgresql://ann:?secret@db:5432/memory?connect_timeout=5",
        "postgresql://ann:sec/ret@db/memory",
        "postgresql://ann:sec@ret@db/memory",
        "postgresql://ann:secret@db",
        "postgresql://db/memory?user=ann&password=secret",
    ],
)
def test_no_password_is_shown(url: str) -> None:
    shown = redacted(url)
    assert "sec" not in shown and "ret" not in shown
    assert "db" in shown
