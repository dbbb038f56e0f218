"""`CompositeBackend`: one tree of files, with other backends behind some of its folders."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

from memoranda.backends import crossing, gathering
from memoranda.backends.base import Backend
from memoranda.backends.finding.parts import Findable, Question
from memoranda.backends.foreign import as_backend
from memoranda.backends.operations import sentence
from memoranda.backends.places import Place, PlacedChange
from memoranda.backends.plain import PlainFiles
from memoranda.backends.protocol import (
    FILE_NOT_FOUND,
    IS_DIRECTORY,
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
from memoranda.backends.routes import Route, RouteError, Routes, asked, check_mapping
from memoranda.backends.seeded import SeededFiles
from memoranda.backends.steps import Steps, done, together
from memoranda.backends.twins import Twins, leaves
from memoranda.backends.versioned import VersionedFiles
from memoranda.backends.wording import not_found
from memoranda.errors import MemorandaError
from memoranda.store.changes import Change
from memoranda.store.store import MemoryStore

R = TypeVar("R")


class CompositeBackend(Backend):
    """One tree of files whose folders lead to different backends.

    The longest route that a path lies under wins, and its prefix is taken off on the way in: behind the route
    `/memories/` the file `/memories/tea.md` is `/tea.md`. Listings and searches work in every folder as if all were
    one tree; what a backend keeps under the prefix of a longer route does not exist. If one backend fails, the others
    answer, and the result's `warnings` say what is missing.

    Args:
        default: The backend of every path that no route claims.
        routes: Backends by the folder that leads to them, with or without a slash at the end. Backends of Deep Agents
            and of your own work as ours do.
        artifacts_root: The folder for what agents put aside, such as long tool results.

    Raises:
        RouteError: A route is `/` or no path, two are one folder, or what one leads to is no backend.

    Attributes:
        default: As given.
        routes: As given.
        sorted_routes: Folder, slash at the end, and backend as given; the longest first.
        artifacts_root: As given.

    Example:
        >>> from memoranda import open_store
        >>> from memoranda.backends import StoreBackend
        >>> with open_store("memory://") as store:
        ...     files = CompositeBackend(
        ...         StoreBackend(namespace=("scratch",), store=store),
        ...         {"/memories/": StoreBackend(namespace=("ann",), store=store)},
        ...     )
        ...     _ = files.write("/memories/tea.md", "green")
        ...     [entry["path"] for entry in files.ls("/").entries], store.get(("ann",), "/tea.md").value["content"]
        (['/memories/'], 'green')
    """

    def __init__(self, default: Any, routes: Mapping[str, Any], *, artifacts_root: str = "/") -> None:
        check_mapping(default, routes)
        self.default = default
        self.routes = dict(routes)
        self.artifacts_root = artifacts_root
        given: dict[str, Any] = {}

        def adapted(prefix: str, backend: Any) -> Backend:
            given[prefix] = backend
            return _adapted(prefix, backend)

        self._routes = Routes(default, routes, adapted)
        self.sorted_routes: list[tuple[str, Any]] = [
            (route.folder, given[route.prefix]) for route in self._routes.routes
        ]
        # The routes that lead to files, those of composites behind routes included.
        self.leaves = [leaf for route in self._routes.all() for leaf in leaves(route, _composite_in)]
        self._leaf_at = {leaf.prefix: leaf for leaf in self.leaves}
        self._twins = Twins(self.leaves, lambda path: self._leaf_at[self.leaf_prefix(path)])

    def __repr__(self) -> str:
        return f"CompositeBackend({self.default!r}, {self.routes!r})"

    # --- reading --------------------------------------------------------------------------------------------

    def ls_steps(self, place: Place) -> Steps[LsResult]:
        self._twins.look()
        return (yield from gathering.ls(self._routes, place))

    def glob_steps(self, place: Place, pattern: str) -> Steps[GlobResult]:
        self._twins.look()
        return (yield from gathering.glob(self._routes, place, pattern))

    def grep_steps(self, place: Place, pattern: str, glob: str | None, max_count: int | None) -> Steps[GrepResult]:
        self._twins.look()
        return (yield from gathering.grep(self._routes, place, pattern, glob, max_count))

    def search_steps(self, place: Place, question: Question) -> Steps[Findable]:
        self._twins.look()
        return (yield from gathering.search(self._routes, place, question))

    def read_steps(self, place: Place, offset: int, limit: int) -> Steps[ReadResult]:
        owner, inner = self._owner(place)
        if inner.path == "/":
            return done(ReadResult(error=not_found(place)))
        return owner.read_steps(inner, offset, limit)

    def download_steps(self, places: Sequence[Place]) -> Steps[list[FileDownloadResponse]]:
        self._twins.look()

        def download(route: Route, at: list[int]) -> Steps[list[FileDownloadResponse]]:
            return route.backend.download_steps([route.inside(places[index]) for index in at])

        def refused(index: int, why: str) -> FileDownloadResponse:
            return FileDownloadResponse(places[index].shown, None, why)

        return (yield from self._in_groups(places, download, refused))

    def history_steps(self, place: Place, limit: int | None) -> Steps[HistoryResult]:
        owner, inner = self._owner(place)
        return owner.history_steps(inner, limit)

    def diff_steps(self, place: Place, older: int | None, newer: int | None) -> Steps[DiffResult]:
        owner, inner = self._owner(place)
        return owner.diff_steps(inner, older, newer)

    def blame_steps(self, place: Place) -> Steps[BlameResult]:
        owner, inner = self._owner(place)
        return owner.blame_steps(inner)

    def at_steps(self, place: Place, when: int | datetime) -> Steps[ReadResult]:
        owner, inner = self._owner(place)
        return owner.at_steps(inner, when)

    # --- changing -------------------------------------------------------------------------------------------

    def write_steps(self, place: Place, content: str | bytes, base: Base | None, merge: bool) -> Steps[WriteResult]:
        self._twins.look()
        owner, inner = self._owner(place)
        if self._routes.is_mount(place.path):
            return done(WriteResult(error=crossing.mount_refusal(place)))
        return owner.write_steps(inner, content, base, merge)

    def edit_steps(self, place: Place, old: str, new: str, replace_all: bool, base: Base | None) -> Steps[EditResult]:
        self._twins.look()
        owner, inner = self._owner(place)
        if inner.path == "/":
            return done(EditResult(error="Error: " + not_found(place)))
        return owner.edit_steps(inner, old, new, replace_all, base)

    def append_steps(self, place: Place, text: str, base: Base | None) -> Steps[WriteResult]:
        self._twins.look()
        owner, inner = self._owner(place)
        if self._routes.is_mount(place.path):
            return done(WriteResult(error=crossing.mount_refusal(place)))
        return owner.append_steps(inner, text, base)

    def restore_steps(self, place: Place, revision: int) -> Steps[WriteResult]:
        owner, inner = self._owner(place)
        if self._routes.is_mount(place.path):
            return done(WriteResult(error=crossing.mount_refusal(place)))
        return owner.restore_steps(inner, revision)

    def delete_steps(self, place: Place, base: Base | None) -> Steps[DeleteResult]:
        self._twins.look()
        if base is None:
            return (yield from crossing.delete(self._routes, place))
        owner, inner = self._owner(place)
        return (yield from owner.delete_steps(inner, base))

    def move_steps(self, place: Place, to: Place, overwrite: bool) -> Steps[MoveResult]:
        self._twins.look()
        return (yield from crossing.move(self._routes, place, to, overwrite))

    def upload_steps(self, files: Sequence[tuple[Place, bytes]]) -> Steps[list[FileUploadResponse]]:
        self._twins.look()

        def upload(route: Route, at: list[int]) -> Steps[list[FileUploadResponse]]:
            return route.backend.upload_steps([(route.inside(files[index][0]), files[index][1]) for index in at])

        def refused(index: int, why: str) -> FileUploadResponse:
            return FileUploadResponse(files[index][0].shown, IS_DIRECTORY if why == FILE_NOT_FOUND else why)

        return (yield from self._in_groups([place for place, _ in files], upload, refused))

    def commit_steps(self, changes: Sequence[PlacedChange]) -> Steps[FilesCommitResult]:
        self._twins.look()
        return (yield from crossing.commit(self._routes, changes))

    # --- what backends around this one ask ------------------------------------------------------------------

    def names_steps(self, places: Sequence[Place]) -> Steps[list[tuple[str, ...]]]:
        return self._twins.names_steps(places)

    def scope_key(self) -> Hashable | None:
        keys = [(route.prefix, route.backend.scope_key()) for route in self._routes.all()]
        return None if any(key is None for _, key in keys) else ("composite", *keys)

    def is_lasting(self, place: Place) -> bool:
        owner, inner = self._owner(place)
        return owner.is_lasting(inner)

    def location(self, place: Place) -> str | None:
        owner, inner = self._owner(place)
        return owner.location(inner)

    def is_read_only(self, place: Place) -> bool:
        owner, inner = self._owner(place)
        return owner.is_read_only(inner)

    def store_changes(self, changes: Sequence[PlacedChange]) -> tuple[MemoryStore, list[Change]] | None:
        return crossing.store_changes(self._routes, changes)

    # --- routes ---------------------------------------------------------------------------------------------

    def is_mount(self, path: str) -> bool:
        """Whether a canonical path is where a route begins, or a folder on the way to one."""
        return self._routes.is_mount(path)

    def leaf_prefix(self, path: str) -> str:
        """Where the route begins that a canonical path belongs to, that of a nested composite if it is one's."""
        route = self._routes.find(path)
        inner = _composite_in(route.backend)
        if inner is None:
            return route.prefix
        return route.prefix + inner.leaf_prefix(path[len(route.prefix) :] or "/")

    def _owner(self, place: Place) -> tuple[Backend, Place]:
        route = self._routes.find(place.path)
        return route.backend, route.inside(place)

    def _grouped(self, places: Sequence[Place]) -> list[tuple[Route, list[int]]]:
        """The routes that some places belong to, each with the indexes of its own."""
        groups: dict[str, tuple[Route, list[int]]] = {}
        for index, place in enumerate(places):
            route = self._routes.find(place.path)
            groups.setdefault(route.prefix, (route, []))[1].append(index)
        return list(groups.values())

    def _in_groups(
        self,
        places: Sequence[Place],
        ask: Callable[[Route, list[int]], Steps[list[R]]],
        refused: Callable[[int, str], R],
    ) -> Steps[list[R]]:
        """Ask each backend for its own of several files, side by side, and answer in order."""
        answers: dict[int, R] = {}
        wanted: list[tuple[Route, list[int]]] = []
        for route, at in self._grouped(places):
            files = [index for index in at if route.inside(places[index]).path != "/"]
            answers.update((index, refused(index, FILE_NOT_FOUND)) for index in at if index not in files)
            if files:
                wanted.append((route, files))
        outcomes = yield from together([asked(_bound(ask, route, at)) for route, at in wanted])
        for (_, at), outcome in zip(wanted, outcomes, strict=True):
            for position, index in enumerate(at):
                failed = isinstance(outcome, Exception)
                answers[index] = refused(index, sentence(outcome)) if failed else outcome[position]
        return [answers[index] for index in range(len(places))]


