"""What an import or export tells its caller."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from memoranda.store.changes import Namespace

Progress: TypeAlias = Callable[[int, "int | None"], None]
"""Called often with the items done so far and the total, None where that is unknown."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """One thing that was left out.

    Args:
        path: The file's path, or the item's key, as the source names it.
        reason: Why, in one sentence.
    """

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class PrefixedKeys:
    """Keys that carry what looks like their mount's route prefix.

    A file saved as `/memories/AGENTS.md` in a store that is mounted at `/memories/` is not found there under
    `/memories/AGENTS.md`, since the mount takes its prefix off first.

    Args:
        namespace: Where.
        prefix: The folder that looks like a mount, for example `/memories/`; pass it on as `strip_prefix`.
        keys: The keys concerned.
    """

    namespace: Namespace
    prefix: str
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TransferReport:
    """What an import or export did, or with `dry_run` would do.

    Args:
        items: Items moved; those that were there already, unchanged, are not counted.
        revisions: Revisions moved.
        bytes: Bytes of the current content of these items.
        skipped: What was left out, and why.
        namespaces: Namespaces concerned, sorted.
        prefixed: Keys that carry what looks like their mount's route prefix.
        turns: Recorded messages moved.
        proposals: Proposals written into a bundle.
    """

    items: int
    revisions: int
    bytes: int
    skipped: tuple[Skipped, ...] = ()
    namespaces: tuple[Namespace, ...] = ()
    prefixed: tuple[PrefixedKeys, ...] = ()
    turns: int = 0
    proposals: int = 0
