"""Fidelity: keys byte for byte, values as JSON has them."""

from __future__ import annotations

from typing import Any

from langgraph.store.base import BaseStore

from memoranda.testing.store_conformance.checks import (
    Checks,
    Namespace,
    check,
    expect,
    expect_same_json,
    value_of,
)

_KEYS = (
    "a-memory",
    "/notes/tea.md",
    "//notes/./tea.md",
    "/notes/../tea.md",
    "notes/",
    "/",
    ".",
    "..",
    " ",
    " padded ",
    "100%",
    "a_b",
    "aXb",
    "a*b",
    "[ab]?",
    "back\\slash",
    "it's",
    '"quoted"',
    "semi;colon--",
    "a.b",
    "a:b",
    "Ann",
    "ann",
    "caf\u00e9",
    "cafe\u0301",
    "记忆",
    "🙂",
    "line\nbreak",
    "tab\there",
    "{}",
    "null",
    "0",
    "x" * 200,
)

_VALUES: dict[str, dict[str, Any]] = {
    "an empty object": {},
    "empty parts": {"text": "", "list": [], "object": {}, "none": None},
    "numbers": {"int": 42, "zero": 0, "negative": -7, "large": 2**53 + 1, "float": 0.1, "small": 1e-7, "one": 1.0},
    "booleans": {"yes": True, "no": False},
    "Unicode": {"text": "caf\u00e9 cafe\u0301 记忆 🙂 \u202e rtl \u200b zero width", "ключ": "значение"},
    "control characters": {"text": "tab\t newline\n return\r bell\x07 escape\x1b unit\x1f delete\x7f"},
    "text that looks like JSON": {"text": '{"a": [1, 2, "\\u0041"]}', "other": "null"},
    "odd field names": {"": 1, " ": 2, "a.b": 3, "$gt": 4, "it's": 5, '"': 6, "content": 7},
    "nesting": {"a": {"b": [{"c": [[1, [2, [3, {"d": None}]]]]}]}},
    "a mixed list": {"list": [1, "1", 1.5, True, None, [], {}, ""]},
    "a file": {
        "content": "line one\nline two\n",
        "encoding": "utf-8",
        "created_at": "2024-05-01T10:00:00+00:00",
        "modified_at": "2024-05-02T10:00:00+00:00",
    },
    "an old file": {
        "content": ["line one", "", "line three"],
        "created_at": "2024-05-01T10:00:00+00:00",
        "modified_at": "2024-05-02T10:00:00+00:00",
    },
    "a binary file": {"content": "AAECAwT/", "encoding": "base64"},
    "a file that is not base64": {"content": "not base64!", "encoding": "base64"},
    "an empty file": {"content": "", "encoding": "utf-8"},
    "line ends": {"content": "one\r\ntwo\rthree\u2028four", "encoding": "utf-8"},
    "a long text": {"content": "memory " * 20_000, "encoding": "utf-8"},
    "many fields": {f"field-{number}": number for number in range(500)},
}


class ValueChecks(Checks):
    """Checks of what is kept."""

    @check()
    def test_keys_are_opaque(self, store: BaseStore, at: Namespace) -> None:
        """Keys are kept byte for byte: paths, quotes, wildcards, case, Unicode forms."""
        for key in _KEYS:
            store.put(at, key, {"key": key})
        for key in _KEYS:
            expect(value_of(store, at, key), {"key": key}, f"The item of {key[:20]!r}")
        found = {item.key: item.value["key"] for item in store.search(at, limit=100)}
        expect(found, {key: key for key in _KEYS}, "The keys found by search")

    @check()
    def test_delete_by_exact_key(self, store: BaseStore, at: Namespace) -> None:
        """`delete` removes exactly the key it is given, wildcards and all."""
        for key in _KEYS:
            store.put(at, key, {"n": 1})
        left = set(_KEYS)
        for key in ("100%", "a_b", "a*b", "[ab]?", "ann", "caf\u00e9", "/notes/tea.md"):
            store.delete(at, key)
            left.remove(key)
            expect({item.key for item in store.search(at, limit=100)}, left, f"What is left after {key!r}")

    @check()
    def test_odd_keys_are_never_mangled(self, store: BaseStore, at: Namespace) -> None:
        """A key with a NUL, a control character or 5,000 characters is refused, or kept exactly."""
        for number, key in enumerate(("a\x00b", "\x00", "a\x01b", "\x7f", "k" * 5_000, "\ufeffbom", "a\u2028b", "")):
            namespace = (*at, str(number))
            try:
                store.put(namespace, key, {"n": number})
            except Exception:  # noqa: BLE001 - any refusal will do
                continue
            expect(value_of(store, namespace, key), {"n": number}, f"The item of {key[:10]!r}")
            expect([item.key for item in store.search(namespace)], [key], f"The key {key[:10]!r} by search")

    @check()
    def test_values_round_trip(self, store: BaseStore, at: Namespace) -> None:
        """Every JSON object comes back as it was put, by `get` and by `search`."""
        for what, value in _VALUES.items():
            store.put((*at, what), "key", value)
            expect_same_json(value_of(store, (*at, what), "key"), value, f"With {what}")
            (found,) = store.search((*at, what))
            expect_same_json(found.value, value, f"By search, with {what}")

    @check(needs="asynchronous")
    async def test_async_values_round_trip(self, store: BaseStore, at: Namespace) -> None:
        """Every JSON object comes back as it was put, by `aput` and `aget`."""
        for what, value in _VALUES.items():
            await store.aput((*at, what), "key", value)
            item = await store.aget((*at, what), "key")
            expect_same_json(getattr(item, "value", None), value, f"With {what}")

    @check()
    def test_odd_values_are_never_mangled(self, store: BaseStore, at: Namespace) -> None:
        """A NUL in a text, a lone surrogate and integers beyond 64 bits are refused, or kept exactly."""
        for number, value in enumerate(({"text": "a\x00b"}, {"text": "a\ud800b"}, {"n": 2**70}, {"\x00": 1})):
            try:
                store.put(at, f"key-{number}", value)
            except Exception:  # noqa: BLE001 - any refusal will do
                continue
            expect_same_json(value_of(store, at, f"key-{number}"), value, "The value")

    @check()
    def test_no_number_becomes_null(self, store: BaseStore, at: Namespace) -> None:
        """NaN and infinities, which JSON does not have, are refused, or kept exactly."""
        for number, value in enumerate((float("nan"), float("inf"), float("-inf"))):
            try:
                store.put(at, f"key-{number}", {"n": value})
            except Exception:  # noqa: BLE001 - any refusal will do
                continue
            expect(repr(value_of(store, at, f"key-{number}")), repr({"n": value}), "The value")
