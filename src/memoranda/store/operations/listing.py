"""Listing, globbing and searching text: range scans over the folders of one namespace, each from one snapshot."""

from __future__ import annotations

from typing import Any

from memoranda.errors import InvalidValueError
from memoranda.files.globbing import Glob, compile_glob
from memoranda.files.path import canonical_path, folder_prefix
from memoranda.store.changes import Namespace
from memoranda.store.effects import Body, Operation, query, transact
from memoranda.store.keys import folder_of, is_plain_text, range_end
from memoranda.store.namespaces import encode_namespace
from memoranda.store.operations.context import Context, countable
from memoranda.store.types import GrepMatch, GrepResult, KeyEntry
from memoranda.store.values import Kind, to_datetime

_PAGE = 1_000
_GREP_PAGE = 200
# No key starts with a character below this one, so it continues a string in the smallest possible way.
_SMALLEST = "\x01"


def list_keys(
    context: Context,
    namespace: Namespace,
    prefix: str = "/",
    *,
    recursive: bool = False,
    limit: int | None = None,
    after: str | None = None,
) -> Operation[list[KeyEntry]]:
    """List a folder, or everything below it.

    All of it is one consistent snapshot. With `limit` it comes in pages that go on `after` the last key of the page
    before; since pages are cut by key and never by number, a file that exists throughout is in exactly one page,
    however many others are written meanwhile.

    Args:
        context: The store's settings.
        namespace: Where; exactly this one, never those below it.
        prefix: The folder; `""` stands for every key, names that are no paths included.
        recursive: Every file below instead of the folder's own files and folders.
        limit: At most so many entries; None: all.
        after: The last key of the page before.

    Returns:
        Entries sorted by key; for a recursive listing, folder by folder.

    Raises:
        InvalidPathError: The prefix is no path.
        InvalidNamespaceError: See `validate_labels`.

    Example:
        >>> from memoranda import open_store
        >>> with open_store("memory://") as store:
        ...     _ = store.write(("ann",), "/notes/tea.md", "green")
        ...     [entry.key for entry in store.list_keys(("ann",))]
        ['/notes/']
    """
    labels = encode_namespace(namespace)
    if limit is not None and limit < 0:
        raise InvalidValueError(f"The limit {limit} is negative.", "Pass None for everything.")
    if after is not None and not is_plain_text(after):
        raise InvalidValueError(f"{after!r} is no key to go on after.", "Pass the last key of the page before.")
    limit = countable(limit)
    everything = prefix == ""
    folder = "" if everything else canonical_path(prefix)
    if everything or recursive:
        return (yield from transact("snapshot", lambda: _below(context, labels, folder, everything, after, limit)))
    return (yield from transact("snapshot", lambda: _folder(context, labels, folder, after or "", limit)))


def glob(context: Context, namespace: Namespace, pattern: str, path: str = "/") -> Operation[list[KeyEntry]]:
    """Find files by a glob pattern, newest first.

    Args:
        context: The store's settings.
        namespace: Where; exactly this one.
        pattern: Without a slash it matches the name at any depth, with one the path relative to `path`; `**`, braces
            and character classes work; a leading dot must be written out.
        path: The folder to look in.

    Returns:
        The files that match, the last changed first.

    Raises:
        InvalidGlobError: The pattern climbs with `..` or expands without end.
        InvalidPathError: `path` is no path.

    Example:
        >>> from memoranda import open_store
        >>> with open_store("memory://") as store:
        ...     _ = store.write(("ann",), "/notes/tea.md", "green")
        ...     [entry.key for entry in store.glob(("ann",), "*.md")]
        ['/notes/tea.md']
    """
    labels = encode_namespace(namespace)
    matcher = compile_glob(pattern)
    root = canonical_path(path)
    entries = yield from transact("snapshot", lambda: _glob(context, labels, root, matcher))
    return sorted(entries, key=_newest_first)


def grep(
    context: Context,
    namespace: Namespace,
    text: str,
    path: str = "/",
    *,
    glob: str | None = None,
    limit: int | None = None,
) -> Operation[GrepResult]:
    r"""Find the lines that hold a literal text.

    Args:
        context: The store's settings.
        namespace: Where; exactly this one.
        text: Looked for as it stands, case and all, within single lines.
        path: A file, or a folder with everything below it; `""` also looks in items whose keys are no paths.
        glob: Only files that match this pattern, as in `glob`.
        limit: At most so many lines; None: all.

    Returns:
        The lines by folder and key, and whether there are more.

    Raises:
        InvalidValueError: The text is empty.
        InvalidGlobError: See `glob`.
        InvalidPathError: `path` is no path.

    Example:
        >>> from memoranda import open_store
        >>> with open_store("memory://") as store:
        ...     _ = store.write(("ann",), "/tea.md", "black\ngreen")
        ...     store.grep(("ann",), "green").matches
        (GrepMatch(key='/tea.md', line=2, text='green'),)
    """
    labels = encode_namespace(namespace)
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance] - callers are untyped too
        raise InvalidValueError(f"{type(text).__name__} is no text to look for.", "Pass a string.")
    if not text:
        raise InvalidValueError("The text to look for is empty.", "Give at least one character.")
    try:
        needle = text.encode()
    except UnicodeEncodeError:
        return GrepResult(())
    if "\n" in text:
        return GrepResult(())
    root = "" if path == "" else canonical_path(path)
    matcher = compile_glob(glob) if glob is not None else None
    stop = countable(limit)
    return (yield from transact("snapshot", lambda: _grep(context, labels, root, text, needle, matcher, stop)))


