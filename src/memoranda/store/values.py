"""How a value lies in the database: a kind, a little metadata, and a body.

The body is what a person would read: the text of a file, the bytes of a binary file, the sorted and indented
JSON of anything else. So `grep` and `edit` work on it as it is, one-line changes stay one line in the history,
and equal values have equal bytes. Metadata is the rest of a file value (encoding, times, extra fields) as JSON.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from typing import Any, NamedTuple, cast

import orjson

from memoranda.errors import InvalidValueError, StoreCorruptError
from memoranda.files.format import is_file_value, read_file_data


class Kind(IntEnum):
    """What a body holds."""

    JSON = 0
    TEXT = 1
    BINARY = 2
    LINES = 3
    """A file in the older format, `content: list[str]`; the body is the lines joined by a newline."""


class Stored(NamedTuple):
    """A value as the database keeps it."""

    kind: Kind
    meta: bytes
    body: bytes

    @property
    def is_document(self) -> bool:
        """Whether it is a JSON document, and no file."""
        return self.kind == Kind.JSON

    @property
    def text(self) -> str | None:
        """The body as text; None where it is binary."""
        return None if self.kind == Kind.BINARY else self.body.decode()


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_PLAIN = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_SUBCLASS
_PRETTY = _PLAIN | orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS
_FILE_PARTS = {"content", "encoding", "created_at", "modified_at"}
_ENCODINGS = ("utf-8", "base64")


def encode_value(value: Mapping[str, Any]) -> Stored:
    r"""Turn a value into its stored form.

    Raises:
        InvalidValueError: It is no JSON object, or holds text that UTF-8 cannot encode.

    Example:
        >>> encode_value({"b": 1, "a": True}).body
        b'{\n  "a": true,\n  "b": 1\n}'
    """
    if not isinstance(value, dict):
        value = _as_dict(value)
    content = value.get("content")
    if isinstance(content, str):
        encoding = value.get("encoding")
        if encoding == "utf-8":
            return Stored(Kind.TEXT, _meta(value), encode_text(content))
        if encoding == "base64" and (raw := _exact_base64(content)) is not None:
            return Stored(Kind.BINARY, _meta(value), raw)
    elif isinstance(content, list) and content and is_file_value(value):
        lines = cast("list[str]", content)
        if not any("\n" in line for line in lines):
            return Stored(Kind.LINES, _meta(value), encode_text("\n".join(lines)))
    return Stored(Kind.JSON, b"", _json(value, _PRETTY))


def stored_json(text: bytes | str) -> Any:
    """Read JSON that the store itself has written.

    Raises:
        StoreCorruptError: It is damaged.
    """
    try:
        return orjson.loads(text)
    except ValueError as error:
        raise StoreCorruptError(
            f"A stored value is damaged: {error}.", "Run `memoranda verify` to find it, and restore it or a backup."
        ) from error


def decode_value(stored: Stored) -> dict[str, Any]:
    """Turn a stored form back into the value that was put.

    Raises:
        StoreCorruptError: The stored form is damaged.
    """
    kind, meta, body = stored
    try:
        if kind == Kind.JSON:
            return orjson.loads(body)
        value: dict[str, Any] = orjson.loads(meta)
        if kind == Kind.TEXT:
            content: Any = body.decode()
        elif kind == Kind.BINARY:
            content = base64.b64encode(body).decode()
        else:
            content = body.decode().split("\n")
    except ValueError as error:  # of JSON as of UTF-8
        raise StoreCorruptError(
            f"A stored value is damaged: {error}.", "Run `memoranda verify` to find it, and restore it or a backup."
        ) from error
    # `content` first: that is how every file value is written, and what a person expects to read.
    return {"content": content, **value}


def timestamp(at: int) -> str:
    """A time in microseconds since the epoch as file values carry it: ISO 8601 in UTC."""
    return to_datetime(at).isoformat()


def to_datetime(at: int) -> datetime:
    """A time in microseconds since the epoch as an aware datetime, exact to the microsecond."""
    return EPOCH + timedelta(microseconds=at)


def to_microseconds(moment: datetime) -> int:
    """An instant as the database keeps it; one without a zone is taken as UTC."""
    aware = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    return (aware - EPOCH) // timedelta(microseconds=1)


def file_stored(content: str | bytes, at: int, previous: Stored | None) -> Stored:
    """The stored form of a file with this content, written at `at`.

    What the file carried besides its content (its creation time, extra fields) is kept.
    """
    meta: dict[str, Any] = {"encoding": "utf-8", "created_at": timestamp(at), "modified_at": timestamp(at)}
    if previous is not None and previous.kind != Kind.JSON:
        kept: dict[str, Any] = stored_json(previous.meta)
        meta = {**kept, "encoding": "utf-8", "modified_at": timestamp(at)}
    if isinstance(content, bytes):
        try:
            content.decode()
        except UnicodeDecodeError:
            meta["encoding"] = "base64"
            return Stored(Kind.BINARY, orjson.dumps(meta), content)
        return Stored(Kind.TEXT, orjson.dumps(meta), content)
    return Stored(Kind.TEXT, orjson.dumps(meta), encode_text(content))


def as_file(stored: Stored) -> Stored:
    r"""A text that was put by hand, as `{"content": "…"}` without the marks of a file, as the file that it is read as.

    Anything else comes back as it is. What it carries besides its content is kept.

    Example:
        >>> as_file(encode_value({"content": "tea\n"})).body
        b'tea\n'
    """
    if stored.kind != Kind.JSON:
        return stored
    value = decode_value(stored)
    try:
        data = read_file_data(value, lenient=True)
    except InvalidValueError:
        return stored
    if data["encoding"] != "utf-8":
        return stored
    return Stored(Kind.TEXT, _meta({**value, "encoding": "utf-8"}), encode_text(data["content"]))


def as_edited(stored: Stored, old: str) -> Stored:
    """An item as an edit of the text `old` takes it: a file that was put by hand as that file, a document as its JSON.

    What has more than the parts of a file may be meant either way, so it depends on where the text stands.
    """
    file = as_file(stored)
    if file is stored or old in (file.text or "") or decode_value(stored).keys() <= _FILE_PARTS:
        return file
    return stored


def with_text(stored: Stored, text: str, at: int) -> Stored:
    """The same item with another text: a file stays a file, JSON has to stay JSON.

    Raises:
        InvalidValueError: The item is JSON and the new text is not.
    """
    if stored.kind != Kind.JSON:
        return file_stored(text, at, stored)
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise InvalidValueError(
            f"The edit would leave text that is no JSON: {error}.",
            "This item is a JSON document; keep it valid.",
        ) from None
    return Stored(Kind.JSON, b"", _json(_as_dict(value), _PRETTY))


def _as_dict(value: object) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return dict(cast("Mapping[str, Any]", value))
    raise InvalidValueError(
        f"The value is {type(value).__name__}, not a JSON object.",
        'Wrap it in a dict, for example {"value": …}.',
    )


def _meta(value: Mapping[str, Any]) -> bytes:
    return _json({name: part for name, part in value.items() if name != "content"}, _PLAIN)


def _exact_base64(content: str) -> bytes | None:
    """The bytes, if encoding them again gives the very same text."""
    try:
        raw = base64.b64decode(content, validate=True)
    except (binascii.Error, ValueError):
        return None
    return raw if base64.b64encode(raw).decode() == content else None


def encode_text(text: str) -> bytes:
    """The text in UTF-8.

    Raises:
        InvalidValueError: It holds a lone surrogate.
    """
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise InvalidValueError(
            f"The text holds a lone surrogate at character {error.start}, which UTF-8 cannot encode.",
            "Decode the source as UTF-8, or keep it as base64.",
        ) from None


def _json(value: dict[str, Any], options: int) -> bytes:
    try:
        encoded = orjson.dumps(value, option=options)
    except TypeError as error:  # orjson's own error class is a TypeError
        raise InvalidValueError(
            f"The value is no JSON: {error}.",
            "Use string keys and strings, finite numbers within 64 bits, booleans, None, lists and dicts.",
        ) from None
    # orjson writes NaN and infinities as null; nothing may change silently.
    if b"null" in encoded and (where := _not_finite(value, "")) is not None:
        raise InvalidValueError(
            f"The number at {where or '/'} is not finite.", "JSON has no NaN; store None or a string."
        )
    return encoded


def _not_finite(value: Any, where: str) -> str | None:
    if isinstance(value, float):
        return where if value != value or value in (float("inf"), float("-inf")) else None
    parts: Any = ()
    if isinstance(value, dict):
        parts = cast("dict[str, Any]", value).items()
    elif isinstance(value, (list, tuple)):
        parts = enumerate(cast("list[Any]", value))
    for name, part in parts:
        if (found := _not_finite(part, f"{where}/{name}")) is not None:
            return found
    return None
