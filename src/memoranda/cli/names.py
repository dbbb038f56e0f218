"""Namespaces as they are typed and shown: labels joined by slashes.

A slash inside a label is written `%2F`, and a percent sign that would be misread is written `%25`. Percent signs were
chosen over backslashes because no shell eats them: a namespace that is typed without quotes is still the right one.
"""

from __future__ import annotations

import re

from memoranda.cli.failures import UsageError

_ESCAPED = re.compile("%2f|%25", re.IGNORECASE)


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
    return tuple(_ESCAPED.sub(lambda found: "/" if found[0][-1] in "fF" else "%", label) for label in labels)


def format_namespace(labels: tuple[str, ...]) -> str:
    """Write a namespace so that `parse_namespace` reads the same labels.

    Example:
        >>> format_namespace(("https://acme.org", "100%", "%25"))
        'https:%2F%2Facme.org/100%/%2525'
    """
    return "/".join(_ESCAPED.sub(lambda found: "%25" + found[0][1:], label).replace("/", "%2F") for label in labels)
