"""The feed gives every change once, in an order that a reader can follow."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import psycopg
import pytest

from memoranda import Author, ChangeSet, FeedChange, MemoryStore, Write, open_store
from memoranda.errors import InvalidValueError
from tests.store.conftest import Namespace, settled

SCOPE = ("slow",)


def follow(store: MemoryStore, since: str | None, limit: int = 7) -> list[FeedChange]:
    """Read on from a token until nothing more comes."""
    found: list[FeedChange] = []
    while page := store.changes(since=since, limit=limit):
        assert len(page) <= limit
        found += page
        since = page[-1].token
    return found


def test_the_feed_has_everything(store: MemoryStore) -> None:
    author = Author("user:ann", "t", "r", "c", "why")
    store.write(("a",), "/x.md", "one\n", author=author)
    store.put(("b",), "profile", {"n": 1})
    store.edit(("a",), "/x.md", "one", "two")
    store.move(("a",), "/x.md", "/y.md")
    store.delete(("a",), "/y.md")
    store.restore(("a",), "/y.md", 1)
    changes = settled(store)
    assert [(c.namespace, c.key, c.operation, c.revision) for c in changes] == [
        (("a",), "/x.md", "write", 1),
        (("b",), "profile", "write", 1),
        (("a",), "/x.md", "edit", 2),
        (("a",), "/x.md", "move", 3),
        (("a",), "/y.md", "move", 1),
        (("a",), "/y.md", "delete", 2),
        (("a",), "/y.md", "restore", 3),
    ]
    first = changes[0]
    assert (first.author, first.size, first.position) == (author, 4, 1)
    assert first.digest == store.history(("a",), "/x.md")[-1].digest
    assert changes[-1].origin == {"restored": 1}
    assert [change.at for change in changes] == sorted(change.at for change in changes)


def test_tokens_go_on_from_any_change(store: MemoryStore) -> None:
    for number in range(40):
        store.commit(
            ChangeSet([Write((f"ns-{number % 3}",), f"/{number}.md", "x"), Write(("all",), f"/{number}.md", "y")])
        )
    whole = settled(store)
    assert len(whole) == 80 and len({change.token for change in whole}) == 80
    for index in (0, 1, 2, 39, 40, 78, 79):
        assert store.changes(since=whole[index].token) == whole[index + 1 :]
    for limit in (1, 7, 100):
        assert follow(store, None, limit) == whole
    assert store.changes(limit=0) == []
    token = whole[-1].token
    store.write(("late",), "/a.md", "x")
    settled(store)
    assert [change.key for change in store.changes(since=token)] == ["/a.md"]


def test_by_author(store: MemoryStore) -> None:
    for number in range(30):
        store.write(("a",), f"/{number}.md", "x", author=Author(f"user:{number % 3}"))
    settled(store)
    mine = store.changes(author="user:1")
    assert [change.key for change in mine] == [f"/{number}.md" for number in range(30) if number % 3 == 1]
    assert store.changes(author="user:1", limit=4) == mine[:4]
    assert store.changes(author="user:1", since=mine[3].token) == mine[4:]
    assert store.changes(author="user:") == store.changes(author="nobody") == []


def test_by_author_beyond_a_page(store: MemoryStore) -> None:
    changes = [Write(("a",), f"/{number}.md", "x") for number in range(1_100)]
    store.commit(ChangeSet(changes, Author("user:many")))
    store.write(("a",), "/last.md", "x", author=Author("user:one"))
    settled(store)
    assert [change.key for change in store.changes(author="user:one")] == ["/last.md"]
    assert len(store.changes(author="user:many", limit=5_000)) == 1_100
    assert len(store.changes(limit=5_000)) == 1_101


def test_by_namespace(shared: MemoryStore, ns: Namespace) -> None:
    for number in range(10):
        shared.write(ns, f"/{number}.md", "x")
        shared.write((*ns, "below"), f"/{number}.md", "x")
        shared.write((ns[0] + "x",), f"/{number}.md", "x")
    changes = shared.changes(namespace=ns)
    assert [change.key for change in changes] == [f"/{number}.md" for number in range(10)]
    assert [change.position for change in changes] == list(range(1, 11))
    assert shared.changes(namespace=ns, since=changes[3].token) == changes[4:]
    assert shared.changes(namespace=ns, since=changes[3].token, limit=2) == changes[4:6]
    assert shared.changes(namespace=(*ns, "nowhere")) == []


@pytest.mark.parametrize(
    "token", ["", "1", "1-2", "1-2-3-4", "a-b-c", "-1-2-3", "1--2", "\u0661-1-1", " 1-2-3", "9" * 30 + "-1-1"]
)
def test_tokens_that_are_none(shared: MemoryStore, token: str) -> None:
    if token == "":
        assert shared.changes(since=token, limit=1) == shared.changes(limit=1)
        return
    with pytest.raises(InvalidValueError):
        shared.changes(since=token)


async def test_async_changes(shared: MemoryStore, ns: Namespace) -> None:
    await shared.awrite(ns, "/a.md", "x", author=Author("user:ann"))
    (change,) = await shared.achanges(namespace=ns, author="user:ann")
    assert await shared.achanges(namespace=ns, since=change.token) == []


@pytest.fixture
def postgres(postgres_url: str, open_here: Callable[..., MemoryStore]) -> MemoryStore:
    return open_here(postgres_url)


def copy_last_revision(connection: psycopg.Connection, key: str) -> None:
    """Write a revision by hand, as a slow writer would, in the connection's transaction."""
    connection.execute(
        "INSERT INTO memoranda.revisions"
        " (namespace_id, position, item_id, revision, operation, at, size, salt, content_digest, digest)"
        " SELECT r.namespace_id, r.position + 1, r.item_id, r.revision + 1, r.operation, r.at, r.size, r.salt,"
        " r.content_digest, r.digest"
        " FROM memoranda.revisions r JOIN memoranda.items i ON i.id = r.item_id"
        " WHERE i.key = %s ORDER BY r.revision DESC LIMIT 1",
        (key,),
    )


