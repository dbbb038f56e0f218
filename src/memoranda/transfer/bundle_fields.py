"""The fields of a bundle's lines: each is what it is expected to be, or a ValueError says so."""

from __future__ import annotations

from base64 import b64decode
from typing import Any, cast

import orjson

from memoranda.errors import MemorandaError
from memoranda.store.keys import is_plain_text
from memoranda.store.namespaces import encode_writable
from memoranda.store.operations.context import checked_ttl
from memoranda.store.values import Kind

LARGEST = 1 << 62
# The first and the last microsecond that a datetime can name.
_FIRST_TIME, _LAST_TIME = -62_135_596_800_000_000, 253_402_300_799_999_999


class Fields:
    """A JSON object whose fields are what they are expected to be, or a ValueError says so."""

    def __init__(self, fields: dict[str, Any]) -> None:
        self._fields = fields

    def text(self, name: str) -> str:
        """A text."""
        text = self._fields.get(name)
        if not isinstance(text, str) or ("\0" in text and name in ("operation", "origin")):
            raise ValueError(f"its {name!r} is no text")
        return text

    def optional_text(self, name: str) -> str | None:
        """A text, or None."""
        return None if self._fields.get(name) is None else self.text(name)

    def optional_texts(self, name: str) -> str | None:
        """A list of texts, as JSON; or None."""
        found = self._fields.get(name)
        if found is None:
            return None
        if not isinstance(found, list) or not all(is_plain_text(text) and text for text in cast("list[object]", found)):
            raise ValueError(f"its {name!r} is no list of texts")
        return orjson.dumps(found).decode()

    def number(self, name: str, least: int = 0) -> int:
        """A whole number, `least` at least."""
        number = self._fields.get(name)
        if type(number) is not int or not least <= number <= LARGEST:
            raise ValueError(f"its {name!r} is no number that fits")
        return number

    def optional_number(self, name: str, least: int = 0) -> int | None:
        """The same, or None."""
        return None if self._fields.get(name) is None else self.number(name, least)

    def time(self, name: str) -> int:
        """A time in microseconds since the epoch."""
        number = self.number(name, _FIRST_TIME)
        if number > _LAST_TIME:
            raise ValueError(f"its {name!r} is no time")
        return number

    def minutes(self, name: str) -> float | None:
        """A time to live, or None."""
        try:
            number = checked_ttl(self._fields.get(name))
        except MemorandaError as error:
            raise ValueError(error.cause) from None
        return None if number is None else float(number)

    def boolean(self, name: str) -> bool:
        """True or false."""
        value = self._fields.get(name)
        if not isinstance(value, bool):
            raise ValueError(f"its {name!r} is neither true nor false")
        return value

    def hex(self, name: str) -> bytes:
        """Bytes in hexadecimal."""
        return bytes.fromhex(self.text(name))

    def base64(self, name: str) -> bytes:
        """Bytes in base64."""
        return b64decode(self.text(name), validate=True)

    def kind(self) -> Kind:
        """What a body holds."""
        name = self.text("kind")
        try:
            return Kind[name.upper()]
        except KeyError:
            raise ValueError(f"there is no kind {name!r}") from None

    def namespace(self) -> str:
        """A namespace, as it is stored."""
        labels = self._fields.get("namespace")
        try:
            return encode_writable(tuple(cast("list[str]", labels)) if isinstance(labels, list) else ())
        except MemorandaError as error:
            raise ValueError(error.cause) from None

    def texts(self, name: str) -> list[str]:
        """A list of texts; none where there is no such field."""
        found = self._fields.get(name, [])
        if not isinstance(found, list) or not all(isinstance(each, str) for each in cast("list[Any]", found)):
            raise ValueError(f"its {name!r} is no list of texts")
        return cast("list[str]", found)

    def objects(self, name: str) -> list[Fields]:
        """A list of objects."""
        found = self._fields.get(name)
        if not isinstance(found, list) or not all(isinstance(each, dict) for each in cast("list[Any]", found)):
            raise ValueError(f"its {name!r} is no list of objects")
        return [Fields(each) for each in cast("list[dict[str, Any]]", found)]

    def optional_object(self, name: str) -> Fields | None:
        """An object, or None."""
        found = self._fields.get(name)
        if found is None:
            return None
        if not isinstance(found, dict):
            raise ValueError(f"its {name!r} is no object")
        return Fields(cast("dict[str, Any]", found))
