"""LangGraph's filter language over a value: equality, nested objects, and comparison operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from memoranda.errors import InvalidValueError

Predicate = Callable[[Mapping[str, Any]], bool]

_MISSING = object()


def compile_filter(conditions: Mapping[str, Any]) -> Predicate:
    """Turn a filter into a predicate over values.

    Args:
        conditions: Field name to a value it must equal, or to `{"$gt": 1}` with `$eq $ne $gt $gte $lt $lte`;
            all must hold. A nested object without operators must match field by field.

    Raises:
        InvalidValueError: An operator is not known.

    Example:
        >>> compile_filter({"year": {"$gte": 2020}, "kind": "note"})({"kind": "note", "year": 2024})
        True
    """
    for condition in conditions.values():
        _check(condition)

    def matches(value: Mapping[str, Any]) -> bool:
        return all(_holds(value.get(name, _MISSING), condition) for name, condition in conditions.items())

    return matches


def _check(condition: Any) -> None:
    if isinstance(condition, Mapping):
        parts = cast("Mapping[str, Any]", condition)
        operators = [name for name in parts if name.startswith("$")]
        if operators and len(operators) < len(parts):
            raise InvalidValueError(
                f"The filter {dict(parts)!r} mixes operators and fields.", "Compare a field, or name fields within it."
            )
        for name, part in parts.items():
            if name.startswith("$"):
                if name not in _OPERATORS:
                    raise InvalidValueError(
                        f"The filter operator {name!r} is not known.",
                        f"Use one of {', '.join(sorted(_OPERATORS))}.",
                    )
            else:
                _check(part)


def _holds(value: Any, condition: Any) -> bool:
    if isinstance(condition, Mapping):
        parts = cast("Mapping[str, Any]", condition)
        if any(name.startswith("$") for name in parts):
            return all(_OPERATORS[name](value, part) if name.startswith("$") else False for name, part in parts.items())
        if not isinstance(value, Mapping):
            return False
        fields = cast("Mapping[str, Any]", value)
        return all(_holds(fields.get(name, _MISSING), part) for name, part in parts.items())
    if isinstance(condition, (list, tuple)):
        wanted = cast("list[Any]", condition)
        return (
            isinstance(value, (list, tuple))
            and len(cast("list[Any]", value)) == len(wanted)
            and all(map(_holds, cast("list[Any]", value), wanted))
        )
    return _equal(value, condition)


def _equal(value: Any, other: Any) -> bool:
    if value is _MISSING:
        return other is None
    # In JSON `true` is not 1.
    if isinstance(value, bool) or isinstance(other, bool):
        return value is other
    return bool(value == other)


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """An order comparison: numbers (and numerals) as numbers, other strings as strings, else no match."""

    def holds(value: Any, other: Any) -> bool:
        left, right = _number(value), _number(other)
        if left is not None and right is not None:
            return compare(left, right)
        if isinstance(value, str) and isinstance(other, str):
            return compare(value, other)
        return False

    return holds


def _number(value: Any) -> float | int | None:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return None
    return None


_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "$eq": _equal,
    "$ne": lambda value, other: not _equal(value, other),
    "$gt": _ordered(lambda left, right: left > right),
    "$gte": _ordered(lambda left, right: left >= right),
    "$lt": _ordered(lambda left, right: left < right),
    "$lte": _ordered(lambda left, right: left <= right),
}
