"""`verify` finds whatever was changed behind the store's back."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from memoranda import Author, MemoryStore, open_store
from tests.store.conftest import Namespace, run_sql


@pytest.fixture(scope="module")
def durable(durable_url: str) -> Iterator[MemoryStore]:
    """A tenant of its own, so that nobody else meets what is damaged here."""
    with open_store(durable_url, tenant="tampered") as store:
        yield store


ITEM = "SELECT id FROM items WHERE key = '/a.md' AND namespace_id = (SELECT id FROM namespaces WHERE labels = ?)"

SECOND, THIRD, LAST = (f"WHERE revision = {number} AND item_id = ({ITEM})" for number in (2, 3, 4))


def fill(store: MemoryStore, ns: Namespace) -> str:
    """Some items with some history; returns the namespace as the tables know it."""
    author = Author("user:ann", "thread", "run", "call", "because")
    for key in ("/a.md", "/b.md"):
        store.write(ns, key, "one\ntwo\nthree\n", author=author)
        store.edit(ns, key, "two", "2", author=author)
        store.edit(ns, key, "three", "3", author=author)
        store.restore(ns, key, 1, author=author)
    store.put(ns, "json", {"n": 1})
    store.write(ns, "/c.md", "x")
    store.delete(ns, "/c.md")
    store.write(ns, "/d.md", "x")
    store.move(ns, "/d.md", "/e.md")
    report = store.verify(ns)
    assert report.ok and len(report.namespaces) == 1
    return ns[0] + "\x01"


TAMPERINGS = {
    "body": f"UPDATE items SET body = CAST('x' AS %bytes) WHERE id = ({ITEM})",
    "meta": f"UPDATE items SET meta = CAST('{{}}' AS %bytes) WHERE id = ({ITEM})",
    "kind": f"UPDATE items SET kind = 0 WHERE id = ({ITEM})",
    "key": f"UPDATE items SET key = '/f.md' WHERE id = ({ITEM})",
    "hidden": f"UPDATE items SET live = 0 WHERE id = ({ITEM})",
    "head digest": f"UPDATE items SET digest = CAST('x' AS %bytes) WHERE id = ({ITEM})",
    "revision number": f"UPDATE items SET revision = 3 WHERE id = ({ITEM})",
    "delta": f"UPDATE revisions SET delta = CAST('xy' AS %bytes) {SECOND}",
    "delta kind": f"UPDATE revisions SET delta_kind = 1 {SECOND}",
    "previous meta": f"UPDATE revisions SET previous_meta = CAST('{{}}' AS %bytes) {THIRD}",
    "previous kind": f"UPDATE revisions SET previous_kind = 0 {THIRD}",
    "cut off": f"UPDATE revisions SET previous_kind = NULL {THIRD}",
    "actor": f"UPDATE revisions SET actor = 'user:mallory' {SECOND}",
    "no actor": f"UPDATE revisions SET actor = NULL {SECOND}",
    "thread": f"UPDATE revisions SET thread_id = 'other' {SECOND}",
    "run": f"UPDATE revisions SET run_id = 'other' {SECOND}",
    "tool call": f"UPDATE revisions SET tool_call_id = 'other' {SECOND}",
    "reason": f"UPDATE revisions SET reason = 'no reason' {SECOND}",
    "swapped fields": f"UPDATE revisions SET thread_id = run_id, run_id = thread_id {SECOND}",
    "time": f"UPDATE revisions SET at = at + 1 {SECOND}",
    "operation": f"UPDATE revisions SET operation = 'write' {SECOND}",
    "origin": f"UPDATE revisions SET origin = NULL {LAST}",
    "revision size": f"UPDATE revisions SET size = size + 1 {SECOND}",
    "salt": f"UPDATE revisions SET salt = CAST('0123456789abcdef' AS %bytes) {SECOND}",
    "content digest": f"UPDATE revisions SET content_digest = salt {SECOND}",
    "digest": f"UPDATE revisions SET digest = salt {SECOND}",
    "last revision gone": f"DELETE FROM revisions {LAST}",
    "first revision gone": f"DELETE FROM revisions WHERE revision = 1 AND item_id = ({ITEM})",
    "middle revision gone": f"DELETE FROM revisions {SECOND}",
    "item gone": f"DELETE FROM items WHERE id = ({ITEM})",
    "namespace digest": "UPDATE namespaces SET digest = CAST('x' AS %bytes) WHERE labels = ?",
    "namespace live": "UPDATE namespaces SET live = live + 1 WHERE labels = ?",
    "namespace position": "UPDATE namespaces SET position = 1 WHERE labels = ?",
    "position": f"UPDATE revisions SET position = position + 1000 {LAST}",
    "parent": f"UPDATE items SET parent = '/elsewhere' WHERE id = ({ITEM})",
    "size": f"UPDATE items SET size = size + 1 WHERE id = ({ITEM})",
    "updated_at": f"UPDATE items SET updated_at = updated_at + 1 WHERE id = ({ITEM})",
    "created_at": f"UPDATE items SET created_at = created_at + 1 WHERE id = ({ITEM})",
}


@pytest.mark.parametrize("what", TAMPERINGS)
def test_every_kind_of_tampering_shows(durable: MemoryStore, durable_url: str, ns: Namespace, what: str) -> None:
    labels = fill(durable, ns)
    kind = "blob" if durable_url.startswith("sqlite") else "bytea"
    statement = TAMPERINGS[what].replace("%bytes", kind)
    assert run_sql(durable_url, statement, *[labels] * statement.count("?")) == 1
    report = durable.verify(ns)
    assert not report.ok
    assert any(str(ns) in problem and problem.endswith(".") for problem in report.problems)


def test_a_history_cut_short_with_care_shows(durable: MemoryStore, durable_url: str, ns: Namespace) -> None:
    """The last revision is taken away and the item put back as it was before it: only the sum gives it away."""
    labels = (ns[0] + "\x01",)
    durable.put(ns, "json", {"n": 1})
    run_sql(durable_url, f"CREATE TABLE IF NOT EXISTS {_copy} AS SELECT * FROM items WHERE key = 'no such key'")
    where = "namespace_id = (SELECT id FROM namespaces WHERE labels = ?)"
    run_sql(durable_url, f"INSERT INTO {_copy} SELECT * FROM items WHERE {where}", *labels)
    durable.put(ns, "json", {"n": 2})
    run_sql(durable_url, f"DELETE FROM revisions WHERE revision = 2 AND {where}", *labels)
    run_sql(durable_url, f"DELETE FROM items WHERE {where}", *labels)
    run_sql(durable_url, f"INSERT INTO items SELECT * FROM {_copy} WHERE {where}", *labels)
    run_sql(durable_url, f"DROP TABLE {_copy}")
    assert durable.get(ns, "json").value == {"n": 1}
    report = durable.verify(ns)
    # The search index, which knows the second one, gives it away too.
    assert [str(ns) in problem for problem in report.problems if "index" not in problem] == [True]


_copy = "copy_of_items"


def test_an_item_taken_out_with_its_history_shows(durable: MemoryStore, durable_url: str, ns: Namespace) -> None:
    labels = fill(durable, ns)
    run_sql(durable_url, f"DELETE FROM revisions WHERE item_id = ({ITEM})", labels)
    run_sql(durable_url, f"DELETE FROM items WHERE id = ({ITEM})", labels)
    assert not durable.verify(ns).ok


def test_verify_looks_at_a_prefix(durable: MemoryStore, durable_url: str, ns: Namespace) -> None:
    for label in ("a", "b"):
        durable.put((*ns, label), "x", {"n": 1})
    run_sql(durable_url, "UPDATE namespaces SET live = 5 WHERE labels = ?", f"{ns[0]}\x01a\x01")
    assert durable.verify((*ns, "b")).ok
    assert not durable.verify((*ns, "a")).ok
    report = durable.verify(ns)
    assert len(report.problems) == 1
    assert [head.namespace for head in report.namespaces] == [(*ns, "a"), (*ns, "b")]


def test_digests_say_whether_two_scopes_are_equal(shared: MemoryStore, ns: Namespace) -> None:
    shared.put(ns, "x", {"n": 1})
    (before,) = shared.verify(ns).namespaces
    shared.get(ns, "x")
    assert shared.verify(ns).namespaces == (before,)
    shared.put(ns, "x", {"n": 1})
    (after,) = shared.verify(ns).namespaces
    assert before.digest != after.digest
    assert (after.items, after.revisions) == (1, 2)


def test_verify_reports_progress(shared: MemoryStore, ns: Namespace) -> None:
    from langgraph.store.base import PutOp

    shared.batch([PutOp(ns, f"key-{n}", {"n": n}) for n in range(450)])
    steps: list[int] = []
    assert shared.verify(ns, progress=steps.append).ok
    assert sum(steps) == 450


async def test_async_verify(shared: MemoryStore, ns: Namespace) -> None:
    await shared.aput(ns, "x", {"n": 1})
    assert (await shared.averify(ns)).ok
