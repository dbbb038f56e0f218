"""One glob language: the one of Deep Agents."""

from __future__ import annotations

import time

import pytest
import wcmatch.glob as wcmatch
from deepagents.backends.utils import InvalidGlobPatternError, compile_grep_include_glob
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memoranda.errors import InvalidGlobError
from memoranda.files import canonical_path, compile_glob

PIECES = "* ** ? a b src .md . / / {a,b} {a/b,src} { } , [ab] [!a] [ ] \\ \\* ! - A ~ é {1..3} | ( ) @(a) $ ^"
pieces = st.sampled_from(PIECES.split(" "))
patterns = st.lists(pieces, max_size=8).map("".join)
names = st.sampled_from(
    ["a", "b", "ab", "src", "a.md", ".md", ".a", "A", "é", "*", "2", "{a", "a,b", "src.md", "a\n", "[", "!a"]
)
paths = st.lists(names, min_size=1, max_size=4).map("/".join)


@settings(max_examples=400)
@given(patterns, paths)
@example("*.yml", ".github/ci.yml")
@example("**/*.yml", ".github/ci.yml")
@example("/*.md", "a/b.md")
@example("src/**", "src")
@example("", "a")
def test_agrees_with_deep_agents(pattern: str, path: str) -> None:
    try:
        theirs = compile_grep_include_glob(pattern)
    except InvalidGlobPatternError:
        with pytest.raises(InvalidGlobError):
            compile_glob(pattern)
        return
    assert compile_glob(pattern).matches(path) == theirs(path)


deep_patterns = st.lists(st.sampled_from(["**", "**", "*", "a", ".a", ".*", "?", "a*", "*b", "[ab]"]), max_size=8)
deep_paths = st.lists(st.sampled_from(["a", "b", "ab", ".a", ".b", "ba"]), min_size=1, max_size=9)


@settings(max_examples=1_000)
@given(deep_patterns.map("/".join), deep_paths.map("/".join), st.booleans())
def test_several_globstars_agree_with_wcmatch(pattern: str, path: str, dotmatch: bool) -> None:
    flags = wcmatch.BRACE | wcmatch.GLOBSTAR | (wcmatch.DOTGLOB if dotmatch else 0)
    if "/" in pattern:
        assert compile_glob(pattern, dotmatch=dotmatch).matches(path) == wcmatch.globmatch(path, pattern, flags=flags)


@pytest.mark.parametrize("dotmatch", [False, True])
@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("**/a/" * 12 + "b", "a/" * 100 + "c"),
        ("*a" * 12 + "b", "a" * 200),
        ("**/*a*a*a*/b/" * 6 + "x", ("a" * 50 + "/b/") * 6),
        ("/**/*/**/*/**/*/**/*/**/x", "a/" * 100 + "y"),
    ],
)
def test_no_pattern_holds_the_process(pattern: str, path: str, dotmatch: bool) -> None:
    glob = compile_glob(pattern, dotmatch=dotmatch)
    start = time.process_time()
    assert not glob.matches(path)
    assert time.process_time() - start < 0.5


@settings(max_examples=400)
@given(patterns, paths, st.booleans())
@example("{a,src/b}/*", "a/x", False)
@example("src/{a/b,c}.md", "src/a/b.md", False)
@example("src/**", "src", True)
@example("\\src/*", "src/a", False)
def test_the_prefix_excludes_no_match(pattern: str, path: str, dotmatch: bool) -> None:
    try:
        glob = compile_glob(pattern, dotmatch=dotmatch)
    except InvalidGlobError:
        return
    if glob.matches(path):
        assert path.startswith(glob.literal_prefix)
    if glob.literal_prefix:
        assert "/" + glob.literal_prefix == canonical_path("/" + glob.literal_prefix) + "/"


@given(patterns, paths)
def test_dotmatch_only_adds(pattern: str, path: str) -> None:
    try:
        plain, dotted = compile_glob(pattern), compile_glob(pattern, dotmatch=True)
    except InvalidGlobError:
        return
    assert not plain.matches(path) or dotted.matches(path)


@pytest.mark.parametrize(
    ("pattern", "prefix"),
    [
        ("*.md", ""),
        ("notes.md", ""),
        ("/notes.md", ""),
        ("notes/*.md", "notes/"),
        ("/notes/2026/**", "notes/2026/"),
        ("notes/may.md", "notes/"),
        ("notes/{a,b}/c/*.md", "notes/"),
        ("{a,b}/c.md", ""),
        ("no*/a/b.md", ""),
        ("a//b/*.md", "a/"),
        ("a\\*/b/*.md", ""),
        ("notes/", "notes/"),
    ],
)
def test_literal_prefix(pattern: str, prefix: str) -> None:
    assert compile_glob(pattern).literal_prefix == prefix


@pytest.mark.parametrize("path", ["secrets/.env", "secrets/.ssh/id", "secrets/a/.b/c", ".secrets"])
def test_permission_rules_reach_dot_names(path: str) -> None:
    assert compile_glob("/**", dotmatch=True).matches(path)
    assert not compile_glob("/**").matches(path)
    assert compile_glob("/secrets/**", dotmatch=True).matches(path) == path.startswith("secrets/")


def test_patterns_match_canonical_paths_in_any_normal_form() -> None:
    path = canonical_path("/cafe\u0301/menu.md")[1:]
    for pattern in ("/cafe\u0301/*.md", "/caf\u00e9/*.md"):
        glob = compile_glob(pattern)
        assert glob.matches(path) and path.startswith(glob.literal_prefix)


@pytest.mark.parametrize("pattern", ["../a", "a/../b", "a\\..\\b", ".."])
def test_climbing_is_refused(pattern: str) -> None:
    with pytest.raises(InvalidGlobError):
        compile_glob(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        "{1..100000000}",
        "{a,b}" * 40,
        "{a..z}" * 10,
        "{{{a,b}{c,d}}{e,f}}" * 20,
        "x" * 10_000,
        "{1..1000}{1..1000}/*",
    ],
)
def test_bombs_are_refused_at_once(pattern: str) -> None:
    start = time.perf_counter()
    with pytest.raises(InvalidGlobError):
        compile_glob(pattern)
    assert time.perf_counter() - start < 1


@pytest.mark.parametrize(
    "pattern", ["{" * 2_000 + "a,b" + "}" * 2_000, "{a," * 1_000 + "}" * 1_000, "[" * 4_000, "{" * 4_000]
)
def test_deep_nesting_is_refused_or_compiled_at_once(pattern: str) -> None:
    start = time.perf_counter()
    try:
        compile_glob(pattern)
    except InvalidGlobError:
        pass
    assert time.perf_counter() - start < 2


def test_compiled_once() -> None:
    assert compile_glob("a/*.md") is compile_glob("a/*.md")
    assert compile_glob("a/*.md") is not compile_glob("a/*.md", dotmatch=True)
