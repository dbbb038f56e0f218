"""Names of exported files: reversible for namespaces, harmless everywhere, never two for one."""

from __future__ import annotations

from unicodedata import normalize

from hypothesis import given
from hypothesis import strategies as st

from memoranda.transfer.names import Places, key_parts, namespace_folder, namespace_of_folder
from tests.transfer.support import HARD_KEYS, HARD_LABELS

CHARACTERS = st.characters(exclude_categories=("Cs",), exclude_characters="\0") | st.sampled_from(
    "./\\%,~ :con.git\u200d"
)
LABELS = st.lists(
    st.text(CHARACTERS, min_size=1, max_size=400) | st.sampled_from(HARD_LABELS), min_size=1, max_size=4
).map(tuple)
KEYS = st.text(CHARACTERS, min_size=1, max_size=400) | st.sampled_from(HARD_KEYS)
DEVICES = {"con", "prn", "aux", "nul", *(f"com{n}" for n in range(10)), *(f"lpt{n}" for n in range(10))}


def harmless(part: str) -> bool:
    return (
        part not in ("", ".", "..")
        and len(part.encode()) <= 255
        and not set('\\/:*?"<>|') & set(part)
        and not any(ord(character) < 32 or ord(character) == 127 for character in part)
        and part[-1] not in ". "
        and part.partition(".")[0].rstrip().casefold() not in DEVICES
        and part.casefold() not in (".git", "git~1")
    )


@given(LABELS)
def test_a_folder_names_one_namespace(labels: tuple[str, ...]) -> None:
    parts = namespace_folder(labels)
    assert all(map(harmless, parts))
    assert namespace_of_folder(parts) == labels


@given(st.lists(LABELS, max_size=6, unique=True))
def test_namespaces_stay_apart_where_case_does_not_count(namespaces: list[tuple[str, ...]]) -> None:
    places = Places()
    placed = [places.place(namespace_folder(labels)) for labels in namespaces]
    assert [namespace_of_folder(parts) for parts in placed] == namespaces
    folded = [folded_name("/".join(parts)) for parts in placed]
    assert len(set(folded)) == len(folded)


@given(KEYS, st.sampled_from(["", ".json"]))
def test_no_key_leads_anywhere_else(key: str, ending: str) -> None:
    parts = key_parts(key, ending)
    assert parts
    assert all(map(harmless, parts))


@given(st.lists(KEYS, max_size=12, unique=True))
def test_no_two_keys_share_a_file(keys: list[str]) -> None:
    places = Places()
    placed = [folded_name("/".join(places.place(key_parts(key)))) for key in keys]
    assert len(set(placed)) == len(placed)
    # Nor is one the folder of another.
    assert not any(two.startswith(one + "/") for one in placed for two in placed)


def folded_name(name: str) -> str:
    return normalize("NFC", normalize("NFC", name).casefold())


def test_everyday_names_stay_as_they_are() -> None:
    assert namespace_folder(("acme", "ann@example.com")) == ["acme,ann@example.com"]
    assert namespace_folder(("记忆", "🦊 a-b_c")) == ["记忆,🦊 a-b_c"]
    assert key_parts("/docs/v1.2/Überblick (neu).md") == ["docs", "v1.2", "Überblick (neu).md"]
    assert key_parts("/.claude/settings.json", ".json") == [".claude", "settings.json"]


def test_case_and_kind_give_numbers() -> None:
    places = Places()
    placed = [
        "/".join(places.place(key_parts(key))) for key in ("/A.md", "/a.md", "a.md", "/a.md/b", "/n/x", "/N/y", "/n")
    ]
    assert placed == ["A.md", "a%~2.md", "a%~3.md", "a%~4.md/b", "n/x", "N%~2/y", "n%~3"]