def test_a_transaction_that_commits_late_is_never_skipped(postgres: MemoryStore, postgres_url: str) -> None:
    """A writer takes its number first and commits last; a reader that went on meanwhile still meets it."""
    postgres.write(SCOPE, "/slow.md", "x")
    postgres.write(("other",), "/a.md", "x")
    settled(postgres)
    with psycopg.connect(postgres_url) as slow:
        copy_last_revision(slow, "/slow.md")
        seen = follow(postgres, None)
        for number in range(20):
            postgres.write(("fast", str(number % 3)), f"/{number}.md", "x")
            seen += follow(postgres, seen[-1].token)
        # What has committed behind the open transaction waits for it.
        assert {change.key for change in seen} == {"/slow.md", "/a.md"}
        slow.commit()
    postgres.write(("after",), "/last.md", "x")
    caught_up(postgres, seen, 24)
    assert [change.token for change in seen] == [change.token for change in postgres.changes()]
    assert [change.revision for change in seen if change.key == "/slow.md"] == [1, 2]
    assert len({change.token for change in seen}) == 24


def test_a_transaction_that_is_undone_holds_nobody_up(postgres: MemoryStore, postgres_url: str) -> None:
    postgres.write(SCOPE, "/slow.md", "x")
    with psycopg.connect(postgres_url) as slow:
        copy_last_revision(slow, "/slow.md")
        postgres.write(("fast",), "/a.md", "x")
        slow.rollback()
    assert [change.key for change in settled(postgres)] == ["/slow.md", "/a.md"]


def test_a_commit_of_ours_that_waits_is_never_skipped(postgres: MemoryStore, postgres_url: str) -> None:
    """The same with a real commit: it holds one namespace while it waits for another, as others go by."""
    for label in ("a", "b"):
        postgres.write((label,), "/start.md", "x")
    seen = settled(postgres)
    with psycopg.connect(postgres_url) as blocker:
        blocker.execute("SELECT 1 FROM memoranda.namespaces WHERE labels = %s FOR UPDATE", ("b\x01",))
        late = ChangeSet([Write(("a",), "/late.md", "x"), Write(("b",), "/late.md", "x")])
        writer = threading.Thread(target=postgres.commit, args=(late,), daemon=True)
        writer.start()
        wait_for_a_lock(postgres_url)
        for number in range(20):
            postgres.write(("c",), f"/{number}.md", "x")
            seen += follow(postgres, seen[-1].token)
        blocker.rollback()
        writer.join(30)
    assert not writer.is_alive()
    caught_up(postgres, seen, 24)
    assert sum(change.key == "/late.md" for change in seen) == 2
    assert len({change.token for change in seen}) == 24


def caught_up(store: MemoryStore, seen: list[FeedChange], count: int) -> None:
    """Read on until so many changes were seen; other transactions on the server may hold the feed up for a moment."""
    deadline = time.monotonic() + 20
    while len(seen) < count and time.monotonic() < deadline:
        seen += follow(store, seen[-1].token)
    seen += follow(store, seen[-1].token)
    assert len(seen) == count


def wait_for_a_lock(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            row = connection.execute("SELECT count(*) FROM pg_locks WHERE NOT granted").fetchone()
            if row and row[0]:
                return
            time.sleep(0.01)
    raise AssertionError("nobody waits for a lock")


def test_a_reader_beside_many_writers_misses_nothing(store_url: str) -> None:
    """Both the whole feed and one namespace's are followed while eight writers write."""
    with open_store(store_url) as store:
        done = threading.Event()
        seen: list[FeedChange] = []
        mine: list[FeedChange] = []

        def read() -> None:
            last = False
            while True:
                seen.extend(follow(store, seen[-1].token if seen else None, 5))
                mine.extend(store.changes(namespace=("ns-0",), since=mine[-1].token if mine else None))
                if last:
                    return
                last = done.is_set()

        def write(number: int) -> None:
            for step in range(25):
                changes = [Write((f"ns-{(number + part) % 3}",), f"/{number}-{step}.md", "x") for part in range(2)]
                store.commit(ChangeSet(changes))

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        writers = [threading.Thread(target=write, args=(number,), daemon=True) for number in range(8)]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join(60)
        done.set()
        reader.join(60)
        caught_up(store, seen, 400)
        mine += store.changes(namespace=("ns-0",), since=mine[-1].token)
        assert len(seen) == len({change.token for change in seen}) == 400
        assert [change.token for change in seen] == [change.token for change in store.changes()]
        assert mine == store.changes(namespace=("ns-0",))
        assert [change.position for change in mine] == list(range(1, len(mine) + 1))
