"""JSON Patch (RFC 6902): operations checked one by one, and applied to a document that has moved on since.

A patch is written for a document that somebody saw. Where the document is another one by then, the operations are
carried over to it, and each is refused that would touch something else than what was seen: an element of an array
that another has shifted, or a field that another has changed. An element of an array is one value in this.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias, cast

import orjson

from memoranda.errors import InvalidValueError
from memoranda.knowledge.errors import InvalidPatchError
from memoranda.store.values import decode_value, encode_value

Operations: TypeAlias = Sequence[Mapping[str, Any]]
Document: TypeAlias = dict[str, Any]

NAMES: Final = ("add", "remove", "replace", "move", "copy", "test")
_WITH_VALUE: Final = ("add", "replace", "test")
_WITH_SOURCE: Final = ("move", "copy")
_MOST: Final = 1_000
_LARGEST: Final = 1_000_000
_LONGEST_INDEX: Final = 18
"""Digits of the index of an element; no list is that long, and a number of thousands of digits is not even read."""
_ABSENT: Final = object()

OPERATIONS_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "array",
    "minItems": 1,
    "maxItems": _MOST,
    "items": {
        "type": "object",
        "properties": {
            "op": {"type": "string", "enum": list(NAMES)},
            "path": {"type": "string", "description": "A JSON Pointer such as /likes/0, or /likes/- for the end."},
            "value": {"description": "For add, replace and test: any JSON value."},
            "from": {"type": "string", "description": "For move and copy: a JSON Pointer."},
        },
        "required": ["op", "path"],
    },
}
"""What a model is told that operations look like."""


class Step(NamedTuple):
    """One operation, checked."""

    number: int
    """From 1, for messages."""
    op: str
    path: tuple[str, ...]
    source: tuple[str, ...] | None
    """What `from` names."""
    plain: dict[str, Any]
    """The operation as JSON, a copy of its own."""

    def __str__(self) -> str:
        return f"Operation {self.number} ({self.op} {_brief(self.plain['path']) or 'of the whole document'})"


class ChangedMeanwhileError(Exception):
    """An operation would touch something that is no longer what was seen."""

    def __init__(self, step: Step, pointer: str) -> None:
        super().__init__(step, pointer)
        self.step = step
        self.pointer = pointer


def checked_steps(operations: Operations) -> list[Step]:
    """The operations of a patch.

    Raises:
        InvalidPatchError: One of them is none, or replaces the whole document.

    Example:
        >>> checked_steps([{"op": "add", "path": "likes", "value": "tea"}])
        Traceback (most recent call last):
        memoranda.knowledge.errors.InvalidPatchError: Operation 1 (add likes) has no path: 'likes' is no JSON Pointer. \
