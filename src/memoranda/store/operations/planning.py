"""Settling a change before any transaction begins: keys made canonical, values encoded, nonsense refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from memoranda.errors import InvalidChangeError, InvalidValueError
from memoranda.store.changes import (
    Append,
    Author,
    Change,
    ChangeSet,
    CursorMove,
    Delete,
    Edit,
    Move,
    Restore,
    Write,
    no_author,
)
from memoranda.store.keys import MAX_NAME_BYTES, checked_key, file_key, is_plain_text
from memoranda.store.namespaces import encode_namespace, encode_writable
from memoranda.store.operations.context import checked_ttl
from memoranda.store.values import Stored, encode_text, encode_value

_LAST_POSITION = (1 << 63) - 1


class Planned(NamedTuple):
    """A change with its place settled before any transaction begins."""

    change: Change
    labels: str
    key: str
    to_labels: str = ""
    to_key: str = ""
    stored: Stored | None = None
    """The value of a `Write` whose form does not depend on what is there."""


def check_change_set(change_set: ChangeSet) -> None:
    """Refuse what is no change set, such as a change or a list of them.

    Raises:
        InvalidChangeError: It is none, or its changes are no sequence.
    """
    if not isinstance(change_set, ChangeSet):  # pyright: ignore[reportUnnecessaryIsInstance] - callers are untyped too
        raise InvalidChangeError(f"{type(change_set).__name__} is no ChangeSet.", "Wrap it: ChangeSet([Write(…), …]).")
    for part in (change_set.changes, change_set.advance):
        if not isinstance(part, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidChangeError(
                f"A change set holds a list, not one {type(part).__name__}.", "Put it into a list: ChangeSet([…])."
            )


def checked_author(author: Author) -> Author:
    """Refuse an author that not every engine can keep.

    Raises:
        InvalidChangeError: A field is no string, or holds a NUL or a lone surrogate.
    """
    if not isinstance(author, Author):  # pyright: ignore[reportUnnecessaryIsInstance] - callers are untyped too
        raise no_author(author)
    for text in (author.actor, author.thread_id, author.run_id, author.tool_call_id, author.reason):
        if text is not None and not is_plain_text(text):
            raise InvalidChangeError(
                f"The author {author!r} holds something that is no plain text.",
                "Use strings without NUL characters.",
            )
    return author


def plan(change: Change, *, opaque: bool = False) -> Planned:
    """Settle where a change applies, and refuse it if it makes no sense whatever the state.

    Args:
        change: The change.
        opaque: Take keys byte for byte, as `put` does, instead of making paths canonical.

    Raises:
        InvalidChangeError: It contradicts itself, or is no change.
        InvalidValueError: Its value, text or time to live cannot be stored.
        InvalidNamespaceError: Its namespace cannot be stored.
        InvalidKeyError: Its key cannot be stored.
        InvalidPathError: Its path climbs, or names no file.
    """
    settle = checked_key if opaque else file_key
    match change:
        case Write(namespace, key, value, base, ttl):
            checked_ttl(ttl)
            _check_base(base)
            _check_index(change.index)
            stored = None
            if opaque or not isinstance(value, (str, bytes)):
                stored = encode_value(cast("Mapping[str, Any]", value))
            elif isinstance(value, str):
                _check_text(value)
            return Planned(change, encode_writable(namespace), settle(key), stored=stored)
        case Move(namespace, key, to, to_namespace):
            target = namespace if to_namespace is None else to_namespace
            planned = Planned(change, encode_namespace(namespace), settle(key), encode_writable(target), settle(to))
            _check_move(planned)
            return planned
        case Append(namespace, key, text, base):
            _check_text(text)
            _check_base(base)
            return Planned(change, encode_writable(namespace), settle(key))
        case Edit(namespace, key, old, new, base=base):
            _check_text(old, new)
            _check_base(base)
            return Planned(change, encode_namespace(namespace), settle(key))
        case Delete(namespace, key, base):
            _check_base(base)
            return Planned(change, encode_namespace(namespace), settle(key))
        case Restore(namespace, key, revision):
            _check_base(revision, required=True)
            return Planned(change, encode_namespace(namespace), settle(key))
        case _:
            raise InvalidChangeError(f"{change!r} is no change.", "Use Write, Edit, Append, Delete, Move or Restore.")


def plan_moves(moves: Sequence[CursorMove]) -> list[tuple[CursorMove, str]]:
    """The cursor moves of a change set, each with the text of its namespace.

    Raises:
        InvalidChangeError: A cursor is moved twice, or not from one position to another, or has no proper name.
        InvalidNamespaceError: A namespace cannot be stored.
    """
    planned = [(_checked_move(move), encode_namespace(move.scope)) for move in moves]
    seen: set[tuple[str, str]] = set()
    for move, labels in planned:
        if (move.consumer, labels) in seen:
            raise InvalidChangeError(
                f"The cursor {move.consumer!r} is moved twice in one change set.", "Move it once, all the way."
            )
        seen.add((move.consumer, labels))
    return planned


def _checked_move(move: CursorMove) -> CursorMove:
    name = move.consumer
    if not is_plain_text(name) or not name or len(name.encode()) > MAX_NAME_BYTES:
        raise InvalidChangeError(
            f"The consumer {str(name)[:80]!r} is no name.", f"Use 1 to {MAX_NAME_BYTES} bytes without NUL characters."
        )
    if move.lease is not None and not is_plain_text(move.lease):
        raise InvalidChangeError(f"The lease {move.lease!r} is no plain text.", "Use a string without NUL characters.")
    for position in (move.expect, move.to):
        if type(position) is not int or not 0 <= position <= _LAST_POSITION:
            raise InvalidChangeError(f"{position!r} is no position of a cursor.", "Pass a whole number from 0 on.")
    return move


def _check_base(revision: object, *, required: bool = False) -> None:
    if revision is None and not required:
        return
    if not isinstance(revision, int) or isinstance(revision, bool):
        raise InvalidChangeError(f"{revision!r} is no revision.", "Pass its number, as history() gives it.")


def _check_index(index: object) -> None:
    if index is None or isinstance(index, bool):
        return
    if not isinstance(index, Sequence) or isinstance(index, (str, bytes)):
        raise InvalidValueError(f"index={index!r} is no list of fields.", 'Pass a list such as ["content"], or False.')
    if not all(is_plain_text(field) and field for field in cast("Sequence[object]", index)):
        raise InvalidValueError(f"index={index!r} holds something that is no field.", 'Write ["content"].')


def _check_text(*texts: object) -> None:
    for text in texts:
        if not isinstance(text, str):
            raise InvalidValueError(f"{type(text).__name__} is no text.", "Pass a string.")
        encode_text(text)


def _check_move(planned: Planned) -> None:
    if planned.labels != planned.to_labels:
        return
    if planned.key == planned.to_key:
        raise InvalidChangeError(f"{planned.key} is moved onto itself.", "Choose another target.")
    if planned.to_key.startswith(planned.key + "/"):
        raise InvalidChangeError(
            f"{planned.key} is moved into {planned.to_key}, which lies below it.",
            "Choose a target outside it.",
        )
