"""What a pattern means inside a folder, against matching the whole path."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memoranda.backends.route_patterns import patterns_below
from memoranda.errors import InvalidGlobError
from memoranda.files.globbing import compile_glob
from tests.support.scale import sized

NAMES = ["a", "b", "ab", ".a", "x.md", "{a", "a,b", "[a", "é", "a}"]
PIECES = [
    *NAMES,
    "*",
    "?",
    "**",
    "***",
    "*.md",
    "[ab]",
    "[!a]",
    "{a,b}",
    "{a/b,b}",
    "{**,a}",
    ".*",
    "\\*",
    "\\{a",
    "{,a/}b",
    "[a,b]",
    "{a",
    "b}",
    "[a/b]",
    "{*.md,**/*}",
    ".",
    "",
    "a\\",
    "[{]a",
    "[\\]]",
    "{a..c}",
    "!a",
    "[[:alpha:]]",
]

patterns = st.builds(
    lambda lead, parts, tail: lead + "/".join(parts) + tail,
    st.sampled_from(["", "/"]),
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=5),
    st.sampled_from(["", "", "", "/"]),
)
paths = st.lists(st.sampled_from(NAMES), min_size=2, max_size=5)


@settings(max_examples=sized(3000, quick=800), deadline=None)
@given(patterns, paths, st.integers(1, 3))
@example("{**/b,a/**/b,x/{a,b}/b}", ["a", "b", "b"], 1)
@example("**/a/**/b", ["a", "a", "b"], 1)
@example("{a,b", ["{a,b", "b"], 1)
def test_as_over_the_whole_path(pattern: str, names: list[str], depth: int) -> None:
    folder, rest = "/".join(names[:depth]), "/".join(names[depth:])
    if not rest:
        return
    try:
        expected = compile_glob(pattern).matches(f"{folder}/{rest}")
    except InvalidGlobError:
        with pytest.raises(InvalidGlobError):
            patterns_below(pattern, folder)
        return
    found = patterns_below(pattern, folder)
    assert any(compile_glob(below).matches(rest) for below in found) == expected, found


def test_many_alternatives_stay_within_what_a_pattern_may_be() -> None:
    alternatives = ",".join(f"a/{'x' * 30}{number}/*.md" for number in range(100))
    found = patterns_below(f"{{{alternatives}}}", "a")
    assert 1 < len(found) < 10
    matchers = [compile_glob(pattern) for pattern in found]
    for number in range(100):
        assert sum(matcher.matches(f"{'x' * 30}{number}/y.md") for matcher in matchers) == 1


def test_what_cannot_match_asks_for_nothing() -> None:
    assert patterns_below("/*.md", "memories") == ()
    assert patterns_below("notes/**", "memories") == ()
    assert patterns_below("/memories", "memories") == ()
    assert patterns_below("/**", ".hidden") == ()
    assert patterns_below("memories/", "memories") == ()


def test_climbing_is_refused() -> None:
    with pytest.raises(InvalidGlobError, match="climbs"):
        patterns_below("memories/../x", "memories")
