"""Single changes, each a change set of one."""

from __future__ import annotations

from memoranda.errors import InvalidChangeError
from memoranda.files.path import canonical_path
from memoranda.store.changes import (
    Append,
    Author,
    Change,
    ChangeSet,
    CommitResult,
    Committed,
    Edit,
    Move,
    Namespace,
    Restore,
    Value,
    Write,
    current_author,
)
from memoranda.store.effects import Operation
from memoranda.store.namespaces import encode_namespace
from memoranda.store.operations.commit import commit as commit_changes
from memoranda.store.operations.commit import delete_folder
from memoranda.store.operations.context import Context
from memoranda.store.operations.planning import check_change_set


def commit(context: Context, changes: ChangeSet, *, on_conflict: str = "raise") -> Operation[CommitResult]:
    """Apply changes, their history, and cursor moves in one transaction: all land, or none does.

    Args:
        context: The store's settings.
        changes: What to change, by whom, and which cursors move along.
        on_conflict: `"raise"`, or `"return"` to get the conflicts in the result instead.

    Returns:
        What landed; with `on_conflict="return"` also what stood in the way.

    Raises:
        ConflictError: Something was changed meanwhile in a way that cannot be merged; nothing landed.
        ItemNotFoundError: The only thing wrong is that an item is missing.
        ItemExistsError: The only thing wrong is that the target of a move exists.
        InvalidChangeError: The change set makes no sense, whatever the state.

    Example:
        >>> from memoranda import Author, ChangeSet, Write, open_store
        >>> with open_store("memory://") as store:
        ...     result = store.commit(ChangeSet([Write(("ann",), "/tea.md", "green")], Author("user:ann")))
        ...     result.revisions[0].revision
        1
    """
    check_change_set(changes)
    if on_conflict not in ("raise", "return"):
        raise InvalidChangeError(f"on_conflict={on_conflict!r} is not known.", 'Pass "raise" or "return".')
    settled = ChangeSet(changes.changes, changes.author or current_author(), changes.advance)
    result = yield from commit_changes(context, settled)
    return result if on_conflict == "return" else result.raise_for_conflicts()


def write(
    context: Context,
    namespace: Namespace,
    key: str,
    value: Value,
    *,
    base: int | None = None,
    ttl: float | None = None,
    author: Author | None = None,
) -> Operation[Committed]:
    """Set the whole value of an item.

    Args:
        context: The store's settings.
        namespace: Where.
        key: The item's key; one that starts with a slash is a path and is made canonical.
        value: Text or bytes for a file, or any JSON object.
        base: The revision that the value was made from; 0 says "it did not exist". If the item changed since, the
            two are merged by line (JSON by field), or the write is refused. None overwrites.
        ttl: Minutes until the item expires; None: the store's default, or never.
        author: Who writes; None takes `acting_as`.

    Returns:
        The revision made, and whether it was merged.

    Raises:
        ConflictError: The item changed since `base` in the same place; the error carries all three texts.
        InvalidValueError: The value is no JSON object.
        InvalidNamespaceError: The namespace cannot be stored.
        InvalidKeyError: The key cannot be stored.

    Example:
        >>> from memoranda import open_store
        >>> with open_store("memory://") as store:
        ...     store.write(("ann",), "/tea.md", "green", base=0).revision
        1
    """
    minutes = context.default_ttl if ttl is None else ttl
    return (yield from _one(context, Write(namespace, key, value, base, minutes), author))


def edit(
    context: Context,
    namespace: Namespace,
    key: str,
    old: str,
    new: str,
    *,
    replace_all: bool = False,
    author: Author | None = None,
) -> Operation[Committed]:
    """Replace text in an item as it is now, so that edits of different places never overwrite each other.

    Args:
        context: The store's settings.
        namespace: Where.
        key: The item's key.
        old: The text to replace; it has to occur exactly once unless `replace_all`.
        new: The text to put there.
        replace_all: Replace every occurrence.
        author: Who edits; None takes `acting_as`.

    Returns:
        The revision made and the number of places replaced.

    Raises:
        ItemNotFoundError: There is no such item.
        ConflictError: The text is not there (any more), or not unique; the error carries the current text.

    Example:
        >>> from memoranda import open_store
        >>> with open_store("memory://") as store:
        ...     _ = store.write(("ann",), "/tea.md", "likes green tea")
        ...     store.edit(("ann",), "/tea.md", "green", "black").occurrences
        1
    """
    return (yield from _one(context, Edit(namespace, key, old, new, replace_all), author))


