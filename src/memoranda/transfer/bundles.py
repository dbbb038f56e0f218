"""Bundles: a store, or a part of it, in one file with all history."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

from memoranda.store.changes import Namespace
from memoranda.store.store import MemoryStore
from memoranda.transfer.types import Progress, TransferReport


def export_bundle(
    store: MemoryStore, path: Path, *, namespace: Namespace = (), progress: Progress | None = None
) -> TransferReport:
    """Write every item with its whole history into one file.

    Each namespace is read from one snapshot. The file appears under its name only when it is complete; an older bundle
    there is replaced, any other file is refused.

    Args:
        store: The store to read.
        path: The file to write; `.mbundle` is the usual ending.
        namespace: Only namespaces that start with these labels.
        progress: Called with the items written so far and their total.

    Returns:
        What was written.

    Raises:
        TargetError: The file cannot be written, or is something else than a bundle.

    Example:
        >>> from tempfile import mkdtemp
        >>> from memoranda import open_store
        >>> with open_store("memory://") as store:
        ...     _ = store.write(("ann",), "/tea.md", "green")
        ...     export_bundle(store, Path(mkdtemp()) / "ann.mbundle").items
        1
    """
    raise NotImplementedError


def import_bundle(
    store: MemoryStore,
    path: Path,
    *,
    into: Callable[[Namespace], Namespace] | None = None,
    strip_prefix: str | None = None,
    on_existing: Literal["refuse", "skip"] = "refuse",
    dry_run: bool = False,
    progress: Progress | None = None,
) -> TransferReport:
    """Bring back what `export_bundle` wrote, digests and all.

    The bundle is checked as a whole before anything is written. Then items land in transactions of bounded size: an
    interrupted import leaves whole items only, and a second one with `on_existing="skip"` completes it.

    Args:
        store: The store to write to.
        path: The bundle.
        into: Gives the namespace that the items of a namespace shall live in; their digests are made anew.
        strip_prefix: A folder to take off the keys that start with it, for example `/memories/`.
        on_existing: `"refuse"` stops before anything is written if an item of the bundle is in the store already;
            `"skip"` leaves out those that are there with the same history, and stops for others only.
        dry_run: Check everything and say what would be done, but write nothing.
        progress: Called with the items done so far and their total.

    Returns:
        What was brought in.

    Raises:
        SourceError: There is no such file, or it cannot be read.
        NotABundleError: The file is no bundle.
        BundleTooNewError: A newer version wrote it.
        BundleTruncatedError: It ends early.
        BundleCorruptError: It is damaged.
        BundleConflictError: The store holds other items under keys of the bundle.
        KeyCollisionError: Two items of the bundle would get one key.
    """
    raise NotImplementedError
