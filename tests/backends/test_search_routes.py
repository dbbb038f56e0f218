"""Searching over several routes: one ranking, nothing shadowed, and no route that fails blinds the others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore

from memoranda import MemoryStore, open_store
from memoranda.backends import Backend, CompositeBackend, FilesystemBackend, StoreBackend
from memoranda.backends.protocol import SearchResult
from memoranda.files.format import create_file_data

Files = Callable[[str], StoreBackend]


@pytest.fixture
def files(store: MemoryStore) -> Files:
    return lambda name: StoreBackend(namespace=(name,), store=store)


def found(result: SearchResult) -> list[str]:
    assert result.error is None, result.error
    return [match.path for match in result.matches or ()]


def scored(result: SearchResult) -> list[tuple[str, float]]:
    assert result.error is None, result.error
    return [(match.text, round(match.score, 9)) for match in result.matches or ()]


NOTES = {
    f"/{name}.md": text
    for name, text in {
        "one": "The marmot lives in the garden of the old house.",
        "two": "A marmot! A marmot! It whistles at the dog.",
        "three": "The dog sleeps in the house all day long.",
        "four": "Of gardens, houses and dogs there is much to tell, of marmots less.",
        "five": "Nothing of all that is in here, only tea.",
        "six": "The old dog and the whistling marmot are friends.",
    }.items()
}


def test_one_ranking_as_if_all_lay_in_one_place(files: Files, tmp_path: Path) -> None:
    """The same files in one place, over routes into one store, and over routes into three kinds of storage."""
    whole = files("whole")
    near = CompositeBackend(files("a"), {"/x/": files("b"), "/y/": files("c")})
    far = CompositeBackend(
        files("d"),
        {"/x/": FilesystemBackend(tmp_path), "/y/": StoreBackend(namespace=("e",), store=InMemoryStore())},
    )
    for number, (path, text) in enumerate(NOTES.items()):
        folder = ("", "/x", "/y")[number % 3]
        for tree in (near, far):
            assert tree.write(folder + path, text).error is None
        whole.write(path, text)  # the name of a route is no word of its files
    for query in ("marmot", "the dog of the old house", "whistling in the garden", "tea"):
        expected = whole.search(query)
        assert scored(near.search(query)) == scored(far.search(query)) == scored(expected)
        assert scored(near.search(query, k=2)) == scored(expected)[:2]
        assert found(near.search(query, "/x")) == [path for path in found(near.search(query, "/")) if "/x/" in path]


def test_what_a_route_shadows_is_not_there(files: Files) -> None:
    default = files("default")
    for number in range(20):
        default.write(f"/m/{number}.md", "marmot marmot marmot")
    default.write("/free.md", "About a marmot and much else besides.")
    tree = CompositeBackend(default, {"/m/": files("m"), "/m/deep/": files("deep")})
    tree.write("/m/own.md", "There is a marmot in here too, among other things.")
    files("m").write("/deep/hidden.md", "marmot marmot")
    tree.write("/m/deep/seen.md", "And a marmot at the very bottom of it all.")
    assert set(found(tree.search("marmot", k=3))) == {"/free.md", "/m/own.md", "/m/deep/seen.md"}
    assert set(found(tree.search("marmot", "/m"))) == {"/m/own.md", "/m/deep/seen.md"}
    alone = CompositeBackend(files("other"), {"/m/": files("m2"), "/m/deep/": files("deep2")})
    for path in ("/free.md", "/m/own.md", "/m/deep/seen.md"):
        text = tree.read(path).file_data
        assert text is not None and alone.write(path, text["content"]).error is None
    assert scored(alone.search("marmot")) == scored(tree.search("marmot"))  # the shadowed lend nothing


def test_nested_routes(files: Files) -> None:
    inner = CompositeBackend(files("inner"), {"/deep": files("deep")})
    tree = CompositeBackend(files("outer"), {"/in/": inner})
    for path in ("/a.md", "/in/b.md", "/in/deep/c.md"):
        tree.write(path, f"A marmot at {path}")
    assert set(found(tree.search("marmot"))) == {"/a.md", "/in/b.md", "/in/deep/c.md"}
    assert found(tree.search("marmot", "/in/deep")) == ["/in/deep/c.md"]
    assert found(tree.search("marmot", "/in/deep/c.md")) == ["/in/deep/c.md"]


class Broken(Backend):
    """A backend whose database is gone."""

    def __getattribute__(self, name: str) -> Any:
        if name.endswith("_steps") and name != "names_steps":
            raise ConnectionError("no route to the database")
        return super().__getattribute__(name)


def test_one_failing_route_does_not_blind_the_others(files: Files) -> None:
    tree = CompositeBackend(files("a"), {"/broken/": Broken(), "/fine/": files("b")})
    tree.write("/x.md", "marmot")
    tree.write("/fine/x.md", "marmot")
    result = tree.search("marmot")
    assert set(found(result)) == {"/x.md", "/fine/x.md"}
    (warning,) = result.warnings
    assert "/broken/" in warning
    assert "no route to the database" in (tree.search("marmot", "/broken").error or "")


def test_a_store_that_goes_away_in_between(files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from memoranda.backends.finding import in_store

    tree = CompositeBackend(files("a"), {"/disk/": FilesystemBackend(tmp_path)})
    tree.write("/x.md", "marmot")
    tree.write("/disk/x.md", "marmot")

    def gone(*_: Any) -> Any:
        raise ConnectionError("no route to the database")

    monkeypatch.setattr(in_store, "read_sources", gone)
    result = tree.search("marmot")
    assert found(result) == ["/disk/x.md"]
    assert "could not be read" in result.warnings[0]


def test_seeds_are_found_under_their_path(store: MemoryStore, files: Files) -> None:
    store.put(("ann",), "/memories/AGENTS.md", dict(create_file_data("Likes marmots.")))
    store.put(("ann",), "/memories/tea.md", dict(create_file_data("Marmots like tea.")))
    store.put(("ann",), "/tea.md", dict(create_file_data("This marmot is in the way of the seed.")))
    tree = CompositeBackend(files("front"), {"/memories/": files("ann")})
    expected = {"/memories/AGENTS.md", "/memories/tea.md", "/memories/memories/tea.md"}
    assert set(found(tree.search("marmots"))) == expected == {m["path"] for m in tree.grep("armot").matches or ()}
    assert found(tree.search("marmots", "/memories/AGENTS.md")) == ["/memories/AGENTS.md"]
    assert found(tree.search("marmots", "/memories/memories")) == ["/memories/memories/tea.md"]
    for match in tree.search("marmots").matches or ():
        data = tree.read(match.path).file_data
        assert data is not None and match.text in data["content"]


def test_twin_routes_show_a_file_twice(files: Files) -> None:
    tree = CompositeBackend(files("front"), {"/a/": files("same"), "/b/": files("same")})
    tree.write("/a/x.md", "marmot")
    assert set(found(tree.search("marmot"))) == {"/a/x.md", "/b/x.md"}


# --- meaning ---------------------------------------------------------------------------------------------------


def animals(texts: list[str]) -> list[list[float]]:
    """An embedder that knows that a marmot and a groundhog are one."""
    known = ({"marmot", "groundhog"}, {"tea", "brew"}, {"dog", "hound"})
    return [
        [float(any(word in text.lower() for word in words)) for words in known] + [0.3 + len(text) % 3 * 0.01]
        for text in texts
    ]


def far_animals(texts: list[str]) -> list[list[float]]:
    """The same knowledge in another space."""
    return [[vector[1], vector[0], vector[3], vector[2], 0.2] for vector in animals(texts)]


def test_meaning_and_what_has_none(tmp_path: Path) -> None:
    """What has no vectors is not put last for it; and vectors of two embedders are never compared."""
    with (
        open_store("memory://", index={"embed": animals, "dims": 4}) as one,  # type: ignore[typeddict-item]
        open_store("memory://", index={"embed": far_animals, "dims": 5}) as other,  # type: ignore[typeddict-item]
    ):
        tree = CompositeBackend(
            FilesystemBackend(tmp_path),
            {
                "/one/": StoreBackend(namespace=("ann",), store=one),
                "/other/": StoreBackend(namespace=("ann",), store=other),
            },
        )
        tree.write("/disk.md", "My marmot whistles.")
        tree.write("/one/a.md", "The groundhog sleeps.")
        tree.write("/one/b.md", "A brew, please.")
        tree.write("/other/c.md", "A groundhog eats.")
        tree.write("/other/d.md", "The hound barks.")
        for store in (one, other):
            assert store.wait_for_index(20)  # type: ignore[attr-defined]
        result = tree.search("marmot")
        assert found(result)[0] == "/disk.md"  # it has the very word
        assert set(found(result)[:3]) == {"/disk.md", "/one/a.md", "/other/c.md"}
        assert result.notices == ()
        assert found(tree.search("groundhog", "/"))[0] in ("/one/a.md", "/other/c.md")
        assert found(tree.search("marmot", "/one"))[0] == "/one/a.md"
