"""Bundles carry everything, between stores of either engine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from memoranda import Author, MemoryStore
from memoranda.errors import InvalidPathError, StoreCorruptError
from memoranda.store.namespaces import InvalidNamespaceError
from memoranda.transfer import (
    BundleConflictError,
    KeyCollisionError,
    PrefixedKeys,
    SourceError,
    TargetError,
    export_bundle,
    import_bundle,
)
from tests.transfer.support import digests, feed, fill, values

Opening = Callable[..., MemoryStore]


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return tmp_path / "all.mbundle"


def test_a_bundle_brings_back_the_same_store(
    store: MemoryStore, other_store_url: str, open_here: Opening, bundle: Path
) -> None:
    fill(store)
    exported = export_bundle(store, bundle)
    other = open_here(other_store_url)
    imported = import_bundle(other, bundle)
    assert digests(other) == digests(store)
    assert values(other) == values(store)
    for namespace in digests(store):
        assert feed(other, namespace) == feed(store, namespace)
    stats = store.stats()
    assert (imported.items, imported.revisions) == (exported.items, exported.revisions)
    assert imported.revisions == stats.revisions == other.stats().revisions
    assert imported.namespaces == exported.namespaces == tuple(sorted(digests(store)))
    assert imported.bytes == exported.bytes > 0
    assert imported.skipped == ()


def test_from_sqlite_to_postgresql_and_back(tmp_path: Path, postgres_url: str, open_here: Opening) -> None:
    first = open_here(f"sqlite:///{tmp_path / 'first.db'}")
    fill(first)
    export_bundle(first, tmp_path / "1.mbundle")
    middle = open_here(postgres_url)
    import_bundle(middle, tmp_path / "1.mbundle")
    export_bundle(middle, tmp_path / "2.mbundle")
    last = open_here(f"sqlite:///{tmp_path / 'last.db'}")
    import_bundle(last, tmp_path / "2.mbundle")
    assert digests(first) == digests(middle) == digests(last)
    assert values(first) == values(middle) == values(last)


def test_an_imported_history_can_be_used(
    store: MemoryStore, other_store_url: str, open_here: Opening, bundle: Path
) -> None:
    fill(store)
    export_bundle(store, bundle)
    other = open_here(other_store_url)
    import_bundle(other, bundle)
    team = ("acme", "team")
    for revision in (1, 2, 63, 64, 65, 100, 151):
        then, now = (each.get_at(team, "/long.md", revision=revision) for each in (store, other))
        assert (then.value, then.updated_at) == (now.value, now.updated_at)
    assert other.blame(team, "/long.md") == store.blame(team, "/long.md")
    followed = other.history(team, "/shared.md", follow=True)
    assert [entry.key for entry in followed] == ["/shared.md", "/new.md", "/old.md"]
    assert other.restore(("ann",), "/gone.md", 1).revision == 3
    assert other.write(("ann",), "/notes.md", "on top").revision == 6
    assert other.write(("ann",), "/first.md", "new").revision == 1
    assert digests(other)[("ann",)] != digests(store)[("ann",)]


def test_times_to_live_are_kept(store: MemoryStore, other_store_url: str, open_here: Opening, bundle: Path) -> None:
    store.put(("ann",), "short", {"x": 1}, ttl=60)
    store.put(("ann",), "short", {"x": 2}, ttl=90.5)
    export_bundle(store, bundle)
    clock = store.context.clock
    other = open_here(other_store_url)
    import_bundle(other, bundle)
    other.context = _later(other, clock() + 90 * 60_000_000)
    assert other.get(("ann",), "short", refresh_ttl=False) is not None
    other.context = _later(other, clock() + 91 * 60_000_000)
    assert other.get(("ann",), "short", refresh_ttl=False) is None


def test_what_is_not_to_be_found_stays_so(
    store: MemoryStore, other_store_url: str, open_here: Opening, bundle: Path
) -> None:
    store.put(("ann",), "wish", {"text": "a secret wish"}, index=False)
    store.put(("ann",), "note", {"text": "a wish", "source": "chat"}, index=["text"])
    export_bundle(store, bundle)
    other = open_here(other_store_url)
    import_bundle(other, bundle)
    assert [hit.key for hit in other.recall(("ann",), "wish")] == ["note"]
    assert other.recall(("ann",), "chat").hits == ()


def test_what_has_expired_is_left_out_of_a_bundle(
    store: MemoryStore, other_store_url: str, open_here: Opening, bundle: Path
) -> None:
    store.put(("ann",), "short", {"secret": "unmistakable"}, ttl=1)
    store.put(("ann",), "long", {"x": 1})
    store.put(("bob",), "short", {"x": 1}, ttl=1)
    store.context = _later(store, store.context.clock() + 120 * 60_000_000)
    report = export_bundle(store, bundle)
    assert (report.items, report.namespaces) == (1, (("ann",),))
    assert import_bundle(other := open_here(other_store_url), bundle).items == 1
    assert set(digests(other)) == {("ann",)}
    store.sweep_ttl()
    assert digests(store)[("ann",)] == digests(other)[("ann",)]


def test_what_expires_on_the_way_is_not_brought_in(
    store: MemoryStore, other_store_url: str, open_here: Opening, bundle: Path
) -> None:
    store.put(("ann",), "short", {"x": 1}, ttl=1)
    store.put(("ann",), "long", {"x": 1})
    export_bundle(store, bundle)
    other = open_here(other_store_url)
    other.context = _later(other, other.context.clock() + 120 * 60_000_000)
    for report in (import_bundle(other, bundle, dry_run=True), import_bundle(other, bundle)):
        assert [skipped.path for skipped in report.skipped] == ["short"]
        assert report.items == 1
    assert [item.key for item in other.search(("ann",))] == ["long"]


def test_only_a_part(store: MemoryStore, other_store_url: str, open_here: Opening, bundle: Path) -> None:
    for namespace in (("acme",), ("acme", "ann"), ("acme-corp",), ("ann",)):
        store.write(namespace, "/x.md", str(namespace))
    assert export_bundle(store, bundle, namespace=("acme",)).namespaces == (("acme",), ("acme", "ann"))
    other = open_here(other_store_url)
    import_bundle(other, bundle)
    expected = digests(store)
    assert digests(other) == {name: expected[name] for name in (("acme",), ("acme", "ann"))}


def test_an_empty_store(store: MemoryStore, other_store_url: str, open_here: Opening, bundle: Path) -> None:
    assert export_bundle(store, bundle).items == 0
    assert import_bundle(open_here(other_store_url), bundle).items == 0


def test_the_order_of_a_namespace_survives_many_transactions(
    store: MemoryStore, other_store_url: str, open_here: Opening, bundle: Path
) -> None:
    for number in range(450):
        store.write(("ann",), f"/{number}.md", str(number))
    for number in range(0, 450, 40):
        store.append(("ann",), f"/{number}.md", "again")
    export_bundle(store, bundle)
    other = open_here(other_store_url)
    other.write(("ann",), "/before.md", "was here first")
    import_bundle(other, bundle)
    theirs = feed(other, ("ann",))
    assert theirs[0][0] == "/before.md"
    assert theirs[1:] == feed(store, ("ann",))
    other.write(("ann",), "/after.md", "comes last")
    assert feed(other, ("ann",))[-1][0] == "/after.md"
    assert other.verify().ok


def test_into_other_namespaces(store: MemoryStore, other_store_url: str, open_here: Opening, bundle: Path) -> None:
    fill(store)
    export_bundle(store, bundle)
    other = open_here(other_store_url)
    report = import_bundle(other, bundle, into=lambda namespace: ("from", "old", *namespace))
    assert all(namespace[:2] == ("from", "old") for namespace in report.namespaces)
    assert {("from", "old", *name): found[1:] for name, found in digests(store).items()} == {
        name: found[1:] for name, found in digests(other).items()
    }
    moved = other.history(("from", "old", "acme", "team"), "/shared.md", follow=True)
    assert [entry.key for entry in moved] == ["/shared.md", "/new.md", "/old.md"]
    assert moved[-1].namespace == ("from", "old", "ann")
    assert (
        import_bundle(other, bundle, into=lambda namespace: ("from", "old", *namespace), on_existing="skip").items == 0
    )


def test_two_namespaces_into_one(store: MemoryStore, other_store_url: str, open_here: Opening, bundle: Path) -> None:
    store.write(("ann",), "/a.md", "a")
    store.write(("bob",), "/b.md", "b")
    export_bundle(store, bundle)
    other = open_here(other_store_url)
    import_bundle(other, bundle, into=lambda _: ("team",))
    assert [entry.key for entry in other.list_keys(("team",))] == ["/a.md", "/b.md"]
    assert other.verify().ok
    store.write(("bob",), "/a.md", "another")
    export_bundle(store, bundle, overwrite=True)
    before = digests(other)
    with pytest.raises(KeyCollisionError, match=r"/a\.md"):
        import_bundle(other, bundle, into=lambda _: ("team",))
    assert digests(other) == before
    with pytest.raises(InvalidNamespaceError):
        import_bundle(other, bundle, into=lambda _: ())


def test_without_a_prefix(store: MemoryStore, other_store_url: str, open_here: Opening, bundle: Path) -> None:
    store.write(("ann",), "/memories/old.md", "first")
    store.move(("ann",), "/memories/old.md", "/memories/AGENTS.md")
    store.write(("ann",), "/memories2/x.md", "stays")
    assert export_bundle(store, bundle).prefixed == ()  # one path of two is not most of them
    other = open_here(other_store_url)
    import_bundle(other, bundle, strip_prefix="memories")
    assert [item.key for item in other.search(("ann",))] == ["/AGENTS.md", "/memories2/x.md"]
    assert [entry.key for entry in other.history(("ann",), "/AGENTS.md", follow=True)] == ["/AGENTS.md", "/old.md"]
    assert other.verify().ok
    with pytest.raises(InvalidPathError):
        import_bundle(other, bundle, strip_prefix="/")


def test_without_a_prefix_two_keys_may_collide(store: MemoryStore, open_here: Opening, bundle: Path) -> None:
    store.write(("ann",), "/AGENTS.md", "one")
    store.write(("ann",), "/memories/AGENTS.md", "two")
    store.write(("bob",), "/memories/AGENTS.md", "fine")
    export_bundle(store, bundle)
    other = open_here("memory://")
    with pytest.raises(KeyCollisionError, match=r"/AGENTS\.md in ann\.") as caught:
        import_bundle(other, bundle, strip_prefix="/memories/")
    assert caught.value.remedy
    assert other.search(()) == []


def test_prefixed_keys_are_noticed(store: MemoryStore, open_here: Opening, bundle: Path) -> None:
    store.write(("ann",), "/memories/AGENTS.md", "one")
    store.write(("ann",), "/skills/tea/SKILL.md", "one")
    store.write(("bob",), "/AGENTS.md", "one")
    export_bundle(store, bundle)
    expected = (
        PrefixedKeys(("ann",), "/memories/", ("/memories/AGENTS.md",)),
        PrefixedKeys(("ann",), "/skills/", ("/skills/tea/SKILL.md",)),
    )
    assert import_bundle(open_here("memory://"), bundle, dry_run=True).prefixed == expected
    stripped = import_bundle(open_here("memory://"), bundle, strip_prefix="/memories/")
    assert [found.prefix for found in stripped.prefixed] == []


def test_what_exists_is_refused_before_anything_is_written(
    store: MemoryStore, other_store_url: str, open_here: Opening, bundle: Path
) -> None:
    for number in range(250):
        store.write(("ann",), f"/{number}.md", "ours")
    export_bundle(store, bundle)
    other = open_here(other_store_url)
    other.write(("ann",), "/249.md", "theirs")
    before = digests(other)
    with pytest.raises(BundleConflictError, match=r"The store already holds /249\.md in ann\.") as caught:
        import_bundle(other, bundle)
    assert "skip" in caught.value.remedy
    with pytest.raises(BundleConflictError, match="another history"):
        import_bundle(other, bundle, on_existing="skip")
    assert digests(other) == before


def test_a_second_import_is_refused_or_skipped(
    store: MemoryStore, other_store_url: str, open_here: Opening, bundle: Path
) -> None:
    fill(store)
    export_bundle(store, bundle)
    other = open_here(other_store_url)
    import_bundle(other, bundle)
    before = digests(other)
    with pytest.raises(BundleConflictError, match=r"and \d+ more"):
        import_bundle(other, bundle)
    report = import_bundle(other, bundle, on_existing="skip")
    assert (report.items, report.skipped) == (0, ())
    assert digests(other) == before


def test_what_went_on_after_an_import_is_no_conflict(
    store: MemoryStore, other_store_url: str, open_here: Opening, bundle: Path
) -> None:
    store.write(("ann",), "/a.md", "one")
    store.write(("ann",), "/b.md", "one")
    export_bundle(store, bundle)
    other = open_here(other_store_url)
    import_bundle(other, bundle)
    other.append(("ann",), "/a.md", "two")
    assert import_bundle(other, bundle, on_existing="skip").items == 0
    assert other.get(("ann",), "/a.md").value["content"] == "one\ntwo"


def test_a_dry_run_writes_nothing(store: MemoryStore, other_store_url: str, open_here: Opening, bundle: Path) -> None:
    fill(store)
    export_bundle(store, bundle)
    other = open_here(other_store_url)
    planned = import_bundle(other, bundle, dry_run=True)
    assert digests(other) == {}
    assert import_bundle(other, bundle) == planned


def test_progress_runs_to_the_end(store: MemoryStore, other_store_url: str, open_here: Opening, bundle: Path) -> None:
    for number in range(450):
        store.write(("ann",), f"/{number}.md", "x")
    seen: list[tuple[int, int | None]] = []
    export_bundle(store, bundle, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (450, 450)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    seen.clear()
    import_bundle(open_here(other_store_url), bundle, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (450, 450)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_a_bundle_never_replaces_another_file(store: MemoryStore, tmp_path: Path) -> None:
    store.write(("ann",), "/a.md", "one")
    other = tmp_path / "notes.txt"
    other.write_text("mine")
    with pytest.raises(TargetError, match="no whole bundle"):
        export_bundle(store, other, overwrite=True)
    assert other.read_text() == "mine"
    with pytest.raises(TargetError):
        export_bundle(store, tmp_path)
    with pytest.raises(TargetError):
        export_bundle(store, tmp_path / "missing" / "x.mbundle")
    assert [entry.name for entry in tmp_path.iterdir() if entry.suffix not in (".db", ".db-wal", ".db-shm")] == [
        "notes.txt"
    ]


def test_an_older_bundle_is_replaced_where_that_is_wanted(store: MemoryStore, bundle: Path) -> None:
    store.write(("ann",), "/a.md", "one")
    export_bundle(store, bundle)
    store.write(("ann",), "/b.md", "two")
    before = bundle.read_bytes()
    with pytest.raises(TargetError, match="exists") as caught:
        export_bundle(store, bundle)
    assert "overwrite=True" in caught.value.remedy
    with pytest.raises(SourceError, match="starts with anm"):
        export_bundle(store, bundle, namespace=("anm",), overwrite=True)

    def interrupt(done: int, total: int | None) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export_bundle(store, bundle, overwrite=True, progress=interrupt)
    assert bundle.read_bytes() == before
    assert export_bundle(store, bundle, overwrite=True).items == 2


def test_the_deleted_items_of_a_namespace_are_something(store: MemoryStore, bundle: Path) -> None:
    store.write(("ann",), "/a.md", "one")
    store.delete(("ann",), "/a.md")
    assert export_bundle(store, bundle, namespace=("ann",)).items == 1


def test_an_interrupted_export_leaves_no_file(store: MemoryStore, tmp_path: Path) -> None:
    for number in range(20):
        store.write(("ann",), f"/{number}.md", "x")

    def interrupt(done: int, total: int | None) -> None:
        if done == 10:
            raise KeyboardInterrupt

    folder = tmp_path / "target"
    folder.mkdir()
    with pytest.raises(KeyboardInterrupt):
        export_bundle(store, folder / "x.mbundle", progress=interrupt)
    assert list(folder.iterdir()) == []
    assert export_bundle(store, folder / "x.mbundle").items == 20


def test_an_export_is_one_snapshot_of_each_namespace(
    store: MemoryStore, store_url: str, other_store_url: str, open_here: Opening, bundle: Path
) -> None:
    for number in range(300):
        store.write(("ann",), f"/{number}.md", "x")
    before = digests(store)
    writer = open_here(store_url)

    def write(done: int, total: int | None) -> None:
        if done == 150:
            writer.write(("ann",), "/299.md", "changed during the export", author=Author("user:late"))
            writer.write(("ann",), "/later.md", "new during the export")

    export_bundle(store, bundle, progress=write)
    other = open_here(other_store_url)
    import_bundle(other, bundle)
    assert digests(other) == before != digests(store)


def test_a_store_that_lost_rows_is_not_exported(store: MemoryStore, bundle: Path) -> None:
    from memoranda.store.effects import Batch, Sql, transact

    store.write(("ann",), "/a.md", "one")
    store.write(("ann",), "/b.md", "one")
    identity = _run_query(store, "item_to_change", tenant="", labels="ann\x01", key="/a.md")[0][0]

    def body():  # type: ignore[no-untyped-def]
        yield Batch([Sql("delete_revisions", {"item_id": identity}), Sql("delete_item", {"id": identity})])

    store.engine.run(transact("write", body))
    with pytest.raises(StoreCorruptError, match="verify"):
        export_bundle(store, bundle)
    assert not bundle.exists()


def test_tenants_stay_apart(store_url: str, open_here: Opening, bundle: Path, other_store_url: str) -> None:
    one, two = open_here(store_url, tenant="one"), open_here(store_url, tenant="two")
    one.write(("ann",), "/a.md", "of one")
    two.write(("ann",), "/b.md", "of two")
    export_bundle(one, bundle)
    three = open_here(other_store_url, tenant="three")
    import_bundle(three, bundle)
    assert [item.key for item in three.search(())] == ["/a.md"]
    assert digests(three) == digests(one)


def test_a_missing_bundle(store: MemoryStore, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="cannot be read"):
        import_bundle(store, tmp_path / "none.mbundle")


def _later(store: MemoryStore, now: int):  # type: ignore[no-untyped-def]
    from dataclasses import replace

    return replace(store.context, clock=lambda: now)


def _run_query(store: MemoryStore, name: str, **params: object):  # type: ignore[no-untyped-def]
    from memoranda.store.effects import query, transact

    return store.engine.run(transact("read", lambda: query(name, **params)))
