"""What a developer is told of memory that cannot work as it was set up: in the log, and once for each source."""

from __future__ import annotations

import logging
from threading import Lock
from typing import Final
from weakref import WeakKeyDictionary

from memoranda.backends.base import Backend
from memoranda.backends.places import place_of
from memoranda.backends.protocol import FILE_NOT_FOUND, INVALID_PATH, IS_DIRECTORY, PERMISSION_DENIED
from memoranda.errors import MemorandaError
from memoranda.files.path import parent_of

logger = logging.getLogger("memoranda.agents.middleware.memory")

_LIMIT: Final = 1_000
"""How many notices about one backend are remembered; then none is given any more."""

_LOOKED_AT: Final = "looked at"

# An agent and its subagents share the backend behind their guards, so a source is named once for all of them.
_given: WeakKeyDictionary[Backend, set[tuple[str, str]]] = WeakKeyDictionary()
_lock = Lock()


class Notices:
    """Notices about the sources of one backend.

    Args:
        backend: It, with its guards taken off.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        try:
            with _lock:
                self._given = _given.setdefault(backend, set())
        except TypeError:  # a backend that cannot be the key of a dictionary
            self._given = set[tuple[str, str]]()

    def look(self, source: str) -> None:
        """Tell of a source whose files do not outlive their thread."""
        if (source, _LOOKED_AT) in self._given:
            return
        try:
            lasting = self._backend.is_lasting(place_of(source))
        except (MemorandaError, NotImplementedError):
            return  # the source itself says what is wrong
        if self._is_new(source, _LOOKED_AT) and not lasting:
            folder = source if source.endswith("/") else parent_of(source).rstrip("/") + "/"
            remedy = (
                f'Route its folder to a StoreBackend: CompositeBackend(StateBackend(), {{"{folder}": '
                "StoreBackend(namespace=by_user)})."
                if folder != "/"
                else 'Name one in a folder, such as "/memories/AGENTS.md", and route this folder to a StoreBackend: '
                'CompositeBackend(StateBackend(), {"/memories/": StoreBackend(namespace=by_user)}).'
            )
            logger.warning(
                "The memory %s does not outlive its thread: no other conversation will know what is written there. %s",
                source,
                remedy,
            )

    def unreadable(self, source: str, error: str | None) -> None:
        """Tell of a source that could not be read for another reason than that it is missing or forbidden."""
        if error in (FILE_NOT_FOUND, PERMISSION_DENIED, INVALID_PATH, IS_DIRECTORY):
            return
        said = " ".join((error or "The storage gave nothing.").removeprefix("Error: ").split())
        if self._is_new(source, said):
            logger.warning("The memory %s is not in the prompt. %s", source, said)

    def folder(self, source: str) -> None:
        """Tell of a folder that was named like a file."""
        if self._is_new(source, "a folder"):
            logger.warning(
                "The memory %s is a folder, and none of its files is in the prompt. Write %r, with a slash at the "
                "end, to have them all.",
                source,
                source + "/",
            )

    def _is_new(self, source: str, kind: str) -> bool:
        """Whether this is to be told now; it is noted as told."""
        with _lock:
            if (source, kind) in self._given or len(self._given) >= _LIMIT:
                return False
            self._given.add((source, kind))
            return True