def append(
    context: Context, namespace: Namespace, key: str, text: str, *, author: Author | None = None
) -> Operation[Committed]:
    r"""Add text at the end of a file, on a new line; a missing file is created.

    Args:
        context: The store's settings.
        namespace: Where.
        key: The file's path.
        text: What to add, as it stands.
        author: Who appends; None takes `acting_as`.

    Returns:
        The revision made.

    Raises:
        ConflictError: The item is no text file.

    Example:
        >>> from memoranda import open_store
        >>> with open_store("memory://") as store:
        ...     _ = store.append(("ann",), "/log.md", "one")
        ...     _ = store.append(("ann",), "/log.md", "two")
        ...     store.get(("ann",), "/log.md").value["content"]
        'one\ntwo'
    """
    return (yield from _one(context, Append(namespace, key, text), author))


def move(
    context: Context,
    namespace: Namespace,
    key: str,
    to: str,
    *,
    to_namespace: Namespace | None = None,
    overwrite: bool = False,
    author: Author | None = None,
) -> Operation[CommitResult]:
    """Move an item, or a folder with everything below it.

    The old place keeps its history, which ends with the move; the new place's history is linked to it, and
    `history(…, follow=True)` goes on there.

    Args:
        context: The store's settings.
        namespace: Where it is.
        key: The item or folder.
        to: Its new key.
        to_namespace: Its new namespace; None: the same.
        overwrite: Whether items at the target may be replaced.
        author: Who moves; None takes `acting_as`.

    Returns:
        The new revision of every item moved.

    Raises:
        ItemNotFoundError: There is nothing to move.
        ItemExistsError: The target exists.

    Example:
        >>> from memoranda import open_store
        >>> with open_store("memory://") as store:
        ...     _ = store.write(("ann",), "/tea.md", "green")
        ...     [moved.key for moved in store.move(("ann",), "/tea.md", "/drinks/tea.md").revisions]
        ['/drinks/tea.md']
    """
    change_set = _set(Move(namespace, key, to, to_namespace, overwrite), author)
    return (yield from commit_changes(context, change_set)).raise_for_conflicts()


def restore(
    context: Context, namespace: Namespace, key: str, revision: int, *, author: Author | None = None
) -> Operation[Committed]:
    """Bring back the value of an earlier revision, as a new revision; a deleted item comes back to life.

    Args:
        context: The store's settings.
        namespace: Where.
        key: The item's key.
        revision: The revision whose value is wanted.
        author: Who restores; None takes `acting_as`.

    Returns:
        The revision made.

    Raises:
        ItemNotFoundError: The item never existed.
        RevisionNotFoundError: It has no such revision.
        ConflictError: That revision is a deletion.

    Example:
        >>> from memoranda import open_store
        >>> with open_store("memory://") as store:
        ...     _ = store.write(("ann",), "/tea.md", "green")
        ...     store.delete(("ann",), "/tea.md")
        ...     store.restore(("ann",), "/tea.md", 1).revision
        3
    """
    return (yield from _one(context, Restore(namespace, key, revision), author))


def delete_prefix(
    context: Context, namespace: Namespace, path: str, *, author: Author | None = None
) -> Operation[CommitResult]:
    """Delete the file at a path and everything below it, in one transaction; all history stays.

    Args:
        context: The store's settings.
        namespace: Where; exactly this one.
        path: A file or a folder; `/` stands for every file.
        author: Who deletes; None takes `acting_as`.

    Returns:
        What was deleted; nothing if there was nothing.

    Raises:
        InvalidPathError: The path climbs with `..`.

    Example:
        >>> from memoranda import open_store
        >>> with open_store("memory://") as store:
        ...     _ = store.write(("ann",), "/notes/tea.md", "green")
        ...     len(store.delete_prefix(("ann",), "/notes").revisions)
        1
    """
    return (
        yield from delete_folder(context, encode_namespace(namespace), canonical_path(path), author or current_author())
    )


def _set(change: Change, author: Author | None) -> ChangeSet:
    return ChangeSet((change,), author or current_author())


def _one(context: Context, change: Change, author: Author | None) -> Operation[Committed]:
    result = yield from commit_changes(context, _set(change, author))
    return result.raise_for_conflicts().revisions[0]
