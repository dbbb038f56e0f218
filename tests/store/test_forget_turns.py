"""Forgetting one conversation, or one person's turns, of a namespace that stays."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from memoranda import Author, MemoryStore
from memoranda.store.effects import Transact
from memoranda.store.operations import forget_turns
from memoranda.store.operations.forget_traces import add_traces, brought_again
from memoranda.store.operations.turns import forget_thread
from memoranda.store.turns import Turn
from tests.store.embedding_support import Embedding, HashedWords
from tests.store.forget_support import Part, Words, contents_of

ANN = ("ann",)


def talk(store: MemoryStore, thread: str, words: Words, count: int, user: str = "ann", first: int = 0) -> None:
    said = [Turn(f"{user}-{first + n}", "user", words.text(first + n)) for n in range(count)]
    store.record_turns(ANN, thread, said, user=user)


def test_a_conversation_is_gone_and_the_others_stay(store: MemoryStore, store_url: str) -> None:
    embedding = Embedding(store, HashedWords(16))
    embedding.drain()
    first, second = Words("first"), Words("second")
    talk(store, "t1", first, 20)
    talk(store, "t2", second, 20)
    store.write(ANN, "/notes.md", "from the conversation", author=Author("user:ann", "t1"))
    embedding.drain()
    talk(store, "t1", first, 5, first=20)  # these wait for the embedder
    before = store.verify().namespaces
    receipt = store.forget(ANN, thread="t1")
    contents = contents_of(store_url)
    assert not contents.holding(first.all)
    assert not contents.indexed(first.all)
    assert contents.holding(second.all)
    assert contents.passages(Part.WORDS) == contents.living
    assert contents.passages(Part.VECTORS) | contents.passages(Part.WAITING) == contents.living
    assert not contents.passages(Part.DEAD)
    assert store.verify().namespaces == before
    assert [thread.thread_id for thread in store.threads(ANN)] == ["t2"]
    assert store.recall(ANN, second.text(3)).hits[0].text == second.text(3)
    assert (receipt.counts["turns"], receipt.counts["threads"]) == (25, 1)
    assert [(each.key, each.how) for each in receipt.mentions] == [("/notes.md", "thread")]
    assert any("1 revision written in this conversation" in each for each in receipt.unreached)
    embedding.drain()
    assert contents_of(store_url).passages(Part.VECTORS) == contents_of(store_url).living


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take an index of ten blocks for a large one."""
    monkeypatch.setattr(forget_turns, "_FEW", 4)


@pytest.mark.usefixtures("large")
def test_a_conversation_is_gone_from_a_large_index(store: MemoryStore, store_url: str) -> None:
    words = [Words(f"thread{n}") for n in range(12)]
    for start in range(0, 60, 10):
        for number, said in enumerate(words):
            talk(store, f"t{number}", said, 10, first=start)
    assert len(contents_of(store_url).tables["blocks"]) > 4
    store.forget(thread="t5", vacuum=False)
    contents = contents_of(store_url)
    assert not contents.indexed(words[5].all)
    assert all(len(contents.indexed(other.all)) == 40 for number, other in enumerate(words) if number != 5)
    assert contents.passages(Part.WORDS) == contents.living
    assert not store.forget(thread="t5", vacuum=False).counts["turns"]


def test_what_was_said_again_later_leaves_nothing_either(store: MemoryStore, store_url: str) -> None:
    words = Words("ann")
    at = datetime(2026, 3, 1, tzinfo=UTC)
    for n in range(12):  # always before what is there, until room has to be made between them
        turns = [
            Turn("first", "user", words.text(0), at=at),
            Turn(f"m{n}", "user", words.text(n), at=at + timedelta(1)),
        ]
        store.record_turns(ANN, "t1", turns, order=["first", f"m{n}", *(f"m{k}" for k in range(n - 1, -1, -1))])
    store.record_turns(ANN, "t2", [Turn("m", "user", "something else")])
    store.forget_thread(ANN, "t2")
    store.forget(ANN, thread="t1")
    contents = contents_of(store_url)
    assert not contents.terms
    assert not contents.tables["blocks"]


def test_one_person_of_a_shared_conversation(store: MemoryStore, store_url: str) -> None:
    ann, bob = Words("ann"), Words("bob")
    at = datetime(2026, 3, 1, tzinfo=UTC)
    for n in range(6):
        user, said = ("ann", ann) if n % 2 == 0 else ("bob", bob)
        store.record_turns(("team",), "t", [Turn(f"m{n}", "user", said.text(n), at=at + timedelta(hours=n))], user=user)
    store.forget(subject="ann")
    contents = contents_of(store_url)
    assert not contents.holding(ann.all)
    assert not contents.indexed(ann.all)
    (thread,) = store.threads(("team",))
    assert (thread.turns, thread.first_at, thread.last_at) == (3, at + timedelta(hours=1), at + timedelta(hours=5))
    assert [turn.user for turn in store.turns(("team",), "t")] == ["bob"] * 3
    store.record_turns(("team",), "t", [Turn("m9", "user", bob.text(9))], user="bob")
    assert store.threads(("team",))[0].turns == 4


