"""One tree over several backends: routes, their parents, and what they hide."""

from __future__ import annotations

from typing import Any

from memoranda.testing.backend_conformance.checks import (
    Checks,
    Routed,
    check,
    expect,
    expect_fine,
    expect_paths,
    expect_refused,
    paths,
    put,
    text_of,
)


class Broken:
    """A backend whose every method raises."""


def _broken(*_: Any, **__: Any) -> Any:
    raise ConnectionError("the database is gone")


for _name in ("ls", "read", "grep", "glob", "write", "edit", "delete", "upload_files", "download_files"):
    setattr(Broken, _name, _broken)


_ONE: dict[str, Any] = {"/memories/": None}
_TWO: dict[str, Any] = {"/memories/user/": None, "/memories/org/": None}
_NESTED: dict[str, Any] = {"/memories/": None, "/memories/org/": None}


class RouteChecks(Checks):
    """Checks of a backend with routes to others."""

    @check(routes=_NESTED)
    def test_the_longest_route_wins(self, routed: Routed) -> None:
        """A path belongs to the longest route that it lies under, and only whole names count."""
        tree = routed.tree
        for path in ("/a.md", "/memories/a.md", "/memories/org/a.md", "/memories/organic.md", "/memo.md"):
            put(tree, {path: path})
        for path in ("/a.md", "/memories/a.md", "/memories/org/a.md", "/memories/organic.md", "/memo.md"):
            expect(text_of(tree, path), path, f"The text of {path}")
        routed.settle()
        expect_paths(routed.default.glob("*"), ["/a.md", "/memo.md"], "What the default backend keeps")

    @check(routes={"/memories": None, "/notes/": None})
    def test_a_slash_at_the_end_of_a_route(self, routed: Routed) -> None:
        """A route works with and without a slash at its end."""
        put(routed.tree, {"/memories/a.md": "1", "/notes/b.md": "2"})
        routed.settle()
        expect_paths(routed.default.glob("*"), [], "What the default backend keeps")
        expect_paths(routed.tree.ls("/memories"), ["/memories/a.md"], "The one")
        expect_paths(routed.tree.ls("/notes/"), ["/notes/b.md"], "The other")

    @check(routes=_ONE)
    def test_results_name_the_path_that_was_asked_for(self, routed: Routed) -> None:
        """Results give paths back with the prefix of the route."""
        tree = routed.tree
        expect(tree.write("/memories/a.md", "tea").path, "/memories/a.md", "Of a write")
        expect(tree.edit("/memories/a.md", "tea", "mate").path, "/memories/a.md", "Of an edit")
        expect_paths(tree.glob("*.md", "/memories"), ["/memories/a.md"], "Of a glob")
        expect([m["path"] for m in tree.grep("mate").matches], ["/memories/a.md"], "Of a grep")
        expect(tree.upload_files([("/memories/b", b"1")])[0].path, "/memories/b", "Of an upload")
        expect(tree.download_files(["/memories/b"])[0].path, "/memories/b", "Of a download")
        expect(tree.delete("/memories/a.md").path, "/memories/a.md", "Of a deletion")

    @check(routes=_ONE)
    def test_errors_name_the_path_that_was_asked_for(self, routed: Routed) -> None:
        """Errors name the path that was asked for, not what a backend behind a route calls it."""
        tree = routed.tree
        expect_refused(tree.read("/memories/no.md"), "Reading", "/memories/no.md")
        expect_refused(tree.edit("/memories/no.md", "a", "b"), "Editing", "/memories/no.md")
        expect_refused(tree.delete("/memories/no.md"), "Deleting", "/memories/no.md")

    @check(routes=_ONE)
    def test_ls_shows_a_route_once(self, routed: Routed) -> None:
        """The root shows each route once, also where the default backend has a folder of that name."""
        put(routed.default, {"/memories/hidden.md": "x", "/a.md": "x"})
        expect(sorted(paths(routed.tree.ls("/"))), ["/a.md", "/memories/"], "The root")

    @check(routes=_TWO)
    def test_ls_on_the_way_to_routes(self, routed: Routed) -> None:
        """A folder on the way to routes shows them, and the root shows that folder."""
        put(routed.tree, {"/memories/user/a.md": "x"})
        expect_paths(routed.tree.ls("/"), ["/memories/"], "The root")
        expect_paths(routed.tree.ls("/memories"), ["/memories/org/", "/memories/user/"], "The folder")

    @check(routes=_TWO)
    def test_searches_on_the_way_to_routes(self, routed: Routed) -> None:
        """`glob` and `grep` in a folder on the way to routes search all of them."""
        put(routed.tree, {"/memories/user/a.md": "tea", "/memories/org/b.md": "tea", "/c.md": "tea"})
        wanted = ["/memories/user/a.md", "/memories/org/b.md"]
        expect_paths(routed.tree.glob("*.md", "/memories"), wanted, "The glob")
        expect(sorted(m["path"] for m in routed.tree.grep("tea", "/memories").matches), sorted(wanted), "The grep")

    @check(routes=_NESTED)
    def test_searches_enter_routes_inside_routes(self, routed: Routed) -> None:
        """`glob`, `grep` and `ls` in a route see the longer routes inside it."""
        put(routed.tree, {"/memories/a.md": "tea", "/memories/org/b.md": "tea"})
        wanted = ["/memories/a.md", "/memories/org/b.md"]
        expect_paths(routed.tree.ls("/memories"), ["/memories/a.md", "/memories/org/"], "The listing")
        expect_paths(routed.tree.glob("**/*.md", "/memories"), wanted, "The glob")
        expect(sorted(m["path"] for m in routed.tree.grep("tea", "/memories").matches), sorted(wanted), "The grep")

    @check(routes=_NESTED)
    def test_patterns_that_name_routes(self, routed: Routed) -> None:
        """A pattern may name the folders of routes, wholly or by wildcards, as in one tree."""
        put(routed.tree, {"/memories/a.md": "1", "/memories/org/b.md": "2", "/c.md": "3", "/x/d.md": "4"})
        for pattern, wanted in {
            "/memories/**/*.md": ["/memories/a.md", "/memories/org/b.md"],
            "memories/*.md": ["/memories/a.md"],
            "memories/*/*.md": ["/memories/org/b.md"],
            "*/*.md": ["/memories/a.md", "/x/d.md"],
            "{memories/org,x}/*": ["/memories/org/b.md", "/x/d.md"],
            "**/org/*": ["/memories/org/b.md"],
            "/*.md": ["/c.md"],
            "*.md": ["/memories/a.md", "/memories/org/b.md", "/c.md", "/x/d.md"],
        }.items():
            expect_paths(routed.tree.glob(pattern), wanted, f"The pattern {pattern}")

    @check(routes=_ONE)
    def test_grep_by_patterns_that_name_routes(self, routed: Routed) -> None:
        """The `glob` of a search may name the folders of routes too."""
        put(routed.tree, {"/memories/a.md": "tea", "/memories/d/b.md": "tea", "/c.md": "tea"})
        for pattern, wanted in {
            "memories/**": ["/memories/a.md", "/memories/d/b.md"],
            "memories/*.md": ["/memories/a.md"],
            "/*.md": ["/c.md"],
        }.items():
            found = expect_fine(routed.tree.grep("tea", glob=pattern), "The search").matches
            expect(sorted(match["path"] for match in found), wanted, f"The pattern {pattern}")

    @check(routes=_ONE)
    def test_hidden_files_are_in_nothing(self, routed: Routed) -> None:
        """What the default backend keeps under the prefix of a route is in no listing, search or read."""
        put(routed.default, {"/memories/hidden.md": "tea", "/seen.md": "tea"})
        tree = routed.tree
        expect_refused(tree.read("/memories/hidden.md"), "Reading what is hidden")
        expect_paths(tree.glob("**/*.md"), ["/seen.md"], "The glob")
        expect([match["path"] for match in tree.grep("tea").matches], ["/seen.md"], "The grep")
        expect_paths(tree.ls("/memories"), [], "The listing")

    @check(routes=_ONE)
    def test_hidden_lines_do_not_count(self, routed: Routed) -> None:
        """What is hidden uses up nothing of `max_count`."""
        put(routed.default, {"/memories/hidden.md": "tea\n" * 50, "/z.md": "tea\n"})
        put(routed.tree, {"/memories/a.md": "tea"})
        result = expect_fine(routed.tree.grep("tea", max_count=2), "The search")
        expect(sorted(match["path"] for match in result.matches), ["/memories/a.md", "/z.md"], "The lines")
        expect(result.truncated, False, "There are more")

    @check(routes=_TWO)
    def test_a_cap_over_all_routes(self, routed: Routed) -> None:
        """`max_count` caps the lines over all routes together."""
        put(routed.tree, {"/a.md": "tea\ntea", "/memories/user/b.md": "tea\ntea", "/memories/org/c.md": "tea"})
        for most, truncated in ((1, True), (3, True), (4, True), (5, False), (6, False)):
            result = expect_fine(routed.tree.grep("tea", max_count=most), "The search")
            expect((len(result.matches), result.truncated), (min(most, 5), truncated), f"With max_count={most}")

    @check(routes=_TWO)
    def test_transfers_over_routes(self, routed: Routed) -> None:
        """Uploads and downloads over several routes are answered in the order of the files."""
        wanted = ["/memories/user/a", "/b", "/memories/org/c", "/memories/user/d"]
        answers = routed.tree.upload_files([(path, path.encode()) for path in wanted])
        expect([(a.path, a.error) for a in answers], [(path, None) for path in wanted], "The uploads")
        answers = routed.tree.download_files([*reversed(wanted), "/memories/user/none"])
        contents = [path.encode() for path in reversed(wanted)]
        expect([answer.content for answer in answers], [*contents, None], "The downloads")

    @check(routes={"/broken/": Broken(), "/fine/": None})
    def test_a_failing_route_blinds_no_other(self, routed: Routed) -> None:
        """Where one backend fails, searches over the others still answer, and nothing raises."""
        put(routed.tree, {"/a.md": "tea", "/fine/b.md": "tea"})
        try:
            globbed = paths(routed.tree.glob("*.md"))
            grepped: list[Any] = routed.tree.grep("tea").matches or []
            refused = routed.tree.read("/broken/a.md").error
        except ConnectionError as error:
            raise AssertionError(f"ConnectionError was raised: {error}") from error
        expect(sorted(globbed), ["/a.md", "/fine/b.md"], "The glob")
        expect(sorted(match["path"] for match in grepped), ["/a.md", "/fine/b.md"], "The grep")
        expect(refused is None, False, "A read of the broken one")

    @check(routes=_NESTED)
    def test_a_route_can_be_emptied(self, routed: Routed) -> None:
        """Deleting the folder of a route deletes what lies behind it, and nothing else."""
        put(routed.tree, {"/memories/org/a.md": "1", "/memories/b.md": "2", "/c.md": "3"})
        expect_fine(routed.tree.delete("/memories/org"), "Deleting")
        expect_paths(routed.tree.glob("*"), ["/memories/b.md", "/c.md"], "What is left")

    @check(routes=_ONE)
    def test_a_parent_of_a_full_route_is_not_deleted(self, routed: Routed) -> None:
        """Deleting everything above a route does not silently leave half of it: it is refused, or all goes."""
        put(routed.tree, {"/memories/a.md": "1", "/c.md": "3"})
        answer = routed.tree.delete("/")
        left = paths(routed.tree.glob("*"))
        expect(len(left), 0 if answer.error is None else 2, "The number of files that are left")
