"""What a schema makes of a document: its defaults, what does not fit, and the value that callers get."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

import orjson

from memoranda.errors import InvalidValueError
from memoranda.knowledge.errors import InvalidSchemaError, Misfit
from memoranda.knowledge.schemas import misfits_of, pointer
from memoranda.store.values import encode_value

Document = dict[str, Any]

_REMEDY: Final = "Pass a Pydantic model class, or a JSON Schema of an object as a dictionary."


@dataclass(frozen=True, slots=True)
class Fitted:
    """A document as a schema sees it.

    Args:
        document: It, with the defaults filled in and every value in the schema's own form.
        value: What callers get: an instance of the Pydantic model, or the document.
        misfits: Where it does not fit; then there is no value.
        unknown: Fields that the schema does not have and passes over.
    """

    document: Document
    value: Any = None
    misfits: tuple[Misfit, ...] = ()
    unknown: tuple[str, ...] = ()


class DocumentSchema(ABC):
    """The schema of one kind of document.

    Args:
        name: What it is called in messages.
        json_schema: It as a JSON Schema, for a model to read. That of a Pydantic model that refers to itself is a
            reference to a definition: `described` is what it refers to, and `properties` are the fields.
    """

    def __init__(self, name: str, json_schema: Document) -> None:
        self.name = name
        self.json_schema = json_schema
        self.described = _resolved(json_schema, json_schema)
        properties: Any = self.described.get("properties")
        self.properties: Mapping[str, Any] = (
            cast("Mapping[str, Any]", properties) if isinstance(properties, Mapping) else {}
        )

    @property
    def as_arguments(self) -> Document:
        """The JSON Schema with its fields at the root, as the arguments of a tool have to be described."""
        if self.described is self.json_schema:
            return self.json_schema
        beside = {name: part for name, part in self.json_schema.items() if name != "$ref"}
        return {**beside, **self.described}

    @abstractmethod
    def defaults(self) -> Document:
        """The document that stands for nothing: every default, without the fields that have none."""

    @abstractmethod
    def fit(self, document: Mapping[str, Any]) -> Fitted:
        """Look at a document."""


def document_schema(schema: Any) -> DocumentSchema:
    """The schema that a Pydantic model or a JSON Schema stands for.

    Raises:
        InvalidSchemaError: It is neither, or describes something else than a JSON object.

    Example:
        >>> schema = document_schema({"properties": {"likes": {"type": "array", "default": []}}})
        >>> schema.defaults(), schema.fit({"likes": "tea"}).misfits
        ({'likes': []}, (Misfit(field='/likes', problem="'tea' is not of type 'array'"),))
    """
    if isinstance(schema, Mapping):
        return _JsonSchema(cast("Mapping[str, Any]", schema))
    from pydantic import BaseModel

    if isinstance(schema, type) and issubclass(schema, BaseModel):
        return _PydanticSchema(schema)
    if isinstance(schema, BaseModel):
        name = type(schema).__name__
        raise InvalidSchemaError(f"An instance of {name} was given as schema.", f"Pass the class: {name}.")
    raise InvalidSchemaError(f"{schema!r} is no schema of a document.", _REMEDY)


class _PydanticSchema(DocumentSchema):
    """A Pydantic model."""

    def __init__(self, model: Any) -> None:
        from pydantic.errors import PydanticInvalidForJsonSchema, PydanticUserError

        try:
            described: Document = model.model_json_schema(by_alias=True)
        except (PydanticInvalidForJsonSchema, PydanticUserError) as error:
            first = str(error).splitlines()[0].rstrip(".")
            raise InvalidSchemaError(
                f"{model.__name__} has no JSON Schema: {first}.", "Give its fields types that JSON can hold."
            ) from None
        if described.get("type", "object") != "object" or getattr(model, "__pydantic_root_model__", False):
            raise InvalidSchemaError(f"{model.__name__} describes no JSON object.", "Make it a model with fields.")
        super().__init__(model.__name__, described)
        self._model = model
        for name, field in model.model_fields.items():
            self._check_alias(name, field)

    def defaults(self) -> Document:
        return self._dumped(self._model.model_construct())

    def fit(self, document: Mapping[str, Any]) -> Fitted:
        from pydantic import ValidationError

        plain = dict(document)
        try:
            encoded = orjson.dumps(plain)
        except TypeError as error:
            return Fitted(plain, misfits=(Misfit("", f"it is no JSON: {error}"),))
        try:
            value = self._model.model_validate_json(encoded)
        except ValidationError as error:
            found = error.errors(include_url=False, include_context=False, include_input=False)
            misfits = tuple(Misfit(pointer(each["loc"]), each["msg"]) for each in found)
            return Fitted(plain, misfits=misfits, unknown=self._passed_over(plain))
        dumped = self._dumped(value)
        try:
            encode_value(dumped)
        except InvalidValueError as error:  # an infinity, or a number of more than 64 bits
            return Fitted(plain, misfits=(Misfit("", error.cause.rstrip(".")),), unknown=self._passed_over(plain))
        self._check_stable(value, dumped)
        return Fitted(dumped, value, unknown=tuple(_beyond(plain, dumped, "")))

    def _check_alias(self, name: str, field: Any) -> None:
        """Refuse a field that is written under a name under which it is not read."""
        written = field.serialization_alias or name
        read = field.validation_alias or name
        names: list[Any] = [read, *getattr(read, "choices", ())]
        by_name = self._model.model_config.get("populate_by_name") or self._model.model_config.get("validate_by_name")
        if written not in names and not (by_name and written == name):
            raise InvalidSchemaError(
                f"{self.name} writes its field {name!r} as {written!r}, and does not read it by that name.",
                "Give it one alias for both: Field(alias=…).",
            )

    def _passed_over(self, document: Document) -> tuple[str, ...]:
        """The fields of a document that the model passes over, as far as that is known of one that does not fit."""
        if self._model.model_config.get("extra", "ignore") != "ignore":
            return ()
        return tuple(pointer([name]) for name in document if name not in self.properties)

    def _dumped(self, value: Any) -> Document:
        try:
            return value.model_dump(mode="json", by_alias=True, round_trip=True, warnings=False)
        except ValueError as error:  # of Pydantic, or of bytes that are no text
            raise InvalidSchemaError(
                f"A value of {self.name} cannot be written as JSON: {str(error).splitlines()[0]}.",
                "Give its fields types that JSON can hold.",
            ) from None

    def _check_stable(self, value: Any, dumped: Document) -> None:
        """Refuse a model whose JSON says something else than its values, as that of a secret does."""
        try:
            again = self._model.model_validate_json(orjson.dumps(dumped))
            if again.model_dump(round_trip=True) == value.model_dump(round_trip=True):
                return
            why = "reads back as something else"
        except ValueError as error:  # of Pydantic
            why = f"cannot be read back ({str(error).splitlines()[0]})"
        raise InvalidSchemaError(
            f"What {self.name} writes as JSON {why}, so it cannot be stored.",
            "Let every field have the same form in both directions.",
        )


class _JsonSchema(DocumentSchema):
    """A JSON Schema."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        kept = copy.deepcopy(dict(schema))
        kinds = kept.get("type", "object")
        if kinds != "object" and not (isinstance(kinds, list) and "object" in kinds):
            raise InvalidSchemaError(f"The JSON Schema describes {kinds!r}, no object.", _REMEDY)
        misfits_of(kept, {})  # finds out whether it is a schema
        super().__init__(str(kept.get("title", "the JSON Schema")), kept)

    def defaults(self) -> Document:
        return _filled(self.json_schema, {}, self.json_schema)

    def fit(self, document: Mapping[str, Any]) -> Fitted:
        filled = _filled(self.json_schema, document, self.json_schema)
        misfits = misfits_of(self.json_schema, filled)
        return Fitted(filled, None if misfits else copy.deepcopy(filled), tuple(misfits))


