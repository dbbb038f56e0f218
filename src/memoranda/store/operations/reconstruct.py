"""Getting an earlier value back from the current one and the deltas between."""

from __future__ import annotations

from memoranda.errors import StoreCorruptError
from memoranda.files.delta import DeltaKind, apply_delta
from memoranda.store.effects import Body, query
from memoranda.store.operations.workspace import KEYFRAME_EVERY
from memoranda.store.values import Kind, Stored


def stored_at(item_id: int, revision: int, head: int, current: Stored | None) -> Body[Stored | None]:
    """Return what an item held at a revision; None where it was deleted by then.

    Args:
        item_id: The item.
        revision: The revision wanted, from 1 to `head`.
        head: The item's current revision.
        current: Its current value.
    """
    if revision >= head:
        return current
    rows = yield from query("deltas_above", item_id=item_id, revision=revision, limit=KEYFRAME_EVERY + 1)
    # The value just above a keyframe, or above a gap, is not needed: such a row holds the value before it whole.
    chain: list[tuple[int, bytes, int, bytes]] = []
    for _, previous_kind, previous_meta, delta_kind, delta in rows:
        if previous_kind is None:
            if not chain:
                return None
            raise broken_history(item_id, revision)
        chain.append((previous_kind, previous_meta, delta_kind, delta))
        if delta_kind == DeltaKind.FULL:
            break
    if not chain:
        raise broken_history(item_id, revision)
    if chain[-1][2] == DeltaKind.FULL:
        body = b""
    elif current is not None:
        body = current.body
    else:
        raise broken_history(item_id, revision)
    try:
        for _, _, delta_kind, delta in reversed(chain):
            body = apply_delta(DeltaKind(delta_kind), delta, body)
    except ValueError as error:
        raise broken_history(item_id, revision) from error
    previous_kind, previous_meta, _, _ = chain[0]
    return Stored(Kind(previous_kind), previous_meta, body)


def broken_history(item_id: int, revision: int) -> StoreCorruptError:
    """The error for a revision that its deltas do not give back."""
    return StoreCorruptError(
        f"The history of item {item_id} is damaged: revision {revision} cannot be rebuilt.",
        "Run `memoranda verify` to see how far the damage goes, and restore a backup.",
    )


def revisions_up_to(head: int) -> str:
    """The revisions that an item has, in words.

    Example:
        >>> revisions_up_to(0), revisions_up_to(1), revisions_up_to(3)
        ('none yet', 'only revision 1', '1 to 3')
    """
    return {0: "none yet", 1: "only revision 1"}.get(head, f"1 to {head}")
