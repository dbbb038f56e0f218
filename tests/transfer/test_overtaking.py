"""A write that read a namespace before others changed it must notice, whatever they did.

On PostgreSQL a write reads without locks first and compares when it writes (see the engine's `steps.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from memoranda import MemoryStore, open_store
from memoranda.store.operations.workspace import Workspace
from memoranda.transfer import export_bundle, import_bundle


@pytest.fixture
def between(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Have something happen once, after the next write has read and before it writes."""

    def arrange(happen: Callable[[], object]) -> None:
        record = Workspace.record

        def late(self: Workspace, *args: object, **kwargs: object) -> int:
            monkeypatch.setattr(Workspace, "record", record)
            happen()
            return record(self, *args, **kwargs)  # type: ignore[arg-type]

        monkeypatch.setattr(Workspace, "record", late)

    return arrange


@pytest.mark.parametrize("key", ["/0.md", "/new.md"])
def test_by_the_second_transaction_of_an_import(
    key: str,
    postgres_url: str,
    open_here: Callable[..., MemoryStore],
    between: Callable[[Callable[[], object]], None],
    tmp_path: Path,
) -> None:
    with open_store("memory://") as source:
        for number in range(500):
            source.write(("ann",), f"/{number}.md", "x")
        export_bundle(source, tmp_path / "x.mbundle")
    store, other = open_here(postgres_url), open_here(postgres_url)

    def interrupt(done: int, total: int | None) -> None:
        if done > 300:  # the first transaction, which reserves all positions, has landed
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_bundle(store, tmp_path / "x.mbundle", progress=interrupt)
    between(lambda: import_bundle(other, tmp_path / "x.mbundle", on_existing="skip"))
    store.write(("ann",), key, "written at the same time")
    assert store.verify().problems == ()
    assert len(store.list_keys(("ann",))) == 500 + (key == "/new.md")


def test_by_a_sweep(
    postgres_url: str, open_here: Callable[..., MemoryStore], between: Callable[[Callable[[], object]], None]
) -> None:
    store, other = open_here(postgres_url), open_here(postgres_url)
    store.put(("ann",), "short", {"x": 1}, ttl=1)
    store.put(("ann",), "long", {"x": 1})
    now = other.context
    other.context = replace(now, clock=lambda: now.clock() + 120_000_000)
    between(other.sweep_ttl)
    store.put(("ann",), "long", {"x": 2})
    assert store.verify().problems == ()
    assert store.stats().items == 1