def _filled(schema: Mapping[str, Any], document: Mapping[str, Any], root: Mapping[str, Any]) -> Document:
    """A copy of a document with the defaults of what it leaves out, nested objects included."""
    filled = copy.deepcopy(dict(document))
    properties: Any = _resolved(schema, root).get("properties")
    if not isinstance(properties, Mapping):
        return filled
    for name, described in cast("Mapping[str, Any]", properties).items():
        if not isinstance(described, Mapping):
            continue
        about = cast("Mapping[str, Any]", described)
        if name not in filled and "default" in (source := about if "default" in about else _resolved(about, root)):
            filled[name] = copy.deepcopy(source["default"])
        if isinstance(filled.get(name), dict):
            filled[name] = _filled(about, filled[name], root)
    return filled


def _resolved(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """A schema, or the definition in the same document that it refers to."""
    for _ in range(10):  # references may go round in a circle
        reference = schema.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#/"):
            break
        found: Any = root
        for part in reference[2:].split("/"):
            found = cast("Mapping[str, Any]", found).get(part) if isinstance(found, Mapping) else None
        if not isinstance(found, Mapping):
            break
        schema = cast("Mapping[str, Any]", found)
    return schema


def _beyond(given: Any, known: Any, where: str) -> Sequence[str]:
    """Where a document has fields that another form of it has not."""
    found: list[str] = []
    if isinstance(given, dict) and isinstance(known, dict):
        names = cast("Document", known)
        for name, part in cast("Document", given).items():
            here = where + pointer([name])
            found += _beyond(part, names[name], here) if name in names else [here]
    elif isinstance(given, list) and isinstance(known, list):
        pairs = zip(cast("list[Any]", given), cast("list[Any]", known), strict=False)
        for index, (part, other) in enumerate(pairs):
            found += _beyond(part, other, f"{where}/{index}")
    return found
