"""Whether a document fits a schema, and where it does not: Pydantic models and JSON Schemas alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib.util import find_spec
from typing import Any, cast

import orjson

from memoranda.knowledge.errors import InvalidSchemaError, Misfit


def misfits_of(schema: Mapping[str, Any], value: Any) -> list[Misfit]:
    """Every place where a value does not fit a JSON Schema, in the order of the places.

    Args:
        schema: A JSON Schema; without `$schema` it is taken as draft 2020-12.
        value: JSON, as Python has it.

    Raises:
        InvalidSchemaError: The schema is none.

    Example:
        >>> [str(misfit) for misfit in misfits_of({"properties": {"age": {"type": "integer"}}}, {"age": "30"})]
        ["/age: '30' is not of type 'integer'"]
    """
    if find_spec("jsonschema") is None:
        from memoranda.agents.errors import MissingPackageError

        raise MissingPackageError(
            "Schemas need the package jsonschema, which is not installed.", 'pip install "memoranda[agents]"'
        )
    from referencing.exceptions import Unresolvable

    errors: Iterable[Any] = _validator(_encoded(schema)).iter_errors(value)
    try:
        found = [
            Misfit(pointer([*error.absolute_path, *_missing(error)]), _shortened(error.message)) for error in errors
        ]
    except Unresolvable as error:
        raise InvalidSchemaError(
            f"The JSON Schema refers to {error.ref!r}, which is not in it.",
            "Put what it refers to under its $defs; nothing is fetched.",
        ) from None
    except RecursionError:
        raise InvalidSchemaError(
            "The JSON Schema has no end for this value: it refers to itself, or the value is too deep.",
            "Let what refers to itself do so within properties or items.",
        ) from None
    return sorted(found, key=lambda misfit: misfit.field)


def pointer(path: Iterable[object]) -> str:
    """A JSON Pointer (RFC 6901) from its parts.

    Example:
        >>> pointer(["likes", 0, "a/b"])
        '/likes/0/a~1b'
    """
    return "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in path)


def _missing(error: Any) -> list[str]:
    """The field that is required and missing, which the error itself names in words alone."""
    if error.validator != "required":
        return []
    return [name for name in error.validator_value if error.message.startswith(f"{name!r} ")][:1]


def _encoded(schema: Mapping[str, Any]) -> bytes:
    try:
        return orjson.dumps(schema)
    except TypeError as error:
        raise InvalidSchemaError(f"The JSON Schema is no JSON: {error}.", "Pass one of plain JSON values.") from None


@lru_cache(maxsize=64)
def _validator(schema: bytes) -> Any:
    import jsonschema
    from jsonschema.validators import validator_for
    from referencing import Registry

    loaded = orjson.loads(schema)
    kind: Any = cast("Any", validator_for)(loaded, default=jsonschema.Draft202012Validator)
    try:
        kind.check_schema(loaded)
    except jsonschema.SchemaError as error:
        where = pointer(cast("Any", error).absolute_path) or "its root"
        raise InvalidSchemaError(
            f"The JSON Schema is none: at {where}, {_shortened(cast('Any', error).message)}.", "Mend the schema."
        ) from None
    # With a registry of its own, nothing that a schema refers to is fetched from elsewhere.
    return kind(loaded, registry=cast("Any", Registry)(), format_checker=kind.FORMAT_CHECKER)


def _shortened(text: str) -> str:
    return text if len(text) <= 300 else f"{text[:300]}…"
