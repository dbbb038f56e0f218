"""Listing and searching over routes gives what one big tree would give."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoranda import MemoryStore, open_store
from memoranda.backends import CompositeBackend, StoreBackend
from memoranda.backends.places import Place
from memoranda.backends.tree import Search, glob_files, grep_files, list_folder
from memoranda.files.format import FileData
from memoranda.files.globbing import compile_glob
from memoranda.files.path import is_within

FOLDERS = ["/", "/m", "/m/u", "/m/u/x", "/n", "/.h", "/a/b/c", "/a"]
NAMES = ["x.md", "y.txt", ".z.md", "m", "u"]
ROUTES = ["/m", "/m/u", "/.h", "/a/b/c", "/n/deep", "/m/u/x/y"]
LINES = ["tea", "green tea", "coffee", ""]

trees = st.dictionaries(
    st.builds(lambda folder, name: f"{folder.rstrip('/')}/{name}", st.sampled_from(FOLDERS), st.sampled_from(NAMES)),
    st.tuples(st.lists(st.sampled_from(LINES), min_size=1, max_size=4), st.integers(0, 5)),
    max_size=14,
)
routes = st.sets(st.sampled_from(ROUTES), max_size=4)
globs = st.sampled_from(
    [
        "*",
        "*.md",
        "/*.md",
        "**",
        "/**",
        "**/*.md",
        "m/**/*.md",
        "/m/**",
        "m/*/x.md",
        "*/x.md",
        "*/u/*",
        "{m,n}/*.md",
        "{m/u,a/b}/**/*",
        "**/u/**",
        "m/{u/x,.h}/*",
        ".h/*",
        "/.*/.*",
        "u/*.md",
        "x/*",
        "[mn]/*.{md,txt}",
        "?/**/x.md",
        "**/.z.md",
        "a/b/c/*.md",
        "b/**",
        "no/such/*",
    ]
)
START = datetime(2026, 1, 1, tzinfo=UTC)


def shown(files: dict[str, FileData], prefixes: set[str]) -> dict[str, FileData]:
    """The merged tree: a file that stands where a route begins is in nobody's sight."""
    return {path: data for path, data in files.items() if path not in prefixes}


@contextmanager
def built(files: dict[str, FileData], prefixes: set[str]) -> Iterator[CompositeBackend]:
    """The files in a composite, each behind its longest route; and rubbish wherever a route hides it."""
    with open_store("memory://") as store:
        put(store, ("default",), files, prefixes, "")
        for prefix in prefixes:
            put(store, (prefix,), files, prefixes, prefix)
        yield CompositeBackend(
            StoreBackend(namespace=("default",), store=store),
            {prefix + "/": StoreBackend(namespace=(prefix,), store=store) for prefix in prefixes},
        )


def put(
    store: MemoryStore, namespace: tuple[str, ...], files: dict[str, FileData], prefixes: set[str], own: str
) -> None:
    for path, data in files.items():
        owner = max((prefix for prefix in prefixes if is_within(path, prefix)), key=len, default="")
        if owner == own and path != own:
            store.put(namespace, path[len(own) :], dict(data))
    for prefix in prefixes:
        if prefix != own and is_within(prefix, own or "/"):
            for hidden in ("/x.md", "/u/x.md", ""):
                path = prefix[len(own) :] + hidden
                store.put(namespace, path, {"content": "tea in hiding", "encoding": "utf-8"})


def plain(entries: list[Any]) -> list[tuple[str, bool, int]]:
    return [(entry["path"], entry["is_dir"], entry["size"]) for entry in entries]


def newest(store_order: list[Any]) -> list[str]:
    return [entry["path"] for entry in store_order]


@settings(max_examples=150, deadline=None)
@given(trees, routes, st.sampled_from([*FOLDERS, "/m/x.md"]), globs, st.sampled_from([None, *range(1, 6)]), st.data())
def test_as_in_one_tree(
    tree: dict[str, tuple[list[str], int]],
    prefixes: set[str],
    folder: str,
    pattern: str,
    most: int | None,
    data: st.DataObject,
) -> None:
    files: dict[str, FileData] = {}
    for path, (lines, minute) in tree.items():
        moment = (START + timedelta(minutes=minute)).isoformat()
        files[path] = {"content": "\n".join(lines), "encoding": "utf-8", "created_at": moment, "modified_at": moment}
    merged = shown(files, prefixes)
    place = Place(folder, folder)
    with built(files, prefixes) as composite:
        listed = composite.ls(folder)
        expected = {entry["path"]: entry["size"] for entry in list_folder(merged, place)}
        for prefix in prefixes:  # mounts are always there to see
            if is_within(prefix, folder) and prefix != folder:
                inside = folder.rstrip("/") + "/"
                expected[inside + prefix[len(inside) :].partition("/")[0] + "/"] = 0
        assert [(entry["path"], entry["size"]) for entry in listed.entries] == sorted(expected.items())
        found = composite.glob(pattern, folder)
        assert sorted(newest(found.matches)) == sorted(newest(glob_files(merged, place, pattern)))
        times = [entry["modified_at"] for entry in found.matches]
        assert times == sorted(times, reverse=True) and not found.truncated and not found.warnings
        glob = data.draw(st.sampled_from([None, pattern]))
        lines = composite.grep("tea", folder, glob, max_count=most)
        wanted = grep_files(merged, Search(place, "tea", glob, most))
        assert (lines.matches, lines.truncated) == (wanted.matches, wanted.truncated)
        every = compile_glob("**/*", dotmatch=True)
        for entry in [*found.matches, *listed.entries]:
            assert every.matches(entry["path"].strip("/"))


def test_newest_first_over_all(store: MemoryStore) -> None:
    composite = CompositeBackend(
        StoreBackend(namespace=("a",), store=store), {"/m/": StoreBackend(namespace=("b",), store=store)}
    )
    for path in ["/1.md", "/m/2.md", "/3.md", "/m/4.md"]:
        composite.write(path, "x")
    assert newest(composite.glob("*.md").matches) == ["/m/4.md", "/3.md", "/m/2.md", "/1.md"]


@pytest.mark.parametrize("most", [1, 2, 3, 4, 5])
def test_hidden_lines_do_not_count(store: MemoryStore, most: int) -> None:
    default = StoreBackend(namespace=("a",), store=store)
    composite = CompositeBackend(default, {"/m/": StoreBackend(namespace=("b",), store=store)})
    default.write("/m/hidden.md", "tea\n" * 500)
    default.write("/z/seen.md", "tea\n" * 3)
    composite.write("/m/seen.md", "tea")
    found = composite.grep("tea", max_count=most)
    assert len(found.matches) == min(most, 4) and found.truncated == (most < 4)
    assert {match["path"] for match in found.matches} <= {"/m/seen.md", "/z/seen.md"}
    assert not composite.grep("tea", "/m", max_count=1).truncated


@pytest.mark.parametrize("pattern", ["../x", "{" + ",".join(map(str, range(2000))) + "}/x", "x" * 5000])
def test_patterns_that_are_refused(store: MemoryStore, pattern: str) -> None:
    composite = CompositeBackend(
        StoreBackend(namespace=("a",), store=store), {"/m/": StoreBackend(namespace=("b",), store=store)}
    )
    composite.write("/m/x", "tea")
    assert composite.glob(pattern).error is not None
    assert composite.grep("tea", glob=pattern).error is not None
    assert composite.grep("").error is not None
