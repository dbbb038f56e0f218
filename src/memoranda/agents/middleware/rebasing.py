"""What our middleware that reaches files has in common: another backend, and sources in a list."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from typing import Any, Self, cast

from memoranda.backends.base import Backend
from memoranda.errors import InvalidValueError


class OverBackend:
    """What every middleware of ours has that reaches files: its `backend`, and a way to give it another one."""

    backend: Backend

    def over(self, backend: Backend) -> Self:
        """The same middleware over another backend; this one stays as it is.

        Args:
            backend: What the new one reaches its files through.
        """
        made = copy(self)
        made.backend = backend
        made._settle()
        return made

    def _settle(self) -> None:
        """Make anew what was made from the backend."""


def listed(sources: Any, name: str, example: str) -> list[Any]:
    """Sources as a list.

    Args:
        sources: As they were given.
        name: Of what they are.
        example: One of them.

    Raises:
        InvalidValueError: They are no list.
    """
    if isinstance(sources, (bytes, Mapping)) or not isinstance(sources, Iterable):
        raise InvalidValueError(f"{sources!r} is no list of sources of {name}.", f'Pass ["{example}"].')
    return [*cast("Iterable[Any]", sources)]
