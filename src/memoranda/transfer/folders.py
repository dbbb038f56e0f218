"""Bringing in folders of ordinary files."""

from __future__ import annotations

from pathlib import Path

from memoranda.store.changes import Author, Namespace
from memoranda.store.store import MemoryStore
from memoranda.transfer.types import Progress, TransferReport


def import_folder(
    store: MemoryStore,
    folder: Path,
    namespace: Namespace,
    *,
    to: str = "/",
    author: Author | None = None,
    include: str | None = None,
    overwrite: bool = True,
    dry_run: bool = False,
    strip_prefix: str | None = None,
    progress: Progress | None = None,
) -> TransferReport:
    """Write every file below a folder into one namespace.

    Text stays text, anything else is kept as binary. Files that are there already with the same content are left
    alone, so a second run writes only what changed. Symbolic links, what cannot be read, `.git` and names that cannot
    be keys are left out and reported.

    Args:
        store: The store to write to.
        folder: The folder to read.
        namespace: Where the files shall live.
        to: The folder that they shall lie below.
        author: Who imports; None takes `acting_as`. The reason is "imported from …" unless it says another.
        include: Only files that match this glob pattern, as in `MemoryStore.glob`.
        overwrite: Whether a file that is there with other content is replaced (its history stays) or left out.
        dry_run: Say what would be done, but write nothing.
        strip_prefix: A folder to take off paths that start with it, for example `/memories/`.
        progress: Called with the files done so far and their total.

    Returns:
        What was brought in.

    Raises:
        SourceError: There is no such folder.
        KeyCollisionError: Without its prefix a file would get the path of another.

    Example:
        >>> from tempfile import mkdtemp
        >>> from memoranda import open_store
        >>> source = Path(mkdtemp())
        >>> _ = (source / "AGENTS.md").write_text("Be kind.")
        >>> with open_store("memory://") as store:
        ...     import_folder(store, source, ("ann",)).items
        1
    """
    raise NotImplementedError
