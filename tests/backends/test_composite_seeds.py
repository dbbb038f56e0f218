"""Two routes on one namespace, and files that were seeded with the route's prefix in their key."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore

from memoranda import MemoryStore, open_store
from memoranda.backends import (
    CompositeBackend,
    FilesystemBackend,
    FilesystemPermission,
    GuardedBackend,
    StoreBackend,
    seeds,
)
from memoranda.backends import twins as twin_routes
from memoranda.backends.places import place_of
from memoranda.backends.protocol import DeleteFile, EditFile, MoveFile, WriteFile
from memoranda.backends.steps import perform


@pytest.fixture(autouse=True)
def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """Warnings are given once for each process, and what was looked at is believed for seconds."""
    monkeypatch.setattr(twin_routes, "_warned", set())
    monkeypatch.setattr(seeds, "_warned", set())
    monkeypatch.setattr(seeds, "_none_until", type(seeds._none_until)())


def names(tree: CompositeBackend, *paths: str) -> list[tuple[str, ...]]:
    return perform(tree.names_steps([place_of(path) for path in paths]))


def paths(result: Any) -> list[str]:
    assert result.error is None, result.error
    return [entry["path"] for entry in (result.entries if hasattr(result, "entries") else result.matches)]


# --- two routes, one namespace ---------------------------------------------------------------------------------


def twins(store: Any) -> CompositeBackend:
    return CompositeBackend(
        StoreBackend(namespace=("scratch",), store=store),
        {
            "/memories/": StoreBackend(namespace=("ann",), store=store),
            "/skills/": StoreBackend(namespace=lambda _: ("ann",), store=store),
            "/other/": StoreBackend(namespace=("bob",), store=store),
        },
    )


def test_two_routes_on_one_namespace_work_and_are_warned_about_once(
    store: MemoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            tree = twins(store)
            assert tree.write("/memories/x.md", "text").error is None
            assert tree.read("/skills/x.md").file_data["content"] == "text"
            tree.ls("/")
    (record,) = [record for record in caplog.records if "same files" in record.getMessage()]
    assert "/memories/ and /skills/" in record.getMessage() and "namespace of its own" in record.getMessage()


def test_a_file_behind_two_routes_has_two_names(store: MemoryStore) -> None:
    tree = twins(store)
    assert names(tree, "/memories/x.md", "/skills/d/y.md", "/other/x.md", "/x.md") == [
        ("/memories/x.md", "/skills/x.md"),
        ("/skills/d/y.md", "/memories/d/y.md"),
        ("/other/x.md",),
        ("/x.md",),
    ]


def test_the_default_can_be_a_twin_too(store: MemoryStore) -> None:
    tree = CompositeBackend(
        StoreBackend(namespace=("ann",), store=store),
        {"/m/": StoreBackend(namespace=("ann",), store=store), "/m/deep/": StoreBackend(namespace=("b",), store=store)},
    )
    assert names(tree, "/x.md", "/m/y.md", "/m/deep/z.md", "/deep/z.md") == [
        ("/x.md", "/m/x.md"),
        ("/m/y.md", "/y.md"),
        ("/m/deep/z.md",),
        ("/deep/z.md",),  # its other name is hidden by the longer route
    ]


def test_twins_in_nested_composites_and_behind_guards(store: MemoryStore) -> None:
    def files(name: str) -> StoreBackend:
        return StoreBackend(namespace=(name,), store=store)

    inner = CompositeBackend(files("x"), {"/c/": files("ann")})
    tree = CompositeBackend(
        files("scratch"), {"/a/": files("ann"), "/b/": GuardedBackend(inner), "/b/c/over/": files("over")}
    )
    assert names(tree, "/a/x.md", "/b/c/x.md", "/b/x.md", "/b/c/over/x.md", "/a/over/x.md") == [
        ("/a/x.md", "/b/c/x.md"),
        ("/b/c/x.md", "/a/x.md"),
        ("/b/x.md",),
        ("/b/c/over/x.md",),
        ("/a/over/x.md",),  # its other name is hidden by the longer route
    ]
    tree.write("/a/x.md", "1")
    assert tree.read("/b/c/x.md").file_data["content"] == "1"


def test_twins_on_a_disk(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    tree = CompositeBackend(
        FilesystemBackend(tmp_path / "else"),
        {"/a/": FilesystemBackend(tmp_path), "/b/": FilesystemBackend(tmp_path / "sub")},
    )
    assert names(tree, "/a/sub/x.md", "/b/x.md", "/a/x.md") == [
        ("/a/sub/x.md", "/b/x.md"),
        ("/b/x.md", "/a/sub/x.md"),
        ("/a/x.md",),
    ]


@pytest.mark.parametrize("denied", ["/memories/AGENTS.md", "/memories/memories/**", "/skills/**"])
def test_no_rule_is_passed_by_another_name(store: MemoryStore, denied: str) -> None:
    put(store, "/memories/AGENTS.md", "secret")
    guard = GuardedBackend(twins(store), [FilesystemPermission(["read", "write"], [denied], "deny")])
    for path in ["/memories/AGENTS.md", "/memories/memories/AGENTS.md", "/skills/memories/AGENTS.md"]:
        assert "secret" not in str(guard.read(path).file_data)
        assert guard.download_files([path])[0].content is None
        assert guard.write(path, "mine").error and guard.edit(path, "secret", "mine").error
        assert guard.delete(path).error and guard.move(path, "/out.md").error
        assert guard.append(path, "more").error and guard.upload_files([(path, b"mine")])[0].error
    assert guard.grep("secret").matches == [] and "AGENTS" not in str(guard.glob("**/*").matches)
    assert store.get(("ann",), "/memories/AGENTS.md").value["content"] == "secret"


def test_two_stores_in_memory_are_two() -> None:
    with open_store("memory://") as one, open_store("memory://") as other:
        tree = CompositeBackend(
            StoreBackend(namespace=("a",), store=one), {"/m/": StoreBackend(namespace=("a",), store=other)}
        )
        assert names(tree, "/x.md") == [("/x.md",)]
        assert tree.commit([WriteFile("/x.md", "1"), WriteFile("/m/x.md", "2")]).error is not None


# --- seeds -----------------------------------------------------------------------------------------------------

Seeding = Callable[..., CompositeBackend]


@pytest.fixture(params=["sqlite", "postgres", "langgraph"])
def raw(request: pytest.FixtureRequest, open_here: Callable[..., MemoryStore], tmp_path: Path) -> Any:
    if request.param == "langgraph":
        return InMemoryStore()
    if request.param == "postgres":
        return open_here(request.getfixturevalue("postgres_url"))
    return open_here(f"sqlite:///{tmp_path / 'memory.db'}")


def put(raw: Any, key: str, text: str) -> None:
    raw.put(("ann",), key, {"content": text, "encoding": "utf-8", "created_at": "2026-01-01T00:00:00+00:00"})


def keys(raw: Any) -> set[str]:
    return {item.key for item in raw.search(("ann",), limit=100)}


def over(raw: Any, prefix: str = "/memories/") -> CompositeBackend:
    return CompositeBackend(
        StoreBackend(namespace=("scratch",), store=raw), {prefix: StoreBackend(namespace=("ann",), store=raw)}
    )


@pytest.mark.parametrize("prefix", ["/memories/", "/memories/user/"])
def test_a_seeded_file_is_the_file(raw: Any, prefix: str, caplog: pytest.LogCaptureFixture) -> None:
    put(raw, f"{prefix}AGENTS.md", "likes tea\n")
    put(raw, f"{prefix}notes/.dot.md", "tea in a dot file")
    put(raw, "/plain.md", "tea")
    tree = over(raw, prefix)
    with caplog.at_level(logging.WARNING):
        assert tree.read(f"{prefix}AGENTS.md").file_data["content"] == "likes tea\n"
        assert tree.download_files([f"{prefix}AGENTS.md", f"{prefix}no.md"])[0].content == b"likes tea\n"
        assert paths(tree.ls(prefix)) == [f"{prefix}AGENTS.md", f"{prefix}notes/", f"{prefix}plain.md"]
        assert paths(tree.ls(f"{prefix}notes")) == [f"{prefix}notes/.dot.md"]
        assert set(paths(tree.glob("**/*.md"))) == {f"{prefix}AGENTS.md", f"{prefix}plain.md"}
        assert paths(tree.glob(f"{prefix}notes/.*")) == [f"{prefix}notes/.dot.md"]
        assert paths(tree.grep("tea")) == [f"{prefix}AGENTS.md", f"{prefix}plain.md", f"{prefix}notes/.dot.md"]
        assert len(tree.grep("tea", max_count=2).matches) == 2 and tree.grep("tea", max_count=2).truncated
        assert paths(tree.grep("tea", f"{prefix}AGENTS.md")) == [f"{prefix}AGENTS.md"]
    told = [record.getMessage() for record in caplog.records if "route's prefix" in record.getMessage()]
    assert len(told) == 1 and f"{prefix}AGENTS.md" in told[0]


def test_a_seeded_file_is_changed_in_place(raw: Any) -> None:
    put(raw, "/memories/AGENTS.md", "likes tea\n")
    tree = over(raw)
    assert tree.edit("/memories/AGENTS.md", "tea", "coffee").occurrences == 1
    assert tree.append("/memories/AGENTS.md", "and cake").error is None
    assert tree.commit([EditFile("/memories/AGENTS.md", "cake", "pie")]).error is None
    assert keys(raw) == {"/memories/AGENTS.md"}
    assert tree.read("/memories/AGENTS.md").file_data["content"] == "likes coffee\nand pie"
    assert tree.write("/memories/AGENTS.md", "anew").error is None
    assert tree.upload_files([("/memories/AGENTS.md", b"bytes")])[0].error is None
    assert keys(raw) == {"/memories/AGENTS.md"}
    assert tree.move("/memories/AGENTS.md", "/memories/moved.md").paths == ("/memories/moved.md",)
    assert keys(raw) == {"/moved.md"}


@pytest.mark.parametrize("path", ["/memories/AGENTS.md", "/memories/notes"])
def test_a_seeded_file_can_be_deleted(raw: Any, path: str) -> None:
    put(raw, "/memories/AGENTS.md", "1")
    put(raw, "/memories/notes/a.md", "2")
    put(raw, "/notes/b.md", "3")
    tree = over(raw)
    gone = set(tree.delete(path).paths)
    if path == "/memories/AGENTS.md":
        assert gone == {path} and keys(raw) == {"/memories/notes/a.md", "/notes/b.md"}
    else:
        assert gone == {"/memories/notes/a.md", "/memories/notes/b.md"} and keys(raw) == {"/memories/AGENTS.md"}
    assert tree.delete(path).error is not None


def test_a_folder_with_seeds_moves_whole(raw: Any) -> None:
    put(raw, "/memories/notes/a.md", "1")
    put(raw, "/notes/b.md", "2")
    tree = over(raw)
    assert set(tree.move("/memories/notes", "/memories/old").paths) == {"/memories/old/a.md", "/memories/old/b.md"}
    assert keys(raw) == {"/old/a.md", "/old/b.md"}


def test_a_seeded_file_has_its_history(store: MemoryStore) -> None:
    put(store, "/memories/AGENTS.md", "one\n")
    tree = over(store)
    tree.edit("/memories/AGENTS.md", "one", "two")
    assert len(tree.history("/memories/AGENTS.md").revisions) == 2
    assert "+two" in tree.diff("/memories/AGENTS.md").diff
    assert tree.blame("/memories/AGENTS.md").lines[0].text == "two"
    assert tree.at("/memories/AGENTS.md", 1).file_data["content"] == "one\n"
    assert tree.restore("/memories/AGENTS.md", 1).revision == 3
    assert keys(store) == {"/memories/AGENTS.md"}


def test_where_both_are_there_they_are_two(raw: Any) -> None:
    put(raw, "/memories/AGENTS.md", "seed")
    put(raw, "/AGENTS.md", "own")
    tree = over(raw)
    assert tree.read("/memories/AGENTS.md").file_data["content"] == "own"
    assert set(paths(tree.glob("*.md"))) == {"/memories/AGENTS.md", "/memories/memories/AGENTS.md"}
    assert paths(tree.ls("/memories")) == ["/memories/AGENTS.md", "/memories/memories/"]
    tree.write("/memories/AGENTS.md", "changed")
    assert tree.read("/memories/memories/AGENTS.md").file_data["content"] == "seed"
    assert names(tree, "/memories/AGENTS.md", "/memories/memories/AGENTS.md") == [
        ("/memories/AGENTS.md",),
        ("/memories/memories/AGENTS.md",),
    ]


def test_the_doubled_path_is_a_name_of_the_file(raw: Any) -> None:
    tree = over(raw)
    assert names(tree, "/memories/AGENTS.md") == [("/memories/AGENTS.md",)]
    # Written under the doubled path a file would be the one without: that name counts before it is there.
    assert names(tree, "/memories/memories/AGENTS.md") == [("/memories/memories/AGENTS.md", "/memories/AGENTS.md")]
    put(raw, "/memories/AGENTS.md", "seed")
    assert names(tree, "/memories/memories/AGENTS.md") == [("/memories/memories/AGENTS.md", "/memories/AGENTS.md")]
    seeds._none_until.clear()
    assert names(tree, "/memories/AGENTS.md") == [("/memories/AGENTS.md", "/memories/memories/AGENTS.md")]


def test_a_seed_behind_twin_routes_has_every_name(raw: Any) -> None:
    put(raw, "/memories/AGENTS.md", "seed")
    tree = twins(raw)
    assert set(names(tree, "/memories/AGENTS.md")[0]) == {
        "/memories/AGENTS.md",
        "/memories/memories/AGENTS.md",
        "/skills/memories/AGENTS.md",
    }
    assert set(names(tree, "/skills/memories/AGENTS.md")[0]) == set(names(tree, "/memories/AGENTS.md")[0])


def test_reads_find_a_seed_at_once(raw: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = over(raw)
    assert tree.read("/memories/AGENTS.md").error and paths(tree.ls("/memories")) == []
    put(raw, "/memories/AGENTS.md", "seed")
    assert tree.read("/memories/AGENTS.md").file_data["content"] == "seed"
    assert tree.download_files(["/memories/AGENTS.md"])[0].content == b"seed"
    now = seeds.time.monotonic()
    monkeypatch.setattr(seeds.time, "monotonic", lambda: now + 5.1)
    assert paths(tree.ls("/memories")) == ["/memories/AGENTS.md"]


def test_a_seed_moves_into_another_route(store: MemoryStore) -> None:
    put(store, "/memories/AGENTS.md", "seed")
    tree = twins(store)
    assert tree.move("/memories/AGENTS.md", "/other/x.md").error is None
    assert keys(store) == set() and store.get(("bob",), "/x.md").value["content"] == "seed"


def test_a_commit_over_routes_finds_seeds(store: MemoryStore) -> None:
    put(store, "/memories/AGENTS.md", "seed")
    tree = over(store)
    assert tree.commit([WriteFile("/x.md", "1"), EditFile("/memories/AGENTS.md", "seed", "grown")]).error is None
    assert store.get(("ann",), "/memories/AGENTS.md").value["content"] == "grown"
    assert tree.commit([WriteFile("/y.md", "1"), DeleteFile("/memories/AGENTS.md")]).error is None
    assert keys(store) == set()


async def test_seeds_in_the_async_form(store: MemoryStore) -> None:
    put(store, "/memories/AGENTS.md", "seed")
    tree = over(store)
    assert (await tree.aread("/memories/AGENTS.md")).file_data["content"] == "seed"
    assert paths(await tree.als("/memories")) == ["/memories/AGENTS.md"]
    assert (await tree.aedit("/memories/AGENTS.md", "seed", "grown")).error is None
    assert keys(store) == {"/memories/AGENTS.md"}


def test_seeds_are_found_through_guards_and_behind_other_backends(store: MemoryStore) -> None:
    from deepagents.backends import StoreBackend as Theirs

    put(store, "/memories/AGENTS.md", "seed")
    for backend in [
        GuardedBackend(StoreBackend(namespace=("ann",), store=store)),
        Theirs(namespace=lambda _: ("ann",), store=store),
    ]:
        tree = CompositeBackend(StoreBackend(namespace=("scratch",), store=store), {"/memories/": backend})
        assert tree.read("/memories/AGENTS.md").file_data["content"] == "seed"
        assert paths(tree.ls("/memories")) == ["/memories/AGENTS.md"]
        assert paths(tree.grep("seed")) == ["/memories/AGENTS.md"]


def test_a_guard_below_is_not_passed_by_a_commit_or_a_move(store: MemoryStore) -> None:
    inner = StoreBackend(namespace=("ann",), store=store)
    inner.write("/secret/key.md", "secret")
    rules = [FilesystemPermission(["read", "write"], ["/secret/**"], "deny")]
    tree = CompositeBackend(StoreBackend(namespace=("scratch",), store=store), {"/m/": GuardedBackend(inner, rules)})
    assert tree.commit([WriteFile("/x.md", "1"), WriteFile("/m/secret/key.md", "2")]).error is not None
    assert tree.move("/m/secret/key.md", "/out.md").error is not None
    assert tree.move("/m/secret", "/out").error is not None
    assert tree.read("/out.md").error is not None and tree.read("/x.md").error is not None
    assert inner.read("/secret/key.md").file_data["content"] == "secret"
    reading = CompositeBackend(
        StoreBackend(namespace=("scratch",), store=store),
        {"/m/": GuardedBackend(inner, [FilesystemPermission(["read"], ["/secret/**"], "deny")])},
    )
    assert reading.move("/m/secret/key.md", "/out.md").error is not None
    assert reading.commit([MoveFile("/m/secret/key.md", "/out.md")]).error is not None
    assert reading.read("/out.md").error is not None


def test_a_seed_lies_where_it_was_found(store: MemoryStore) -> None:
    put(store, "/memories/AGENTS.md", "tea")
    tree = over(store)
    before = tree.location(place_of("/memories/AGENTS.md"))
    assert tree.read("/memories/AGENTS.md").error is None
    found = tree.location(place_of("/memories/AGENTS.md"))
    plain = StoreBackend(namespace=("ann",), store=store)
    assert found == plain.location(place_of("/memories/AGENTS.md")) != before
