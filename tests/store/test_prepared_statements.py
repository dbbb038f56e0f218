"""What the driver believes to be prepared is prepared, also after transactions that failed half-way."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from memoranda import ChangeSet, MemoryStore, Write
from memoranda.errors import StoreError
from memoranda.store.effects import Batch, Body, Sql, Transact


def failing() -> Body[None]:
    """A pipeline whose second statement fails, so that the server never hears of the third."""
    yield Batch([Sql("namespace_head", {"tenant": "", "labels": "x"})])
    yield Batch(
        [
            Sql("delete_item", {"id": 1}),
            Sql("delete_revisions", {"item_id": "no number"}),
            Sql("touch_item", {"id": 1, "revision": 1, "now": 0, "expires_at": 1}),
        ]
    )


def test_failed_pipelines_leave_the_driver_in_step(postgres_url: str, open_here: Callable[..., MemoryStore]) -> None:
    store = open_here(postgres_url)
    for number in range(30):
        with pytest.raises(StoreError):
            store.engine.transact(Transact("write", failing))
        store.commit(ChangeSet([Write((label,), "x", {"n": number}, ttl=5) for label in "ab"]))
        assert store.get(("a",), "x") is not None
    assert store.verify().ok
