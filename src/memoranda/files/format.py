"""The JSON form of a file, and the window of lines that a reader asks for.

The form is Deep Agents' (version 2: `content` is one string; version 1, a list of lines, is still read), so
that their agents and ours can share a store.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, NotRequired, TypedDict, TypeGuard, cast

from memoranda.errors import InvalidValueError

Encoding = Literal["utf-8", "base64"]

_REMEDY = "Make file values with create_file_data()."


class FileData(TypedDict):
    """A file as it is stored."""

    content: str
    """The text itself, or the base64 form of the bytes."""

    encoding: Encoding
    """How `content` is to be read."""

    created_at: NotRequired[str]
    """When the file was first written (ISO 8601, UTC)."""

    modified_at: NotRequired[str]
    """When the file was last written (ISO 8601, UTC)."""


def create_file_data(content: str | bytes, created_at: str | None = None, encoding: str | None = None) -> FileData:
    r"""Make the value of a new file.

    Args:
        content: The text, or bytes: those that are UTF-8 become text, others base64.
        created_at: When the file was first written (ISO 8601); now if not given.
        encoding: `"utf-8"` or `"base64"`. With a string it says what the string is (text by default); with
            bytes it forces the form.

    Returns:
        The file value, modified now.

    Raises:
        InvalidValueError: The encoding is unknown, or the content does not fit it.

    Example:
        >>> data = create_file_data(b"\xff\x00")
        >>> data["content"], data["encoding"]
        ('/wA=', 'base64')
    """
    if encoding not in (None, "utf-8", "base64"):
        raise InvalidValueError(f"The encoding {encoding!r} is unknown.", "Use 'utf-8' or 'base64'.")
    text, kind = _encoded(content, encoding)
    now = _now()
    return {"content": text, "encoding": kind, "created_at": created_at or now, "modified_at": now}


def _encoded(content: str | bytes, encoding: str | None) -> tuple[str, Encoding]:
    if isinstance(content, str):
        if encoding == "base64":
            _decode_base64(content)
            return content, "base64"
        _encode_text(content)
        return content, "utf-8"
    if encoding == "base64":
        return b64encode(content).decode("ascii"), "base64"
    try:
        return content.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        if encoding == "utf-8":
            raise InvalidValueError("The bytes are not UTF-8.", "Leave out the encoding.") from None
        return b64encode(content).decode("ascii"), "base64"


def update_file_data(old: Mapping[str, object], content: str) -> FileData:
    """Make the value of a file that is written again with text.

    Args:
        old: The file value until now.
        content: The new text.

    Returns:
        A UTF-8 file value that keeps the time of creation and is modified now.

    Raises:
        InvalidValueError: The text holds a lone surrogate.

    Example:
        >>> old = create_file_data("a", created_at="2026-01-01T00:00:00+00:00")
        >>> update_file_data(old, "b")["created_at"]
        '2026-01-01T00:00:00+00:00'
    """
    _encode_text(content)
    new: FileData = {"content": content, "encoding": "utf-8"}
    created_at = old.get("created_at")
    if isinstance(created_at, str):
        new["created_at"] = created_at
    new["modified_at"] = _now()
    return new


def is_file_value(value: Mapping[str, object]) -> bool:
    """Tell whether a stored JSON object is a file rather than some other document.

    Args:
        value: A JSON object.

    Returns:
        True for a string `content` with a known `encoding`, or a list of lines with a time beside it.

    Example:
        >>> is_file_value({"content": "x", "encoding": "utf-8"})
        True
        >>> is_file_value({"content": "x", "type": "fact"})
        False
    """
    content = value.get("content")
    if isinstance(content, str):
        return value.get("encoding") in ("utf-8", "base64")
    return ("created_at" in value or "modified_at" in value) and _is_lines(content)


def _is_lines(content: object) -> TypeGuard[list[str]]:
    return isinstance(content, list) and all(isinstance(line, str) for line in cast("list[object]", content))


def read_file_data(value: Mapping[str, object], *, lenient: bool = False) -> FileData:
    r"""Bring a stored file value of either version into the present form.

    Args:
        value: A stored JSON object.
        lenient: Also accept a string or a list of lines with no encoding and no times, as Deep Agents'
            `StoreBackend` does for values that were put by hand.

    Returns:
        A new file value; keys that do not belong to a file are left out.

    Raises:
        InvalidValueError: The object is not a file value.

    Example:
        >>> read_file_data({"content": ["a", "b"], "created_at": "2026-01-01T00:00:00+00:00"})["content"]
        'a\nb'
    """
    content = value.get("content")
    encoding: Encoding = "utf-8"
    if isinstance(content, str):
        known = value.get("encoding", "utf-8" if lenient else None)
        if known == "base64":
            encoding = "base64"
        elif known != "utf-8":
            raise InvalidValueError(f"The value is no file: its encoding is {known!r}.", _REMEDY)
        text = content
    elif _is_lines(content) and (lenient or is_file_value(value)):
        text = "\n".join(content)
    else:
        raise InvalidValueError("The value is no file: it has no text content.", _REMEDY)
    data: FileData = {"content": text, "encoding": encoding}
    created_at, modified_at = value.get("created_at"), value.get("modified_at")
    if isinstance(created_at, str):
        data["created_at"] = created_at
    if isinstance(modified_at, str):
        data["modified_at"] = modified_at
    return data


def file_text(value: Mapping[str, object]) -> str | None:
    """Return the text of a file value, of either version.

    Args:
        value: A file value.

    Returns:
        The text, or None if the file is binary.

    Raises:
        InvalidValueError: The object is not a file value.

    Example:
        >>> file_text({"content": "hello", "encoding": "utf-8"})
        'hello'
    """
    data = read_file_data(value)
    return data["content"] if data["encoding"] == "utf-8" else None


def file_bytes(value: Mapping[str, object]) -> bytes:
    r"""Return the bytes of a file value, of either version.

    Args:
        value: A file value.

    Returns:
        The text as UTF-8, or the decoded base64.

    Raises:
        InvalidValueError: The object is not a file value, or its content cannot be turned into bytes.

    Example:
        >>> file_bytes({"content": "/wA=", "encoding": "base64"})
        b'\xff\x00'
    """
    data = read_file_data(value)
    if data["encoding"] == "base64":
        return _decode_base64(data["content"])
    return _encode_text(data["content"])


def _decode_base64(content: str) -> bytes:
    try:
        return b64decode(content, validate=True)
    except (Base64Error, ValueError):
        raise InvalidValueError("The content is not valid base64.", "Give the bytes instead.") from None


def _encode_text(content: str) -> bytes:
    try:
        return content.encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidValueError(
            "The text holds a lone surrogate, which no file can store.", "Replace that character."
        ) from None


def _now() -> str:
    return datetime.now(UTC).isoformat()


@dataclass(frozen=True, slots=True)
class Window:
    """Some lines of a text, with line endings as LF."""

    content: str
    """The lines of the window; empty where `error` is set."""

    start_line: int | None = None
    """The first line of the window, counted from 1; None for a blank text or an empty request."""

    end_line: int | None = None
    """The last line of the window, counted from 1."""

    total_lines: int | None = None
    """How many lines the text has."""

    next_offset: int | None = None
    """The offset that reads on from here; None at the end."""

    no_lines_requested: bool = False
    """The request was for no lines, so that `content` says nothing about the text."""

    error: str | None = None
    """Why there is no window: the offset lies beyond the end."""


def read_window(text: str, offset: int = 0, limit: int = 2000) -> Window:
    r"""Cut a window of lines out of a text, by the rules of Deep Agents' `read`.

    Lines end where `str.splitlines` ends them. A negative offset reads from the start. A blank text comes
    back whole and without line numbers, whatever was asked for.

    Args:
        text: The whole text.
        offset: How many lines to skip.
        limit: How many lines to return at most.

    Returns:
        The window; its `error` is set if the offset lies beyond the last line.

    Example:
        >>> window = read_window("a\r\nb\r\nc", offset=1, limit=1)
        >>> window.content, window.start_line, window.total_lines, window.next_offset
        ('b\n', 2, 3, 2)
    """
    if not text or text.isspace():
        return Window(text)
    offset, limit = max(offset, 0), max(limit, 0)
    if limit == 0:
        return Window("", no_lines_requested=True)
    lines = text.splitlines(keepends=True)
    total = len(lines)
    if offset >= total:
        return Window("", error=f"Line offset {offset} exceeds file length ({total} lines)")
    end = min(offset + limit, total)
    content = "".join(lines[offset:end]).replace("\r\n", "\n").replace("\r", "\n")
    return Window(content, offset + 1, end, total, end if end < total else None)
