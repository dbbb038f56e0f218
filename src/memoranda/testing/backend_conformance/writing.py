"""Writing whole files, and replacing text in them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from memoranda.testing.backend_conformance.checks import (
    Checks,
    bytes_of,
    check,
    expect,
    expect_fine,
    expect_paths,
    expect_refused,
    put,
    text_of,
)


class WriteChecks(Checks):
    """Checks of `write`."""

    @check()
    def test_write_creates(self, backend: Any) -> None:
        """`write` creates a file and the folders on the way to it, and gives its path back."""
        result = expect_fine(backend.write("/deep/down/tea.md", "green"), "Writing")
        expect(result.path, "/deep/down/tea.md", "The path")
        expect(text_of(backend, "/deep/down/tea.md"), "green", "The text")

    @check()
    def test_write_overwrites(self, backend: Any) -> None:
        """`write` over a file sets the whole of it."""
        put(backend, {"/tea.md": "a long text about tea"})
        put(backend, {"/tea.md": "short"})
        expect(bytes_of(backend, "/tea.md"), b"short", "The text")

    @check()
    def test_write_is_exact(self, backend: Any) -> None:
        """Not a byte is added, taken away or translated, line ends and a byte order mark included."""
        for text in ("no end", "end\n", "dos\r\n", "mac\r", "\n\n", " ", "", "\ufeffmark"):
            put(backend, {"/exact.txt": text})
            expect(bytes_of(backend, "/exact.txt"), text.encode(), "The bytes")

    @check()
    def test_write_of_a_megabyte(self, backend: Any) -> None:
        """A megabyte of text is written and read."""
        text = "0123456789abcde\n" * 65_536
        put(backend, {"/large.txt": text})
        expect(bytes_of(backend, "/large.txt") == text.encode(), True, "The same bytes")

    @check()
    def test_times(self, backend: Any) -> None:
        """A file knows when it was changed; a second `write` keeps when it was created."""
        put(backend, {"/tea.md": "green"})
        (first,) = expect_fine(backend.glob("*.md"), "The glob").matches
        put(backend, {"/tea.md": "black"})
        (second,) = expect_fine(backend.glob("*.md"), "The glob").matches
        changed = [datetime.fromisoformat(entry["modified_at"]) for entry in (first, second)]
        expect(changed[0] <= changed[1], True, "The time of the last change goes on")
        data = expect_fine(backend.read("/tea.md"), "Reading").file_data
        if "created_at" in data:
            created = datetime.fromisoformat(data["created_at"])
            expect(abs((created - changed[0]).total_seconds()) < 60, True, "It is about when it was first changed")

    @check()
    def test_text_over_bytes(self, backend: Any) -> None:
        """Text written over a binary file makes it a text file."""
        put(backend, {"/file": b"\xff\xfe"})
        put(backend, {"/file": "text now"})
        expect(expect_fine(backend.read("/file"), "Reading").file_data["encoding"], "utf-8", "The encoding")
        expect(bytes_of(backend, "/file"), b"text now", "The bytes")

    @check()
    def test_names_with_odd_characters(self, backend: Any) -> None:
        """Spaces, quotes and what globs, SQL or URLs take for special are letters like others in a name."""
        names = [
            "a b",
            "100%",
            "under_score",
            "s*r",
            "q?",
            "[a]",
            "{a,b}",
            "quo'te",
            'dou"ble',
            "#x",
            "a:b",
            "é",
            "+&=",
        ]
        put(backend, {f"/odd/{name}.md": name for name in names})
        for name in names:
            expect(text_of(backend, f"/odd/{name}.md"), name, f"The file {name}.md")
        expect_paths(backend.ls("/odd"), [f"/odd/{name}.md" for name in names], "The listing")


class EditChecks(Checks):
    """Checks of `edit`."""

    @check()
    def test_edit_replaces(self, backend: Any) -> None:
        """`edit` replaces a text that occurs once, and says so with the path."""
        put(backend, {"/tea.md": "likes green tea\nand cake\n"})
        result = expect_fine(backend.edit("/tea.md", "green tea\nand", "coffee,"), "The edit")
        expect((result.path, result.occurrences), ("/tea.md", 1), "Path and occurrences")
        expect(bytes_of(backend, "/tea.md"), b"likes coffee, cake\n", "The text")

    @check()
    def test_edit_to_nothing(self, backend: Any) -> None:
        """A text can be replaced by nothing."""
        put(backend, {"/tea.md": "green tea"})
        expect_fine(backend.edit("/tea.md", "green ", ""), "The edit")
        expect(bytes_of(backend, "/tea.md"), b"tea", "The text")

    @check()
    def test_edit_all(self, backend: Any) -> None:
        """With `replace_all` every occurrence is replaced, and counted."""
        put(backend, {"/tea.md": "tea, tea and tea"})
        expect(expect_fine(backend.edit("/tea.md", "tea", "mate", True), "The edit").occurrences, 3, "Occurrences")
        expect(bytes_of(backend, "/tea.md"), b"mate, mate and mate", "The text")

    @check()
    def test_edit_of_what_is_not_unique(self, backend: Any) -> None:
        """A text that occurs several times is refused with their number, and nothing is changed."""
        put(backend, {"/tea.md": "tea, tea and tea"})
        expect_refused(backend.edit("/tea.md", "tea", "mate"), "An ambiguous edit", "3")
        expect(bytes_of(backend, "/tea.md"), b"tea, tea and tea", "The text")

    @check()
    def test_edit_of_what_is_not_there(self, backend: Any) -> None:
        """A text that does not occur is refused, the text named; case and spaces count."""
        put(backend, {"/tea.md": "Green  tea"})
        for old in ("black tea", "green  tea", "Green tea"):
            expect_refused(backend.edit("/tea.md", old, "x"), f"An edit of {old!r}", old)
        expect(bytes_of(backend, "/tea.md"), b"Green  tea", "The text")

    @check()
    def test_edit_of_a_missing_file(self, backend: Any) -> None:
        """An edit of a missing file is refused with its path, and creates nothing."""
        expect_refused(backend.edit("/none.md", "a", "b"), "The edit", "/none.md", "not found")
        expect_paths(backend.ls("/"), [], "The listing")

    @check()
    def test_edit_of_nothing(self, backend: Any) -> None:
        """An empty text to replace is refused."""
        put(backend, {"/tea.md": "tea"})
        expect_refused(backend.edit("/tea.md", "", "x"), "The edit")
        expect_refused(backend.edit("/tea.md", "", "x", True), "The edit with replace_all")
        expect(bytes_of(backend, "/tea.md"), b"tea", "The text")

    @check()
    def test_edit_to_the_same(self, backend: Any) -> None:
        """Replacing a text by itself is accepted."""
        put(backend, {"/tea.md": "tea"})
        expect(expect_fine(backend.edit("/tea.md", "tea", "tea"), "The edit").occurrences, 1, "Occurrences")

    @check()
    def test_edit_with_a_newline_too_many(self, backend: Any) -> None:
        """Where only a newline at the end of the text is too many, the error says so."""
        put(backend, {"/tea.md": "green\nblack"})
        expect_refused(backend.edit("/tea.md", "black\n", "white\n"), "The edit", "newline")

    @check()
    def test_edit_keeps_line_ends(self, backend: Any) -> None:
        """An edit leaves the line ends that it does not touch."""
        put(backend, {"/dos.txt": b"one\r\ntwo\r\nthree\n"})
        expect_fine(backend.edit("/dos.txt", "two", "2"), "The edit")
        expect(bytes_of(backend, "/dos.txt"), b"one\r\n2\r\nthree\n", "The bytes")

    @check()
    def test_edit_of_a_binary_file(self, backend: Any) -> None:
        """A binary file cannot be edited, and stays as it is."""
        put(backend, {"/file.bin": b"\xff\x00abc"})
        expect_refused(backend.edit("/file.bin", "abc", "x"), "The edit")
        expect(bytes_of(backend, "/file.bin"), b"\xff\x00abc", "The bytes")

    @check()
    def test_edit_of_a_whole_file(self, backend: Any) -> None:
        """A text of 200,000 characters is found and replaced, as Deep Agents does to add to its history."""
        text = "".join(f"message {number}\n" for number in range(15_000))
        put(backend, {"/history.md": text})
        expect_fine(backend.edit("/history.md", text, text + "more\n"), "The edit")
        expect(bytes_of(backend, "/history.md") == (text + "more\n").encode(), True, "The same text and more")

    @check()
    def test_edit_takes_text_as_it_stands(self, backend: Any) -> None:
        """What is special in patterns and replacements is not special here."""
        put(backend, {"/x.md": "a.*b (c) $1"})
        expect_fine(backend.edit("/x.md", "a.*b (c) $1", r"\1 \g<0> $2"), "The edit")
        expect(bytes_of(backend, "/x.md"), rb"\1 \g<0> $2", "The text")
