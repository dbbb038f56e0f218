"""One run of one command: its settings, its store, its output."""

from __future__ import annotations

import logging
import os
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Self

from memoranda.cli.failures import UsageError, in_our_terms
from memoranda.cli.hints import placed
from memoranda.cli.names import format_namespace, parse_namespace
from memoranda.cli.opening import index_setting, open_to_read, open_to_write
from memoranda.cli.output import Output, counted
from memoranda.cli.settings import Settings
from memoranda.errors import MemorandaError

if TYPE_CHECKING:
    from memoranda.store.changes import Author, Namespace
    from memoranda.store.store import MemoryStore

ACTOR_VARIABLE = "MEMORANDA_ACTOR"
_LOOKED_AT = 200
"""So many conversations are looked at for the namespaces that they are in."""
_SOON = 5.0
"""Seconds that a command that writes waits for the embedder."""
_LOGGER = logging.getLogger("memoranda")


class Session:
    """What a command works with; the store is opened when it is first asked for.

    Args:
        given: The global options as they stand on the command line.
        command: The name of the command.
    """

    def __init__(self, given: Settings, command: str = "") -> None:
        self.given = given
        self.settings = given.resolved()
        self.command = command
        self.out = Output(as_json=self.settings.json, no_color=self.settings.no_color)
        self._store: MemoryStore | None = None
        self._writes = False
        self._key: str | None = None
        self._warnings = _Warnings(self)

    def __enter__(self) -> Self:
        # One that a run left behind, because Ctrl-C struck while it ended, would speak for this one.
        for left in [handler for handler in _LOGGER.handlers if isinstance(handler, _Warnings)]:
            _LOGGER.removeHandler(left)
        _LOGGER.addHandler(self._warnings)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, MemorandaError):
            error.remedy = self.placed(in_our_terms(error.remedy))
        try:
            if self._store is not None and error is None and self._writes:
                self._finish_index(self._store)
        finally:
            try:
                if self._store is not None:
                    self._store.close()
            finally:  # whoever presses Ctrl-C once more has waited long enough
                _LOGGER.removeHandler(self._warnings)

    def placed(self, text: str) -> str:
        """A message whose commands, in backticks, mean the store and the namespace of this run."""
        known = self.__dict__.get("namespace") or (None if self.settings.namespace is None else self.named_namespace)
        by_variable = self.given.namespace is None and self.settings.namespace is not None
        return placed(text, self.given, known, self._key, by_variable=by_variable)

    def note(self, text: str) -> None:
        """Tell a person something beside the result, the commands in it as `placed` gives them."""
        self.out.note(self.placed(text))

    @property
    def json(self) -> bool:
        """Whether a program reads the output."""
        return self.settings.json

    def reading(self) -> MemoryStore:
        """The store, which has to be there."""
        if self._store is None:
            self._store = open_to_read(self.settings)
        return self._store

    def writing(self, *, dry_run: bool = False) -> MemoryStore:
        """The store, made if need be; not if this is a dry run."""
        if self._store is None:
            self._store = open_to_write(self.settings, dry_run=dry_run)
            self._writes = not dry_run
        return self._store

    def use(self, store: MemoryStore) -> None:
        """Work on a store that somebody has opened already, where the command has opened none."""
        if self._store is None:
            self._store = store

    def _finish_index(self, store: MemoryStore) -> None:
        """Give what was written its vectors, if there is an embedder, and if that is soon done."""
        if index_setting(self.settings) is None:
            return
        with self.out.progress("Embedding"):
            complete = store.wait_for_index(_SOON)
        index = None if complete else store.index_status().in_use
        if index is not None:
            self.note(
                f"{counted(index.passages - index.embedded, 'passage')} cannot be found by meaning yet; `memoranda "
                "reindex` sees to that."
            )

    @property
    def named_namespace(self) -> Namespace | None:
        """The namespace that was named, if one was."""
        named = self.settings.namespace
        return None if named is None else parse_namespace(named)

    @cached_property
    def namespace(self) -> Namespace:
        """The namespace that was named, or the only one that the store has ever had.

        One whose items are all deleted counts: it can be restored, and is not to be taken for another. So does one that
        has nothing but conversations.

        Raises:
            UsageError: None was named, and there is none or more than one.
        """
        named = self.named_namespace
        if named is not None:
            return named
        store = self.reading()
        found = store.list_namespaces(limit=2)
        some_are_empty = len(found) < 2 and store.stats().namespaces > len(found)
        if not found and some_are_empty and store.stats().namespaces == 1:
            found = [change.namespace for change in store.changes(limit=1)]
            some_are_empty = not found
        talked_in = {thread.namespace for thread in store.threads((), below=True, limit=_LOOKED_AT)}
        found = list(dict.fromkeys((*found, *sorted(talked_in))))
        if len(found) == 1 and not some_are_empty:
            self.out.note(f"In the namespace {format_namespace(found[0])}, the only one of this store.")
            return found[0]
        if not found and not some_are_empty:
            raise UsageError("The store is empty, so the namespace has to be named.", "Name it, such as -n ann.")
        raise UsageError(
            "The store has several namespaces and none was named.",
            "Name one with -n, such as -n acme/ann; `memoranda ls` lists those that hold something"
            + (", `memoranda episodes ls` the conversations" if talked_in else "")
            + (", and `memoranda changes` shows what was in the others." if some_are_empty else "."),
        )

    def key(self, argument: str) -> str:
        """The key that an argument means.

        With a leading slash it is a path. Without one it is the item of that very name if there is one, deleted or
        not, and else the path with a slash added.
        """
        from memoranda.files.path import file_path

        self._key = argument if self._is_name(argument) else file_path(argument)
        return self._key

    def file_key(self, argument: str) -> str:
        """The same for what is to be written, where a slash at the end would be lost without a word.

        Raises:
            UsageError: The argument is a path that ends with a slash.
        """
        key = self.key(argument)
        if key != argument and argument.endswith(("/", "\\")):
            raise UsageError(
                f"{argument} ends with a slash, so it names a folder and no file.",
                f"Name the file in it, such as {argument}notes.md, or leave the slash out: {key}.",
            )
        return key

    def key_or_folder(self, argument: str) -> str:
        """The same where a folder may be meant, the root folder too."""
        from memoranda.files.path import canonical_path

        self._key = argument if self._is_name(argument) else canonical_path(argument)
        return self._key

    def _is_name(self, argument: str) -> bool:
        if argument[:1] in ("", "/", "\\"):
            return False
        return bool(self.reading().history(self.namespace, argument, limit=1))

    def author(self, actor: str | None, reason: str | None) -> Author:
        """Who makes a change, and why."""
        from memoranda.store.changes import Author

        return Author(actor or os.environ.get(ACTOR_VARIABLE) or f"cli:{_user()}", reason=reason)


class _Warnings(logging.Handler):
    """What the library warns of, told to a person; a program that reads the output is left alone."""

    def __init__(self, session: Session) -> None:
        super().__init__(logging.WARNING)
        self._session = session

    def emit(self, record: logging.LogRecord) -> None:
        """Tell it."""
        if not self._session.json and not hasattr(record, "memoranda"):  # a run, which the command tells itself
            self._session.out.note(f"Warning: {record.getMessage()}")


def _user() -> str:
    from getpass import getuser

    try:
        return getuser()
    except (KeyError, OSError):  # a user id without a name, as in some containers
        return str(os.getuid()) if hasattr(os, "getuid") else "unknown"
