"""A collection: what a memory may be, where memories lie, and what saving costs."""

from __future__ import annotations

import asyncio
from datetime import date
from typing import Any

import pytest

from memoranda import Author, MemoryStore, acting_as
from memoranda.errors import InvalidValueError
from memoranda.knowledge.collection import Collection
from memoranda.knowledge.errors import InvalidSchemaError, InvalidSettingError
from memoranda.knowledge.memories import InvalidMemoryError, MemorySchemaError
from tests.knowledge.collection_support import ANN, Fact, city, day, texts
from tests.support.scale import sized


class TestValues:
    def test_values_must_fit_the_schema(self, facts: Collection[Fact]) -> None:
        with pytest.raises(InvalidMemoryError, match="/value: Field required"):
            facts.save({"subject": "Ann", "property": "city"})
        with pytest.raises(InvalidMemoryError, match="/since"):
            facts.save({"subject": "Ann", "property": "city", "value": "Rome", "since": "soon"})
        with pytest.raises(InvalidMemoryError, match="/mood: there is no such field"):
            facts.save({"subject": "Ann", "property": "city", "value": "Rome", "mood": "good"})
        with pytest.raises(InvalidMemoryError, match="subject, property, value"):
            facts.save("Ann lives in Rome.")
        with pytest.raises(InvalidMemoryError, match="no memory"):
            facts.save(7)  # type: ignore[arg-type]
        assert facts.all() == []

    def test_values_come_back_as_they_were(self, facts: Collection[Fact]) -> None:
        fact = Fact(subject="Ann", property="job", value="  smith ", since=date(2020, 1, 31))
        facts.save(fact)
        assert facts.all()[0].value == fact
        assert facts.all()[0].text == "subject: Ann; property: job; value:   smith ; since: 2020-01-31"

    def test_a_json_schema_will_do(self, store: MemoryStore) -> None:
        schema = {
            "title": "cat",
            "properties": {"name": {"type": "string"}, "lives": {"type": "integer", "default": 9}},
            "required": ["name"],
        }
        cats = Collection(schema, store, ANN, identity=["name"])
        saved = cats.save("Tom")
        assert cats.all()[0].value == {"name": "Tom", "lives": 9}
        assert cats.save({"name": "Tom", "lives": 8}).superseded == (saved.id,)

    @pytest.mark.parametrize("empty", ["", "  \n", {"text": ""}, {}])
    def test_nothing_is_no_memory(self, notes: Collection[dict[str, Any]], empty: Any) -> None:
        with pytest.raises(InvalidMemoryError):
            notes.save(empty)

    @pytest.mark.parametrize("text", ["x" * 20_000, "?!", "👍", "a\nb\tc", "Robert'); DROP TABLE items;--", "a\x00b"])
    def test_odd_texts_are_kept(self, notes: Collection[dict[str, Any]], text: str) -> None:
        saved = notes.save(text)
        assert [memory.text for memory in notes.all()] == [text]
        assert notes.save(text).id == saved.id and len(notes.all()) == 1

    def test_what_no_engine_can_keep_is_refused(self, notes: Collection[dict[str, Any]]) -> None:
        with pytest.raises(ValueError):
            notes.save("\ud800")
        assert notes.all() == []

    def test_a_stored_memory_that_does_not_fit_any_more_is_named(self, store: MemoryStore) -> None:
        saved = Collection(None, store, ANN).save("Ann likes tea.")
        with pytest.raises(MemorySchemaError, match=saved.id):
            Collection(Fact, store, ANN).all()

    def test_bad_arguments_are_refused(self, notes: Collection[dict[str, Any]], store: MemoryStore) -> None:
        with pytest.raises(InvalidMemoryError, match="list of message ids"):
            notes.save("tea", sources="m1")
        with pytest.raises(InvalidMemoryError, match="datetime"):
            notes.save("tea", at="today")  # type: ignore[arg-type]
        with pytest.raises(InvalidSettingError, match="k=0"):
            notes.search("tea", k=0)
        with pytest.raises(InvalidValueError):
            notes.search(" ")
        with pytest.raises(InvalidSettingError, match="near"):
            Collection(None, store, ANN, near=1.5)
        with pytest.raises(InvalidSettingError, match="'name', which Fact has not"):
            Collection(Fact, store, ANN, identity=["name"])
        with pytest.raises(InvalidSettingError, match="folder"):
            Collection(None, store, ANN, name="a/b")
        with pytest.raises(InvalidSchemaError):
            Collection(3, store, ANN)  # type: ignore[call-overload]


def test_numbers_are_the_same_as_json_has_it(store: MemoryStore) -> None:
    ages = Collection({"properties": {"who": {}, "age": {"type": "number"}}}, store, ANN)
    ages.save({"who": "Ann", "age": 30})
    assert ages.save({"who": "Ann", "age": 30.0}).action == "skipped"
    assert ages.save({"who": "Ann", "age": 30.5}).action == "inserted"
    assert ages.save({"who": "Bob", "age": 30}).action == "inserted"


