"""Which namespaces an operation over one person's memory is about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from memoranda.store.changes import Namespace
from memoranda.store.namespaces import decode_namespace, encode_namespace, prefix_range

_TERMINATOR = "\x01"


@dataclass(frozen=True, slots=True)
class Selection:
    """The namespaces in a range of their texts, and of those the ones that have a label, if one is asked for.

    Args:
        low: The first text that may be meant.
        high: The first text behind that is not.
        subject: A label that they have; None: it does not matter.
    """

    low: str
    high: str
    subject: str | None = None

    @classmethod
    def of(cls, scope: Namespace | None, *, below: bool = False, subject: str | None = None) -> Selection:
        """What a caller means.

        Args:
            scope: Exactly this namespace; None: all.
            below: Those below it too.
            subject: Of those, only the ones that have this label.

        Raises:
            InvalidNamespaceError: A label cannot be one.
        """
        if subject is not None:
            encode_namespace((subject,))
        if scope is None or below:
            return cls(*prefix_range(tuple(scope or ())), subject)
        text = encode_namespace(tuple(scope))
        # A namespace below it goes on with a character behind the terminator.
        return cls(text, text + _TERMINATOR, subject)

    @property
    def params(self) -> dict[str, Any]:
        """Its part of a statement's parameters: `:low`, `:high`, `:terminator` and `:label`."""
        label = "" if self.subject is None else _TERMINATOR + encode_namespace((self.subject,))
        return {"low": self.low, "high": self.high, "terminator": _TERMINATOR, "label": label}

    @property
    def everywhere(self) -> Selection:
        """The same range, whatever labels its namespaces have."""
        return Selection(self.low, self.high)

    def holds(self, namespace: Namespace) -> bool:
        """Whether a namespace is meant."""
        text = encode_namespace(tuple(namespace))
        return self.low <= text < self.high and (self.subject is None or self.subject in namespace)

    def holds_text(self, labels: str) -> bool:
        """The same for a namespace as it is stored."""
        return self.holds(decode_namespace(labels))