def _newest_first(entry: KeyEntry) -> tuple[float, str]:
    assert entry.updated_at is not None
    return (-entry.updated_at.timestamp(), entry.key)


def _entry(key: str, size: int, revision: int, _kind: int, created_at: int, updated_at: int, *_: str) -> KeyEntry:
    return KeyEntry(key, False, size, revision, to_datetime(created_at), to_datetime(updated_at))


def _folder(context: Context, labels: str, folder: str, after: str, limit: int) -> Body[list[KeyEntry]]:
    """The files and folders directly in a folder, merged by key."""
    prefix = folder_prefix(folder)
    place = {"tenant": context.tenant, "labels": labels, "now": context.clock(), "limit": limit}
    files = yield from query("files_of_folder", folder=prefix, after=after, **place)
    # A folder's entry ends with a slash and is what the folders below it start with: they sort alike.
    parents = yield from query(
        "folders_of_folder",
        start=max(prefix + _SMALLEST, range_end(after) if after.endswith("/") else after),
        high=range_end(prefix),
        depth=len(prefix) + 1,
        **place,
    )
    entries = [KeyEntry(parent[: parent.index("/", len(prefix)) + 1], is_folder=True) for (parent,) in parents]
    entries += [_entry(*row) for row in files]
    entries.sort(key=lambda entry: entry.key)
    return entries[:limit]


def _below(
    context: Context, labels: str, folder: str, everything: bool, after: str | None, limit: int
) -> Body[list[KeyEntry]]:
    entries: list[KeyEntry] = []
    scan = _Scan(context, labels, "" if everything else folder_prefix(folder))
    if after is not None:
        scan.after(folder_of(after), after)
    while len(entries) < limit:
        wanted = min(_PAGE, limit - len(entries))
        rows = yield from query("files_below", limit=wanted, **scan.params)
        entries += [_entry(*row) for row in rows]
        if len(rows) < wanted:
            break
        scan.after(rows[-1][6], rows[-1][0])
    return entries


def _glob(context: Context, labels: str, root: str, matcher: Glob) -> Body[list[KeyEntry]]:
    prefix = folder_prefix(root)
    literal = matcher.literal_prefix.strip("/")
    scan = _Scan(context, labels, f"{prefix}{literal}/" if literal else prefix)
    entries: list[KeyEntry] = []
    while True:
        rows = yield from query("files_below", limit=_PAGE, **scan.params)
        entries += [_entry(*row) for row in rows if matcher.matches(row[0][len(prefix) :])]
        if len(rows) < _PAGE:
            return entries
        scan.after(rows[-1][6], rows[-1][0])


def _grep(
    context: Context, labels: str, root: str, text: str, needle: bytes, matcher: Glob | None, stop: int
) -> Body[GrepResult]:
    prefix = folder_prefix(root) if root else ""
    matches: list[GrepMatch] = []
    scan = _Scan(context, labels, prefix)
    alone = root not in ("", "/")
    while True:
        if alone:  # the path may be a file as well as a folder
            name, size, params = "body_containing", _GREP_PAGE, {**scan.place, "key": root}
        else:
            name, size, params = "bodies_containing", _GREP_PAGE, {**scan.params, "limit": _GREP_PAGE}
        rows = yield from query(name, needle=needle, **params)
        for key, _, kind, body in rows:
            relative = key.rpartition("/")[2] if alone else key[len(prefix) :].lstrip("/")
            if matcher is not None and not matcher.matches(relative):
                continue
            for number, line in enumerate(_lines(kind, body), 1):
                if text in line:
                    if len(matches) == stop:
                        return GrepResult(tuple(matches), truncated=True)
                    matches.append(GrepMatch(key, number, line))
        if alone:
            alone = False
            continue
        if len(rows) < size:
            return GrepResult(tuple(matches))
        scan.after(rows[-1][1], rows[-1][0])


def _lines(kind: int, body: bytes) -> list[str]:
    lines = body.decode().split("\n")
    if lines and not lines[-1] and kind != Kind.LINES:
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


class _Scan:
    """The parameters of a walk below a folder, page by page."""

    def __init__(self, context: Context, labels: str, prefix: str) -> None:
        self.place = {"tenant": context.tenant, "labels": labels, "now": context.clock()}
        # One lower end, not two: PostgreSQL would start at the one that lies further back.
        self.params: dict[str, Any] = {
            **self.place,
            "after_parent": prefix,
            "after_key": "",
            "high": range_end(prefix),
        }

    def after(self, parent: str, key: str) -> None:
        """Go on behind this key, if it lies in the range at all."""
        if (parent, key) > (self.params["after_parent"], self.params["after_key"]):
            self.params |= {"after_parent": parent, "after_key": key}
