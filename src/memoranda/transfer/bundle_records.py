"""The records of a bundle: one JSON object for each line. `docs/reference/bundle-format.md` describes them."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import orjson

from memoranda._version import __version__
from memoranda.errors import MemorandaError
from memoranda.store.changes import Author
from memoranda.store.keys import checked_key
from memoranda.store.namespaces import decode_namespace
from memoranda.store.operations.planning import checked_author
from memoranda.store.operations.whole_items import WholeItem, WholeRevision
from memoranda.store.turns import RecordedTurn
from memoranda.store.values import Kind, Stored, timestamp
from memoranda.transfer.bundle_fields import LARGEST, Fields
from memoranda.transfer.bundle_turns import ProposalLine, dump_proposal, dump_turn, load_proposal, load_turn

FORMAT = "memoranda-bundle"
VERSION = 2

_AUTHOR = ("actor", "thread_id", "run_id", "tool_call_id", "reason")


@dataclass(frozen=True, slots=True)
class Header:
    """The first line: what the file is; `items` may have changed a little while it was written."""

    version: int
    items: int
    created_at: int = 0
    prefix: tuple[str, ...] = ()
    subject: str | None = None


@dataclass(frozen=True, slots=True)
class NamespaceStart:
    """A namespace begins, whose revisions have positions from 1 to `position`."""

    labels: str
    position: int


@dataclass(frozen=True, slots=True)
class NamespaceTotal:
    """What a namespace of the bundle adds up to."""

    labels: str
    digest: bytes
    items: int
    revisions: int
    turns: int = 0


@dataclass(frozen=True, slots=True)
class Trailer:
    """The last line: what must have come before it."""

    namespaces: tuple[NamespaceTotal, ...]
    items: int
    revisions: int
    turns: int = 0
    proposals: int = 0


Record: TypeAlias = NamespaceStart | WholeItem | RecordedTurn | ProposalLine | Trailer


def dump_header(header: Header) -> bytes:
    """The first line."""
    fields = {"subject": header.subject} if header.subject is not None else {}
    return orjson.dumps(
        {
            "format": FORMAT,
            "version": header.version,
            "created_at": timestamp(header.created_at),
            "by": f"memoranda {__version__}",
            "prefix": header.prefix,
            "items": header.items,
            **fields,
        }
    )


def dump_record(record: Record) -> bytes:
    """Any other line."""
    match record:
        case NamespaceStart(labels, position):
            return orjson.dumps({"type": "namespace", "namespace": decode_namespace(labels), "position": position})
        case Trailer(namespaces, items, revisions, turns, proposals):
            totals = [
                {
                    "namespace": decode_namespace(total.labels),
                    "digest": total.digest.hex(),
                    "items": total.items,
                    "revisions": total.revisions,
                    "turns": total.turns,
                }
                for total in namespaces
            ]
            counts = {"items": items, "revisions": revisions, "turns": turns, "proposals": proposals}
            return orjson.dumps({"type": "trailer", **counts, "namespaces": totals})
        case RecordedTurn():
            return dump_turn(record)
        case ProposalLine():
            return dump_proposal(record)
        case WholeItem():
            return _dump_item(record)


def load_header(line: bytes) -> Header | None:
    """The first line; None if it is that of another kind of file."""
    try:
        fields: Any = orjson.loads(line)
        if not isinstance(fields, dict) or fields.get("format") != FORMAT:  # pyright: ignore[reportUnknownMemberType]
            return None
        given = Fields(cast("dict[str, Any]", fields))
        return Header(given.number("version"), given.optional_number("items") or 0)
    except ValueError:
        return None


def load_record(line: bytes) -> Record:
    """Any other line.

    Raises:
        ValueError: It is no such record; the message says why.
    """
    fields: Any = orjson.loads(line)
    if not isinstance(fields, dict):
        raise ValueError("it is no JSON object")
    given = Fields(cast("dict[str, Any]", fields))
    match given.text("type"):
        case "namespace":
            return NamespaceStart(given.namespace(), given.number("position"))
        case "item":
            return _load_item(given)
        case "trailer":
            totals = tuple(
                NamespaceTotal(
                    total.namespace(),
                    total.hex("digest"),
                    total.number("items"),
                    total.number("revisions"),
                    total.optional_number("turns") or 0,
                )
                for total in given.objects("namespaces")
            )
            later = (given.optional_number(name) or 0 for name in ("turns", "proposals"))
            return Trailer(totals, given.number("items"), given.number("revisions"), *later)
        case "turn":
            return load_turn(given)
        case "proposal":
            return load_proposal(given)
        case other:
            raise ValueError(f"there is no record of type {other!r}")


def _dump_item(item: WholeItem) -> bytes:
    fields: dict[str, Any] = {"type": "item", "namespace": decode_namespace(item.labels), "key": item.key}
    stored = item.stored
    fields["live"] = stored is not None
    if stored is not None:
        fields["kind"] = stored.kind.name.lower()
        if stored.meta:
            fields["meta"] = stored.meta.decode()
        if stored.kind == Kind.BINARY:
            fields["base64"] = _base64(stored.body)
        else:
            fields["text"] = stored.body.decode()
    fields |= {"created_at": item.created_at, "updated_at": item.updated_at}
    if item.expires_at is not None:
        fields["expires_at"] = item.expires_at
    if item.ttl is not None:
        fields["ttl"] = item.ttl
    if item.index_fields is not None:
        fields["index"] = orjson.loads(item.index_fields)
    fields["revisions"] = [_dump_revision(entry) for entry in item.revisions]
    return orjson.dumps(fields)


def _dump_revision(entry: WholeRevision) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "revision": entry.revision,
        "position": entry.position,
        "operation": entry.operation,
        "at": entry.at,
    }
    fields |= {name: text for name in (*_AUTHOR, "origin") if (text := getattr(entry, name)) is not None}
    fields |= {
        "size": entry.size,
        "salt": entry.salt.hex(),
        "content_digest": entry.content_digest.hex(),
        "digest": entry.digest.hex(),
    }
    if entry.previous_kind is not None:
        assert entry.previous_meta is not None
        assert entry.delta_kind is not None
        assert entry.delta is not None
        fields["previous"] = {
            "kind": Kind(entry.previous_kind).name.lower(),
            "meta": entry.previous_meta.decode(),
            "delta_kind": entry.delta_kind,
            "delta": _base64(entry.delta),
        }
    return fields


def _load_item(given: Fields) -> WholeItem:
    stored = None
    if given.boolean("live"):
        kind = given.kind()
        body = given.base64("base64") if kind == Kind.BINARY else given.text("text").encode()
        stored = _checked(Stored(kind, (given.optional_text("meta") or "").encode(), body))
    revisions = tuple(_load_revision(entry) for entry in given.objects("revisions"))
    if not revisions:
        raise ValueError("an item has no history")
    try:
        key = checked_key(given.text("key"))
    except MemorandaError as error:
        raise ValueError(error.cause) from None
    return WholeItem(
        given.namespace(),
        key,
        stored,
        given.time("created_at"),
        given.time("updated_at"),
        given.optional_number("expires_at", -LARGEST),
        given.minutes("ttl"),
        revisions,
        given.optional_texts("index"),
    )


def _load_revision(given: Fields) -> WholeRevision:
    author = Author(*(given.optional_text(name) for name in _AUTHOR))
    try:
        checked_author(author)
    except MemorandaError as error:
        raise ValueError(error.cause) from None
    before: tuple[Any, ...] = ()
    if (previous := given.optional_object("previous")) is not None:
        before = (
            int(previous.kind()),
            previous.text("meta").encode(),
            previous.number("delta_kind"),
            previous.base64("delta"),
        )
    return WholeRevision(
        given.number("revision", 1),
        given.number("position", 1),
        given.text("operation"),
        given.time("at"),
        author.actor,
        author.thread_id,
        author.run_id,
        author.tool_call_id,
        author.reason,
        _checked_origin(given.optional_text("origin")),
        given.number("size"),
        given.hex("salt"),
        given.hex("content_digest"),
        given.hex("digest"),
        *before,
    )


def _checked(stored: Stored) -> Stored:
    """Refuse what no reader could turn into a value."""
    value: Any = orjson.loads(stored.body if stored.kind == Kind.JSON else stored.meta)
    if not isinstance(value, dict):
        raise ValueError("a value is no JSON object")
    return stored


def _checked_origin(origin: str | None) -> str | None:
    """Refuse what no reader could follow."""
    parts: Any = {} if origin is None else orjson.loads(origin)
    if not isinstance(parts, dict):
        raise ValueError("an origin is no JSON object")
    known = Fields(cast("dict[str, Any]", parts))
    for end in ("from", "to"):
        place = known.optional_object(end)
        if place is not None:
            place.namespace()
            place.text("key")
    return origin


def _base64(data: bytes) -> str:
    return b64encode(data).decode()
