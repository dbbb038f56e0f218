"""What LangGraph's own stores hold comes over with its times, on both sides of either engine."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import apsw
import pytest
from langgraph.store.base import BaseStore, Item

from memoranda import Author, MemoryStore
from memoranda.transfer import KeyCollisionError, PrefixedKeys, SourceError, import_langgraph

V1 = {
    "content": ["# Tea", "", "green"],
    "created_at": "2025-01-01T00:00:00+00:00",
    "modified_at": "2025-01-02T00:00:00+00:00",
}
V2 = {
    "content": "绿茶\r\n\n",
    "encoding": "utf-8",
    "created_at": "2025-01-01T00:00:00+00:00",
    "modified_at": "2025-01-02",
}
BINARY = {"content": base64.b64encode(bytes(range(256))).decode(), "encoding": "base64", "created_at": "2025"}
ITEMS: dict[tuple[tuple[str, ...], str], dict[str, Any]] = {
    (("memories", "ann"), "/AGENTS.md"): V2,
    (("memories", "ann"), "/old.md"): V1,
    (("memories", "ann"), "/image.png"): BINARY,
    (("memories", "ann"), "0b0d9a4e-profile"): {
        "name": "Ann",
        "n": 1.5,
        "big": 2**53,
        "none": None,
        "list": [1, {"a": []}],
    },
    (("memories", "bob"), "/AGENTS.md"): {"content": "", "encoding": "utf-8"},
    (("memories",), "k"): {},
    (("a%b", "_x", "é", "🦊"), "/with space/%2E.md"): {"content": "x", "encoding": "utf-8"},
    (("odd",), "line\nbreak"): {"content": "x", "encoding": "latin-1", "type": "fact"},
}


@contextmanager
def langgraph(kind: str, place: str) -> Iterator[BaseStore]:
    if kind == "sqlite":
        from langgraph.store.sqlite import SqliteStore

        opened = SqliteStore.from_conn_string(place)
    else:
        from langgraph.store.postgres import PostgresStore

        opened = PostgresStore.from_conn_string(place)
    with opened as store:
        store.setup()
        yield store


def times(item: Item) -> tuple[datetime, datetime]:
    """When a LangGraph item was created and changed; its SQLite store leaves out that it means UTC."""
    return tuple(at.replace(tzinfo=UTC) if at.tzinfo is None else at for at in (item.created_at, item.updated_at))


@pytest.fixture(params=["sqlite", "postgres"])
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def place(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    return str(tmp_path / "langgraph.db") if kind == "sqlite" else request.getfixturevalue("other_postgres_url")


@pytest.fixture
def source(kind: str, place: str) -> Iterator[BaseStore]:
    with langgraph(kind, place) as opened:
        yield opened


def test_every_item_comes_over(store: MemoryStore, source: BaseStore, place: str) -> None:
    for (namespace, key), value in ITEMS.items():
        source.put(namespace, key, value)
    seen: list[tuple[int, int | None]] = []
    report = import_langgraph(
        store, place, author=Author("user:ann"), progress=lambda done, total: seen.append((done, total))
    )
    assert (report.items, report.revisions, report.skipped) == (len(ITEMS), len(ITEMS), ())
    assert report.namespaces == tuple(sorted({namespace for namespace, _ in ITEMS}))
    assert seen[-1] == (len(ITEMS), len(ITEMS))
    for (namespace, key), value in ITEMS.items():
        theirs, ours = source.get(namespace, key), store.get(namespace, key)
        assert theirs is not None and ours is not None
        assert ours.value == value == theirs.value
        assert (ours.created_at, ours.updated_at) == times(theirs)
        (entry,) = [entry for entry in store.changes(namespace=namespace) if entry.key == key]
        assert entry.author.actor == "user:ann"
        assert entry.author.reason is not None and entry.author.reason.startswith("imported from ")
        assert entry.at == times(theirs)[1]
    assert store.verify().ok
    assert len(store.search((), limit=100)) == len(ITEMS)


def test_changed_items_keep_both_times(store: MemoryStore, source: BaseStore, place: str, kind: str) -> None:
    source.put(("ann",), "k", {"x": 1})
    time.sleep(1.1)
    source.put(("ann",), "k", {"x": 2})
    import_langgraph(store, place)
    theirs, ours = source.get(("ann",), "k"), store.get(("ann",), "k")
    assert (ours.created_at, ours.updated_at) == times(theirs)
    if kind == "postgres":  # LangGraph's SQLite store forgets when an item was created
        assert ours.updated_at - ours.created_at > timedelta(seconds=0.9)


def test_expiry_is_kept(store: MemoryStore, source: BaseStore, place: str) -> None:
    source.put(("ann",), "hour", {"x": 1}, ttl=60)
    source.put(("ann",), "forever", {"x": 1}, ttl=None)
    import_langgraph(store, place)
    now = store.context
    for minutes, expected in ((59, {"hour", "forever"}), (61, {"forever"})):
        store.context = replace(now, clock=lambda m=minutes: now.clock() + m * 60_000_000)
        assert {item.key for item in store.search(("ann",), refresh_ttl=False)} == expected
    # Reading renews it by what it was given there.
    store.context = replace(now, clock=lambda: now.clock() + 50 * 60_000_000)
    assert store.get(("ann",), "hour", refresh_ttl=True) is not None
    store.context = replace(now, clock=lambda: now.clock() + 109 * 60_000_000)
    assert store.get(("ann",), "hour", refresh_ttl=False) is not None
    store.context = replace(now, clock=lambda: now.clock() + 111 * 60_000_000)
    assert store.get(("ann",), "hour", refresh_ttl=False) is None


def test_what_has_expired_stays_behind(store: MemoryStore, source: BaseStore, place: str) -> None:
    source.put(("ann",), "short", {"x": 1}, ttl=1)
    source.put(("ann",), "long", {"x": 1})
    now = store.context
    store.context = replace(now, clock=lambda: now.clock() + 3600_000_000)
    report = import_langgraph(store, place)
    assert report.items == 1
    assert [skipped.path for skipped in report.skipped] == ["ann: short"]


def test_a_second_import_brings_what_changed(store: MemoryStore, source: BaseStore, place: str) -> None:
    for number in range(5):
        source.put(("ann",), f"/{number}.md", {"content": f"{number}", "encoding": "utf-8"})
    import_langgraph(store, place)
    assert import_langgraph(store, place).items == 0
    time.sleep(1.1)
    source.put(("ann",), "/1.md", {"content": "changed there", "encoding": "utf-8"})
    source.put(("ann",), "/5.md", {"content": "new there", "encoding": "utf-8"})
    source.put(("ann",), "/2.md", {"content": "changed there", "encoding": "utf-8"})
    source.put(("ann",), "/3.md", {"content": "changed there", "encoding": "utf-8"})
    time.sleep(1.1)
    store.write(("ann",), "/2.md", "changed here, later")
    store.delete(("ann",), "/3.md")
    planned = import_langgraph(store, place, dry_run=True)
    report = import_langgraph(store, place)
    assert report == planned
    assert report.items == 2
    assert {skipped.path: skipped.reason for skipped in report.skipped} == {
        "ann: /2.md": "It was changed here later than in the source.",
        "ann: /3.md": "It was deleted here later than in the source.",
    }
    assert store.get(("ann",), "/1.md").value["content"] == "changed there"
    assert store.get_at(("ann",), "/1.md", revision=1).value["content"] == "1"
    assert store.get(("ann",), "/2.md").value["content"] == "changed here, later"
    assert store.get(("ann",), "/3.md") is None
    assert store.verify().ok


def test_only_a_part_without_a_prefix(store: MemoryStore, source: BaseStore, place: str) -> None:
    source.put(("ann",), "/memories/AGENTS.md", V2)
    source.put(("ann", "x"), "/memories/y.md", V2)
    source.put(("annie",), "/memories/AGENTS.md", V2)
    expected = (PrefixedKeys(("ann",), "/memories/", ("/memories/AGENTS.md",)),)
    assert import_langgraph(store, place, dry_run=True, prefix=("ann",)).prefixed[:1] == expected
    report = import_langgraph(store, place, prefix=("ann",), strip_prefix="/memories/")
    assert report.prefixed == ()
    assert {(item.namespace, item.key) for item in store.search(())} == {
        (("ann",), "/AGENTS.md"),
        (("ann", "x"), "/y.md"),
    }


def test_without_a_prefix_two_keys_may_collide(store: MemoryStore, source: BaseStore, place: str) -> None:
    source.put(("ann",), "/memories/AGENTS.md", V2)
    source.put(("ann",), "/AGENTS.md", V2)
    with pytest.raises(KeyCollisionError, match=r"/AGENTS\.md"):
        import_langgraph(store, place, strip_prefix="/memories/")
    assert store.search(()) == []


def test_what_no_store_can_keep_is_reported(store: MemoryStore, source: BaseStore, place: str) -> None:
    source.put(("ann",), "fine", {"x": 1})
    source.put(("ann",), "k" * 2_000, {"x": 1})
    source.put(("l" * 2_100,), "k", {"x": 1})
    report = import_langgraph(store, place)
    assert report.items == 1
    assert sorted(skipped.path[:5] for skipped in report.skipped) == ["ann: ", "lllll"]
    assert all(skipped.reason.endswith(".") for skipped in report.skipped)


def test_numbers_too_large_are_not_rounded(store: MemoryStore, other_postgres_url: str) -> None:
    with langgraph("postgres", other_postgres_url) as source:
        source.put(("ann",), "huge", {"n": 12345678901234567890123})
        report = import_langgraph(store, other_postgres_url)
    assert report.items == 0
    assert "no JSON" in report.skipped[0].reason


def test_many_items(store: MemoryStore, source: BaseStore, place: str) -> None:
    from langgraph.store.base import PutOp

    text = "word " * 400
    source.batch(
        [
            PutOp(("user", f"{number % 7}"), f"/{number}.md", {"content": f"{number} {text}", "encoding": "utf-8"})
            for number in range(900)
        ]
    )
    report = import_langgraph(store, place)
    assert report.items == 900
    assert len(report.namespaces) == 7
    assert store.get(("user", "3"), "/451.md").value["content"].startswith("451 word")
    assert store.stats().revisions == 900
    assert store.verify().ok


def test_the_source_can_be_in_use(
    store: MemoryStore, source: BaseStore, place: str, kind: str, open_here: Callable[..., MemoryStore]
) -> None:
    for number in range(20):
        source.put(("ann",), f"{number}", {"x": number})
        assert import_langgraph(store, place).items == 1
    assert source.get(("ann",), "19").value == {"x": 19}
    if kind == "postgres":  # a Memoranda store may share its database
        shared = open_here(place)
        assert import_langgraph(shared, place).items == 20


def test_a_file_written_by_an_older_langgraph(store: MemoryStore, tmp_path: Path) -> None:
    with apsw.Connection(str(tmp_path / "old.db")) as connection:
        connection.execute(
            "CREATE TABLE store (prefix text NOT NULL, key text NOT NULL, value text NOT NULL,"
            " created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, updated_at TIMESTAMP, PRIMARY KEY (prefix, key))"
        )
        rows = [
            ("ann", "k", '{"x": 1}', "2024-05-01 12:00:00", "2024-05-02 12:00:00.25"),
            ("ann", "broken", '{"x": ', "2024-05-01 12:00:00", "2024-05-02 12:00:00"),
            ("ann", "list", "[1]", "2024-05-01 12:00:00", "2024-05-02 12:00:00"),
            ("ann", "timeless", '{"x": 2}', "yesterday", None),
            ("ann..x", "k", '{"x": 2}', None, None),
            ("ann", "nan", '{"x": NaN}', None, None),
            ("ann", "surrogate", '{"x": "\\ud800"}', None, None),
        ]
        for row in rows:
            connection.execute("INSERT INTO store VALUES (?, ?, ?, ?, ?)", row)
    connection.close()
    report = import_langgraph(store, f"sqlite:///{tmp_path / 'old.db'}")
    assert report.items == 2
    assert {skipped.path for skipped in report.skipped} == {
        "ann: broken",
        "ann: list",
        "ann..x: k",
        "ann: nan",
        "ann: surrogate",
    }
    item = store.get(("ann",), "k")
    assert item.created_at == datetime(2024, 5, 1, 12, tzinfo=UTC)
    assert item.updated_at == datetime(2024, 5, 2, 12, 0, 0, 250_000, tzinfo=UTC)
    assert datetime.now(UTC) - store.get(("ann",), "timeless").updated_at < timedelta(minutes=1)
    assert store.history(("ann",), "k")[0].author.reason == "imported from old.db"


def test_no_such_source(store: MemoryStore, tmp_path: Path, other_postgres_url: str) -> None:
    (tmp_path / "text.db").write_text("x")
    apsw.Connection(str(tmp_path / "else.db")).execute("CREATE TABLE store (x)").connection.close()
    for source in (
        str(tmp_path / "missing.db"),
        str(tmp_path),
        str(tmp_path / "text.db"),
        str(tmp_path / "else.db"),
        "memory://",
        other_postgres_url,
        "postgresql://nobody:secret@127.0.0.1:1/none",
    ):
        with pytest.raises(SourceError) as caught:
            import_langgraph(store, source)
        assert caught.value.cause.endswith(".") and caught.value.remedy.endswith(".")
        assert "secret" not in str(caught.value)
