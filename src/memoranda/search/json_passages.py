"""The fields of a JSON value as text, with the lines they have in the indented JSON that the store keeps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from langgraph.store.base import tokenize_path

from memoranda.search.cutting import FIELD, Gatherer, Piece


class _Node(NamedTuple):
    """A value within the JSON."""

    name: str
    """Its field names, joined by dots."""
    value: Any
    first_line: int


class _Field(NamedTuple):
    """A value that holds no others."""

    first_line: int
    name: str
    text: str


def field_pieces(value: Mapping[str, Any], fields: Sequence[str]) -> list[Piece]:
    """The chosen fields as `name: value`, short neighbours together, in order of their lines.

    Args:
        value: A JSON object.
        fields: Paths as LangGraph's `get_text_at_path` takes them.
    """
    layout = _Layout()
    root = _Node("", value, 1)
    found: dict[_Field, None] = {}
    for field in fields:
        tokens = [] if field in ("", "$") else tokenize_path(field)
        for node in layout.select(root, tokens):
            found.update(dict.fromkeys(layout.fields(node)))
    pieces: list[Piece] = []
    gatherer = Gatherer()
    for first_line, name, text in sorted(found):
        for place, line in enumerate(text.split("\n")):
            if line.strip():
                shown = f"{name}: {line}" if place == 0 and name else line
                pieces.extend(gatherer.add(first_line, shown, FIELD))
    pieces.extend(gatherer.cut())
    return pieces


class _Layout:
    """Knows on which line each part of a value lies, without writing it out."""

    def __init__(self) -> None:
        self._heights: dict[int, int] = {}

    def select(self, node: _Node, tokens: Sequence[str]) -> Iterator[_Node]:
        """The values that a path leads to; none where it leads nowhere."""
        if not tokens:
            yield node
            return
        token, rest = tokens[0], tokens[1:]
        if token.startswith("{") and token.endswith("}"):
            for field in token[1:-1].split(","):
                if names := tokenize_path(field.strip()):
                    yield from self._named(node, names)
            return
        for child in self._matching(node, token):
            yield from self.select(child, rest)

    def fields(self, node: _Node) -> Iterator[_Field]:
        """The values below that hold no others and say something."""
        if _is_container(node.value):
            for _, child in self._children(node):
                yield from self.fields(child)
        elif node.value is not None and (text := _text(node.value)).strip():
            yield _Field(node.first_line, node.name, text)

    def _matching(self, node: _Node, token: str) -> Iterator[_Node]:
        children = self._children(node)
        if token == "*":
            yield from (child for _, child in children)
        elif not token.startswith("["):
            if isinstance(node.value, Mapping):
                yield from (child for name, child in children if name == token)
        elif isinstance(node.value, (list, tuple)):
            listed = [child for _, child in children]
            index = token[1:-1]
            if index == "*":
                yield from listed
            elif index.removeprefix("-").isdecimal() and -len(listed) <= int(index) < len(listed):
                yield listed[int(index)]

    def _named(self, node: _Node, names: Sequence[str]) -> Iterator[_Node]:
        found = [node]
        for name in names:
            found = [
                child
                for above in found
                if isinstance(above.value, Mapping)
                for key, child in self._children(above)
                if key == name
            ]
        yield from found

    def _children(self, node: _Node) -> Iterator[tuple[str | None, _Node]]:
        value = node.value
        line = node.first_line + 1
        if isinstance(value, Mapping):
            items = cast("Mapping[str, Any]", value)
            for name in sorted(items):
                yield name, _Node(f"{node.name}.{name}" if node.name else name, items[name], line)
                line += self._height(items[name])
        elif _is_container(value):
            for item in cast("Sequence[Any]", value):
                yield None, _Node(node.name, item, line)
                line += self._height(item)

    def _height(self, value: Any) -> int:
        """How many lines a value takes."""
        if not _is_container(value) or not value:
            return 1
        known = self._heights.get(id(cast("object", value)))
        if known is None:
            whole = cast("Mapping[str, Any] | Sequence[Any]", value)
            parts = whole.values() if isinstance(whole, Mapping) else whole
            known = self._heights[id(whole)] = 2 + sum(map(self._height, parts))
        return known


def _is_container(value: Any) -> bool:
    return isinstance(value, (Mapping, list, tuple))


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
