"""Every JSON object comes back as it was; what is none is refused by name."""

from __future__ import annotations

import json
from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from types import MappingProxyType
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.store.base import PutOp

from memoranda import MemoryStore, create_file_data
from memoranda.errors import InvalidValueError
from tests.store.conftest import Namespace, fresh

texts = st.text(st.characters(codec="utf-8"), max_size=12)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**64 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    texts,
)
json_values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(texts, inner, max_size=4)),
    max_leaves=12,
)
objects = st.dictionaries(
    st.one_of(texts, st.sampled_from(["content", "encoding", "created_at"])), json_values, max_size=5
)


def same(actual: object, expected: object) -> bool:
    return json.dumps(actual, sort_keys=True) == json.dumps(expected, sort_keys=True)


@settings(max_examples=25, deadline=None)
@given(values=st.lists(objects, min_size=1, max_size=10))
def test_every_json_object_round_trips(shared: MemoryStore, values: list[dict]) -> None:
    ns = fresh()
    shared.batch([PutOp(ns, str(number), value) for number, value in enumerate(values)])
    for number, value in enumerate(values):
        assert same(shared.get(ns, str(number)).value, value)
    assert same([item.value for item in shared.search(ns, limit=50)], values)
    # Through the history too: each value is overwritten by the next.
    for value in values:
        shared.put(ns, "one", value)
    for revision, value in enumerate(values, 1):
        assert same(shared.get_at(ns, "one", revision=revision).value, value)
    assert shared.verify(ns).ok


files = st.fixed_dictionaries(
    {
        "content": st.one_of(
            texts, st.lists(texts, max_size=4), st.binary(max_size=9).map(lambda b: b.hex()), st.just("AAE=")
        )
    },
    optional={
        "encoding": st.sampled_from(["utf-8", "base64", "latin-1", None, 7]),
        "created_at": st.one_of(st.just("2024-01-01T00:00:00+00:00"), st.none(), st.integers(0, 9)),
        "modified_at": st.just("2024-01-01T00:00:00+00:00"),
        "extra": json_values,
    },
)


@settings(max_examples=40, deadline=None)
@given(value=files)
def test_everything_that_looks_like_a_file_round_trips(shared: MemoryStore, value: dict) -> None:
    ns = fresh()
    shared.put(ns, "/a.md", value)
    assert same(shared.get(ns, "/a.md").value, value)
    shared.write(ns, "/a.md", value)
    assert same(shared.get(ns, "/a.md").value, value)


@pytest.mark.parametrize(
    "content", ["", "text", "one\r\ntwo\u2028\x0b\x00", "caf\u00e9 cafe\u0301 \u4e2d 🙂", "x" * 300_000]
)
def test_text_written_is_text_read(shared: MemoryStore, ns: Namespace, content: str) -> None:
    shared.write(ns, "/a.md", content)
    value = shared.get(ns, "/a.md").value
    assert (value["content"], value["encoding"]) == (content, "utf-8")
    assert datetime.fromisoformat(value["created_at"]).tzinfo and datetime.fromisoformat(value["modified_at"]).tzinfo
    assert shared.list_keys(ns)[0].size == len(content.encode())


def test_bytes_written_are_text_or_base64(shared: MemoryStore, ns: Namespace) -> None:
    shared.write(ns, "/text", "caf\u00e9".encode())
    assert shared.get(ns, "/text").value["content"] == "caf\u00e9"
    shared.write(ns, "/binary", bytes(range(256)))
    value = shared.get(ns, "/binary").value
    assert value["encoding"] == "base64"
    import base64

    assert base64.b64decode(value["content"]) == bytes(range(256))
    shared.write(ns, "/empty", b"")
    assert shared.get(ns, "/empty").value["content"] == ""


def test_create_file_data_round_trips(shared: MemoryStore, ns: Namespace) -> None:
    data = create_file_data("one\ntwo")
    shared.put(ns, "/a.md", data)
    assert shared.get(ns, "/a.md").value == data


@dataclass
class Point:
    x: int = 1


class Text(str):
    __slots__ = ()


circular: dict = {}
circular["self"] = circular
deep: dict = {}
for _ in range(2_000):
    deep = {"d": deep}

NOT_JSON = {
    "nan": {"n": float("nan")},
    "infinity": {"n": [1, {"m": float("-inf")}]},
    "nan beside null": {"a": None, "b": float("nan")},
    "nan in a file": {"content": "x", "encoding": "utf-8", "extra": float("nan")},
    "big integer": {"n": 2**64},
    "small integer": {"n": -(2**63) - 1},
    "datetime": {"at": datetime(2024, 1, 1)},
    "decimal": {"n": Decimal("1.5")},
    "bytes": {"b": b"x"},
    "set": {"s": {1}},
    "tuple key": {"a": {(1, 2): 3}},
    "integer key": {"a": {1: 2}},
    "integer key at the top": {1: 2},
    "none key": {None: 1},
    "dataclass": {"p": Point()},
    "object": {"o": object()},
    "function": {"f": len},
    "surrogate": {"t": "\ud800"},
    "surrogate key": {"\ud800": 1},
    "surrogate in a file": {"content": "a\udfff", "encoding": "utf-8"},
    "surrogate in an old file": {"content": ["\ud800"], "created_at": "x"},
    "circular": circular,
    "too deep": deep,
    "bytes for all": b"text",
    "list": [1],
    "string": "text",
    "number": 7,
}


@pytest.mark.parametrize("what", NOT_JSON)
def test_what_is_no_json_is_refused_by_name(shared: MemoryStore, ns: Namespace, what: str) -> None:
    value = NOT_JSON[what]
    shared.put(ns, "kept", {"n": 1})
    calls = [
        lambda: shared.put(ns, "kept", value),
        lambda: shared.batch([PutOp(ns, "new", {"n": 1}), PutOp(ns, "kept", value)]),
    ]
    if not isinstance(value, (str, bytes)):
        calls.append(lambda: shared.write(ns, "kept", value))
    for call in calls:
        with pytest.raises(InvalidValueError) as caught:
            call()
        assert caught.value.cause.endswith(".") and caught.value.remedy.endswith(".")
    assert [(item.key, item.value, item.revision) for item in shared.search(ns)] == [("kept", {"n": 1}, 1)]


def test_mappings_and_tuples_are_taken_as_json_has_them(shared: MemoryStore, ns: Namespace) -> None:
    for number, value in enumerate((OrderedDict(b=1, a=2), MappingProxyType({"a": 2, "b": 1}))):
        shared.put(ns, str(number), value)
        assert shared.get(ns, str(number)).value == {"a": 2, "b": 1}
    name = uuid4()
    for value, expected in (
        ({"t": (1, 2)}, {"t": [1, 2]}),
        ({"t": Text("x")}, {"t": "x"}),
        ({"t": name}, {"t": str(name)}),
    ):
        try:
            shared.put(ns, "other", value)
        except InvalidValueError:
            continue
        assert same(shared.get(ns, "other").value, expected)


def test_values_are_not_shared_with_the_caller(shared: MemoryStore, ns: Namespace) -> None:
    value = {"list": [1]}
    shared.put(ns, "a", value)
    value["list"].append(2)
    shared.get(ns, "a").value["list"].append(3)
    assert shared.get(ns, "a").value == {"list": [1]}