class TestPlaces:
    def test_collections_of_one_namespace_and_of_others_are_apart(self, store: MemoryStore) -> None:
        one, other = Collection(None, store, ANN), Collection(None, store, ANN, name="work")
        below, beside = Collection(None, store, (*ANN, "x")), Collection(None, store, ("bob",))
        for number, collection in enumerate((one, other, below, beside)):
            assert collection.save("Likes tea.").action == "inserted"
            collection.save(f"Has {number} cats.")
        for number, collection in enumerate((one, other, below, beside)):
            assert set(texts(collection.all())) == {"Likes tea.", f"Has {number} cats."}
            assert texts(collection.search("cats")) == [f"Has {number} cats."]

    def test_what_else_lies_there_does_not_get_in_the_way(self, store: MemoryStore) -> None:
        notes = Collection(None, store, ANN)
        notes.save("Tea is what Ann likes on long winter evenings when nobody calls.")
        for number in range(60):
            store.put(ANN, f"tea-{number}", {"text": "tea tea tea"})
        store.put(ANN, "/facts/current/strange", {"text": "tea", "id": 3})
        assert texts(notes.search("tea", k=1)) == ["Tea is what Ann likes on long winter evenings when nobody calls."]
        assert len(notes.all()) == 1

    def test_a_copy_made_by_hand_is_no_memory(self, store: MemoryStore) -> None:
        notes = Collection(None, store, ANN)
        saved = notes.save("Likes tea.")
        (entry,) = store.list_keys(ANN, "/facts/current")
        item = store.get(ANN, entry.key)
        assert item is not None
        store.write(ANN, "/facts/current/copy", item.value)
        assert [memory.id for memory in notes.all()] == [saved.id]
        assert [memory.id for memory in notes.search("tea")] == [saved.id]

    def test_the_namespace_is_resolved_at_every_call(self, store: MemoryStore) -> None:
        whose = ["ann"]
        notes = Collection(None, store, lambda runtime: (whose[0],))
        notes.save("Likes tea.")
        whose[0] = "bob"
        assert notes.all() == []
        assert notes.save("Likes tea.").action == "inserted"

    def test_who_saved_it_is_in_the_history(self, notes: Collection[dict[str, Any]], store: MemoryStore) -> None:
        with acting_as(Author("user:ann")):
            notes.save("Likes tea.")
        notes.save("Likes milk.", author=Author("agent:x", reason="asked to"))
        actors = {change.author.actor for change in store.changes()}
        assert actors == {"user:ann", "agent:x"}


def test_everything_has_an_async_twin(store: MemoryStore) -> None:
    async def use() -> None:
        facts = Collection(Fact, store, ANN, identity=("subject", "property"))
        await facts.asave(city("Paris"), at=day(1))
        saved = await facts.asave(city("Rome"), at=day(5))
        assert saved.action == "superseded"
        assert [each.value.value for each in await facts.aall()] == ["Rome"]
        assert [each.value.value for each in await facts.asearch("Paris", at=day(2))] == ["Paris"]
        assert [each.value.value for each in await facts.ahistory(saved.id)] == ["Paris", "Rome"]
        found = await facts.aget(saved.id)
        assert found is not None and found.value == city("Rome")
        assert await facts.aforget(saved.id) is True
        assert await facts.aall() == []

    asyncio.run(use())


def test_saving_looks_at_few_memories_however_many_there_are(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = Collection(None, store, ANN)
    facts = Collection(Fact, store, ("facts",), identity=("subject", "property"))
    for number in range(sized(2_000, quick=40)):
        notes.save(f"Ann has seen the film number {number}.", at=day(1))
        facts.save(Fact(subject=f"person {number}", property="city", value="Paris"), at=day(1))
    read: list[int] = []
    batch, list_keys = MemoryStore.batch, MemoryStore.list_keys

    def counted_batch(self: MemoryStore, ops: Any) -> Any:
        read.append(len(wanted := list(ops)))
        return batch(self, wanted)

    def counted_list(self: MemoryStore, *args: Any, **kwargs: Any) -> Any:
        found = list_keys(self, *args, **kwargs)
        read.append(len([entry for entry in found if "superseded" in entry.key]))
        assert len(found) <= 50
        return found

    def never(self: MemoryStore, *args: Any, **kwargs: Any) -> Any:
        raise AssertionError("a search is needed for a model alone")

    monkeypatch.setattr(MemoryStore, "batch", counted_batch)
    monkeypatch.setattr(MemoryStore, "list_keys", counted_list)
    monkeypatch.setattr(MemoryStore, "recall", never)
    monkeypatch.setattr(MemoryStore, "search", never)
    assert notes.save("Ann has seen no film.", at=day(2)).action == "inserted"
    assert notes.save("The film number 30 is what Ann has seen.", at=day(2)).action == "skipped"
    assert facts.save(Fact(subject="person 7", property="city", value="Rome"), at=day(2)).action == "superseded"
    assert sum(read) <= 15
