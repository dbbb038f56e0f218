"""What a change does to the items that were opened for it: the next revision of each, or what stands in the way."""

from __future__ import annotations

from memoranda.errors import (
    EditError,
    InvalidChangeError,
    InvalidKeyError,
    InvalidValueError,
    RevisionNotFoundError,
    TextNotFoundError,
    TextNotUniqueError,
)
from memoranda.files.edit import replace
from memoranda.files.path import folder_prefix
from memoranda.store.changes import (
    Append,
    Committed,
    Conflict,
    ConflictReason,
    Delete,
    Edit,
    Move,
    Restore,
    Value,
    Write,
)
from memoranda.store.effects import Body, query
from memoranda.store.keys import checked_key, folder_of, range_end
from memoranda.store.namespaces import decode_namespace
from memoranda.store.operations.item_passages import index_fields_text
from memoranda.store.operations.merge import merge_stored
from memoranda.store.operations.planning import Planned
from memoranda.store.operations.reconstruct import revisions_up_to, stored_at
from memoranda.store.operations.workspace import ItemState, Workspace
from memoranda.store.values import Kind, Stored, as_edited, as_file, file_stored, with_text

Outcome = list[Committed] | Conflict

_LIST = "List the folder to see what there is."
_OVERWRITE = "Choose another target, or pass overwrite=True."


def open_planned(work: Workspace, planned: list[Planned]) -> Body[None]:
    """Lock and load all that these changes touch, as far as that is known before they apply."""
    keys = [(step.labels, step.key) for step in planned]
    keys += [(step.to_labels, step.to_key) for step in planned if step.to_labels]
    if keys:
        create = {step.labels for step in planned if isinstance(step.change, (Write, Append))}
        create |= {step.to_labels for step in planned if step.to_labels}
        yield from work.open(keys, create)


def apply_planned(work: Workspace, planned: list[Planned]) -> Body[tuple[list[Committed], list[Conflict]]]:
    """Apply changes to what was opened for them, one after the other; what stands in the way of one stops no other."""
    committed: list[Committed] = []
    conflicts: list[Conflict] = []
    for index, step in enumerate(planned):
        outcome = yield from _apply(work, index, step)
        if isinstance(outcome, Conflict):
            conflicts.append(outcome)
        else:
            committed += outcome
    return committed, conflicts


def _apply(work: Workspace, index: int, step: Planned) -> Body[Outcome]:
    item = work.item(step.labels, step.key)
    match step.change:
        case Write():
            return (yield from _write(work, index, step, item, step.change))
        case Edit():
            return _edit(work, index, item, step.change)
        case Append():
            return _append(work, index, item, step.change)
        case Delete():
            return _delete(work, index, item, step.change)
        case Move():
            return (yield from _move(work, index, step, item, step.change))
        case Restore():
            return (yield from _restore(work, index, item, step.change))


def _landed(item: ItemState, operation: str, *, merged: bool = False, occurrences: int = 0) -> Committed:
    return Committed(decode_namespace(item.labels), item.key, item.revision, operation, merged, occurrences)


def _refused(
    index: int,
    item: ItemState,
    reason: ConflictReason,
    cause: str,
    remedy: str,
    *,
    theirs: str | None = None,
    base: str | None = None,
    yours: str | None = None,
) -> Conflict:
    exists = item.stored is not None
    return Conflict(
        index,
        decode_namespace(item.labels),
        item.key,
        reason,
        cause,
        remedy,
        item.revision if exists else 0,
        item.text if theirs is None else theirs,
        base,
        yours,
    )


def _require_path(item: ItemState) -> None:
    # A file under a name that is no path would be in no listing.
    if item.stored is None and not item.key.startswith("/"):
        raise InvalidKeyError(f"{item.key!r} is no path, so no file can be made there.", f"Write '/{item.key}'.")


def _value(step: Planned, value: Value, item: ItemState, now: int) -> Stored:
    if step.stored is not None:
        return step.stored
    assert isinstance(value, (str, bytes))
    _require_path(item)
    return file_stored(value, now, item.stored)


