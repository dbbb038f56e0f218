"""Finding passages by what they say: `search`, which Deep Agents' protocol lacks; a backend without it is not asked."""

from __future__ import annotations

from typing import Any

from memoranda.testing.backend_conformance.checks import (
    Checks,
    Routed,
    check,
    expect,
    expect_fine,
    expect_refused,
    put,
    text_of,
)

_TREE: dict[str, str | bytes] = {
    "/food.md": "# Food\n\n## Tea\n\nLikes it green, and never with milk.\n\n## Coffee\n\nOnly in the morning.\n",
    "/people/ben.md": "Ben is her brother. He drinks coffee all day long.\n",
    "/people/deep/.cara.md": "Cara plays the cello, and coffee makes her nervous.\n",
    "/picture.bin": b"coffee \xff\x00",
}


def _files(result: Any) -> list[str]:
    expect_fine(result, "The search")
    return sorted({match.path for match in result.matches})


class FindChecks(Checks):
    """Checks of `search`."""

    @check(method="search")
    def test_search_gives_passages(self, backend: Any) -> None:
        """A match has the path, the lines as they stand in the file, the headings above, and a score."""
        put(backend, _TREE)
        (match,) = expect_fine(backend.search("does she like green tea?", k=1), "The search").matches
        expect((match.path, match.heading), ("/food.md", "Food > Tea"), "Where it is")
        lines = (text_of(backend, match.path) or "").splitlines()
        expect(match.text, "\n".join(lines[match.first_line - 1 : match.last_line]), "The text")
        expect("green" in match.text and match.score > 0, True, "That it answers")

    @check(method="search")
    def test_search_finds_what_has_the_words(self, backend: Any) -> None:
        """All files with a word are found, the best first, names with dots too; binary ones and others are not."""
        put(backend, _TREE)
        everywhere = ["/food.md", "/people/ben.md", "/people/deep/.cara.md"]
        expect(_files(backend.search("coffee")), everywhere, "coffee")
        expect(_files(backend.search("zebra")), [], "zebra")
        result = expect_fine(backend.search("her brother's coffee"), "The search")
        scores = [match.score for match in result.matches]
        expect(scores, sorted(scores, reverse=True), "The scores")
        expect(result.matches[0].path, "/people/ben.md", "The best")

    @check(method="search")
    def test_search_below_a_path(self, backend: Any) -> None:
        """`path` narrows the search before anything is counted: to a folder, or to one file."""
        put(backend, _TREE)
        expect(_files(backend.search("coffee", "/people")), ["/people/ben.md", "/people/deep/.cara.md"], "A folder")
        expect(_files(backend.search("coffee", "/people/ben.md")), ["/people/ben.md"], "A file")
        expect(_files(backend.search("coffee", "/nowhere")), [], "What is not there")
        expect(len(backend.search("tea and coffee", "/people", k=2).matches), 2, "As many as asked for")

    @check(method="search")
    def test_search_follows_changes(self, backend: Any) -> None:
        """What was changed, moved or deleted is found as it is."""
        put(backend, _TREE)
        expect_fine(backend.edit("/people/ben.md", "coffee", "cocoa"), "The edit")
        expect_fine(backend.delete("/food.md"), "The deletion")
        expect(_files(backend.search("coffee")), ["/people/deep/.cara.md"], "coffee")
        expect(_files(backend.search("cocoa")), ["/people/ben.md"], "cocoa")

    @check(method="search")
    def test_search_never_raises(self, backend: Any) -> None:
        """A blank question, a bad number and a bad path are errors in the result."""
        put(backend, _TREE)
        expect_refused(backend.search("  "), "A blank question")
        expect_refused(backend.search("tea", k=0), "No passage at all")
        expect_refused(backend.search("tea", "/a/../../etc"), "A path that climbs")

    @check(method="search", routes={"/m/": None, "/m/deep/": None})
    def test_search_over_routes(self, routed: Routed) -> None:
        """One ranking over all routes; what a route hides takes no place in it."""
        put(routed.default, {f"/m/{number}.md": "marmot marmot marmot" for number in range(9)})
        put(
            routed.tree,
            {
                "/a.md": "Among much else there is something about a marmot in here.",
                "/m/b.md": "A marmot.",
                "/m/deep/c.md": "This is about dogs, about cats, about horses, and about a marmot at the very end.",
            },
        )
        result = expect_fine(routed.tree.search("marmot", k=3), "The search")
        expect([match.path for match in result.matches], ["/m/b.md", "/a.md", "/m/deep/c.md"], "The ranking")
        expect(_files(routed.tree.search("marmot", "/m")), ["/m/b.md", "/m/deep/c.md"], "Below a route")
