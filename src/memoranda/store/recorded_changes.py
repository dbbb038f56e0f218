"""Changes as JSON, so that they can wait in the database and apply later exactly as they were meant."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias, cast

import orjson

from memoranda.store.changes import Append, Change, Delete, Edit, Move, Namespace, Restore, Value, Write
from memoranda.store.values import stored_json


class Head(NamedTuple):
    """The state of an item that a change was made from.

    Args:
        revision: Its revision; 0: it did not exist.
        item_id: Which item it was, so that one that took its place after it expired is not taken for it.
    """

    revision: int = 0
    item_id: int = 0


Heads: TypeAlias = Mapping[tuple[Namespace, str], Head]


def encode_changes(changes: tuple[Change, ...], heads: Heads) -> bytes:
    """Changes that were checked before, and the states of the items they were made from, as JSON."""
    made_from = [[list(namespace), key, *head] for (namespace, key), head in heads.items()]
    return orjson.dumps({"changes": [change_to_json(change) for change in changes], "heads": made_from})


def decode_changes(body: bytes) -> tuple[tuple[Change, ...], Heads]:
    """What `encode_changes` was given."""
    recorded: dict[str, Any] = stored_json(body)
    changes = tuple(_from_json(change) for change in recorded["changes"])
    return changes, {(tuple(labels), key): Head(*head) for labels, key, *head in recorded["heads"]}


def change_to_json(change: Change) -> dict[str, Any]:
    """A change as a JSON value; `bytes` become base64."""
    place: dict[str, Any] = {"namespace": list(change.namespace), "key": change.key}
    match change:
        case Write(_, _, value, base, ttl, merge, index):
            settings: dict[str, Any] = {"base": base, "ttl": ttl, "merge": merge}
            if index is not True:
                settings["index"] = index if isinstance(index, bool) or index is None else list(index)
            return {"type": "write", **place, **_value_to_json(value), **settings}
        case Edit(_, _, old, new, replace_all, base):
            return {"type": "edit", **place, "old": old, "new": new, "replace_all": replace_all, "base": base}
        case Append(_, _, text, base):
            return {"type": "append", **place, "text": text, "base": base}
        case Delete(_, _, base, missing_ok):
            return {"type": "delete", **place, "base": base, "missing_ok": missing_ok}
        case Move(_, _, to, to_namespace, overwrite):
            target = None if to_namespace is None else list(to_namespace)
            return {"type": "move", **place, "to": to, "to_namespace": target, "overwrite": overwrite}
        case Restore(_, _, revision):
            return {"type": "restore", **place, "revision": revision}


def _from_json(recorded: dict[str, Any]) -> Change:
    namespace, key = tuple(recorded["namespace"]), recorded["key"]
    match recorded["type"]:
        case "write":
            value = _value_from_json(recorded)
            settings = recorded["base"], recorded["ttl"], recorded["merge"], recorded.get("index", True)
            return Write(namespace, key, value, *settings)
        case "edit":
            return Edit(namespace, key, recorded["old"], recorded["new"], recorded["replace_all"], recorded["base"])
        case "append":
            return Append(namespace, key, recorded["text"], recorded["base"])
        case "delete":
            return Delete(namespace, key, recorded["base"], recorded["missing_ok"])
        case "move":
            target = recorded["to_namespace"]
            return Move(namespace, key, recorded["to"], target and tuple(target), recorded["overwrite"])
        case "restore":
            return Restore(namespace, key, recorded["revision"])
        case kind:
            raise ValueError(f"{kind!r} is no kind of change")


def _value_to_json(value: Value) -> dict[str, Any]:
    if isinstance(value, str):
        return {"text": value}
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode()}
    return {"document": dict(value)}


def _value_from_json(recorded: dict[str, Any]) -> Value:
    if "text" in recorded:
        return cast("str", recorded["text"])
    if "base64" in recorded:
        return base64.b64decode(recorded["base64"])
    return cast("dict[str, Any]", recorded["document"])
