"""Namespaces as they are typed; `format_namespace` shows them in the same form."""

from __future__ import annotations

from memoranda.cli.failures import UsageError
from memoranda.transfer.labels import ESCAPED
from memoranda.transfer.labels import format_namespace as format_namespace


def parse_namespace(text: str) -> tuple[str, ...]:
    """Read a namespace.

    Args:
        text: Labels joined by slashes, `%2F` for a slash inside one and `%25` for a percent sign.

    Returns:
        Its labels.

    Raises:
        UsageError: A label is empty.

    Example:
        >>> parse_namespace("acme/ann@example.org"), parse_namespace("https:%2F%2Facme.org/100%")
        (('acme', 'ann@example.org'), ('https://acme.org', '100%'))
    """
    labels = text.split("/")
    if not all(labels):
        raise UsageError(
            f"The namespace {text!r} holds an empty label.",
            "Join the labels with single slashes, such as acme/ann; a slash inside a label is written %2F.",
        )
    return tuple(ESCAPED.sub(lambda found: "/" if found[0][-1] in "fF" else "%", label) for label in labels)
