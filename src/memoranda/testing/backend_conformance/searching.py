"""Finding lines by the text that they hold."""

from __future__ import annotations

from typing import Any

from memoranda.testing.backend_conformance.checks import Checks, check, expect, expect_fine, put

_TREE: dict[str, str | bytes] = {
    "/a.md": "tea\ncoffee\ngreen tea\n",
    "/notes/b.md": "no\ntea here\n",
    "/notes/c.txt": "tea\n",
    "/notes/deep/.d.md": "tea\n",
}


def _found(result: Any) -> list[tuple[str, int, str]]:
    expect_fine(result, "The search")
    matches: list[Any] = result.matches or []
    return sorted((match["path"], match["line"], match["text"]) for match in matches)


def _files(result: Any) -> list[str]:
    return sorted({path for path, _, _ in _found(result)})


class GrepChecks(Checks):
    """Checks of `grep`."""

    @check()
    def test_grep_gives_lines(self, backend: Any) -> None:
        """Each match has the path, the number of the line from 1, and the line without its end."""
        put(backend, _TREE)
        expect(
            _found(backend.grep("tea")),
            [
                ("/a.md", 1, "tea"),
                ("/a.md", 3, "green tea"),
                ("/notes/b.md", 2, "tea here"),
                ("/notes/c.txt", 1, "tea"),
                ("/notes/deep/.d.md", 1, "tea"),
            ],
            "The matches",
        )

    @check()
    def test_grep_is_literal(self, backend: Any) -> None:
        """The text is looked for as it stands: no regular expression, case and all."""
        put(backend, {"/x.md": "a.c\nabc\nA.C\n(d|e)\n%_\\\n"})
        expect([line for _, line, _ in _found(backend.grep("a.c"))], [1], "a.c")
        expect([line for _, line, _ in _found(backend.grep("(d|e)"))], [4], "(d|e)")
        expect([line for _, line, _ in _found(backend.grep("%_\\"))], [5], "%_\\")
        expect(_found(backend.grep(".*")), [], ".*")

    @check()
    def test_grep_below_a_path(self, backend: Any) -> None:
        """`path` narrows the search to a folder, or to one file."""
        put(backend, _TREE)
        expect(_files(backend.grep("tea", "/notes")), ["/notes/b.md", "/notes/c.txt", "/notes/deep/.d.md"], "A folder")
        expect(_files(backend.grep("tea", "/a.md")), ["/a.md"], "A file")
        expect(_found(backend.grep("tea", "/note")), [], "A folder that is not there")

    @check()
    def test_grep_with_a_glob(self, backend: Any) -> None:
        """`glob` narrows it to files that match, by the language of `glob`."""
        put(backend, _TREE)
        expect(_files(backend.grep("tea", glob="*.md")), ["/a.md", "/notes/b.md"], "*.md")
        expect(_files(backend.grep("tea", glob="notes/*")), ["/notes/b.md", "/notes/c.txt"], "notes/*")
        expect(_files(backend.grep("tea", "/notes", "*.{md,txt}")), ["/notes/b.md", "/notes/c.txt"], "*.{md,txt}")
        expect(_files(backend.grep("tea", glob="/*")), ["/a.md"], "/*")

    @check()
    def test_grep_is_capped(self, backend: Any) -> None:
        """`max_count` caps the lines over all files, and `truncated` says whether there are more."""
        put(backend, _TREE)
        for most, count, truncated in ((1, 1, True), (4, 4, True), (5, 5, False), (6, 5, False), (None, 5, False)):
            result = expect_fine(backend.grep("tea", max_count=most), "The search")
            expect((len(result.matches), result.truncated), (count, truncated), f"With max_count={most}")

    @check()
    def test_grep_passes_over_binary_files(self, backend: Any) -> None:
        """Binary files hold no lines."""
        put(backend, {"/x.bin": b"\xff tea \x00\n", "/y.md": "tea"})
        expect(_files(backend.grep("tea")), ["/y.md"], "The files")

    @check()
    def test_grep_of_nothing(self, backend: Any) -> None:
        """No match is no error, nor is a text with a line end in it."""
        put(backend, _TREE)
        expect(_found(backend.grep("cocoa")), [], "cocoa")
        expect(_found(backend.grep("tea\ncoffee")), [], "Two lines")

    @check()
    def test_grep_and_line_ends(self, backend: Any) -> None:
        """Lines are found without the CR of a DOS line end, and only LF ends a line."""
        put(backend, {"/dos.txt": b"tea\r\ngreen tea\r\n", "/odd.txt": "a\x0btea\x0c\u2028b\n"})
        expect(
            _found(backend.grep("tea")),
            [("/dos.txt", 1, "tea"), ("/dos.txt", 2, "green tea"), ("/odd.txt", 1, "a\x0btea\x0c\u2028b")],
            "The lines",
        )
