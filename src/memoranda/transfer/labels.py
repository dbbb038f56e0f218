"""Namespaces in one line of text, as messages show them and the command line takes them.

A slash inside a label is written `%2F`, and a percent sign that would be misread is written `%25`. Percent signs were
chosen over backslashes because no shell eats them: a namespace that is typed without quotes is still the right one.
"""

from __future__ import annotations

import re

from memoranda.transfer.errors import SourceError

ESCAPED = re.compile("%2f|%25", re.IGNORECASE)


def format_namespace(labels: tuple[str, ...]) -> str:
    """Write a namespace as its labels joined by slashes.

    Example:
        >>> format_namespace(("https://acme.org", "100%", "%25"))
        'https:%2F%2Facme.org/100%/%2525'
    """
    return "/".join(ESCAPED.sub(lambda found: "%25" + found[0][1:], label).replace("/", "%2F") for label in labels)


def require_any(items: int, labels: tuple[str, ...], subject: str | None = None) -> None:
    """Refuse to go on with nothing where labels were named: most likely they were mistyped.

    Raises:
        SourceError: There are labels and no items.
    """
    if subject is not None and not items:
        where = f" in {format_namespace(labels)}" if labels else ""
        raise SourceError(
            f"No namespace has the label {subject!r}{where}, and nothing was said by that user.",
            "Check the name; it is the label of a namespace, such as the user's id.",
        )
    if labels and not items:
        raise SourceError(
            f"Nothing is in a namespace that starts with {format_namespace(labels)}.",
            "Check its labels, or name none for everything.",
        )
