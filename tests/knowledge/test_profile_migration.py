"""A schema that the stored document does not fit any more: which fields, and the way on, with history."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from pydantic import BaseModel, model_validator

from memoranda import Author, MemoryStore, acting_as
from memoranda.errors import InvalidValueError
from memoranda.knowledge import InvalidPatchError, Profile, ProfileSchemaError

NS = ("ann",)
OLD = {"fullname": "Ann Lee", "age": "30", "likes": ["tea"]}


class Person(BaseModel):
    name: str
    age: int | None = None
    likes: list[str] = []


JSON_SCHEMA: dict[str, Any] = {
    "title": "Person",
    "properties": {
        "name": {"type": "string"},
        "age": {"type": ["integer", "null"], "default": None},
        "likes": {"type": "array", "default": []},
    },
    "required": ["name"],
    "additionalProperties": False,
}
SCHEMAS: list[Any] = [Person, JSON_SCHEMA]
NEW = {"name": "Ann Lee", "age": 30, "likes": ["tea"]}


def heal(old: dict[str, Any]) -> dict[str, Any]:
    return {"name": old.pop("fullname"), "age": int(old.pop("age")), **old}


@pytest.fixture
def old(store: MemoryStore) -> MemoryStore:
    """A store with a profile of an earlier schema."""
    store.put(NS, "profile", OLD)
    return store


@pytest.mark.parametrize("schema", SCHEMAS)
def test_what_does_not_fit_is_named_field_by_field(old: MemoryStore, schema: Any) -> None:
    profile = Profile(schema, old, NS)
    moment = profile.history()[0].at
    for use in (profile.get, profile.document, profile.snapshot, profile.migrate, lambda: profile.at(moment)):
        with pytest.raises(ProfileSchemaError, match="/name") as caught:
            use()
    with pytest.raises(ProfileSchemaError) as caught:
        profile.patch([{"op": "add", "path": "/age", "value": 31}])
    error = caught.value
    assert "/name" in [misfit.field for misfit in error.misfits] and "/name" in str(error)
    assert "fullname" in str(error) and "migrate=" in error.remedy
    assert pickle.loads(pickle.dumps(error)).misfits == error.misfits
    item = old.get(NS, "profile")
    assert item is not None and item.value == OLD and item.revision == 1


@pytest.mark.parametrize("schema", SCHEMAS)
def test_a_migration_heals_reading_at_once_and_the_store_with_the_next_patch(old: MemoryStore, schema: Any) -> None:
    profile = Profile(schema, old, NS, migrate=heal)
    assert profile.document() == NEW and profile.revision == 1
    assert profile.at(profile.history()[0].at) == profile.get()
    with acting_as(Author("user:ann", reason="birthday")):
        patched = profile.patch([{"op": "replace", "path": "/age", "value": 31}])
    assert patched.document == {**NEW, "age": 31} and patched.revision == 3
    assert [entry.author.reason for entry in profile.history()] == ["birthday", "migrated to Person", None]
    assert old.get_at(NS, "profile", revision=2).value == NEW and old.get_at(NS, "profile", revision=1).value == OLD


@pytest.mark.parametrize("schema", SCHEMAS)
def test_migrate_by_hand_once(old: MemoryStore, schema: Any) -> None:
    profile = Profile(schema, old, NS)
    migrated = profile.migrate(heal, author=Author("user:ops"))
    assert migrated.changed and migrated.revision == 2 and migrated.document == NEW == profile.document()
    entry = profile.history()[0]
    assert entry.author == Author("user:ops", reason="migrated to Person")
    again = profile.migrate(heal)
    assert not again.changed and again.revision == 2
    assert not Profile(schema, old, ("bob",)).migrate(heal).changed and not old.search(("bob",))


def test_a_patch_that_fails_leaves_the_migration_to_the_next(old: MemoryStore) -> None:
    profile = Profile(Person, old, NS, migrate=heal)
    with pytest.raises(InvalidPatchError):
        profile.patch([{"op": "replace", "path": "/age", "value": "old"}])
    assert profile.document() == NEW and old.get_at(NS, "profile", revision=1).value == OLD


def test_a_patch_on_a_base_from_before_the_migration(old: MemoryStore) -> None:
    profile = Profile(Person, old, NS, migrate=heal)
    seen = profile.snapshot()
    profile.patch([{"op": "add", "path": "/likes/-", "value": "figs"}])
    patched = profile.patch([{"op": "replace", "path": "/age", "value": 31}], base=seen.revision)
    assert patched.document == {"name": "Ann Lee", "age": 31, "likes": ["tea", "figs"]}


async def test_the_migration_may_be_awaited(old: MemoryStore) -> None:
    async def later(document: dict[str, Any]) -> dict[str, Any]:
        return heal(document)

    profile = Profile(Person, old, NS, migrate=later)
    assert (await profile.aget()).name == "Ann Lee" and (await profile.amigrate()).document == NEW


@pytest.mark.parametrize(
    ("migration", "message"),
    [
        (lambda old: {"name": 7}, "What the migration makes of 'profile' does not fit: /name"),
        (lambda old: old["nick"], "The migration of 'profile' failed with KeyError: 'nick'"),
        (lambda old: [old], "The migration of 'profile' gave list, no dictionary"),
        (lambda old: None, "gave NoneType"),
        (lambda: None, "failed with TypeError"),
    ],
)
def test_a_migration_that_does_not_heal(old: MemoryStore, migration: Any, message: str) -> None:
    profile = Profile(Person, old, NS, migrate=migration)
    for use in (profile.get, profile.migrate, lambda: profile.patch([{"op": "remove", "path": "/age"}])):
        with pytest.raises(ProfileSchemaError, match=message):
            use()
    assert profile.revision == 1 and (item := old.get(NS, "profile")) and item.value == OLD


def test_a_migration_that_makes_no_json(old: MemoryStore) -> None:
    profile = Profile(Person, old, NS, migrate=lambda _: {"name": "Ann", "likes": {1}})
    with pytest.raises(InvalidValueError, match="no JSON"):
        profile.get()


def test_fields_that_the_schema_passes_over_are_read_past_but_never_lost_unasked(store: MemoryStore) -> None:
    store.put(NS, "profile", {"name": "Ann", "nickname": "A"})
    profile = Profile(Person, store, NS)
    assert profile.get() == Person(name="Ann")
    with pytest.raises(ProfileSchemaError, match="/nickname: the schema has no such field, and it would be lost"):
        profile.patch([{"op": "replace", "path": "/age", "value": 3}])
    assert profile.migrate().changed and profile.document() == {"name": "Ann", "age": None, "likes": []}
    assert profile.patch([{"op": "replace", "path": "/age", "value": 3}]).revision == 3


def test_a_model_that_reads_old_names_itself_is_migrated_by_one_call(store: MemoryStore) -> None:
    class Renamed(BaseModel):
        name: str

        @model_validator(mode="before")
        @classmethod
        def old_names(cls, data: Any) -> Any:
            return {"name": data["fullname"]} if "fullname" in data else data

    store.put(NS, "profile", {"fullname": "Ann"})
    profile = Profile(Renamed, store, NS)
    assert profile.get().name == "Ann"
    profile.migrate()
    assert profile.patch([{"op": "replace", "path": "/name", "value": "Bea"}]).document == {"name": "Bea"}


def test_a_new_field_with_a_default_needs_no_migration(store: MemoryStore) -> None:
    store.put(NS, "profile", {"name": "Ann"})
    for schema in SCHEMAS:
        assert Profile(schema, store, NS).document() == {"name": "Ann", "age": None, "likes": []}
    Profile(Person, store, NS).patch([{"op": "add", "path": "/likes/-", "value": "tea"}])
    item = store.get(NS, "profile")
    assert item is not None and item.value["likes"] == ["tea"]
