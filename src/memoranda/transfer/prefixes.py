"""Keys that carry their mount's route prefix by mistake."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from memoranda.errors import InvalidPathError
from memoranda.files.path import canonical_path, folder_prefix
from memoranda.store.changes import Namespace
from memoranda.store.store import MemoryStore
from memoranda.transfer.types import PrefixedKeys

MOUNTS = ("/memories/", "/memory/", "/skills/", "/policies/", "/org/", "/user/", "/agent/")
"""Where agents usually mount a store."""

_PAGE = 1_000


def find_prefixed(
    source: MemoryStore | Mapping[Namespace, Iterable[str]],
    namespaces: Iterable[Namespace] | None = None,
    *,
    prefix: str | None = None,
) -> tuple[PrefixedKeys, ...]:
    """Find keys that start with what looks like the route prefix of the store's mount.

    A namespace is reported when more than half of its paths lie in folders that are usual mount points.

    Args:
        source: A store, or a listing: the keys of each namespace.
        namespaces: Which to look at; None: all.
        prefix: The folder to look for instead of the usual mount points; then a single key is enough.

    Returns:
        One entry for each namespace and prefix, sorted.

    Raises:
        InvalidPathError: `prefix` is no folder.

    Example:
        >>> find_prefixed({("ann",): ["/memories/AGENTS.md"]})
        (PrefixedKeys(namespace=('ann',), prefix='/memories/', keys=('/memories/AGENTS.md',)),)
    """
    tally = PrefixTally(prefix)
    if isinstance(source, MemoryStore):
        for namespace in _all_namespaces(source) if namespaces is None else namespaces:
            # The root's own listing is short, and says whether there is anything to look for.
            folders = {entry.key for entry in source.list_keys(namespace, "/") if entry.is_folder}
            if tally.concerns(folders):
                for entry in source.list_keys(namespace, "/", recursive=True):
                    tally.add(namespace, entry.key)
    else:
        for namespace in source if namespaces is None else namespaces:
            for key in source.get(namespace, ()):
                tally.add(namespace, key)
    return tally.found()


def prefix_folder(prefix: str) -> str:
    """A prefix as a folder with slashes at both ends.

    Raises:
        InvalidPathError: It is no folder, or the root.

    Example:
        >>> prefix_folder("memories")
        '/memories/'
    """
    folder = canonical_path(prefix)
    if folder == "/":
        raise InvalidPathError("The prefix '/' names the root folder.", "Give a folder such as /memories/.")
    return folder_prefix(folder)


def without_prefix(key: str, folder: str | None) -> str:
    """A key without the folder that it starts with.

    Example:
        >>> without_prefix("/memories/AGENTS.md", "/memories/")
        '/AGENTS.md'
    """
    if folder is None or not key.startswith(folder) or key == folder:
        return key
    return key[len(folder) - 1 :]


class PrefixTally:
    """Counts, key by key, how much of each namespace lies below usual mount points.

    Args:
        prefix: The one folder to look for; None: the usual mount points.
    """

    def __init__(self, prefix: str | None = None) -> None:
        self._given = prefix is not None
        self._mounts = MOUNTS if prefix is None else (prefix_folder(prefix),)
        self._paths: dict[Namespace, int] = {}
        self._keys: dict[Namespace, dict[str, list[str]]] = {}

    def concerns(self, folders: set[str]) -> bool:
        """Whether any of these top folders leads to a mount point."""
        return any(mount.startswith(folder) for mount in self._mounts for folder in folders)

    def add(self, namespace: Namespace, key: str) -> None:
        """Count one key."""
        if not key.startswith("/"):
            return
        self._paths[namespace] = self._paths.get(namespace, 0) + 1
        for mount in self._mounts:
            if key.startswith(mount) and key != mount:
                self._keys.setdefault(namespace, {}).setdefault(mount, []).append(key)

    def forget(self, namespace: Namespace) -> None:
        """Take back what was counted of a namespace."""
        self._paths.pop(namespace, None)
        self._keys.pop(namespace, None)

    def found(self) -> tuple[PrefixedKeys, ...]:
        """What looks like a mistake."""
        return tuple(
            PrefixedKeys(namespace, mount, tuple(keys))
            for namespace, mounts in sorted(self._keys.items())
            if self._given or 2 * sum(map(len, mounts.values())) > self._paths[namespace]
            for mount, keys in sorted(mounts.items())
        )


def _all_namespaces(store: MemoryStore) -> Iterable[Namespace]:
    offset = 0
    while page := store.list_namespaces(limit=_PAGE, offset=offset):
        yield from page
        offset += len(page)
