"""What changes would do, computed as a commit computes it, and written nowhere."""

from __future__ import annotations

from collections.abc import Iterable

from memoranda.store.effects import Body, Sql
from memoranda.store.operations.digests import EMPTY
from memoranda.store.operations.workspace import ItemState, Workspace, scope_of


class Preview(Workspace):
    """A workspace that locks nothing, so that it works in a reader's transaction."""

    def open(self, keys: Iterable[tuple[str, str]], create: set[str]) -> Body[None]:
        """Load the items of these (labels, key) pairs; a namespace that would be made exists in memory only."""
        yield from super().open(keys, set())
        for labels in create - self.scopes.keys():
            self.scopes[labels] = scope_of(labels, (0, 0, 0, 0, EMPTY, 0, 0, None))

    def changed(self) -> list[ItemState]:
        """The items that would change, sorted."""
        touched = (item for item in self._items.values() if item.changed)
        return sorted(touched, key=lambda item: (item.labels, item.key))

    def _lock(self, labels: str) -> Sql:
        return Sql("scope_to_preview", {"tenant": self.context.tenant, "labels": labels})