@pytest.mark.usefixtures("large")
def test_what_dies_between_looking_and_writing_stays_dead(store: MemoryStore, store_url: str) -> None:
    """A conversation that another forgets just before this one's transaction must not come back to life."""
    words = [Words(f"thread{n}") for n in range(12)]
    for start in range(0, 40, 10):
        for number, said in enumerate(words):
            talk(store, f"t{number}", said, 10, first=start)
    operation = forget_turns.forget_turns(store.context, "ann\x01", "thread", "t5")
    effect = next(operation)
    assert isinstance(effect, Transact)
    seen = store.engine.transact(effect)
    assert seen.untouched
    store.engine.run(forget_thread(store.context, ANN, "t7"))
    store.engine.resume(operation, operation.send(seen))
    assert not [hit for hit in store.recall(ANN, words[7].text(3), k=50).hits if hit.thread_id == "t7"]
    contents = contents_of(store_url)
    assert contents.passages(Part.WORDS) - contents.passages(Part.DEAD) == contents.living
    assert not contents.indexed(words[5].all)
    store.forget(ANN, thread="t7")  # nothing is there any more, but what was left of it goes
    assert not contents_of(store_url).indexed(words[7].all)


@pytest.mark.parametrize("scope", [ANN, None])
def test_an_unknown_conversation(store: MemoryStore, scope: tuple[str, ...] | None) -> None:
    talk(store, "t1", Words("ann"), 3)
    assert store.forget(scope, thread="t2").empty
    assert len(store.turns(ANN)) == 3


def test_a_conversation_is_looked_for_in_its_scope(store: MemoryStore) -> None:
    for place in (ANN, ("ann", "x"), ("bob",)):
        store.record_turns(place, "t1", [Turn("m", "user", "hello")])
    store.forget(ANN, thread="t1")
    assert [bool(store.turns(place)) for place in (ANN, ("ann", "x"), ("bob",))] == [False, True, True]
    store.forget(ANN, below=True, thread="t1")
    assert [bool(store.turns(place)) for place in (ANN, ("ann", "x"), ("bob",))] == [False, False, True]
    store.forget(thread="t1")
    assert not store.turns(("bob",))


def test_many_turns_go_in_pages(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forget_turns, "_PAGE", 4)
    talk(store, "t1", Words("ann"), 10)
    told: list[int] = []
    receipt = store.forget(ANN, thread="t1", progress=told.append)
    assert receipt.counts["turns"] == 10
    assert receipt.counts["threads"] == 1
    assert store.turns(ANN) == []


def test_what_a_list_brings_again() -> None:
    traces = add_traces(b"salt", add_traces(b"salt", b"", ["m1", "m2"]), ["m2", "m4"])
    assert len(traces) == 3 * 8
    assert brought_again(b"salt", traces, ["m1", "m2", "m3", "m4", "m5"]) == {"m1", "m2", "m3", "m4"}
    assert brought_again(b"salt", traces, ["m5", "m6"]) == set()
    assert brought_again(b"pepper", traces, ["m1"]) == set()


@pytest.mark.parametrize("page", [2, 1_000])
def test_a_forgotten_conversation_does_not_come_back(
    store: MemoryStore, store_url: str, monkeypatch: pytest.MonkeyPatch, page: int
) -> None:
    monkeypatch.setattr(forget_turns, "_PAGE", page)
    said = [Turn(f"quibble{n}", "user", f"text {n}") for n in range(5)]
    store.record_turns(ANN, "t", said)
    assert store.forget_thread(ANN, "t") == 5
    assert store.threads(ANN) == []
    assert store.record_turns(ANN, "t", said).new == 0
    later = [Turn("new1", "user", "hello"), Turn("new2", "assistant", "hello again")]
    assert store.record_turns(ANN, "t", [*said, *later]).new == 2
    assert [turn.text for turn in store.turns(ANN, "t")] == ["hello", "hello again"]
    (thread,) = store.threads(ANN)
    assert thread.turns == 2
    assert thread.first_at == store.turns(ANN, "t")[0].at
    assert store.forget(thread="t").counts["turns"] == 2
    assert store.record_turns(ANN, "t", [*said, *later]).new == 0
    assert not contents_of(store_url).holding(["quibble", "new1"])
    assert store.verify().ok


@pytest.mark.parametrize("named", [{"scope": ANN}, {"subject": "ann"}])
def test_no_id_of_a_conversation_stays_where_a_person_or_all_is_forgotten(
    store: MemoryStore, store_url: str, named: dict[str, str]
) -> None:
    for place in (ANN, ("team",)):
        store.record_turns(place, "quibblewort", [Turn("m1", "user", "hello")], user="ann")
    store.forget_thread(ANN, "quibblewort")
    receipt = store.forget(**named)  # type: ignore[arg-type]
    assert bool(contents_of(store_url).holding(["quibblewort"])) == ("scope" in named)
    assert any("records all of it again" in each or "may record all of it again" in each for each in receipt.unreached)
