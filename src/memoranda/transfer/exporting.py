"""Writing a store out as ordinary files."""

from __future__ import annotations

from pathlib import Path

from memoranda.store.changes import Namespace
from memoranda.store.store import MemoryStore
from memoranda.transfer.types import Progress, TransferReport


def export_folder(
    store: MemoryStore,
    folder: Path,
    *,
    namespace: Namespace = (),
    progress: Progress | None = None,
    overwrite: bool = False,
) -> TransferReport:
    """Write the current state of every item as a file, one sub folder for each namespace.

    Files lie at their paths, other items as `key.json`. Nothing is ever written outside the folder. History stays
    behind; a bundle carries it.

    Args:
        store: The store to read.
        folder: Where to write; made if missing.
        namespace: Only namespaces that start with these labels.
        progress: Called with the items written so far and their total.
        overwrite: Write into a folder that is not empty, replacing files of the same names.

    Returns:
        What was written.

    Raises:
        TargetError: The folder is not empty, or cannot be written.

    Example:
        >>> from tempfile import mkdtemp
        >>> from memoranda import open_store
        >>> target = Path(mkdtemp())
        >>> with open_store("memory://") as store:
        ...     _ = store.write(("acme", "ann"), "/notes/tea.md", "green")
        ...     _ = export_folder(store, target)
        >>> (target / "acme,ann" / "notes" / "tea.md").read_text()
        'green'
    """
    raise NotImplementedError
