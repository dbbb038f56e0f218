"""Keys that carry their mount's route prefix by mistake."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from memoranda.store.changes import Namespace
from memoranda.store.store import MemoryStore
from memoranda.transfer.types import PrefixedKeys

MOUNTS = ("/memories/", "/memory/", "/skills/", "/policies/", "/org/", "/user/", "/agent/")
"""Where agents usually mount a store."""


def find_prefixed(
    source: MemoryStore | Mapping[Namespace, Iterable[str]],
    namespaces: Iterable[Namespace] | None = None,
    *,
    prefix: str | None = None,
) -> tuple[PrefixedKeys, ...]:
    """Find keys that start with what looks like the route prefix of the store's mount.

    A namespace is reported when most of its paths lie in folders that are usual mount points.

    Args:
        source: A store, or a listing: the keys of each namespace.
        namespaces: Which to look at; None: all.
        prefix: The folder to look for instead of the usual mount points; then a single key is enough.

    Returns:
        One entry for each namespace and prefix, sorted.

    Example:
        >>> find_prefixed({("ann",): ["/memories/AGENTS.md"]})
        (PrefixedKeys(namespace=('ann',), prefix='/memories/', keys=('/memories/AGENTS.md',)),)
    """
    raise NotImplementedError
