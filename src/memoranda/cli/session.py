"""One run of one command: its settings, its store, its output."""

from __future__ import annotations

import os
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Self

from memoranda.cli.failures import UsageError
from memoranda.cli.names import format_namespace, parse_namespace
from memoranda.cli.opening import open_to_read, open_to_write
from memoranda.cli.output import Output
from memoranda.cli.settings import Settings

if TYPE_CHECKING:
    from memoranda.store.changes import Author, Namespace
    from memoranda.store.store import MemoryStore

ACTOR_VARIABLE = "MEMORANDA_ACTOR"


class Session:
    """What a command works with; the store is opened when it is first asked for.

    Args:
        settings: The global options, the environment taken into account.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.out = Output(as_json=settings.json, no_color=settings.no_color)
        self._store: MemoryStore | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._store is not None:
            self._store.close()

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
        return self._store

    @property
    def named_namespace(self) -> Namespace | None:
        """The namespace that was named, if one was."""
        named = self.settings.namespace
        return None if named is None else parse_namespace(named)

    @cached_property
    def namespace(self) -> Namespace:
        """The namespace that was named, or the only one that the store has.

        Raises:
            UsageError: None was named, and there is none or more than one.
        """
        named = self.named_namespace
        if named is not None:
            return named
        found = self.reading().list_namespaces(limit=2)
        if len(found) == 1:
            self.out.note(f"In the namespace {format_namespace(found[0])}, the only one of this store.")
            return found[0]
        raise UsageError(
            "The store has several namespaces and none was named."
            if found
            else "The store is empty, so the namespace has to be named.",
            "Name one with -n, such as -n acme/ann; `memoranda ls` lists them."
            if found
            else "Name it, such as -n ann.",
        )

    def key(self, argument: str) -> str:
        """The key that an argument means.

        With a leading slash it is a path. Without one it is the item of that very name if there is one, deleted or
        not, and else the path with a slash added.
        """
        from memoranda.files.path import file_path

        return argument if self._is_name(argument) else file_path(argument)

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

        return argument if self._is_name(argument) else canonical_path(argument)

    def _is_name(self, argument: str) -> bool:
        if argument[:1] in ("", "/", "\\"):
            return False
        return bool(self.reading().history(self.namespace, argument, limit=1))

    def author(self, actor: str | None, reason: str | None) -> Author:
        """Who makes a change, and why."""
        from memoranda.store.changes import Author

        return Author(actor or os.environ.get(ACTOR_VARIABLE) or f"cli:{_user()}", reason=reason)


def _user() -> str:
    from getpass import getuser

    try:
        return getuser()
    except (KeyError, OSError):  # a user id without a name, as in some containers
        return str(os.getuid()) if hasattr(os, "getuid") else "unknown"
