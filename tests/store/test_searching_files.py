"""`glob` and `grep` give what reading every file would give."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.store.base import PutOp

from memoranda import MemoryStore
from memoranda.errors import InvalidGlobError, InvalidPathError, InvalidValueError
from memoranda.files.globbing import compile_glob
from tests.store.conftest import Namespace, fresh

SEGMENTS = ["a", "b", "a-b", "a b", ".hidden", "x.md", "y.txt", "ä.md", "[x]", "n*"]
paths = st.lists(st.sampled_from(SEGMENTS), min_size=1, max_size=3).map(lambda parts: "/" + "/".join(parts))
PATTERNS = [
    "*.md",
    "*",
    "**",
    "**/*",
    "a/*",
    "/a/*",
    "/a/**/*.md",
    "a/**",
    "**/x.md",
    "*/*",
    ".*",
    "**/.hidden/*",
    "{x.md,y.txt}",
    "a?b/*",
    "[ab]/*.md",
    "\\[x\\]",
    "ä.md",
    "x.md",
    "a/b/x.md",
    "nothing/**",
]
LINES = ["tea", "green tea", "TEA", "", "100% tea", "t_a", "ä tea", "a\\b", "'quoted'", "tea\r", "🙂 tea"]
TEXTS = ["tea", "TEA", "%", "_", "t_a", "\\", "'", "🙂", "ä", "nothing", " ", "a\\b", "tea\r"]


def write(store: MemoryStore, files: dict[str, str]) -> Namespace:
    ns = fresh()
    store.batch([PutOp(ns, key, {"content": text, "encoding": "utf-8"}) for key, text in files.items()])
    store.batch([PutOp((*ns, "a"), "/a/x.md", {"content": "tea in another scope", "encoding": "utf-8"})])
    return ns


def under(key: str, root: str) -> bool:
    return root == "/" or key.startswith(root + "/")


def relative(key: str, root: str) -> str:
    return key[1 if root == "/" else len(root) + 1 :]


@settings(max_examples=20, deadline=None)
@given(keys=st.sets(paths, max_size=25), root=st.sampled_from(["/", "/a", "/a/b", "/a-b"]))
def test_glob_against_the_naive_way(shared: MemoryStore, keys: set[str], root: str) -> None:
    ns = write(shared, dict.fromkeys(keys, "x"))
    for pattern in PATTERNS:
        matcher = compile_glob(pattern)
        expected = {key for key in keys if under(key, root) and matcher.matches(relative(key, root))}
        found = shared.glob(ns, pattern, root)
        assert {entry.key for entry in found} == expected, (pattern, root)
        assert len(found) == len(expected)


def test_glob_gives_the_newest_first(shared: MemoryStore, ns: Namespace) -> None:
    for key in ("/a.md", "/b.md", "/c.md"):
        shared.write(ns, key, "x")
    shared.write(ns, "/a.md", "again")
    shared.write(ns, "/d.txt", "x")
    assert [entry.key for entry in shared.glob(ns, "*.md")] == ["/a.md", "/c.md", "/b.md"]
    assert [entry.revision for entry in shared.glob(ns, "*.md")] == [2, 1, 1]


def test_glob_refuses_to_climb(shared: MemoryStore, ns: Namespace) -> None:
    with pytest.raises(InvalidGlobError):
        shared.glob(ns, "../*")
    with pytest.raises(InvalidPathError):
        shared.glob(ns, "*", "/a/../..")


def grepped(files: dict[str, str], text: str, root: str) -> list[tuple[str, int, str]]:
    """What `grep` should give: the file of that name first, then folder by folder."""
    keys = [root] if root in files else []
    keys += sorted((key for key in files if under(key, root)), key=lambda key: (key[: key.rfind("/") + 1], key))
    found: list[tuple[str, int, str]] = []
    for key in keys:
        for number, line in enumerate(files[key].split("\n"), 1):
            shown = line.removesuffix("\r")
            if text in shown:
                found.append((key, number, shown))
    return found


contents = st.lists(st.sampled_from(LINES), max_size=6).map("\n".join)


@settings(max_examples=20, deadline=None)
@given(files=st.dictionaries(paths, contents, max_size=15), root=st.sampled_from(["/", "/a", "/x.md", "/a/b"]))
def test_grep_against_the_naive_way(shared: MemoryStore, files: dict[str, str], root: str) -> None:
    ns = write(shared, files)
    for text in TEXTS:
        expected = grepped(files, text, root)
        result = shared.grep(ns, text, root)
        assert [(match.key, match.line, match.text) for match in result.matches] == expected, (text, root)
        assert not result.truncated
        limited = shared.grep(ns, text, root, limit=2)
        assert limited.matches == result.matches[:2]
        assert limited.truncated == (len(expected) > 2)


@settings(max_examples=15, deadline=None)
@given(files=st.dictionaries(paths, contents, max_size=15), pattern=st.sampled_from(PATTERNS))
def test_grep_with_a_glob(shared: MemoryStore, files: dict[str, str], pattern: str) -> None:
    ns = write(shared, files)
    matcher = compile_glob(pattern)
    for root in ("/", "/a"):
        expected = [found for found in grepped(files, "tea", root) if matcher.matches(relative(found[0], root))]
        # The file that the path itself names is matched by its name.
        expected = [found for found in expected if found[0] != root]
        matches = [m for m in shared.grep(ns, "tea", root, glob=pattern).matches if m.key != root]
        assert [(match.key, match.line, match.text) for match in matches] == expected, root


def test_grep_reads_what_a_person_reads(shared: MemoryStore, ns: Namespace) -> None:
    shared.put(ns, "profile", {"name": "Ann", "tea": "green"})
    shared.put(ns, "/old.md", {"content": ["one", "green tea"], "created_at": "x", "modified_at": "y"})
    shared.write(ns, "/a.bin", b"\xffgreen\x00")
    shared.put(ns, "/file.json", {"tea": "green"})
    found = {(match.key, match.line, match.text) for match in shared.grep(ns, "green", "").matches}
    assert found == {
        ("profile", 3, '  "tea": "green"'),
        ("/old.md", 2, "green tea"),
        ("/file.json", 2, '  "tea": "green"'),
    }
    assert {match.key for match in shared.grep(ns, "green").matches} == {"/old.md", "/file.json"}


def test_grep_leaves_out_what_is_deleted(shared: MemoryStore, ns: Namespace) -> None:
    shared.write(ns, "/a.md", "tea")
    shared.write(ns, "/b.md", "tea")
    shared.write(ns, "/b.md", "water")
    shared.delete(ns, "/a.md")
    assert shared.grep(ns, "tea").matches == ()


def test_grep_of_odd_texts(shared: MemoryStore, ns: Namespace) -> None:
    shared.write(ns, "/a.md", "one\ntwo\n")
    with pytest.raises(InvalidValueError):
        shared.grep(ns, "")
    assert shared.grep(ns, "one\ntwo").matches == ()
    assert shared.grep(ns, "\ud800").matches == ()
    assert shared.grep(ns, "one", limit=0).matches == ()
    assert shared.grep(ns, "two").matches[0].line == 2


def test_grep_over_many_files(shared: MemoryStore) -> None:
    files = {f"/d{n % 5}/f{n}.md": f"tea {n}\nwater" for n in range(450)}
    ns = write(shared, files)
    found = shared.grep(ns, "tea")
    assert [(match.key, match.line, match.text) for match in found.matches] == grepped(files, "tea", "/")
    assert [match.key for match in shared.grep(ns, "tea 449").matches] == ["/d4/f449.md"]


async def test_async_glob_and_grep(shared: MemoryStore) -> None:
    ns = write(shared, {"/a/x.md": "tea", "/b.txt": "tea"})
    assert [entry.key for entry in await shared.aglob(ns, "*.md")] == ["/a/x.md"]
    assert [match.key for match in (await shared.agrep(ns, "tea", "/a")).matches] == ["/a/x.md"]
