"""Routing: which backend a path belongs to, and what every operation makes of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memoranda import MemoryStore
from memoranda.backends import Backend, CompositeBackend, RouteError, StoreBackend
from memoranda.backends.protocol import AppendFile, DeleteFile, EditFile, MoveFile, WriteFile

Files = Callable[..., StoreBackend]


@pytest.fixture
def files(store: MemoryStore) -> Files:
    return lambda *labels: StoreBackend(namespace=labels, store=store)


@pytest.fixture
def tree(files: Files) -> CompositeBackend:
    return CompositeBackend(
        files("scratch"), {"/memories/": files("ann"), "/memories/org": files("acme"), "/a/b/c/": files("deep")}
    )


def paths(result: Any) -> list[str]:
    assert result.error is None, result.error
    found = result.entries if hasattr(result, "entries") else result.matches
    return [entry["path"] for entry in found]


# --- construction --------------------------------------------------------------------------------------------


def test_attributes_hold_what_was_given(files: Files) -> None:
    default, near, far = files("a"), files("b"), files("c")
    tree = CompositeBackend(default, {"/m": near, "/m/deeper/": far}, artifacts_root="/work")
    assert tree.default is default and tree.routes == {"/m": near, "/m/deeper/": far}
    assert tree.sorted_routes == [("/m/deeper/", far), ("/m/", near)]
    assert tree.sorted_routes[0][1] is far and tree.artifacts_root == "/work"
    assert hash(tree) and tree == tree and tree != CompositeBackend(default, {"/m": near})


@pytest.mark.parametrize(
    ("routes", "told"),
    [
        ({"/": 1}, "'/' would claim every path"),
        ({"//": 1}, "'//' would claim every path"),
        ({"": 1}, "'' is no path"),
        ({"/../x": 1}, "climbs"),
        ({7: 1}, "7 is no path"),
        ({"/m": 1, "/m/": 2}, "'/m' and '/m/' are the same folder"),
        ({"/m/é": 1, "/m/e\u0301": 2}, "are the same folder"),
        ({"m": 1, "/m": 2}, "are the same folder"),
    ],
)
def test_routes_that_cannot_be(files: Files, routes: dict[Any, Any], told: str) -> None:
    with pytest.raises(RouteError) as caught:
        CompositeBackend(files("a"), {name: files("r", str(number)) for name, number in routes.items()})
    assert told in str(caught.value)


@pytest.mark.parametrize("wrong", [None, "sqlite:///x.db", 7, {}, object()])
def test_what_is_no_backend(files: Files, wrong: Any) -> None:
    with pytest.raises(RouteError, match=r"'/m/'.*no backend"):
        CompositeBackend(files("a"), {"/m": wrong})
    with pytest.raises(RouteError, match=r"default.*no backend"):
        CompositeBackend(wrong, {})


# --- routing -------------------------------------------------------------------------------------------------


def test_the_longest_route_wins_and_its_prefix_is_taken_off(tree: CompositeBackend, store: MemoryStore) -> None:
    for path in ["/x.md", "/memories/x.md", "/memories/org/x.md", "/memories/organic.md", "/a/b/x.md", "/a/b/c/x.md"]:
        assert tree.write(path, path).path == path
    kept = {
        (space, entry.key)
        for space in ("scratch", "ann", "acme", "deep")
        for entry in store.list_keys((space,), recursive=True)
    }
    assert kept == {
        ("scratch", "/x.md"),
        ("scratch", "/a/b/x.md"),
        ("ann", "/x.md"),
        ("ann", "/organic.md"),
        ("acme", "/x.md"),
        ("deep", "/x.md"),
    }
    for path in ["/memories/org/x.md", "//memories//org/./x.md", "memories/org/x.md", "\\memories\\org\\x.md"]:
        assert tree.read(path).file_data["content"] == "/memories/org/x.md"


def test_every_message_names_the_path_that_was_asked_for(tree: CompositeBackend) -> None:
    assert tree.read("/memories/org/no.md").error == "File '/memories/org/no.md' not found"
    assert tree.edit("/memories/no.md", "a", "b").error == "Error: File '/memories/no.md' not found"
    assert "/memories/org/no.md" in tree.delete("/memories/org/no.md").error
    tree.write("/memories/twice.md", "a a")
    assert "/memories/twice.md" in tree.edit("/memories/twice.md", "a", "b").error
    assert "/memories/no.md" in tree.diff("/memories/no.md").error


@pytest.mark.parametrize("path", ["/memories", "/memories/", "/memories/org", "/a/b/c", "/a/b", "/a"])
def test_mounts_are_folders(tree: CompositeBackend, path: str) -> None:
    name = path.rstrip("/")
    assert f"{name} is a folder" in tree.write(path, "x").error
    assert f"{name} is a folder" in tree.append(path, "x").error
    assert name in tree.edit(path, "x", "y").error
    assert name in tree.read(path).error
    assert tree.commit([WriteFile(path, "x")]).error is not None
    assert f"{name} is a folder" in tree.restore(path, 1).error
    (down,) = tree.download_files([path])
    assert down.content is None and down.error is not None


def test_uploads_and_downloads_keep_their_order(tree: CompositeBackend) -> None:
    wanted = ["/x.md", "/memories/org/y.md", "/memories/z.bin", "/x2.md", "/a/../b", "/memories", "/memories/org/v.md"]
    up = tree.upload_files([(path, b"\xff" + path.encode()) for path in wanted])
    assert [answer.path for answer in up] == wanted
    assert [answer.error for answer in up] == [None, None, None, None, "invalid_path", "is_directory", None]
    down = tree.download_files([*reversed(wanted), "/memories/none"])
    assert [answer.path for answer in down] == [*reversed(wanted), "/memories/none"]
    assert [answer.content for answer in down] == [
        *(None if up.error else b"\xff" + up.path.encode() for up in reversed(up)),
        None,
    ]
    assert down[-1].error == "file_not_found"


def test_history_diff_blame_restore_and_at_are_routed(tree: CompositeBackend) -> None:
    tree.write("/memories/org/x.md", "one\n")
    tree.edit("/memories/org/x.md", "one", "two")
    assert [revision.operation for revision in tree.history("/memories/org/x.md").revisions] == ["edit", "write"]
    assert "-one\n+two" in tree.diff("/memories/org/x.md").diff
    assert [line.revision.revision for line in tree.blame("/memories/org/x.md").lines] == [2]
    assert tree.at("/memories/org/x.md", 1).file_data["content"] == "one\n"
    assert tree.restore("/memories/org/x.md", 1).revision == 3
    assert tree.append("/memories/org/x.md", "end").revision == 4
    assert tree.read("/memories/org/x.md").file_data["content"] == "one\nend"


def test_nested_composites(files: Files, store: MemoryStore) -> None:
    inner = CompositeBackend(files("inner"), {"/deep/": files("deep")})
    tree = CompositeBackend(files("outer"), {"/in/": inner})
    for path in ["/x.md", "/in/x.md", "/in/deep/x.md"]:
        tree.write(path, path)
    assert store.get(("deep",), "/x.md").value["content"] == "/in/deep/x.md"
    assert set(paths(tree.glob("**/*.md"))) == {"/x.md", "/in/x.md", "/in/deep/x.md"}
    assert paths(tree.glob("in/deep/*.md")) == ["/in/deep/x.md"]
    assert paths(tree.ls("/in")) == ["/in/deep/", "/in/x.md"]
    assert "/in/deep/no.md" in tree.read("/in/deep/no.md").error
    assert "/in/deep/" in tree.delete("/in").error


async def test_the_async_form_does_the_same(tree: CompositeBackend) -> None:
    for path in ["/x.md", "/memories/x.md", "/memories/org/x.md"]:
        assert (await tree.awrite(path, "find me")).path == path
    assert paths(await tree.als("/")) == ["/a/", "/memories/", "/x.md"]
    assert len(paths(await tree.aglob("*.md"))) == 3
    found = await tree.agrep("find", max_count=2)
    assert len(found.matches) == 2 and found.truncated
    assert (await tree.aedit("/memories/x.md", "me", "you")).occurrences == 1
    assert [answer.content for answer in await tree.adownload_files(["/memories/x.md", "/x.md"])] == [
        b"find you",
        b"find me",
    ]
    assert (await tree.amove("/x.md", "/memories/moved.md")).path == "/memories/moved.md"
    assert (await tree.adelete("/memories/org")).error is None


# --- changes of several routes -------------------------------------------------------------------------------


def test_a_commit_over_routes_lands_whole(tree: CompositeBackend, store: MemoryStore) -> None:
    tree.write("/memories/x.md", "old")
    tree.write("/memories/gone.md", "gone")
    result = tree.commit(
        [
            WriteFile("/x.md", "new", base=0),
            EditFile("/memories/x.md", "old", "young"),
            AppendFile("/memories/org/log.md", "line"),
            DeleteFile("/memories/gone.md"),
        ]
    )
    assert result.error is None, result.error
    assert result.paths == ("/x.md", "/memories/x.md", "/memories/org/log.md", "/memories/gone.md")
    assert result.revisions == (1, 2, 1, 2)
    assert tree.read("/memories/x.md").file_data["content"] == "young"


def test_a_commit_over_routes_lands_not_at_all(tree: CompositeBackend) -> None:
    tree.write("/memories/org/x.md", "there")
    result = tree.commit([WriteFile("/x.md", "new"), EditFile("/memories/org/x.md", "not", "found")])
    assert "/memories/org/x.md" in result.error and result.conflicts
    assert tree.read("/x.md").error is not None


def test_a_commit_over_stores_is_refused(
    files: Files, other_store_url: str, open_here: Callable[..., MemoryStore]
) -> None:
    other = open_here(other_store_url)
    tree = CompositeBackend(files("a"), {"/far/": StoreBackend(namespace=("a",), store=other)})
    result = tree.commit([WriteFile("/x.md", "1"), WriteFile("/far/x.md", "2")])
    assert "cannot land together" in result.error and "/far/ in " in result.error
    assert tree.read("/x.md").error and tree.read("/far/x.md").error
    assert tree.commit([WriteFile("/far/x.md", "1"), WriteFile("/far/y.md", "2")]).error is None


# --- moves -----------------------------------------------------------------------------------------------------


def test_a_move_between_routes_of_one_store_links_the_histories(tree: CompositeBackend, store: MemoryStore) -> None:
    tree.write("/x.md", "one")
    tree.edit("/x.md", "one", "two")
    moved = tree.move("/x.md", "/memories/org/y.md")
    assert moved.error is None and moved.paths == ("/memories/org/y.md",)
    assert tree.read("/x.md").error and tree.read("/memories/org/y.md").file_data["content"] == "two"
    (entry,) = tree.history("/memories/org/y.md").revisions
    assert entry.operation == "move" and entry.origin["from"]["key"] == "/x.md"
    assert len(store.history(("acme",), "/y.md", follow=True)) == 3


def test_a_folder_moves_between_routes(tree: CompositeBackend) -> None:
    for path in ["/notes/a.md", "/notes/.b.md", "/notes/c/d.md"]:
        tree.write(path, path)
    moved = tree.move("/notes", "/memories")
    assert set(moved.paths) == {"/memories/a.md", "/memories/.b.md", "/memories/c/d.md"}
    assert paths(tree.ls("/notes")) == []
    assert tree.read("/memories/c/d.md").file_data["content"] == "/notes/c/d.md"


def test_a_move_spares_what_is_there(tree: CompositeBackend) -> None:
    tree.write("/x.md", "mine")
    tree.write("/memories/x.md", "theirs")
    refused = tree.move("/x.md", "/memories/x.md")
    assert "/memories/x.md exists already" in refused.error
    assert tree.read("/memories/x.md").file_data["content"] == "theirs"
    assert tree.move("/x.md", "/memories/x.md", overwrite=True).error is None
    assert tree.read("/memories/x.md").file_data["content"] == "mine"
    assert "/none.md" in tree.move("/none.md", "/memories/y.md").error
    assert "is a folder" in tree.move("/memories/x.md", "/a/b").error


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_move_between_stores_copies_and_deletes(
    files: Files, other_store_url: str, open_here: Callable[..., MemoryStore], overwrite: bool
) -> None:
    tree = CompositeBackend(files("a"), {"/far/": StoreBackend(namespace=("a",), store=open_here(other_store_url))})
    tree.upload_files([("/d/x.bin", b"\xff\x00"), ("/d/y.md", "é".encode())])
    tree.write("/far/e/y.md", "in the way")
    moved = tree.move("/d", "/far/e", overwrite=overwrite)
    if not overwrite:
        assert "/far/e/y.md exists already" in moved.error and "Nothing was moved" in moved.error
        assert paths(tree.ls("/far/e")) == ["/far/e/y.md"] and len(paths(tree.ls("/d"))) == 2
        return
    assert moved.error is None and set(moved.paths) == {"/far/e/x.bin", "/far/e/y.md"}
    assert [answer.content for answer in tree.download_files(["/far/e/x.bin", "/far/e/y.md"])] == [
        b"\xff\x00",
        "é".encode(),
    ]
    assert paths(tree.ls("/d")) == []


# --- folders with mounts in them -------------------------------------------------------------------------------


def test_a_folder_with_mounts_is_not_deleted_by_accident(tree: CompositeBackend) -> None:
    for path in ["/memories/x.md", "/memories/org/x.md", "/top.md"]:
        tree.write(path, "x")
    for path, named in [("/", "/memories/"), ("/memories", "/memories/org/")]:
        for result in [tree.delete(path), tree.move(path, "/elsewhere") if path != "/" else tree.delete(path)]:
            assert result.error is not None and named in result.error
    assert len(paths(tree.glob("*.md"))) == 3
    assert tree.delete("/memories/org").paths == ("/memories/org/x.md",)
    assert tree.delete("/memories").paths == ("/memories/x.md",)
    assert paths(tree.ls("/memories")) == ["/memories/org/"]


def test_where_the_mounts_are_empty_only_what_is_seen_goes(files: Files) -> None:
    default = files("scratch")
    tree = CompositeBackend(default, {"/a/b/": files("ann")})
    for path in ["/a/x.md", "/a/.y.md", "/a/c/z.md", "/a/b/hidden.md"]:
        default.write(path, path)
    assert set(tree.delete("/a").paths) == {"/a/x.md", "/a/.y.md", "/a/c/z.md"}
    assert paths(default.glob("*.md")) == ["/a/b/hidden.md"]
    assert "not found" in tree.delete("/a").error


# --- failing backends ------------------------------------------------------------------------------------------


class Broken(Backend):
    """A backend whose database is gone."""

    def __getattribute__(self, name: str) -> Any:
        if name.endswith("_steps") and name != "names_steps":
            raise ConnectionError("no route to the database")
        return super().__getattribute__(name)


def test_one_failing_route_does_not_blind_the_others(files: Files) -> None:
    tree = CompositeBackend(files("a"), {"/broken/": Broken(), "/fine/": files("b")})
    tree.write("/x.md", "text")
    tree.write("/fine/x.md", "text")
    for result in (tree.glob("*.md"), tree.grep("text")):
        assert set(paths(result)) == {"/x.md", "/fine/x.md"}
        (warning,) = result.warnings
        assert "/broken/" in warning and "no route to the database" in warning
    assert paths(tree.ls("/")) == ["/broken/", "/fine/", "/x.md"]
    assert "no route" in tree.read("/broken/x.md").error and "no route" in tree.ls("/broken").error
    answers = tree.download_files(["/broken/x.md", "/fine/x.md", "/x.md"])
    assert answers[0].error is not None and [a.content for a in answers[1:]] == [b"text", b"text"]
    ups = tree.upload_files([("/fine/y.md", b"1"), ("/broken/y.md", b"2")])
    assert ups[0].error is None and ups[1].error is not None
    assert paths(tree.glob("fine/*.md")) and tree.glob("fine/*.md").warnings == ()


def test_a_failing_default_leaves_the_routes_visible(files: Files) -> None:
    tree = CompositeBackend(Broken(), {"/fine/": files("b")})
    tree.write("/fine/x.md", "text")
    listed = tree.ls("/")
    assert paths(listed) == ["/fine/"] and "outside the other mounts" in listed.warnings[0]
    assert paths(tree.glob("**/*.md")) == ["/fine/x.md"] and tree.glob("**/*.md").truncated


def test_if_all_fail_that_is_an_error(files: Files) -> None:
    tree = CompositeBackend(Broken(), {"/broken/": Broken()})
    assert "no route" in tree.glob("*.md").error and "no route" in tree.grep("x").error
    assert "no route" in tree.delete("/x.md").error and "no route" in tree.move("/x.md", "/broken/x.md").error
    assert tree.commit([WriteFile("/x.md", "1"), MoveFile("/a.md", "/broken/a.md")]).error is not None
