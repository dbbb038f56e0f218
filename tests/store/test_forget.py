"""Forgetting: nothing of it is left anywhere that the store can reach, and nothing of anybody else has changed."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import psycopg
import pytest
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver

from memoranda import Author, InvalidNamespaceError, MemoryStore, Write
from memoranda.errors import InvalidValueError
from memoranda.store.operations.forget_namespaces import NOBODY
from memoranda.store.operations.indexing import Part
from memoranda.store.turns import Turn
from tests.store.embedding_support import Embedding, HashedWords
from tests.store.forget_support import TEAM, Words, contents_of, fill, raw_files

OTHERS = ("bob", "cat")


@pytest.fixture
def people(store: MemoryStore) -> tuple[Embedding, Words]:
    """Three people with much to remember, of whom Ann is to be forgotten; everything is embedded."""
    embedding = Embedding(store, HashedWords(16))
    embedding.drain()
    words = [fill(store, person) for person in ("ann", *OTHERS)]
    embedding.drain()
    return embedding, words[0]


def digests(store: MemoryStore) -> dict[tuple[str, ...], str]:
    found = store.verify()
    assert found.ok, found.problems
    return {each.namespace: each.digest for each in found.namespaces}


def test_nothing_of_a_person_is_left(people: tuple[Embedding, Words], store_url: str, engine: str) -> None:
    embedding, words = people
    store = embedding.store
    before = contents_of(store_url)
    assert before.holding(words.all) >= {
        *("items.body", "items.key", "items.meta", "revisions.delta, decoded", "revisions.reason"),
        *("turns.body", "turns.speaker", "proposals.body", "proposals.note", "proposals.waits_for"),
        *("jobs.payload", "jobs.error", "schedules.payload", "runs.summary", "runs.error", "runs.changes"),
    } - {"items.meta"}
    assert before.indexed(words.all)
    assert before.near(HashedWords(16).vector(words.text(11))) > 0.5
    others = {place: digest for place, digest in digests(store).items() if place[0] != "ann"}
    kept = {body for body in before.bodies() if len(body) >= 48}

    receipt = store.forget(subject="ann")

    after = contents_of(store_url)
    assert not after.holding(words.all)
    assert not after.indexed(words.all)
    assert not any(turn["user_id"] == "ann" for turn in after.tables["turns"])
    assert digests(store) == others
    assert receipt.vacuumed
    assert receipt.counts["namespaces"] == 2
    assert receipt.counts["proposals"] == 3
    assert [receipt.counts[name] for name in ("jobs", "runs", "schedules", "cleared_runs")] == [2, 1, 1, 1]
    assert store.recall(("ann",), words.text(3)).hits == ()
    assert not [hit for hit in store.recall(TEAM, words.text(20)).hits if any(word in hit.text for word in words.all)]
    if engine == "sqlite":
        raw = raw_files(store_url).lower()
        assert not [word for word in words.all if word.encode() in raw]
        # What was compressed, vectors, terms: no stretch of it lies in a free place.
        gone = kept - set(after.bodies())
        whole = raw_files(store_url)
        assert len(gone) > 20
        assert not [
            body for body in gone if body[8:48] in whole and not any(body[8:48] in one for one in after.bodies())
        ]


def test_no_vector_of_a_person_is_left(people: tuple[Embedding, Words], store_url: str) -> None:
    embedding, words = people
    before = contents_of(store_url)
    embedding.store.forget(subject="ann", vacuum=False)
    after = contents_of(store_url)
    alike = [embedding.in_use.embedder.embed_query(text) for text in (words.text(30), words.text(22))]
    assert [before.near(vector) > after.near(vector) for vector in alike] == [True, True]
    for contents in (before, after):
        assert contents.passages(Part.VECTORS) - contents.passages(Part.DEAD) == contents.living
    turns = {scope for scope, _ in after.living if scope % 2}
    assert not {scope for scope, _ in after.passages(Part.DEAD)} & turns
    assert {each for each in after.passages(Part.WORDS) if each[0] in turns} == {
        each for each in after.living if each[0] in turns
    }


def test_what_the_receipt_says(people: tuple[Embedding, Words]) -> None:
    store = people[0].store
    receipt = store.forget(subject="ann")
    where = {each.namespace: each for each in receipt.removed}
    assert set(where) == {("ann",), ("ann", "sub"), TEAM}
    assert where["ann",].whole
    assert not where[TEAM].whole
    assert (where[TEAM].turns, where[TEAM].threads, where[TEAM].items) == (4, 1, 0)
    assert where["ann",].items == 8
    assert where["ann",].turns == 6
    assert (receipt.proposals, receipt.shared_proposals, receipt.cursors) == (3, 1, 2)
    assert {(each.namespace, each.key, each.how) for each in receipt.mentions} == {
        (TEAM, "/from-ann.md", "moved from"),
        (TEAM, "/by-ann.md", "actor"),
    }
    assert receipt.threads == ("team-ann", "thread-ann")
    told = " ".join(receipt.unreached)
    assert "/from-ann.md" in told
    assert "team-ann, thread-ann" in told
    assert "shared" in told
    assert json.loads(json.dumps(receipt.to_dict()))["counts"] == receipt.counts
    assert "acme/team: 4 turns, 1 thread" in str(receipt)


def test_a_rehearsal_counts_the_same_and_changes_nothing(people: tuple[Embedding, Words], store_url: str) -> None:
    store = people[0].store
    before = contents_of(store_url).tables
    planned = store.forget(subject="ann", dry_run=True)
    assert contents_of(store_url).tables == before
    assert planned.dry_run
    done = store.forget(subject="ann")
    for name in ("namespaces", "items", "revisions", "turns", "proposals", "cursors", "jobs", "runs", "schedules"):
        assert planned.counts[name] == done.counts[name], name
    assert (planned.mentions, planned.threads) == (done.mentions, done.threads)


def test_a_forgotten_namespace_leaves_a_row_without_a_name(store: MemoryStore, store_url: str) -> None:
    store.write(("ann",), "/tea.md", "green")
    store.write(("bob",), "/tea.md", "black")
    store.forget(("ann",))
    assert [each.namespace for each in store.verify().namespaces] == [("bob",)]
    assert store.list_namespaces() == [("bob",)]
    assert (store.stats().namespaces, store.stats().items, store.stats().revisions) == (1, 1, 1)
    assert store.search(()) == store.search(("bob",))
    rows = [row for row in contents_of(store_url).tables["namespaces"] if row["tenant"] == NOBODY]
    assert [row["labels"][0] for row in rows] == ["d"]


def test_a_scope_is_exact_unless_those_below_are_meant_too(store: MemoryStore) -> None:
    places = [("acme",), ("acme", "ann"), ("acme2",), ("acme", "ann", "x")]
    for place in places:
        store.put(place, "a", {"x": 1})
    store.forget(("acme",))
    assert store.list_namespaces() == [("acme", "ann"), ("acme", "ann", "x"), ("acme2",)]
    store.forget(("acme",), below=True)
    assert store.list_namespaces() == [("acme2",)]


def test_a_subject_is_looked_for_within_a_scope(store: MemoryStore) -> None:
    for place in [("acme", "ann"), ("other", "ann"), ("acme", "joann"), ("ann%",), ("a\x01nn",)]:
        store.put(place, "a", {"x": 1})
        store.record_turns(place, "t", [Turn("m", "user", "hello")], user="ann")
    store.forget(("acme",), below=True, subject="ann")
    assert set(store.list_namespaces()) == {("other", "ann"), ("acme", "joann"), ("ann%",), ("a\x01nn",)}
    assert store.turns(("acme", "joann")) == []
    assert store.turns(("ann%",))
    store.forget(subject="ann")
    assert set(store.list_namespaces()) == {("acme", "joann"), ("ann%",), ("a\x01nn",)}
    assert store.turns(("ann%",)) == []


def test_nothing_of_another_tenant_is_touched(store: MemoryStore, store_url: str, open_here: Any) -> None:
    other = open_here(store_url, tenant="other")
    for each in (store, other):
        each.write(("ann",), "/tea.md", "green")
        each.record_turns(("team",), "t", [Turn("m", "user", "hello")], user="ann")
    before = other.verify().namespaces
    store.forget((), below=True, confirm=True)
    store.forget(subject="ann")
    assert other.verify().namespaces == before
    assert len(other.turns(("team",))) == 1


def test_everything_has_to_be_confirmed(store: MemoryStore) -> None:
    store.put(("ann",), "a", {"x": 1})
    for wrong in ({}, {"scope": ()}, {"scope": (), "below": True}, {"thread": "t", "subject": "ann"}, {"thread": ""}):
        with pytest.raises(InvalidValueError):
            store.forget(**wrong)  # type: ignore[arg-type]
    for wrong in ({"scope": ("",)}, {"scope": "ann"}, {"subject": ""}):
        with pytest.raises(InvalidNamespaceError):
            store.forget(**wrong)  # type: ignore[arg-type]
    assert store.get(("ann",), "a") is not None
    store.forget((), below=True, confirm=True)
    assert store.list_namespaces() == []


def test_nothing_found_is_said(store: MemoryStore) -> None:
    receipt = store.forget(("nobody",))
    assert receipt.empty
    assert receipt.removed == ()
    assert "There was nothing of nobody to forget" in str(receipt)


def test_a_scope_that_is_written_to_again_begins_anew(store: MemoryStore) -> None:
    store.write(("ann",), "/tea.md", "green")
    store.forget(("ann",))
    written = store.write(("ann",), "/tea.md", "black", base=0)
    assert written.revision == 1
    assert [change.position for change in store.changes(namespace=("ann",))] == [1]
    assert [hit.text for hit in store.recall(("ann",), "black")] == ["black"]
    assert store.verify().ok


def test_the_process_keeps_no_part_of_the_index(store: MemoryStore) -> None:
    store.write(("ann",), "/tea.md", "green tea")
    assert store.recall(("ann",), "tea").hits
    assert store.context.blocks._values
    store.forget(("ann",))
    assert not store.context.blocks._values


async def test_the_same_from_an_event_loop(store: MemoryStore, store_url: str) -> None:
    await store.awrite(("ann",), "/tea.md", "green")
    said: list[int] = []
    receipt = await store.aforget(("ann",), progress=said.append)
    assert receipt.counts["revisions"] == 1
    assert sum(said) == receipt.removed[0].rows
    assert (await store.afinish_forgetting()).vacuumed
    assert not contents_of(store_url).tables["items"]


def checkpointer(*threads: str) -> InMemorySaver:
    saver = InMemorySaver()
    for thread in threads:
        config: Any = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
        saver.put(config, empty_checkpoint(), {}, {})
    return saver


def test_a_checkpointer_forgets_the_conversations_too(people: tuple[Embedding, Words]) -> None:
    saver = checkpointer("thread-ann", "team-ann", "shared", "thread-bob")
    receipt = people[0].store.forget(subject="ann", checkpointer=saver)
    assert set(saver.storage) == {"shared", "thread-bob"}
    assert receipt.checkpoints == 2
    told = " ".join(receipt.unreached)
    assert "Checkpoints of shared" in told
    assert "thread-ann" not in told


async def test_a_checkpointer_that_can_only_be_awaited(store: MemoryStore) -> None:
    class Awaited:
        gone: list[str]

        def delete_thread(self, thread_id: str) -> None:
            raise NotImplementedError

        async def adelete_thread(self, thread_id: str) -> None:
            await asyncio.sleep(0)
            self.gone.append(thread_id)

    saver = Awaited()
    saver.gone = []
    store.record_turns(("ann",), "t1", [Turn("m", "user", "hello")])
    await store.aforget(("ann",), checkpointer=saver)
    assert saver.gone == ["t1"]


def test_nothing_is_lost_when_the_checkpointer_fails(store: MemoryStore) -> None:
    class Broken:
        def delete_thread(self, thread_id: str) -> None:
            raise ConnectionError("away")

    store.record_turns(("ann",), "t1", [Turn("m", "user", "hello")])
    with pytest.raises(ConnectionError):
        store.forget(("ann",), checkpointer=Broken())
    assert store.forget(("ann",)).threads == ("t1",)


def test_a_filling_index_does_not_say_how_far_it_is(store: MemoryStore, store_url: str) -> None:
    for person in ("ann", "bob"):
        store.write((person,), "/tea.md", "green tea")
    embedding = Embedding(store, HashedWords(16))
    embedding.drain()
    assert {row["progress"] for row in contents_of(store_url).tables["indexes"]} == {"bob\x01"}
    store.forget(("bob",))
    assert {row["progress"] for row in contents_of(store_url).tables["indexes"]} == {""}


def test_the_servers_statistics_hold_nothing(other_postgres_url: str, open_here: Any) -> None:
    store = open_here(other_postgres_url)
    for number in range(40):
        store.put(("quibblewort",), f"quibblekey{number}", {"x": number})
    with psycopg.connect(other_postgres_url, autocommit=True, options="-c search_path=memoranda") as server:
        server.execute("ANALYZE")
        sampled = (
            "SELECT count(*) FROM pg_stats WHERE schemaname = 'memoranda' AND CAST(pg_stats AS text) LIKE '%quibble%'"
        )
        assert server.execute(sampled).fetchone() != (0,)
        emptied = store.forget(("quibblewort",))
        assert any("statistics of tables that are empty now: " in each for each in emptied.unreached)
        store.put(("bob",), "a", {"x": 1})
        cleaned = store.finish_forgetting()
        assert server.execute(sampled).fetchone() == (0,)
        assert not [each for each in cleaned.unreached if "statistics" in each]


def test_a_running_transaction_is_told_of(postgres_url: str, open_here: Any) -> None:
    store = open_here(postgres_url)
    store.write(("ann",), "/tea.md", "green")
    with psycopg.connect(postgres_url) as server:
        server.execute("SELECT pg_current_xact_id()")
        receipt = store.forget(("ann",))
    assert any("A transaction that began earlier" in each for each in receipt.unreached)
    assert not any("A transaction that began earlier" in each for each in store.finish_forgetting().unreached)


def test_a_reader_that_holds_the_log_is_told_of(tmp_path: Any, open_here: Any) -> None:
    import apsw

    url = f"sqlite:///{tmp_path / 'memory.db'}"
    store = open_here(url, timeout=0.3)
    store.write(("ann",), "/tea.md", "quibblewort")
    reader = apsw.Connection(str(tmp_path / "memory.db"))
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM items").fetchall()
    receipt = store.forget(("ann",))
    assert any("Somebody was reading" in each for each in receipt.unreached)
    assert b"quibblewort" in raw_files(url)
    reader.close()
    assert not any("Somebody was reading" in each for each in store.finish_forgetting().unreached)
    assert b"quibblewort" not in raw_files(url)


def test_a_file_that_cannot_be_cleaned_now_is_told_of(tmp_path: Any, open_here: Any) -> None:
    import apsw

    store = open_here(f"sqlite:///{tmp_path / 'memory.db'}", timeout=0.3)
    store.write(("ann",), "/tea.md", "green")
    store.forget(("ann",), vacuum=False)
    writer = apsw.Connection(str(tmp_path / "memory.db"))
    writer.execute("BEGIN IMMEDIATE")
    receipt = store.finish_forgetting()
    writer.close()
    assert not receipt.vacuumed
    assert any("could not be cleaned" in each for each in receipt.unreached)


def test_a_proposal_goes_as_a_whole(store: MemoryStore) -> None:
    from memoranda import ChangeSet

    by = Author("agent:helper")
    both = store.propose(ChangeSet([Write(("ann",), "/a.md", "a"), Write(TEAM, "/a.md", "a")], by))
    own = store.propose(ChangeSet([Write(TEAM, "/b.md", "b")], by))
    receipt = store.forget(("ann",))
    assert (receipt.proposals, receipt.shared_proposals) == (1, 1)
    assert [each.id for each in store.proposals(status=None)] == [own.id]
    assert [each.id for each in store.proposals(TEAM, status=None)] == [own.id]
    assert both.id != own.id
