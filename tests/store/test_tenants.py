"""A tenant sees its own data only, whatever it calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from memoranda import ChangeSet, ConflictError, CursorMove, MemoryStore, open_store
from memoranda.errors import ItemNotFoundError
from tests.store.conftest import Namespace, settled

NAMES = ("", "acme", "acme-corp", "Acme", "a%", "\u4e2d")


@pytest.fixture(scope="session")
def tenants(durable_url: str) -> Iterator[dict[str, MemoryStore]]:
    stores = {name: open_store(durable_url, tenant=name) for name in NAMES}
    yield stores
    for store in stores.values():
        store.close()


def test_no_call_crosses_the_wall(tenants: dict[str, MemoryStore], ns: Namespace) -> None:
    for name, store in tenants.items():
        store.write(ns, "/a.md", f"text of [{name}]")
        store.edit(ns, "/a.md", "text", "the text")
        store.put((*ns, f"only {name}"), "profile", {"owner": name, "mark": ns[0]})
    for name, store in tenants.items():
        mine = f"the text of [{name}]"
        assert store.get(ns, "/a.md").value["content"] == mine
        assert [item.value.get("owner", name) for item in store.search(ns, limit=100)] == [name, name]
        everything = store.search((), filter={"mark": ns[0]}, limit=100)
        assert [item.value["owner"] for item in everything] == [name]
        assert store.list_namespaces(prefix=ns) == [ns, (*ns, f"only {name}")]
        assert [entry.key for entry in store.list_keys(ns)] == ["/a.md"]
        assert [match.text for match in store.grep(ns, "text").matches] == [mine]
        assert len(store.glob(ns, "**")) == 1
        assert [entry.revision for entry in store.history(ns, "/a.md")] == [2, 1]
        assert store.get_at(ns, "/a.md", revision=1).value["content"] == f"text of [{name}]"
        assert [change.revision for change in store.changes(namespace=ns)] == [1, 2]
        mine_changes = [change for change in settled(store) if change.namespace[:1] == ns]
        assert len(mine_changes) == 3
        assert [head.namespace for head in store.verify(ns).namespaces] == [ns, (*ns, f"only {name}")]
        assert len(store.blame(ns, "/a.md")) == 1


def test_no_change_crosses_the_wall(tenants: dict[str, MemoryStore], ns: Namespace) -> None:
    one, two, *_ = tenants.values()
    two.write(ns, "/a.md", "theirs")
    before = two.verify(ns)
    one.delete(ns, "/a.md")
    one.delete_prefix(ns, "/")
    for call in (lambda: one.edit(ns, "/a.md", "theirs", "x"), lambda: one.move(ns, "/a.md", "/b.md")):
        with pytest.raises(ItemNotFoundError):
            call()
    one.write(ns, "/a.md", "mine", base=0)
    assert two.get(ns, "/a.md").value["content"] == "theirs"
    assert two.verify(ns) == before


def test_cursors_are_the_tenants_own(tenants: dict[str, MemoryStore], ns: Namespace) -> None:
    one, two, *_ = tenants.values()
    one.commit(ChangeSet(advance=[CursorMove("consolidation", ns, 0, 5)]))
    two.commit(ChangeSet(advance=[CursorMove("consolidation", ns, 0, 9)]))
    with pytest.raises(ConflictError):
        two.commit(ChangeSet(advance=[CursorMove("consolidation", ns, 5, 6)]))
    one.commit(ChangeSet(advance=[CursorMove("consolidation", ns, 5, 6)]))


def test_sweeping_is_the_tenants_own(tenants: dict[str, MemoryStore], ns: Namespace) -> None:
    one, two, *_ = tenants.values()
    for store in (one, two):
        store.sweep_ttl()
        store.put(ns, "short", {"n": 1}, ttl=0.0001)
    import time

    time.sleep(0.02)
    assert one.sweep_ttl() == 1
    assert two.sweep_ttl() == 1


def test_counts_are_the_tenants_own(store_url: str, open_here: Callable[..., MemoryStore]) -> None:
    one, two = open_here(store_url, tenant="one"), open_here(store_url, tenant="two")
    one.put(("a",), "x", {"n": 1})
    one.put(("a",), "x", {"n": 2})
    stats = one.stats()
    assert (stats.namespaces, stats.items, stats.revisions) == (1, 1, 2)
    stats = two.stats()
    assert (stats.namespaces, stats.items, stats.revisions) == (0, 0, 0)
    two.put(("b",), "y", {"n": 1})
    assert two.stats().namespaces == 1