def _write(work: Workspace, index: int, step: Planned, item: ItemState, change: Write) -> Body[Outcome]:
    stored = _value(step, change.value, item, work.now)
    ttl = change.ttl
    if change.index is not True or item.stored is None:
        item.index_fields = index_fields_text(change.index, work.context.index_fields)
    # A base that is the current state needs no merging; a deleted item is as good as one that never was.
    current = item.revision if item.stored is not None else 0
    if change.base is None or change.base == current:
        work.record(item, stored, "write", ttl=ttl)
        return [_landed(item, "write")]
    # Where nothing is left, not even a history, what the value was made from has expired.
    if change.base < 0 or (item.loaded_revision and change.base > item.loaded_revision):
        raise InvalidChangeError(
            f"{item.key} has no revision {change.base} to build on; it has {revisions_up_to(item.loaded_revision)}.",
            "Pass the revision that the value was made from.",
        )
    yours = stored.text
    if item.stored is None:
        return _refused(
            index,
            item,
            "deleted",
            f"{item.key} was deleted, or has expired, since revision {change.base}.",
            "Write it without a base to create it again.",
            yours=yours,
        )
    if not change.merge:
        return _changed(index, item, change.base, "Read it again, and make your change anew.", yours=yours)
    base = None
    if change.base:
        base = yield from stored_at(item.id, change.base, item.loaded_revision, item.loaded)
    merged, overlaps = merge_stored(base, item.stored, stored, work.now)
    if merged is None:
        since = f"revision {change.base}" if change.base else "you looked, when it did not exist"
        return _refused(
            index,
            item,
            "overlap" if change.base else "exists",
            f"{item.key} was changed since {since}: it is now at revision {item.revision}, and {overlaps}.",
            "Read it again, carry your change over, and write with the new revision as base.",
            base=None if base is None else base.text,
            yours=yours,
        )
    work.record(item, merged, "write", origin={"merged_from": change.base}, ttl=ttl)
    return [_landed(item, "write", merged=True)]


def _changed(index: int, item: ItemState, base: int, remedy: str, *, yours: str | None = None) -> Conflict:
    now = f"it is now at revision {item.revision}" if item.stored is not None else "it does not exist now"
    cause = f"{item.key} was changed since revision {base}: {now}."
    return _refused(index, item, "changed", cause, remedy, yours=yours)


def _is_stale(item: ItemState, base: int | None) -> bool:
    return base is not None and base != (item.revision if item.stored is not None else 0)


def _edit(work: Workspace, index: int, item: ItemState, change: Edit) -> Outcome:
    if change.base is not None and _is_stale(item, change.base):
        return _changed(index, item, change.base, "Read it again before you edit it.", yours=change.new)
    stored = item.stored
    if stored is None:
        return _refused(index, item, "missing", f"{item.key} does not exist.", _LIST, yours=change.new)
    stored = as_edited(stored, change.old)
    text = stored.text
    if text is None:
        return _refused(
            index,
            item,
            "not_editable",
            f"{item.key} is a binary file, which has no text to edit.",
            "Write it whole.",
        )
    try:
        edited = replace(text, change.old, change.new, replace_all=change.replace_all, path=item.key)
        result = with_text(stored, edited.text, work.now)
    except (EditError, InvalidValueError) as error:
        reason = _edit_reason(error)
        return _refused(index, item, reason, error.cause, error.remedy, theirs=text, yours=change.new)
    work.record(item, result, "edit", ttl=item.ttl)
    return [_landed(item, "edit", occurrences=edited.occurrences)]


def _edit_reason(error: EditError | InvalidValueError) -> ConflictReason:
    if isinstance(error, TextNotFoundError):
        return "text_not_found"
    return "text_not_unique" if isinstance(error, TextNotUniqueError) else "not_editable"


def _append(work: Workspace, index: int, item: ItemState, change: Append) -> Outcome:
    if change.base is not None and _is_stale(item, change.base):
        return _changed(index, item, change.base, "Read it again before you append to it.", yours=change.text)
    stored, text = None if item.stored is None else as_file(item.stored), change.text
    before = None if stored is None else stored.text
    if stored is not None and (before is None or stored.kind == Kind.JSON):
        return _refused(
            index,
            item,
            "not_editable",
            f"{item.key} is no text file, so nothing can be appended to it.",
            "Edit the document, or append to another file.",
        )
    _require_path(item)
    if item.stored is None:
        item.index_fields = index_fields_text(None, work.context.index_fields)
    separator = "\n" if before and not before.endswith("\n") else ""
    ttl = item.ttl if item.stored is not None else work.context.default_ttl
    work.record(item, file_stored((before or "") + separator + text, work.now, stored), "append", ttl=ttl)
    return [_landed(item, "append")]


