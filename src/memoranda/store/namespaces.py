r"""Namespaces as one sortable string each, so that scope is exact and prefixes are ranges.

A namespace is a tuple of labels. In the database it is one text: every label followed by `\x01`, with `\x01` and
`\x02` inside a label escaped. The terminator is smaller than any other character, therefore

- two namespaces are equal exactly when their texts are (no `LIKE`, no separator that a label could hold);
- all namespaces below a prefix form one contiguous range of an index;
- texts sort as the tuples do.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from langgraph.store.base import InvalidNamespaceError as LangGraphInvalidNamespaceError

from memoranda.errors import MemorandaError

MAX_NAMESPACE_BYTES = 2_000
"""Index entries of PostgreSQL end at 2,704 bytes; both engines keep to what fits there."""

RESERVED_ROOT = "langgraph"

_BEHIND_ALL = "\U0010ffff" * (MAX_NAMESPACE_BYTES // 4 + 1)
_TERMINATOR = "\x01"
_AFTER_TERMINATOR = "\x02"
_ESCAPE = str.maketrans({"\x01": "\x02\x02", "\x02": "\x02\x03"})


class InvalidNamespaceError(MemorandaError, LangGraphInvalidNamespaceError):
    """A namespace that cannot be stored. Also caught as LangGraph's error of the same name."""


def validate_labels(labels: Sequence[Any]) -> None:
    """Refuse labels that no engine can keep exactly.

    Unlike LangGraph's own check a label may hold a `.`: e-mail addresses are everyday identities.

    Raises:
        InvalidNamespaceError: A label is no string, empty, or holds a NUL or a lone surrogate; or all are too long.
    """
    if isinstance(labels, str) or not isinstance(labels, (tuple, list)):
        raise InvalidNamespaceError(
            f"A namespace is a tuple of labels, not {type(labels).__name__} {labels!r}.",
            f"Write ({labels!r},) for a namespace of one label."
            if isinstance(labels, str)
            else "Pass a tuple of strings.",
        )
    for label in labels:
        if not isinstance(label, str):
            raise InvalidNamespaceError(
                f"The namespace label {label!r} is {type(label).__name__}, not a string.",
                f"Pass {str(label)!r}.",
            )
        if not label:
            raise InvalidNamespaceError(
                f"The namespace {tuple(labels)!r} holds an empty label.", "Leave it out or name it."
            )
        if "\x00" in label:
            raise InvalidNamespaceError(f"The namespace label {label!r} holds a NUL character.", "Remove it.")
        if not label.isascii():
            try:
                label.encode()
            except UnicodeEncodeError:
                raise InvalidNamespaceError(
                    f"The namespace label {label!r} holds a lone surrogate.",
                    "Decode the identity as UTF-8 first.",
                ) from None


@lru_cache(maxsize=4096)
def _encode(labels: tuple[str, ...]) -> str:
    validate_labels(labels)
    text = "".join(label.translate(_ESCAPE) + _TERMINATOR for label in labels)
    if (size := len(text.encode())) > MAX_NAMESPACE_BYTES:
        raise InvalidNamespaceError(
            f"The namespace takes {size} bytes.", f"Keep all labels together to {MAX_NAMESPACE_BYTES} bytes."
        )
    return text


def encode_namespace(labels: tuple[str, ...]) -> str:
    r"""Return the text under which a namespace is stored; `()` gives the empty text.

    Raises:
        InvalidNamespaceError: See `validate_labels`.

    Example:
        >>> encode_namespace(("acme", "ann"))
        'acme\x01ann\x01'
    """
    try:
        return _encode(labels)
    except TypeError:  # unhashable: a list, or labels of odd types
        validate_labels(labels)
        return _encode(tuple(labels))


def encode_writable(labels: tuple[str, ...]) -> str:
    """`encode_namespace` for a namespace that is about to hold something.

    Raises:
        InvalidNamespaceError: The namespace is empty or its root label is reserved by LangGraph.
    """
    text = encode_namespace(labels)
    if not text:
        raise InvalidNamespaceError("The namespace is empty.", 'Name whose memory it is, for example ("ann",).')
    if labels[0] == RESERVED_ROOT:
        raise InvalidNamespaceError(
            f"The root label {RESERVED_ROOT!r} is reserved by LangGraph.", "Choose another first label."
        )
    return text


@lru_cache(maxsize=4096)
def decode_namespace(text: str) -> tuple[str, ...]:
    r"""Turn a stored text back into its labels.

    Example:
        >>> decode_namespace("acme\x01ann\x01")
        ('acme', 'ann')
    """
    parts = text.split(_TERMINATOR)[:-1]
    if "\x02" in text:
        return tuple(part.replace("\x02\x02", "\x01").replace("\x02\x03", "\x02") for part in parts)
    return tuple(parts)


def prefix_range(labels: tuple[str, ...]) -> tuple[str, str]:
    r"""The half-open range of stored texts that start with these labels; `()` spans everything.

    Example:
        >>> prefix_range(("acme",))
        ('acme\x01', 'acme\x02')
    """
    low = encode_namespace(labels)
    return (low, low[:-1] + _AFTER_TERMINATOR) if low else ("", _BEHIND_ALL)