Write '/likes'.
    """
    if isinstance(operations, (str, bytes, Mapping)) or not isinstance(operations, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidPatchError(
            f"A patch is a list of operations, not {type(operations).__name__}.",
            'Pass [{"op": "replace", "path": "/name", "value": "Ann"}], or the like.',
        )
    if len(operations) > _MOST:
        raise InvalidPatchError(f"The patch has {len(operations)} operations.", f"Send at most {_MOST} at once.")
    return [_checked(number, operation) for number, operation in enumerate(operations, 1)]


def apply(document: Mapping[str, Any], steps: Sequence[Step]) -> Document:
    """A document with a patch applied; the one given stays as it is.

    Raises:
        InvalidPatchError: An operation does not apply; the message says which and why.

    Example:
        >>> apply({"likes": ["tea"]}, checked_steps([{"op": "add", "path": "/likes/-", "value": "figs"}]))
        {'likes': ['tea', 'figs']}
    """
    found = copy.deepcopy(dict(document))
    for step in steps:
        found = _applied(found, step)
    if steps and not same(found, document):
        _check_size(found, steps[-1], document)
    return found


def carry_over(
    document: Mapping[str, Any], steps: Sequence[Step], seen: Mapping[str, Any], *, fields_too: bool
) -> Document:
    """Apply a patch that was written for one document to what has become of it.

    Args:
        document: The document now.
        steps: The patch.
        seen: The document that it was written for.
        fields_too: Whether a field is left alone, too, that another has changed since; else only what the patch names
            by its place in an array is compared.

    Raises:
        InvalidPatchError: The patch does not apply to what was seen.
        ChangedMeanwhileError: An operation would touch something else than what was seen.
    """
    apply(seen, steps)
    before, now = copy.deepcopy(dict(seen)), copy.deepcopy(dict(document))
    for step in steps:
        watched = _watched(before, step, fields_too=fields_too)
        following = _applied(copy.deepcopy(before), step)
        for path in watched:
            if not same(find(before, path), find(now, path)):
                raise ChangedMeanwhileError(step, _pointer(path))
        try:
            now = _applied(now, step)
        except InvalidPatchError as error:
            raise ChangedMeanwhileError(step, step.plain["path"]) from error
        before = following
    return now


def find(document: Any, path: Sequence[str]) -> Any:
    """What stands at a path; a mark of its own, equal to nothing else, where nothing does."""
    for part in path:
        if isinstance(document, dict) and part in document:
            document = cast("dict[str, Any]", document)[part]
        elif isinstance(document, list) and (index := _index(part)) is not None and index < len(cast("Any", document)):
            document = cast("list[Any]", document)[index]
        else:
            return _ABSENT
    return document


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal as JSON has it: 1 and 1.0 are, 1 and true are not."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        left, right = cast("Document", one), cast("Document", other)
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(one, list) and isinstance(other, list):
        these, those = cast("list[Any]", one), cast("list[Any]", other)
        return len(these) == len(those) and all(map(same, these, those))
    return one == other


def _checked(number: int, operation: Any) -> Step:
    where = f"Operation {number}"
    if not isinstance(operation, Mapping):
        raise InvalidPatchError(f"{where} is no object.", 'Send {"op": …, "path": …, "value": …}.')
    given = cast("Mapping[str, Any]", operation)
    name = given.get("op")
    if name not in NAMES:
        raise InvalidPatchError(f"{where}: {name!r} is no operation.", f"Use {', '.join(NAMES)}.")
    where = f"{where} ({name} {_brief(str(given.get('path')))})"
    path = _path(given, "path", where)
    source = _path(given, "from", where) if name in _WITH_SOURCE else None
    if name in _WITH_VALUE and "value" not in given:
        raise InvalidPatchError(f"{where} has no value.", 'Give it a "value"; null is one, too.')
    if name != "test" and not (path and source != ()):
        raise InvalidPatchError(
            f"{where} is about the whole document, which is never overwritten.", "Name the fields that change."
        )
    members = ("op", "path", *(["value"] if name in _WITH_VALUE else []), *(["from"] if source is not None else []))
    try:
        # A copy that is JSON and nothing else.
        plain = decode_value(encode_value({"operation": {member: given[member] for member in members}}))["operation"]
    except InvalidValueError as error:
        raise InvalidPatchError(f"{where}: {error.cause}", error.remedy) from None
    return Step(number, name, path, source, plain)


def _path(operation: Mapping[str, Any], member: str, where: str) -> tuple[str, ...]:
    text = operation.get(member)
    if not isinstance(text, str):
        raise InvalidPatchError(f"{where} has no {member}.", f'Give it a "{member}", a JSON Pointer such as /likes/0.')
    if not text:
        return ()
    if not text.startswith("/"):
        raise InvalidPatchError(f"{where} has no {member}: {text!r} is no JSON Pointer.", f"Write {'/' + text!r}.")
    parts = text[1:].split("/")
    if any("~" in part.replace("~0", "").replace("~1", "") for part in parts):
        raise InvalidPatchError(f"{where}: {text!r} has a ~ that stands alone.", "Write ~0 for ~, and ~1 for /.")
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in parts)


def _applied(document: Document, step: Step) -> Document:
    """The document after one operation; it may be changed in place."""
    from jsonpatch import JsonPatch, JsonPatchException
    from jsonpointer import JsonPointerException

    if step.op == "test":
        if not same(find(document, step.path), step.plain["value"]):
            raise InvalidPatchError(
                f"{step} failed: {_shown(find(document, step.path))} is there.", "Look at the document, and patch that."
            )
        return document
    target = step.path if step.op in ("remove", "replace") else step.source
    if target is not None and find(document, target) is _ABSENT:
        raise InvalidPatchError(
            f"{step} does not apply: there is nothing at {_pointer(target)}.", _nearby(document, target)
        )
    try:
        # What is put in is a copy, since later operations may change it there.
        document = cast("Any", JsonPatch([copy.deepcopy(step.plain)])).apply(document, in_place=True)
    except (JsonPatchException, JsonPointerException, TypeError, KeyError, IndexError, ValueError) as error:
        if step.op != "remove" and not isinstance(find(document, step.path[:-1]), (dict, list)):
            raise InvalidPatchError(
                f"{step} does not apply: there is no object and no list at {_pointer(step.path[:-1])}.",
                _nearby(document, step.path[:-1]),
            ) from None
        raise InvalidPatchError(f"{step} does not apply: {_brief(str(error))}.", "Look at the document.") from None
    if step.op in _WITH_SOURCE:
        _check_size(document, step)
    return document


def _check_size(document: Document, step: Step, before: Mapping[str, Any] | None = None) -> None:
    """Refuse what grows without end: a few copies of copies fill any memory. What shrinks may still be large."""
    try:
        size = len(orjson.dumps(document))
    except TypeError as error:
        raise InvalidPatchError(f"{step} makes the document too deep: {error}.", "Keep it flat.") from None
    if size > _LARGEST and (before is None or size > len(orjson.dumps(before))):
        raise InvalidPatchError(f"{step} makes the document larger than {_LARGEST} bytes.", "Keep it small.")


def _watched(document: Document, step: Step, *, fields_too: bool) -> list[tuple[str, ...]]:
    """Which places an operation relies on to be what they were."""
    if step.op == "test":
        return []
    watched: list[tuple[str, ...]] = []
    for path, inserts in ((step.path, step.op not in ("remove", "replace")), (step.source, False)):
        if path is not None:
            watched += _places(document, path, inserts=inserts, fields_too=fields_too)
    return watched


def _places(document: Document, path: tuple[str, ...], *, inserts: bool, fields_too: bool) -> list[tuple[str, ...]]:
    for depth, part in enumerate(path):
        if not isinstance(find(document, path[:depth]), list):
            continue
        if part == "-":
            return []
        index, is_last = _index(part), depth == len(path) - 1
        if index is None or not (inserts and is_last):
            return [path[: depth + 1]]
        # Between which two it is put.
        neighbours = [(*path[:depth], str(each)) for each in (index - 1, index) if each >= 0]
        return [place for place in neighbours if find(document, place) is not _ABSENT]
    return [path] if fields_too else []


def _index(part: str) -> int | None:
    is_index = part.isascii() and part.isdigit() and (part == "0" or part[0] != "0") and len(part) <= _LONGEST_INDEX
    return int(part) if is_index else None


def _pointer(path: Sequence[str]) -> str:
    return _brief("".join("/" + part.replace("~", "~0").replace("/", "~1") for part in path)) or "its root"


def _nearby(document: Document, path: Sequence[str]) -> str:
    """What there is instead, at the place where the path leaves the document."""
    for depth in range(len(path)):
        here = find(document, path[:depth])
        if find(document, path[: depth + 1]) is not _ABSENT:
            continue
        if isinstance(here, dict):
            names = ", ".join(map(repr, list(cast("Document", here))[:20]))
            return f"{_pointer(path[:depth])} has {names or 'nothing in it'}; add it, or name one of these."
        if isinstance(here, list):
            length = len(cast("list[Any]", here))
            return f"{_pointer(path[:depth])} has {length} elements, counted from 0; use - for the end."
    return "Look at the document."


def _shown(value: Any) -> str:
    return "nothing" if value is _ABSENT else _brief(orjson.dumps(value).decode())


def _brief(text: str) -> str:
    return (text if len(text) <= 200 else f"{text[:200]}…").rstrip(".")
