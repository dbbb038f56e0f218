"""Any order of saving, telling again and forgetting, against a simple model of what is true."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import count, pairwise
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from langchain_core.messages import AIMessage, BaseMessage

from memoranda import MemoryStore
from memoranda.knowledge.collection import Collection
from memoranda.knowledge.memories import Memory
from memoranda.testing.scripted import ScriptedChatModel, call
from tests.support.scale import sized

FACT = {
    "title": "fact",
    "type": "object",
    "properties": {"who": {"type": "string"}, "city": {"type": "string"}},
    "required": ["who", "city"],
}
WHO = ["Ann", "鲍勃"]
CITIES = ["Paris", "Rome", "东京", "القاهرة"]
START = datetime(2024, 1, 1, tzinfo=UTC)
HOURS = 40

_namespaces = count()


def moment(hour: int) -> datetime:
    return START + timedelta(hours=hour)


def told_at(round: int, city: int) -> int:
    """An hour at which only this city is stated: two statements of one moment have no order."""
    return round * len(CITIES) + city


class Facts(RuleBasedStateMachine):
    """One memory is current for each identity, and what held when follows from what was stated when."""

    store: MemoryStore

    def __init__(self) -> None:
        super().__init__()
        self.namespace = ("facts", str(next(_namespaces)))
        self.facts: Collection[Any] = self._collection()
        self.told: list[tuple[str, int, int]] = []
        self.stated: dict[str, dict[int, str]] = {who: {} for who in WHO}
        self.forgotten_until = dict.fromkeys(WHO, -1)

    def _collection(self) -> Collection[Any]:
        return Collection(FACT, self.store, self.namespace, identity=["who"])

    def _fact(self, who: str, city: int) -> Any:
        return {"who": who, "city": CITIES[city]}

    def _of(self, memory: Memory[Any]) -> tuple[str, str]:
        """Who lives where."""
        return memory.value["who"], memory.value["city"]

    def _save(self, who: str, city: int, hour: int) -> str:
        return self.facts.save(self._fact(who, city), at=moment(hour), sources=[f"{who}-{hour}"]).action

    @rule(who=st.sampled_from(WHO), city=st.integers(0, len(CITIES) - 1), round=st.integers(0, 9))
    def save(self, who: str, city: int, round: int) -> None:
        hour = told_at(round, city)
        action = self._save(who, city, hour)
        self.told.append((who, city, hour))
        if hour <= self.forgotten_until[who]:
            assert action == "skipped"
        else:
            before = self._true(who, HOURS)
            self.stated[who][hour] = CITIES[city]
            assert (action == "superseded") == (before is not None and before != self._true(who, HOURS))

    @precondition(lambda self: self.told)
    @rule(data=st.data())
    def tell_again(self, data: st.DataObject) -> None:
        end = data.draw(st.integers(1, len(self.told)))
        digest = self._digest()
        for who, city, hour in self.told[:end]:
            assert self._save(who, city, hour) == "skipped"
        assert self._digest() == digest

    @precondition(lambda self: self.told)
    @rule(data=st.data())
    def tell_again_without_dates(self, data: st.DataObject) -> None:
        who, city, hour = data.draw(st.sampled_from(self.told))
        if hour in self.stated[who]:
            digest = self._digest()
            saved = self.facts.save(self._fact(who, city), sources=[f"{who}-{hour}"])
            assert saved.action == "skipped" and self._digest() == digest

    @rule(who=st.sampled_from(WHO), of_now=st.booleans())
    def forget(self, who: str, of_now: bool) -> None:
        known = self._current(who) if of_now else self._history(who)[:1]
        assert bool(known) == bool(self.stated[who])
        if known:
            assert self.facts.forget(known[0].id)
            self.forgotten_until[who] = max(self.stated[who])
            self.stated[who] = {}

    def _current(self, who: str) -> list[Memory[Any]]:
        return [memory for memory in self.facts.all() if self._of(memory)[0] == who]

    def _history(self, who: str) -> list[Memory[Any]]:
        current = self._current(who)
        return self.facts.history(current[0].id) if current else []

    def _true(self, who: str, hour: int) -> str | None:
        stated = self.stated[who]
        return stated[max(before)] if (before := [each for each in stated if each <= hour]) else None

    def _digest(self) -> list[Any]:
        return [each.digest for each in self.store.verify(self.namespace).namespaces]

    @invariant()
    def at_most_one_is_current(self) -> None:
        current = dict(map(self._of, self.facts.all()))
        assert len(current) == len(self.facts.all())
        assert current == {who: self._true(who, HOURS) for who in WHO if self.stated[who]}

    @invariant()
    def what_held_when_is_known(self) -> None:
        for hour in {hour for stated in self.stated.values() for hour in stated} | {0}:
            then = self.facts.all(at=moment(hour))
            found = dict(map(self._of, then))
            assert len(found) == len(then)
            assert found == {who: true for who in WHO if (true := self._true(who, hour)) is not None}

    @invariant()
    def the_times_of_a_fact_follow_each_other(self) -> None:
        for who in WHO:
            for earlier, later in pairwise(self._history(who)):
                assert earlier.valid_to == later.valid_from and earlier.superseded_by == later.id
                assert earlier.value != later.value


def contradicting(messages: list[BaseMessage]) -> AIMessage:
    """A model that knows that nobody lives in two places."""
    told, _, listed = messages[1].text.partition("\n\nRelated memories that are stored:\n")
    who = told.splitlines()[1][1:].partition(" lives")[0]
    same = [line for line in listed.splitlines() if line.partition('] "')[2].startswith(who)]
    if not same:
        return call("insert_memory")
    return call("supersede_memories", ids=[line[1:].partition("]")[0] for line in same])


class Judged(Facts):
    """The same of plain sentences, where a model says what contradicts what."""

    def _collection(self) -> Collection[Any]:
        return Collection(None, self.store, self.namespace, model=ScriptedChatModel(script=[contradicting]))

    def _fact(self, who: str, city: int) -> Any:
        return f"{who} lives in {CITIES[city]}."

    def _of(self, memory: Memory[Any]) -> tuple[str, str]:
        who, _, city = memory.text.removesuffix(".").partition(" lives in ")
        return who, city

    @precondition(lambda self: False)
    @rule(who=st.sampled_from(WHO), of_now=st.booleans())
    def forget(self, who: str, of_now: bool) -> None:
        """Without an identity it is only known of each sentence whether it was forgotten."""


class Careless(RuleBasedStateMachine):
    """Whatever a model decides, right or wrong, no text is current twice and the times of a fact do not overlap."""

    store: MemoryStore

    def __init__(self) -> None:
        super().__init__()
        self.namespace = ("careless", str(next(_namespaces)))
        self.decision: tuple[str, int] = ("insert", 0)
        self.told: list[tuple[str, int]] = []
        self.model = ScriptedChatModel(script=[self._decide])
        self.notes = Collection(None, self.store, self.namespace, model=self.model)

    def _decide(self, messages: list[BaseMessage]) -> AIMessage:
        listed = messages[1].text.partition("stored:\n")[2].splitlines()
        ids = [line[1:].partition("]")[0] for line in listed]
        kind, pick = self.decision
        one = ids[pick % len(ids)]
        if kind == "supersede":
            return call("supersede_memories", ids=ids[: pick + 1])
        if kind == "update":
            return call("update_memory", id=one, memory={"text": f"Ann likes tea {pick}."})
        return call("skip_memory", id=one) if kind == "skip" else call("insert_memory")

    @rule(
        number=st.integers(0, 5),
        hour=st.integers(0, 20),
        decision=st.tuples(st.sampled_from(["insert", "update", "supersede", "skip"]), st.integers(0, 3)),
    )
    def save(self, number: int, hour: int, decision: tuple[str, int]) -> None:
        self.decision = decision
        self._save(number, hour)
        self.told.append((f"Ann likes tea {number}.", hour))

    def _save(self, number: int, hour: int) -> None:
        self.notes.save(f"Ann likes tea {number}.", at=moment(hour), sources=[f"{number}-{hour}"])

    @precondition(lambda self: self.told)
    @rule(data=st.data())
    def tell_again(self, data: st.DataObject) -> None:
        end = data.draw(st.integers(1, len(self.told)))
        asked = len(self.model.requests)
        digest = [each.digest for each in self.store.verify(self.namespace).namespaces]
        for text, hour in self.told[:end]:
            sources = [f"{text[-2]}-{hour}"]
            assert self.notes.save(text, at=moment(hour), sources=sources).action == "skipped"
        assert [each.digest for each in self.store.verify(self.namespace).namespaces] == digest
        assert len(self.model.requests) == asked

    @invariant()
    def no_text_is_current_twice(self) -> None:
        texts = [memory.text for memory in self.notes.all()]
        assert len(texts) == len(set(texts))

    @invariant()
    def times_of_a_fact_do_not_overlap(self) -> None:
        for hour in (0, 10, 20):
            for memory in self.notes.all(at=moment(hour)):
                history = self.notes.history(memory.id)
                assert memory.id in {each.id for each in history}
                for earlier, later in pairwise(history):
                    assert earlier.valid_to is not None and earlier.valid_from <= earlier.valid_to <= later.valid_from


SAYINGS = {
    "tea": ["Ann likes green tea.", "ann likes GREEN tea", "Green tea is what Ann likes."],
    "no tea": ["Ann does not like green tea.", "Ann doesn't like green tea!"],
    "meeting": ["会议在周五下午三点。", "会议在周五下午三点"],
    "other meeting": ["会议在周五下午四点。"],
    "cats": ["Ann has 2 cats", "Ann has 2 cats!"],
    "more cats": ["Ann has 3 cats"],
}


class Sayings(RuleBasedStateMachine):
    """What says the same is there once, whoever says it how often."""

    store: MemoryStore

    def __init__(self) -> None:
        super().__init__()
        self.notes = Collection(None, self.store, ("sayings", str(next(_namespaces))))
        self.known: dict[str, str] = {}

    @rule(what=st.sampled_from(list(SAYINGS)), data=st.data())
    def save(self, what: str, data: st.DataObject) -> None:
        saved = self.notes.save(data.draw(st.sampled_from(SAYINGS[what])))
        assert saved.action == ("skipped" if what in self.known else "inserted")
        assert self.known.setdefault(what, saved.id) == saved.id

    @precondition(lambda self: self.known)
    @rule(data=st.data())
    def save_what_is_recalled(self, data: st.DataObject) -> None:
        what = data.draw(st.sampled_from(sorted(self.known)))
        for memory in self.notes.search(SAYINGS[what][0], k=10):
            assert self.notes.save(memory.text, sources=["recalled"]).action == "skipped"

    @precondition(lambda self: self.known)
    @rule(data=st.data())
    def forget(self, data: st.DataObject) -> None:
        what = data.draw(st.sampled_from(sorted(self.known)))
        assert self.notes.forget(self.known.pop(what))

    @invariant()
    def each_is_there_once(self) -> None:
        assert {memory.id for memory in self.notes.all()} == set(self.known.values())
        for what, id in self.known.items():
            assert id in {memory.id for memory in self.notes.search(SAYINGS[what][0], k=10)}


def _run(machine: type[RuleBasedStateMachine], store: MemoryStore) -> None:
    class Machine(machine):  # type: ignore[misc, valid-type]
        pass

    Machine.store = store  # type: ignore[attr-defined]
    run_state_machine_as_test(
        Machine,
        settings=settings(max_examples=sized(40, quick=3), stateful_step_count=sized(25, quick=8), deadline=None),
    )


def test_facts_are_true_when_they_were_stated(store: MemoryStore) -> None:
    _run(Facts, store)


def test_sentences_are_true_when_they_were_stated(store: MemoryStore) -> None:
    _run(Judged, store)


def test_no_decision_of_a_model_breaks_a_timeline(store: MemoryStore) -> None:
    _run(Careless, store)


def test_sayings_never_pile_up(store: MemoryStore) -> None:
    _run(Sayings, store)