def _delete(work: Workspace, index: int, item: ItemState, change: Delete) -> Outcome:
    if item.stored is None:
        if change.missing_ok:
            return [Committed(decode_namespace(item.labels), item.key, 0, "delete")]
        return _refused(index, item, "missing", f"{item.key} does not exist.", _LIST)
    if change.base is not None and _is_stale(item, change.base):
        return _changed(index, item, change.base, "Read it again before you delete it.")
    work.record(item, None, "delete")
    return [_landed(item, "delete")]


def _move(work: Workspace, index: int, step: Planned, item: ItemState, change: Move) -> Body[Outcome]:
    if item.stored is not None:
        return _move_one(work, index, item, work.item(step.to_labels, step.to_key), change.overwrite)
    below = yield from _keys_below(work, step.labels, step.key)
    if not below:
        return _refused(index, item, "missing", f"{item.key} does not exist.", _LIST)
    pairs = [(key, checked_key(step.to_key + key[len(step.key) :])) for key in below]
    yield from work.open(
        [(step.labels, source) for source, _ in pairs] + [(step.to_labels, target) for _, target in pairs],
        set(),
    )
    landed: list[Committed] = []
    for source, target in pairs:
        outcome = _move_one(
            work, index, work.item(step.labels, source), work.item(step.to_labels, target), change.overwrite
        )
        if isinstance(outcome, Conflict):
            return outcome
        landed += outcome
    return landed


def _move_one(work: Workspace, index: int, source: ItemState, target: ItemState, overwrite: bool) -> Outcome:
    if target.stored is not None and not overwrite:
        return _refused(index, target, "occupied", f"{target.key} exists already.", _OVERWRITE)
    stored, ttl, created_at = source.stored, source.ttl, source.created_at
    came_from = {"namespace": decode_namespace(source.labels), "key": source.key, "revision": source.revision}
    work.record(source, None, "move", origin={"to": {"namespace": decode_namespace(target.labels), "key": target.key}})
    target.index_fields = source.index_fields
    work.record(target, stored, "move", origin={"from": came_from}, ttl=ttl, created_at=created_at)
    return [_landed(target, "move")]


def _restore(work: Workspace, index: int, item: ItemState, change: Restore) -> Body[Outcome]:
    if not item.revision:
        return _refused(index, item, "missing", f"{item.key} does not exist and never did.", _LIST)
    if not 1 <= change.revision <= item.loaded_revision:
        raise RevisionNotFoundError(
            f"{item.key} has no revision {change.revision}; it has {revisions_up_to(item.loaded_revision)}.",
            "Look at its history.",
        )
    stored = yield from stored_at(item.id, change.revision, item.loaded_revision, item.loaded)
    if stored is None:
        return _refused(
            index,
            item,
            "deleted",
            f"Revision {change.revision} of {item.key} is its deletion.",
            "Restore an earlier one.",
        )
    work.record(item, stored, "restore", origin={"restored": change.revision}, ttl=item.ttl)
    return [_landed(item, "restore")]


def delete_below(work: Workspace, labels: str, folder: str) -> Body[list[Committed]]:
    """Delete the item at a path, and everything below it."""
    yield from work.open([(labels, folder)], set())
    below = yield from _keys_below(work, labels, folder)
    yield from work.open([(labels, key) for key in below], set())
    landed: list[Committed] = []
    for item in (work.item(labels, key) for key in (folder, *below)):
        if item.stored is not None:
            work.record(item, None, "delete")
            landed.append(_landed(item, "delete"))
    return landed


def _keys_below(work: Workspace, labels: str, folder: str) -> Body[list[str]]:
    """Every live key below a folder, as this change set leaves it so far; the namespace is locked already."""
    scope = work.scopes.get(labels)
    if scope is None:
        return []
    prefix = folder_prefix(folder)
    rows = yield from query("keys_in_folder", namespace_id=scope.id, now=work.now, low=prefix, high=range_end(prefix))
    keys = dict.fromkeys(key for (key,) in rows)
    for item in work.items_below(labels, prefix):
        if item.stored is None:
            keys.pop(item.key, None)
        else:
            keys[item.key] = None
    # Folder by folder: what moves up leaves its place before something below moves there.
    return sorted(keys, key=lambda key: (folder_of(key), key))
