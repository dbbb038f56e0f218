"""What an agent knows, at a glance: every file, how large it is, who changed it last and what it is about."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TypeVar, cast

from langgraph.store.base import BaseStore, GetOp

from memoranda.agents.adopting import BackendLike, adopted
from memoranda.backends import operations
from memoranda.backends.base import Backend
from memoranda.backends.protocol import Base, FileInfo
from memoranda.backends.scopes import NamespaceLike, resolve_namespace
from memoranda.backends.steps import Steps, aperform, ask, perform, together
from memoranda.errors import InvalidValueError, MemorandaError
from memoranda.files.format import read_file_data
from memoranda.store.changes import Author, Namespace
from memoranda.store.store import MemoryStore
from memoranda.store.types import KeyEntry, Revision, StoredItem
from memoranda.store.values import encode_value

T = TypeVar("T")

_LONGEST_ABOUT = 120
_AT_ONCE = 50
_DEEPEST: Final = 6
"""How far into a namespace the label of a user is looked for."""


@dataclass(frozen=True, slots=True)
class FileSummary:
    """One file of a `MemorySummary`.

    Args:
        path: Where it is; in a store that was asked for several namespaces, within `namespace`.
        size: Bytes of its content.
        changed_at: When it was last changed; None where that is not known.
        author: Who changed it last; None where no history is kept, or beyond `details`.
        revision: Its state.
        about: Its first heading, or its first line; empty beyond `details`.
        namespace: The namespace that it lies in; None behind a backend.
    """

    path: str
    size: int = 0
    changed_at: datetime | None = None
    author: Author | None = None
    revision: Base | None = None
    about: str = ""
    namespace: Namespace | None = None


@dataclass(frozen=True, slots=True)
class MemorySummary:
    """What is remembered in one place.

    Args:
        files: By namespace and path.
        problems: What could not be looked at, each as a sentence.
    """

    files: tuple[FileSummary, ...]
    problems: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)

    @property
    def changed_at(self) -> datetime | None:
        """When something was last changed."""
        return max((file.changed_at for file in self.files if file.changed_at is not None), default=None)

    @property
    def authors(self) -> tuple[str, ...]:
        """Who changed a file last, in alphabetical order."""
        return tuple(sorted({file.author.actor for file in self.files if file.author and file.author.actor}))

    def to_markdown(self) -> str:
        """The summary as a table for people."""
        if not self.files:
            return "\n".join(["Nothing is remembered here.", *self.problems]) + "\n"
        changed = self.changed_at
        total = f"{len(self.files):,} file{'s' * (len(self.files) != 1)}, {self.size:,} bytes"
        lines = [total + (f"; last changed {_minute(changed)}." if changed else "."), ""]
        namespaced = len({file.namespace for file in self.files}) > 1
        head = [*(["Namespace"] if namespaced else []), "File", "About", "Bytes", "Changed", "By"]
        lines += [_row(head), _row(["---:" if name == "Bytes" else "---" for name in head])]
        for file in self.files:
            cells = ["/".join(file.namespace or ())] if namespaced else []
            when = _minute(file.changed_at) if file.changed_at else ""
            cells += [file.path, file.about, f"{file.size:,}", when, (file.author and file.author.actor) or ""]
            lines.append(_row([_cell(cell) for cell in cells]))
        return "\n".join([*lines, *([""] if self.problems else []), *self.problems]) + "\n"


def memory_summary(
    store_or_backend: BaseStore | BackendLike,
    namespace: NamespaceLike | None = None,
    *,
    user: str | None = None,
    path: str = "/",
    details: int = 1_000,
) -> MemorySummary:
    r"""Summarise what an agent knows about a user, or what else lies in a namespace or behind a backend.

    Args:
        store_or_backend: A store; or a backend with all that lies behind it, as the agent itself sees it.
        namespace: For a store, the namespace; exactly this one.
        user: For a `MemoryStore`, instead of a namespace: every namespace that has this label.
        path: Only what lies in this folder.
        details: For so many files, what they are about and who changed them is looked up as well.

    Returns:
        The summary. Nothing is changed, and no model is asked.

    Raises:
        InvalidValueError: A store was given with neither a namespace nor a user.
        InvalidNamespaceError: The namespace is none.
        ScopeError: The namespace is made from a runtime, and none is at hand.

    Example:
        >>> from memoranda import Author, open_store
        >>> with open_store("memory://") as store:
        ...     _ = store.write(("tea-bot", "ann"), "/likes.md", "# What Ann likes\n\nTea", author=Author("agent:tea"))
        ...     summary = memory_summary(store, user="ann")
        >>> [(file.path, file.about, file.author.actor) for file in summary.files]
        [('/likes.md', 'What Ann likes', 'agent:tea')]
    """
    return perform(_summary(store_or_backend, namespace, user, path, details))


async def amemory_summary(
    store_or_backend: BaseStore | BackendLike,
    namespace: NamespaceLike | None = None,
    *,
    user: str | None = None,
    path: str = "/",
    details: int = 1_000,
) -> MemorySummary:
    """`memory_summary` for an event loop."""
    return await aperform(_summary(store_or_backend, namespace, user, path, details))


def _summary(
    given: Any, namespace: NamespaceLike | None, user: str | None, path: str, details: int
) -> Steps[MemorySummary]:
    if isinstance(given, BaseStore):
        if (namespace is None) == (user is None):
            raise InvalidValueError("A summary of a store needs a namespace or a user.", 'Pass namespace=("ann",).')
        if isinstance(given, MemoryStore):
            namespaces = (
                [resolve_namespace(namespace)] if namespace is not None else (yield from _of_user(given, str(user)))
            )
            return (yield from _of_store(given, namespaces, path, details))
        if namespace is None:
            raise InvalidValueError("Only a MemoryStore knows the namespaces of a user.", "Pass a namespace.")
        from memoranda.backends.store import StoreBackend

        given = StoreBackend(namespace=namespace, store=given)
    elif namespace is not None or user is not None:
        raise InvalidValueError("A backend has its namespace already.", "Leave out namespace and user.")
    return (yield from _of_backend(adopted(given), path, details))


# --- a store ----------------------------------------------------------------------------------------------------


def _of_user(store: MemoryStore, user: str) -> Steps[list[Namespace]]:
    found: set[Namespace] = set()
    for depth in range(_DEEPEST):
        offset = 0
        while some := (
            yield from ask(store.list_namespaces, prefix=(*["*"] * depth, user), limit=1_000, offset=offset)
        ):
            found.update(some)
            offset += len(some)
    return sorted(found)


def _of_store(store: MemoryStore, namespaces: Sequence[Namespace], path: str, details: int) -> Steps[MemorySummary]:
    entries: list[tuple[Namespace, KeyEntry]] = []
    for namespace in namespaces:
        folder = "" if path == "/" else path  # items whose keys are no paths are knowledge too
        listed = yield from ask(store.list_keys, namespace, folder, recursive=True)
        entries += [(namespace, entry) for entry in listed if not entry.is_folder]
    looked: dict[int, tuple[str, Author | None]] = {}
    for some in _parts(range(min(details, len(entries)))):
        asked = [GetOp(entries[index][0], entries[index][1].key, refresh_ttl=False) for index in some]
        items = cast("list[StoredItem | None]", (yield from ask(store.batch, asked)))
        histories = yield from together(
            [ask(store.history, entries[index][0], entries[index][1].key, limit=1) for index in some]
        )
        for index, item, history in zip(some, items, histories, strict=True):
            looked[index] = "" if item is None else _about_item(item), _author(history)
    files = [
        FileSummary(entry.key, entry.size, entry.updated_at, author, entry.revision, about, namespace)
        for index, (namespace, entry) in enumerate(entries)
        for about, author in [looked.get(index, ("", None))]
    ]
    return MemorySummary(tuple(files))


def _about_item(item: StoredItem) -> str:
    try:
        data = read_file_data(item.value, lenient=True)
    except MemorandaError:
        return _shortened(encode_value(item.value).text or "")
    return "(binary)" if data["encoding"] == "base64" else _about(data["content"])


# --- a backend --------------------------------------------------------------------------------------------------


def _of_backend(backend: Backend, path: str, details: int) -> Steps[MemorySummary]:
    entries: list[FileInfo] = []
    problems: list[str] = []
    folders = [path]
    while folders:
        some, folders = folders[:_AT_ONCE], folders[_AT_ONCE:]
        listings = yield from together([operations.ls(backend, folder) for folder in some])
        for folder, listing in zip(some, listings, strict=True):
            if isinstance(listing, Exception) or listing.error is not None:
                problems.append(f"{folder}: {listing if isinstance(listing, Exception) else listing.error}")
                continue
            problems += listing.warnings
            folders += [entry["path"] for entry in listing.entries or () if entry.get("is_dir")]
            entries += [entry for entry in listing.entries or () if not entry.get("is_dir")]
    entries.sort(key=lambda entry: entry["path"])
    files: list[FileSummary] = []
    for some in _parts(range(min(details, len(entries)))):
        paths = [entries[index]["path"] for index in some]
        contents = yield from operations.download_files(backend, paths)
        histories = yield from together([operations.history(backend, path, limit=1) for path in paths])
        for index, content, history in zip(some, contents, histories, strict=True):
            about = "" if content.content is None else _about_bytes(content.content)
            revisions = history if isinstance(history, Exception) else (history.revisions or [])
            files.append(_file(entries[index], about, _author(revisions)))
    files += [_file(entry, "", None) for entry in entries[len(files) :]]
    return MemorySummary(tuple(files), tuple(problems))


def _file(entry: FileInfo, about: str, author: Author | None) -> FileSummary:
    try:
        changed = datetime.fromisoformat(entry.get("modified_at", ""))
    except ValueError:
        changed = None
    return FileSummary(entry["path"], entry.get("size", 0), changed, author, entry.get("revision"), about)


# --- both -------------------------------------------------------------------------------------------------------


def _parts(whole: Sequence[int]) -> Generator[Sequence[int]]:
    for start in range(0, len(whole), _AT_ONCE):
        yield whole[start : start + _AT_ONCE]


def _author(history: list[Revision] | Exception) -> Author | None:
    return None if isinstance(history, Exception) or not history else history[0].author


def _about_bytes(content: bytes) -> str:
    try:
        return _about(content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return "(binary)"


def _about(text: str) -> str:
    """The first heading of a text, or its first line; what stands before the text proper is passed over."""
    lines = [line.strip() for line in text[:20_000].splitlines()]
    if lines and lines[0] == "---" and "---" in lines[1:]:  # front matter
        lines = lines[lines.index("---", 1) + 1 :]
    filled = [line for line in lines if line and not line.startswith("<!--")]
    heading = next((line.lstrip("#").strip() for line in filled if line.startswith("#") and line.strip("#")), "")
    return _shortened(heading or (filled[0][_marks(filled[0]) :] if filled else ""))


_LIST_MARK: Final = re.compile(r"(?:(?:[-*+•]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?)+")


def _marks(line: str) -> int:
    """How many characters at the start of a line only say that it is an entry of a list."""
    found = _LIST_MARK.match(line)
    return 0 if found is None else found.end()


def _shortened(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST_ABOUT else text[: _LONGEST_ABOUT - 1] + "…"


def _minute(time: datetime) -> str:
    return time.strftime("%Y-%m-%d %H:%M")


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(text: str) -> str:
    for special in "\\|<`":
        text = text.replace(special, "\\" + special)
    return " ".join(text.split())
