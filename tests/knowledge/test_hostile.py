"""What is given to knowledge may be anything: it is refused in a sentence that says what to do, and nothing lands."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from pydantic import BaseModel, Field

from memoranda import MemoryStore
from memoranda.errors import MemorandaError
from memoranda.knowledge import (
    Collection,
    Example,
    Examples,
    InvalidExampleError,
    InvalidMemoryError,
    InvalidMomentError,
    InvalidPatchError,
    InvalidSchemaError,
    InvalidSettingError,
    Memory,
    Profile,
    memory_tools,
)

ANY: dict[str, Any] = {"properties": {"text": {"type": "string"}, "any": {}, "likes": {"type": "array", "default": []}}}
MOMENT = datetime(2026, 1, 1, tzinfo=UTC)


class Relative(BaseModel):
    """A model that refers to itself, whose JSON Schema is a reference at its root."""

    name: str
    town: str = ""
    mother: Relative | None = None


class Measured(BaseModel):
    length: float = 0
    count: int = 0


def nested(depth: int) -> Any:
    value: Any = 0
    for _ in range(depth):
        value = [value]
    return value


OPERATIONS: list[Any] = [
    {"op": "remove", "path": "/likes/" + "9" * 5_000},
    {"op": "add", "path": "/likes/" + "9" * 5_000, "value": 1},
    {"op": "add", "path": "/any", "value": "x" * 1_000_001},
    {"op": "add", "path": "/any", "value": nested(100_000)},
    {"op": "add", "path": "/any", "value": "\ud800"},
    {"op": "add", "path": "/likes/-1", "value": 1},
    {"op": "add", "path": "/likes/00", "value": 1},
    {"op": "add", "path": "/likes/-/x", "value": 1},
    {"op": "move", "from": "/likes", "path": ""},
    {"op": "copy", "from": "", "path": "/any"},
]


def test_a_hostile_operation_is_refused_in_few_words(store: MemoryStore) -> None:
    for operation in OPERATIONS:
        profile = Profile(ANY, store, ("ann",))
        with pytest.raises(InvalidPatchError) as refused:
            profile.patch([operation])
        assert refused.value.remedy and len(str(refused.value)) < 1_000
        assert profile.revision == 0


def test_a_large_document_can_be_made_smaller(store: MemoryStore) -> None:
    store.put(("ann",), "profile", {"text": "a", "any": ["x" * 600_000, "x" * 600_000]})
    profile = Profile(ANY, store, ("ann",))
    with pytest.raises(InvalidPatchError, match="larger than"):
        profile.patch([{"op": "add", "path": "/any/-", "value": "more"}])
    assert profile.patch([{"op": "remove", "path": "/any/0"}]).changed


@pytest.mark.parametrize("value", ["inf", "nan", "1e999"])
def test_a_number_that_json_lacks_is_a_fault_of_the_patch(store: MemoryStore, value: str) -> None:
    # Not of the schema: a model that wrote it can write another.
    with pytest.raises(InvalidPatchError, match="/length"):
        Profile(Measured, store, ("ann",)).patch([{"op": "replace", "path": "/length", "value": value}])
    with pytest.raises(InvalidPatchError, match="64-bit"):
        Profile(Measured, store, ("ann",)).patch([{"op": "replace", "path": "/count", "value": "9" * 100}])


def test_a_model_that_refers_to_itself(store: MemoryStore) -> None:
    profile = Profile(Relative, store, ("ann",), "family")
    with pytest.raises(InvalidPatchError) as refused:
        profile.patch([{"op": "add", "path": "/name", "value": 5}])
    assert "no such field" not in str(refused.value)
    relatives = Collection(Relative, store, ("ann",), identity=["name"])
    relatives.save(Relative(name="Eve", town="Rome"))
    assert relatives.save("Eve").action == "superseded"
    assert [memory.value for memory in relatives.all()] == [Relative(name="Eve")]
    save = memory_tools(relatives)[0]
    assert set(save.args) == {"name", "town", "mother"}
    assert "Saved" in save.invoke({"name": "Ida", "mother": {"name": "Eve"}})


@pytest.mark.parametrize("schema", [{"$ref": "#"}, {"properties": {"a": {"$ref": "#/properties/a"}}}])
def test_a_schema_without_an_end_is_none(store: MemoryStore, schema: dict[str, Any]) -> None:
    with pytest.raises(InvalidSchemaError, match="no end"):
        Profile(schema, store, ("ann",)).patch([{"op": "add", "path": "/a", "value": 1}])


def test_defaults_of_a_definition_are_defaults(store: MemoryStore) -> None:
    schema = {"$defs": {"list": {"type": "array", "default": []}}, "properties": {"likes": {"$ref": "#/$defs/list"}}}
    assert Profile(schema, store, ("ann",)).get() == {"likes": []}


def test_a_field_that_is_not_read_as_it_is_written(store: MemoryStore) -> None:
    class Crossed(BaseModel):
        name: str = Field("", validation_alias="given", serialization_alias="written")

    class Sound(BaseModel):
        name: str = Field("", alias="givenName")

    with pytest.raises(InvalidSchemaError, match="'written'"):
        Profile(Crossed, store, ("ann",))
    assert Profile(Sound, store, ("ann",)).get() == Sound()


def test_bytes_that_are_no_text(store: MemoryStore) -> None:
    class Raw(BaseModel):
        data: bytes = Field(default_factory=lambda: b"\xff")

    with pytest.raises(InvalidSchemaError, match="cannot be written as JSON"):
        Profile(Raw, store, ("ann",)).get()


NO_MEMORIES: list[Any] = [
    {"text": "a", "any": nested(1_000)},
    {"text": "a", "any": nested(100_000)},
    {"text": "a", "any": {1, 2}},
    {"text": "a\ud800"},
    {"text": "a", 1: "b"},
    {"text": "a " * 60_000},
    5,
    None,
]


def test_what_is_no_memory(store: MemoryStore) -> None:
    for memory in NO_MEMORIES:
        memories = Collection(ANY, store, ("ann",))
        with pytest.raises(InvalidMemoryError) as refused:
            memories.save(memory)
        assert refused.value.remedy
        assert not memories.all()


def test_a_text_where_the_field_has_no_type(store: MemoryStore) -> None:
    with pytest.raises(InvalidMemoryError, match="is no memory"):
        Collection({"properties": {"text": True}, "required": ["text"]}, store, ("ann",)).save("abc")


NO_SOURCES: list[Any] = [None, "m1", b"m1", 5, [5]]


def test_what_are_no_sources(store: MemoryStore) -> None:
    for sources in NO_SOURCES:
        with pytest.raises(InvalidMemoryError, match="sources="):
            Collection(None, store, ("ann",)).save("abc", sources=sources)


@pytest.mark.parametrize(
    "at",
    [
        datetime.max.replace(tzinfo=timezone(-timedelta(hours=5))),
        datetime.min.replace(tzinfo=timezone(timedelta(hours=5))),
        datetime(2026, 1, 1).date(),
        "2026-01-01",
    ],
)
def test_what_is_no_moment(store: MemoryStore, at: Any) -> None:
    memories = Collection(None, store, ("ann",))
    for ask in (
        lambda: memories.save("abc", at=at),
        lambda: memories.search("abc", at=at),
        lambda: memories.all(at=at),
    ):
        with pytest.raises(InvalidMomentError):
            ask()


def test_nothing_is_stated_in_the_future(store: MemoryStore) -> None:
    homes = Collection({"properties": {"of": {}, "town": {}}}, store, ("ann",), identity=["of"])
    now = datetime.now(UTC)
    # A time of the wall that is taken for UTC would hide what is said until then.
    with pytest.raises(InvalidMomentError, match="with a zone"):
        homes.save({"of": "ann", "town": "Rome"}, at=(now + timedelta(hours=2)).replace(tzinfo=None))
    homes.save({"of": "ann", "town": "Rome"}, at=now + timedelta(minutes=1))  # another clock
    homes.save({"of": "ann", "town": "Bonn"})
    assert [memory.value["town"] for memory in homes.all()] == ["Bonn"]


NO_SETTINGS: list[Any] = [
    lambda store: Collection(None, store, ("ann",), name=5),
    lambda store: Collection(None, store, ("ann",), identity=5),
    lambda store: Collection(None, store, ("ann",), model=5),
    lambda store: Collection(None, store, ("ann",)).search("abc", filter=5),
    lambda store: Examples(store, ("ann",), name=5),
    lambda store: Examples(store, ("ann",)).select(None),
]


def test_what_is_no_setting(store: MemoryStore) -> None:
    for make in NO_SETTINGS:
        with pytest.raises(InvalidSettingError) as refused:
            make(store)
        assert refused.value.remedy


@pytest.mark.parametrize("parts", [({"a": nested(100_000)}, "x"), ("x", {"a": nested(100_000)}), (None, "x"), ("x", 5)])
def test_what_is_no_example(store: MemoryStore, parts: tuple[Any, Any]) -> None:
    with pytest.raises(InvalidExampleError):
        Examples(store, ("ann",)).add(*parts)


@pytest.mark.parametrize("text", ["a\0b", "__proto__", "a.b/c~d", "🤷🏽‍♀️ " * 20, "\u202eabc"])
def test_odd_text_comes_back_as_it_is(store: MemoryStore, text: str) -> None:
    memories, profile = Collection(ANY, store, ("ann",)), Profile(ANY, store, ("ann",))
    saved = memories.save({"text": text, "any": {text: text}})
    found = memories.get(saved.id)
    assert found is not None and found.value["any"] == {text: text}
    path = "/" + text.replace("~", "~0").replace("/", "~1")
    profile.patch([{"op": "add", "path": path, "value": text}])
    assert profile.document()[text] == text
    examples = Examples(store, ("ann",))
    examples.add({"q": "word " + text}, {text: text})
    assert examples.select("word", k=1)[0].output == {text: text}


def test_types_may_be_named_where_values_are_made() -> None:
    assert Memory[int]("m", 5, "5", MOMENT) == Memory("m", 5, "5", MOMENT)
    assert Example("e", {"a": 1}, {"b": 2}).fields == {"a": 1, "b": 2}


def test_every_refusal_can_be_shown(store: MemoryStore) -> None:
    with pytest.raises(MemorandaError) as refused:
        Profile(ANY, store, ("ann",)).patch([{"op": "test", "path": "/text", "value": "b" * 10_000}])
    assert len(str(refused.value)) < 500
