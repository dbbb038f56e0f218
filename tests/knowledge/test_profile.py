"""A profile: one document under a schema, changed by patches alone, read as it was."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field, RootModel, SecretStr, field_validator

from memoranda import Author, ConflictError, InvalidNamespaceError, MemoryStore, acting_as, open_store
from memoranda.agents.errors import MissingPackageError
from memoranda.backends import NotAStoreError, ScopeError, by_user
from memoranda.errors import InvalidKeyError, ItemNotFoundError, RevisionNotFoundError
from memoranda.knowledge import (
    EmptyProfileError,
    InvalidPatchError,
    InvalidSchemaError,
    InvalidSettingError,
    Profile,
)

NS = ("ann",)


class Address(BaseModel):
    city: str = ""
    zip: str | None = None


class Person(BaseModel):
    name: str = "Ann"
    age: int | None = Field(default=None, ge=0, lt=150)
    likes: list[str] = []
    address: Address = Address()
    born: datetime | None = None


JSON_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "default": "Ann"},
        "age": {"type": ["integer", "null"], "minimum": 0, "exclusiveMaximum": 150, "default": None},
        "likes": {"type": "array", "items": {"type": "string"}, "default": []},
        "address": {"$ref": "#/$defs/address", "default": {}},
    },
    "additionalProperties": False,
    "$defs": {
        "address": {
            "type": "object",
            "properties": {"city": {"type": "string", "default": ""}},
            "additionalProperties": False,
        }
    },
}


def add(path: str, value: Any) -> dict[str, Any]:
    return {"op": "add", "path": path, "value": value}


def put(path: str, value: Any) -> dict[str, Any]:
    return {"op": "replace", "path": path, "value": value}


def remove(path: str) -> dict[str, Any]:
    return {"op": "remove", "path": path}


def test_nothing_stored_is_the_defaults(store: MemoryStore) -> None:
    assert Profile(Person, store, NS).get() == Person()
    assert Profile(JSON_SCHEMA, store, NS).get() == {"name": "Ann", "age": None, "likes": [], "address": {"city": ""}}
    assert Profile(Person, store, NS).revision == 0 and not store.search(NS)


@pytest.mark.parametrize("schema", [Person, JSON_SCHEMA])
def test_a_patch_lands_in_the_schemas_form(store: MemoryStore, schema: Any) -> None:
    profile = Profile(schema, store, NS)
    patched = profile.patch([add("/likes/-", "tea"), put("/age", 30), put("/address/city", "Bern")])
    assert patched.changed and patched.revision == profile.revision == 1
    assert patched.document == profile.document() and patched.document["likes"] == ["tea"]
    item = store.get(NS, "profile")
    assert item is not None and item.value == patched.document
    again = profile.patch([put("/age", 30)])
    assert not again.changed and again.revision == profile.revision == 1


def test_a_model_gives_instances(store: MemoryStore) -> None:
    profile = Profile(Person, store, NS)
    profile.patch([put("/born", "1990-05-01T00:00:00Z")])
    assert profile.get().born == datetime(1990, 5, 1, tzinfo=UTC)


@pytest.mark.parametrize("schema", [Person, JSON_SCHEMA])
@pytest.mark.parametrize(
    ("operations", "message"),
    [
        ([put("/age", "old")], "/age"),
        ([put("/age", -1)], "/age"),
        ([add("/likes/-", 7)], "/likes/0"),
        ([put("/name", None)], "/name"),
        ([add("/nickname", "A")], "nickname"),
        ([add("/address/street", "A")], "street"),
        ([put("/name", "Bob"), put("/age", "old")], "/age"),
    ],
)
def test_what_does_not_fit_does_not_land(
    store: MemoryStore, schema: Any, operations: list[dict[str, Any]], message: str
) -> None:
    profile = Profile(schema, store, NS)
    with pytest.raises(InvalidPatchError, match=message):
        profile.patch(operations)
    assert profile.revision == 0 and not store.search(NS)


@pytest.mark.parametrize(
    ("operations", "message"),
    [
        ("replace", "A patch is a list of operations, not str"),
        ({"op": "add"}, "A patch is a list of operations, not dict"),
        (None, "A patch is a list of operations, not NoneType"),
        (["add"], "Operation 1 is no object"),
        ([{"path": "/name"}], "Operation 1: None is no operation"),
        ([{"op": "set", "path": "/name", "value": 1}], "'set' is no operation.*Use add, remove"),
        ([{"op": ["add"], "path": "/name", "value": 1}], "is no operation"),
        ([{"op": "add", "value": 1}], "has no path"),
        ([{"op": "add", "path": 3, "value": 1}], "has no path"),
        ([{"op": "add", "path": "name", "value": 1}], "'name' is no JSON Pointer. Write '/name'"),
        ([{"op": "add", "path": "/a~2b", "value": 1}], "has a ~ that stands alone"),
        ([{"op": "add", "path": "/name"}], "has no value"),
        ([{"op": "move", "path": "/name"}], "has no from"),
        ([put("", {"name": "Eve"})], "whole document, which is never overwritten"),
        ([add("", {})], "whole document"),
        ([remove("")], "whole document"),
        ([{"op": "copy", "from": "", "path": "/name"}], "whole document"),
        ([{"op": "move", "from": "/address", "path": ""}], "whole document"),
        ([remove("/nickname")], "nothing at /nickname.*has 'name', 'age'"),
        ([put("/likes/0", "tea")], "nothing at /likes/0.*/likes has 0 elements"),
        ([add("/likes/3", "tea")], "Operation 1 .add /likes/3. does not apply"),
        ([add("/likes/-1", "tea")], "does not apply"),
        ([add("/likes/x", "tea")], "does not apply"),
        ([add("/name/0", "tea")], "no object and no list at /name"),
        ([put("/name/0", "tea")], "nothing at /name/0"),
        ([add("/no/where", "tea")], "no object and no list at /no"),
        ([{"op": "move", "from": "/address", "path": "/address/city"}], "does not apply"),
        ([{"op": "test", "path": "/name", "value": "Bob"}], 'Operation 1 .test /name. failed: "Ann" is there'),
        ([{"op": "test", "path": "/no", "value": None}], "failed: nothing is there"),
        ([add("/name", float("nan"))], "not finite"),
        ([add("/name", {1, 2})], "no JSON"),
        ([add("/age", 2**70)], "no JSON"),
        ([add("/name", "\ud800")], "no JSON"),
        ([put("/name", "x")] * 1_001, "1001 operations"),
    ],
)
def test_what_is_no_patch_is_refused_by_name(operations: Any, message: str) -> None:
    with open_store("memory://") as store:
        with pytest.raises(InvalidPatchError, match=message):
            Profile(Person, store, NS).patch(operations)
        assert not store.search(NS)


def test_all_operations_or_none(store: MemoryStore) -> None:
    profile = Profile(Person, store, NS)
    with pytest.raises(InvalidPatchError, match=r"Operation 2 \(test /name\)"):
        profile.patch([put("/name", "Bob"), {"op": "test", "path": "/name", "value": "Ann"}])
    assert profile.revision == 0
    profile.patch([{"op": "test", "path": "/name", "value": "Ann"}, put("/name", "Bob")])
    moved = profile.patch([{"op": "copy", "from": "/name", "path": "/address/city"}, add("/likes/0", "tea")])
    assert moved.document["address"]["city"] == "Bob"
    profile.patch([{"op": "move", "from": "/likes/0", "path": "/name"}])
    assert profile.get() == Person(name="tea", address=Address(city="Bob"))


def test_a_test_tells_true_from_one(store: MemoryStore) -> None:
    profile = Profile({"properties": {"flag": {"default": True}, "one": {"default": 1}}}, store, NS)
    profile.patch([{"op": "test", "path": "/one", "value": 1.0}])
    for path, value in (("/flag", 1), ("/one", True)):
        with pytest.raises(InvalidPatchError, match="failed"):
            profile.patch([{"op": "test", "path": path, "value": value}])


def test_what_was_put_in_is_not_changed_from_outside_nor_by_later_operations(store: MemoryStore) -> None:
    profile = Profile({}, store, NS)
    value: dict[str, Any] = {"b": []}
    operations = [add("/a", value), add("/a/b/-", 1)]
    profile.patch(operations)
    assert value == {"b": []}
    value["b"].append(2)
    assert profile.document() == {"a": {"b": [1]}}


def test_copies_of_copies_do_not_fill_the_memory(store: MemoryStore) -> None:
    profile = Profile({}, store, NS)
    doubling = [{"op": "copy", "from": "/a", "path": "/a/-"} for _ in range(60)]
    with pytest.raises(InvalidPatchError, match="larger than"):
        profile.patch([add("/a", ["tea"]), *doubling])
    deep = [{"op": "move", "from": "/a", "path": "/b"}, add("/a", {}), {"op": "move", "from": "/b", "path": "/a/x"}]
    with pytest.raises(InvalidPatchError, match="too deep"):
        profile.patch([add("/a", {}), *(deep * 300)])


def test_required_fields_come_with_the_first_patch(store: MemoryStore) -> None:
    class Strict(BaseModel):
        name: str
        likes: list[str] = []

    schema = {"properties": {"name": {"type": "string"}, "likes": {"default": []}}, "required": ["name"]}
    for key, profile in (("a", Profile(Strict, store, NS, "a")), ("b", Profile(schema, store, NS, "b"))):
        assert profile.document() == {"likes": []}
        with pytest.raises(EmptyProfileError, match=f"profile '{key}' is not written yet.*no default for /name"):
            profile.get()
        with pytest.raises(InvalidPatchError, match="/name"):
            profile.patch([add("/likes/-", "tea")])
        profile.patch([add("/likes/-", "tea"), add("/name", "Ann")])
        assert profile.document() == {"likes": ["tea"], "name": "Ann"}


def test_as_it_was(store: MemoryStore) -> None:
    profile = Profile(Person, store, NS)
    with pytest.raises(ItemNotFoundError):
        profile.at(datetime.now(UTC))
    for name in ("Bea", "Cleo", "Dora"):
        with acting_as(Author("user:ann", reason=f"call me {name}")):
            profile.patch([put("/name", name)])
    history = profile.history()
    assert [(entry.revision, entry.author.reason) for entry in history] == [
        (3, "call me Dora"),
        (2, "call me Cleo"),
        (1, "call me Bea"),
    ]
    assert profile.at(history[1].at).name == "Cleo" and profile.at(datetime.now(UTC)).name == "Dora"
    assert len(profile.history(limit=1)) == 1
    with pytest.raises(RevisionNotFoundError):
        profile.at(history[-1].at - timedelta(seconds=1))
    profile.patch([put("/name", "Eve")], author=Author("user:eve"))
    assert profile.history()[0].author == Author("user:eve")


def test_a_deleted_profile_begins_anew(store: MemoryStore) -> None:
    profile = Profile(Person, store, NS)
    profile.patch([put("/name", "Bea")])
    store.delete(NS, "profile")
    assert profile.get() == Person() and profile.revision == 0
    assert profile.patch([put("/age", 3)]).revision == 3 and profile.get() == Person(age=3)


async def test_every_method_from_an_event_loop(store: MemoryStore) -> None:
    profile = Profile(Person, store, NS)
    patched = await profile.apatch([put("/name", "Bea")])
    assert patched.document == await profile.adocument()
    assert (await profile.aget()).name == "Bea" and (await profile.asnapshot()).revision == 1
    (entry,) = await profile.ahistory()
    assert (await profile.aat(entry.at)).name == "Bea"
    assert not (await profile.amigrate()).changed


def test_the_methods_have_their_names_and_words() -> None:
    assert Profile.apatch.__qualname__ == "Profile.apatch" and "RFC 6902" in (Profile.patch.__doc__ or "")


def test_whose_it_is_comes_from_the_runtime(store: MemoryStore) -> None:
    class Runtime:
        def __init__(self) -> None:
            self.context = {"user_id": "bob"}

    profile = Profile(Person, store, by_user)
    with pytest.raises(ScopeError, match="No user is known"):
        profile.get()
    Profile(Person, store, lambda _: (*by_user(Runtime()), "notes")).patch([put("/age", 3)])
    assert store.get(("bob", "notes"), "profile") is not None


def test_aliases_and_extra_fields_follow_the_model(store: MemoryStore) -> None:
    class Loose(BaseModel):
        model_config = ConfigDict(extra="allow")
        first_name: str = Field(default="Ann", alias="firstName")

    profile = Profile(Loose, store, NS)
    assert profile.document() == {"firstName": "Ann"}
    profile.patch([put("/firstName", "Bea"), add("/nickname", "B")])
    assert profile.get().first_name == "Bea" and profile.document()["nickname"] == "B"


class Point(RootModel[list[int]]):
    pass


class Hidden(BaseModel):
    password: SecretStr = SecretStr("x")


class Loud(BaseModel):
    name: str = "ann"

    @field_validator("name")
    @classmethod
    def louder(cls, name: str) -> str:
        return name + "!"


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (None, "None is no schema"),
        (dict, "is no schema"),
        ("Person", "'Person' is no schema"),
        (Person(), "Pass the class: Person"),
        (Point, "Point describes no JSON object"),
        ({"type": "array"}, "describes 'array', no object"),
        ({"type": "objekt"}, "describes 'objekt'"),
        ({"properties": {"age": {"type": "number", "minimum": "three"}}}, "at /properties/age/minimum"),
        ({"properties": {"age": {"enum": {1}}}}, "is no JSON"),
    ],
)
def test_a_schema_that_is_none(schema: Any, message: str) -> None:
    with open_store("memory://") as store, pytest.raises(InvalidSchemaError, match=message):
        Profile(schema, store, NS)


@pytest.mark.parametrize(
    ("schema", "path", "message"), [(Hidden, "/password", "reads back"), (Loud, "/name", "reads back")]
)
def test_a_model_that_does_not_read_back_what_it_writes(
    store: MemoryStore, schema: Any, path: str, message: str
) -> None:
    with pytest.raises(InvalidSchemaError, match=message):
        Profile(schema, store, NS).patch([put(path, "y")])
    assert not store.search(NS)


def test_a_schema_fetches_nothing(store: MemoryStore) -> None:
    schema = {"properties": {"x": {"$ref": "https://example.com/schema.json"}}}
    with pytest.raises(InvalidSchemaError, match="which is not in it"):
        Profile(schema, store, NS).patch([add("/x", 1)])


def test_a_package_that_is_not_installed_is_named(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memoranda.knowledge.schemas.find_spec", lambda _: None)
    with pytest.raises(MissingPackageError, match=r"memoranda\[agents\]"):
        Profile(JSON_SCHEMA, store, NS)


def test_bad_settings_are_refused_when_they_are_given(store: MemoryStore) -> None:
    with pytest.raises(NotAStoreError):
        Profile(Person, "memory://", NS)  # type: ignore[arg-type]
    from langgraph.store.memory import InMemoryStore

    with pytest.raises(InvalidSettingError, match="InMemoryStore keeps no history"):
        Profile(Person, InMemoryStore(), NS)  # type: ignore[arg-type]
    for namespace in ("ann", (), ("",), (1,), None):
        with pytest.raises(InvalidNamespaceError):
            Profile(Person, store, namespace)  # type: ignore[arg-type]
    for key in ("", None, 3):
        with pytest.raises(InvalidKeyError):
            Profile(Person, store, NS, key)  # type: ignore[arg-type]
    with pytest.raises(InvalidSettingError, match="no function"):
        Profile(Person, store, NS, migrate={"a": 1})  # type: ignore[arg-type]


def test_a_base_that_there_is_not(store: MemoryStore) -> None:
    profile = Profile(Person, store, NS)
    profile.patch([put("/name", "Bea")])
    with pytest.raises(RevisionNotFoundError):
        profile.patch([put("/name", "Cleo")], base=7)
    with pytest.raises(ConflictError):
        profile.patch([put("/name", "Cleo")], base=0)
    assert profile.revision == 1
