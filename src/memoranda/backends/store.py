"""`StoreBackend`: files that outlive the thread, in a namespace of a store."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from datetime import datetime
from typing import Any, cast

from langgraph.store.base import BaseStore

from memoranda.backends.base import Backend
from memoranda.backends.fences import current_fence
from memoranda.backends.finding.parts import Findable, Question
from memoranda.backends.misuse import check_function, checked_store
from memoranda.backends.places import Place, PlacedChange
from memoranda.backends.plain import PlainFiles
from memoranda.backends.protocol import (
    PERMISSION_DENIED,
    Base,
    BlameResult,
    DeleteResult,
    DiffResult,
    EditResult,
    FileDownloadResponse,
    FilesCommitResult,
    FileUploadResponse,
    GlobResult,
    GrepResult,
    HistoryResult,
    LsResult,
    MoveResult,
    ReadResult,
    WriteResult,
)
from memoranda.backends.runtime import current_runtime, in_graph
from memoranda.backends.scopes import NamespaceLike, Scope, ScopeError, resolve_namespace
from memoranda.backends.steps import Steps, done
from memoranda.backends.versioned import VersionedFiles
from memoranda.backends.wording import refused_read_only
from memoranda.errors import MemorandaError
from memoranda.store.changes import Change, Namespace
from memoranda.store.namespaces import encode_writable
from memoranda.store.store import MemoryStore


class NoNamespaceError(MemorandaError, TypeError):
    """A `StoreBackend` was made without `namespace=…`, or with something else in the place of the runtime."""


class NoStoreError(MemorandaError, LookupError):
    """A `StoreBackend` was used where no store is at hand."""


class StoreBackend(Backend):
    """Files in one namespace of a store, shared by every thread that works with that namespace.

    Over a `MemoryStore` each operation is one call to the engine, files have a history, and nothing is overwritten
    unseen: inside a graph a write is based on the state that its thread last saw, so that it is merged with what
    others wrote since, or refused with the current text. Over any other LangGraph `BaseStore` everything works with
    that store's guarantees (see the guide on backends for what is missing then).

    Args:
        runtime: In the older style, the runtime that a backend factory was called with.
        namespace: A tuple of labels; a function of the runtime that returns one; or `by_user`, `by_assistant`,
            `by_org` and their sums. It has to be given.
        store: The store; None takes the one that the running graph was compiled with.
        read_only: Whether a model may only read here; None: as the scope says.

    Raises:
        NoNamespaceError: No namespace was given by name.
        InvalidNamespaceError: It is no namespace, or none that can be written to.
        ScopeError: It is a function that cannot be called with a runtime, or is async.
        NotAStoreError: What was given as store is none.

    Example:
        >>> from memoranda import open_store
        >>> with open_store("memory://") as store:
        ...     files = StoreBackend(namespace=("ann",), store=store)
        ...     _ = files.write("/tea.md", "green")
        ...     files.edit("/tea.md", "green", "black").occurrences
        1
    """

    def __init__(
        self,
        runtime: Any = None,
        *,
        namespace: NamespaceLike | None = None,
        store: BaseStore | None = None,
        read_only: bool | None = None,
    ) -> None:
        if (positional := _named(runtime)) is not None:
            raise NoNamespaceError(
                "The first argument of StoreBackend is a runtime, and this is none.", f"Pass {positional} by name."
            )
        if namespace is None:
            raise NoNamespaceError(
                "This StoreBackend has no namespace, so nobody knows whose files it holds.",
                'Pass namespace=by_user, by_assistant, by_org, or a tuple of labels such as ("ann",).',
            )
        self.namespace: NamespaceLike = namespace
        self.store = None if store is None else checked_store(store)
        self._runtime = runtime
        self._may_only_read = (
            read_only if read_only is not None else isinstance(namespace, Scope) and namespace.is_read_only
        )
        if not callable(namespace):
            encode_writable(resolve_namespace(namespace))  # a mistake is told at once
        elif not isinstance(namespace, Scope):
            check_function(namespace, "namespace", ScopeError)

    def __repr__(self) -> str:
        store = "" if self.store is None else f", store={self.store!r}"
        return f"StoreBackend(namespace={self.namespace!r}{store})"

    def resolved_namespace(self) -> Namespace:
        """The namespace as it is now.

        Raises:
            ScopeError: The runtime does not name whom the namespace is of.
        """
        return resolve_namespace(self.namespace, self._runtime)

    def resolved_store(self) -> BaseStore:
        """The store as it is now.

        Raises:
            NoStoreError: None was given, and no graph with one is running.
            NotAStoreError: The graph was given something else as its store.
        """
        runtime = self._runtime if self._runtime is not None else current_runtime()
        store = self.store if self.store is not None else getattr(runtime, "store", None)
        if store is None:
            raise NoStoreError(
                "This StoreBackend has no store.",
                "Pass store=open_store(…) to it, or store=… to the agent that it runs in.",
            )
        return store if store is self.store else checked_store(store)

    def files(self) -> Backend:
        """What does the work, for the present runtime."""
        store, namespace = self.resolved_store(), self.resolved_namespace()
        return VersionedFiles(store, namespace) if isinstance(store, MemoryStore) else PlainFiles(store, namespace)

    # --- every operation is handed on -----------------------------------------------------------------------

    def ls_steps(self, place: Place) -> Steps[LsResult]:
        return self.files().ls_steps(place)

    def read_steps(self, place: Place, offset: int, limit: int) -> Steps[ReadResult]:
        return self.files().read_steps(place, offset, limit)

    def grep_steps(self, place: Place, pattern: str, glob: str | None, max_count: int | None) -> Steps[GrepResult]:
        return self.files().grep_steps(place, pattern, glob, max_count)

    def glob_steps(self, place: Place, pattern: str) -> Steps[GlobResult]:
        return self.files().glob_steps(place, pattern)

    def search_steps(self, place: Place, question: Question) -> Steps[Findable]:
        return self.files().search_steps(place, question)

    def download_steps(self, places: Sequence[Place]) -> Steps[list[FileDownloadResponse]]:
        return self.files().download_steps(places)

    def history_steps(self, place: Place, limit: int | None) -> Steps[HistoryResult]:
        return self.files().history_steps(place, limit)

    def diff_steps(self, place: Place, older: int | None, newer: int | None) -> Steps[DiffResult]:
        return self.files().diff_steps(place, older, newer)

    def blame_steps(self, place: Place) -> Steps[BlameResult]:
        return self.files().blame_steps(place)

    def at_steps(self, place: Place, when: int | datetime) -> Steps[ReadResult]:
        return self.files().at_steps(place, when)

    def write_steps(self, place: Place, content: str | bytes, base: Base | None, merge: bool) -> Steps[WriteResult]:
        if (refusal := self._refusal(place)) is not None:
            return done(WriteResult(error=refusal))
        return self.files().write_steps(place, content, base, merge)

    def edit_steps(self, place: Place, old: str, new: str, replace_all: bool, base: Base | None) -> Steps[EditResult]:
        if (refusal := self._refusal(place)) is not None:
            return done(EditResult(error=refusal))
        return self.files().edit_steps(place, old, new, replace_all, base)

    def append_steps(self, place: Place, text: str, base: Base | None) -> Steps[WriteResult]:
        if (refusal := self._refusal(place)) is not None:
            return done(WriteResult(error=refusal))
        return self.files().append_steps(place, text, base)

    def delete_steps(self, place: Place, base: Base | None) -> Steps[DeleteResult]:
        if (refusal := self._refusal(place)) is not None:
            return done(DeleteResult(error=refusal))
        return self.files().delete_steps(place, base)

    def move_steps(self, place: Place, to: Place, overwrite: bool) -> Steps[MoveResult]:
        if (refusal := self._refusal(place)) is not None:
            return done(MoveResult(error=refusal))
        return self.files().move_steps(place, to, overwrite)

    def restore_steps(self, place: Place, revision: int) -> Steps[WriteResult]:
        if (refusal := self._refusal(place)) is not None:
            return done(WriteResult(error=refusal))
        return self.files().restore_steps(place, revision)

    def upload_steps(self, files: Sequence[tuple[Place, bytes]]) -> Steps[list[FileUploadResponse]]:
        if self._refuses():
            return done([FileUploadResponse(place.shown, PERMISSION_DENIED) for place, _ in files])
        if files and (refusal := self._refusal(files[0][0])) is not None:
            return done([FileUploadResponse(place.shown, refusal) for place, _ in files])
        return self.files().upload_steps(files)

    def commit_steps(self, changes: Sequence[PlacedChange]) -> Steps[FilesCommitResult]:
        if changes and (refusal := self._refusal(changes[0].place)) is not None:
            return done(FilesCommitResult(error=refusal))
        return self.files().commit_steps(changes)

    # --- what backends around this one ask ------------------------------------------------------------------

    def scope_key(self) -> Hashable | None:
        try:
            return self.files().scope_key()
        except MemorandaError:
            return None

    def location(self, place: Place) -> str | None:
        return self.files().location(place)

    def is_read_only(self, place: Place) -> bool:
        return self._may_only_read

    def store_changes(self, changes: Sequence[PlacedChange]) -> tuple[MemoryStore, list[Change]] | None:
        fence = current_fence()
        if fence is not None and fence.around(self.resolved_store(), self.resolved_namespace()):
            return None  # what asks this would commit, or propose, past the stage
        return self.files().store_changes(changes)

    def _refuses(self) -> bool:
        """Whether this is a model's run, which may only read here; code outside a graph may write."""
        return self._may_only_read and in_graph()

    def _refusal(self, place: Place) -> str | None:
        """Why a file cannot be changed here at present."""
        if self._refuses():
            return refused_read_only(place)
        fence = current_fence()
        if fence is not None and fence.around(self.resolved_store(), self.resolved_namespace()):
            return fence.refusal(place)
        return None


def _named(runtime: Any) -> str | None:
    """How to pass by name what stands in the runtime's place; None for what may be a runtime."""
    if isinstance(runtime, BaseStore):
        return "store=…"
    if isinstance(runtime, Scope):
        return f"namespace={runtime!r}"
    if isinstance(runtime, (str, tuple, list)):
        labels = (runtime,) if isinstance(runtime, str) else tuple(cast("Sequence[Any]", runtime))
        return f"namespace={labels!r}"
    return "namespace=…" if callable(runtime) else None