def _adapted(prefix: str, backend: Any) -> Backend:
    try:
        found = as_backend(backend)
    except (TypeError, ValueError) as error:
        where = f"The route {prefix + '/'!r}" if prefix else "The default"
        if isinstance(error, MemorandaError) and callable(backend):  # it was near, and its own error says what misses
            raise RouteError(
                f"{where} of a CompositeBackend leads to no backend: {error.cause}", error.remedy
            ) from error
        raise RouteError(f"{where} of a CompositeBackend leads to {backend!r}, which is no backend.") from error
    return SeededFiles(found, prefix) if prefix and _is_store(found) else found


def _is_store(backend: Any) -> bool:
    """Whether the files lie in a store where other programs may seed them; guards and the like are looked through."""
    while (inner := getattr(backend, "backend", None)) is not None:
        backend = inner
    named = any(kind.__name__ == "StoreBackend" for kind in type(backend).__mro__)  # Deep Agents' too
    return named or isinstance(backend, (VersionedFiles, PlainFiles))


def _bound(ask: Callable[[Route, list[int]], Steps[R]], route: Route, at: list[int]) -> Callable[[], Steps[R]]:
    return lambda: ask(route, at)


def _composite_in(backend: Any) -> CompositeBackend | None:
    """The composite that a backend is, or is around."""
    while backend is not None and not isinstance(backend, CompositeBackend):
        backend = getattr(backend, "backend", None)
    return backend
