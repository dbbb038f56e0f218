"""One file has one name."""

from __future__ import annotations

from unicodedata import normalize

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memoranda.errors import InvalidPathError
from memoranda.files import canonical_path, file_path, folder_prefix, is_within, name_of, parent_of

segments = st.text(st.characters(codec="utf-8", exclude_characters="/\\\0"), max_size=6)
loose = st.lists(st.one_of(segments, st.sampled_from(["", ".", "a", "é", "e\u0301", ".hid", "~", "..a"]))).map("/".join)
anything = st.one_of(loose, st.text(max_size=20), st.text("/\\.~a:\0é\u0301", max_size=12))


def accepted(path: str) -> str | None:
    try:
        return canonical_path(path)
    except InvalidPathError:
        return None


@pytest.mark.parametrize(
    ("path", "canonical"),
    [
        ("/a.md", "/a.md"),
        ("a.md", "/a.md"),
        ("//a///b/./c.md", "/a/b/c.md"),
        ("/a/b/", "/a/b"),
        ("/", "/"),
        (".", "/"),
        ("./", "/"),
        ("a\\b.md", "/a/b.md"),
        ("/A/b.MD", "/A/b.MD"),
        ("/.hidden/.env", "/.hidden/.env"),
        ("/v1..v2.md", "/v1..v2.md"),
        ("/cafe\u0301.md", "/caf\u00e9.md"),
        ("/memories/~draft", "/memories/~draft"),
        ("/~draft", "/~draft"),
        ("/c:/x", "/c:/x"),
        ("to:do.md", "/to:do.md"),
    ],
)
def test_canonical(path: str, canonical: str) -> None:
    assert canonical_path(path) == canonical


@pytest.mark.parametrize(
    "path",
    [
        "",
        "..",
        "/a/../b",
        "a\\..\\b",
        "~",
        "~/x",
        "~ann/x",
        "a\0b",
        "/\0",
        "/\ud800.md",
        "C:\\x",
        "c:/x",
        "c:",
    ],
)
def test_refused(path: str) -> None:
    with pytest.raises(InvalidPathError) as caught:
        canonical_path(path)
    assert caught.value.remedy
    str(caught.value).encode()  # the message itself can be sent anywhere


@given(anything)
def test_idempotent_and_well_formed(path: str) -> None:
    canonical = accepted(path)
    if canonical is None:
        return
    assert canonical_path(canonical) == canonical
    assert canonical.startswith("/") and "//" not in canonical and "\0" not in canonical and "\\" not in canonical
    assert canonical == "/" or not canonical.endswith("/")
    assert not {".", "..", ""} & set(canonical[1:].split("/")) or canonical == "/"
    assert normalize("NFC", canonical) == canonical


@given(loose, loose)
@example("/a", "/a/")
@example("/é", "/e\u0301")
@example("/A", "/a")
def test_equal_exactly_when_the_segments_are(one: str, other: str) -> None:
    def meaning(path: str) -> list[str]:
        return [normalize("NFC", segment) for segment in path.split("/") if segment not in ("", ".")]

    first, second = accepted(one), accepted(other)
    if first is not None and second is not None:
        assert (first == second) == (meaning(one) == meaning(other))


@given(anything)
def test_a_route_can_be_taken_off_and_put_back(path: str) -> None:
    canonical = accepted(path)
    if canonical is None or canonical.count("/") < 2:
        return
    route = canonical[: canonical.index("/", 1)]
    rest = canonical[len(route) :]
    assert canonical_path(rest) == rest
    assert route + rest == canonical


@given(anything)
def test_parent_and_name_make_the_path(path: str) -> None:
    canonical = accepted(path)
    if canonical in (None, "/"):
        return
    parent = parent_of(canonical)
    assert folder_prefix(parent) + name_of(canonical) == canonical
    assert is_within(canonical, parent) and is_within(canonical, "/") and is_within(canonical, canonical)
    assert not is_within(parent, canonical)


def test_parts() -> None:
    assert parent_of("/") == "/" and name_of("/") == ""
    assert not is_within("/ab", "/a") and is_within("/a/b", "/a") and is_within("/", "/")
    assert file_path("a/b.md") == "/a/b.md"
    with pytest.raises(InvalidPathError):
        file_path("/.")
