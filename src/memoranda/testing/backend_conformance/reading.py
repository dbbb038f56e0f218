"""Reading single files, whole and by windows of lines."""

from __future__ import annotations

from typing import Any

from memoranda.testing.backend_conformance.checks import (
    Checks,
    bytes_of,
    check,
    expect,
    expect_fine,
    expect_refused,
    put,
    text_of,
)

_FIVE = "one\ntwo\nthree\nfour\nfive\n"


def _window(result: Any) -> tuple[Any, ...]:
    expect_fine(result, "The read")
    return (
        result.file_data["content"],
        result.start_line,
        result.end_line,
        result.total_lines,
        result.next_offset,
    )


class ReadChecks(Checks):
    """Checks of `read`."""

    @check()
    def test_read_gives_what_was_written(self, backend: Any) -> None:
        """`read` gives the text that was written, without line numbers, and says that it is text."""
        put(backend, {"/notes/tea.md": "green\n  black\n"})
        result = expect_fine(backend.read("/notes/tea.md"), "Reading")
        expect(result.file_data["content"], "green\n  black\n", "The content")
        expect(result.file_data["encoding"], "utf-8", "The encoding")

    @check()
    def test_window_fields(self, backend: Any) -> None:
        """A window says its first line, its last line, how many there are, and no next offset at the end."""
        put(backend, {"/five.txt": _FIVE})
        expect(_window(backend.read("/five.txt")), (_FIVE, 1, 5, 5, None), "The whole file")

    @check()
    def test_windows(self, backend: Any) -> None:
        """`offset` counts lines from 0, and `next_offset` reads on where the window ends."""
        put(backend, {"/five.txt": _FIVE})
        expect(_window(backend.read("/five.txt", 1, 2)), ("two\nthree\n", 2, 3, 5, 3), "A window")
        expect(_window(backend.read("/five.txt", 3, 2)), ("four\nfive\n", 4, 5, 5, None), "The last window")
        expect(_window(backend.read("/five.txt", 4, 100)), ("five\n", 5, 5, 5, None), "A window beyond the end")

    @check()
    def test_reading_on_gives_everything_once(self, backend: Any) -> None:
        """Reading on at `next_offset` gives every line exactly once."""
        text = "".join(f"line {number}\n" for number in range(50)) + "last without an end"
        put(backend, {"/long.txt": text})
        pieces: list[str] = []
        offset: int | None = 0
        while offset is not None and len(pieces) < 60:
            result = expect_fine(backend.read("/long.txt", offset, 7), "Reading on")
            pieces.append(result.file_data["content"])
            offset = result.next_offset
        expect("".join(pieces), text, "The pieces together")

    @check()
    def test_negative_offset(self, backend: Any) -> None:
        """A negative offset reads from the start."""
        put(backend, {"/five.txt": _FIVE})
        expect(_window(backend.read("/five.txt", -3, 1)), ("one\n", 1, 1, 5, 1), "The window")

    @check()
    def test_no_lines(self, backend: Any) -> None:
        """A limit of 0 or less gives no content, no line numbers, and says that no lines were asked for."""
        put(backend, {"/five.txt": _FIVE})
        for limit in (0, -1):
            result = backend.read("/five.txt", 0, limit)
            expect(_window(result), ("", None, None, None, None), "The window")
            expect(result.no_lines_requested, True, "no_lines_requested")

    @check()
    def test_offset_beyond_the_end(self, backend: Any) -> None:
        """An offset at or beyond the end is an error that says how many lines there are."""
        put(backend, {"/five.txt": _FIVE})
        for offset in (5, 100):
            expect_refused(backend.read("/five.txt", offset), f"Offset {offset}", "5 lines")

    @check()
    def test_blank_files(self, backend: Any) -> None:
        """An empty or blank file is read as it is, without line numbers and without an error."""
        put(backend, {"/empty.txt": "", "/blank.txt": " \n\n"})
        expect(_window(backend.read("/empty.txt")), ("", None, None, None, None), "An empty file")
        expect(_window(backend.read("/blank.txt")), (" \n\n", None, None, None, None), "A blank file")

    @check()
    def test_line_ends_in_windows(self, backend: Any) -> None:
        """A window's lines end with LF, whatever the file has; the file itself is left as it is."""
        put(backend, {"/dos.txt": "one\r\ntwo\rthree\n"})
        expect(_window(backend.read("/dos.txt", 0, 2))[0], "one\ntwo\n", "The window")
        expect(bytes_of(backend, "/dos.txt"), b"one\r\ntwo\rthree\n", "The bytes")

    @check()
    def test_missing_file(self, backend: Any) -> None:
        """A missing file is an error that names the path."""
        put(backend, {"/here.txt": "x"})
        expect_refused(backend.read("/not/there.txt"), "A missing file", "/not/there.txt", "not found")
        expect_refused(backend.read("/here.txt/below"), "A path below a file")

    @check()
    def test_a_folder_is_no_file(self, backend: Any) -> None:
        """Reading a folder is an error."""
        put(backend, {"/notes/tea.md": "x"})
        expect_refused(backend.read("/notes"), "Reading a folder")

    @check()
    def test_pictures_are_read_whole(self, backend: Any) -> None:
        """A file that is a picture, sound, film or document by its name is read whole, as base64 if it is binary."""
        put(backend, {"/picture.png": b"\x89PNG\r\n\x1a\n\x00"})
        result = expect_fine(backend.read("/picture.png", 3, 1), "Reading a picture")
        expect(result.file_data["encoding"], "base64", "The encoding")
        expect(result.file_data["content"], "iVBORw0KGgoA", "The content")
        expect(result.start_line, None, "The first line")

    @check()
    def test_all_of_unicode(self, backend: Any) -> None:
        """Text of every script, emoji and control characters comes back as it was."""
        text = "é e\u0301 中文 עברית 🫖\u200d \u2028 \x0b \x0c \x1b tab\t end"
        put(backend, {"/ünï/中.md": text})
        expect(bytes_of(backend, "/ünï/中.md"), text.encode(), "The bytes")

    @check()
    def test_long_lines(self, backend: Any) -> None:
        """A line of a megabyte is one line."""
        put(backend, {"/long.txt": "x" * 1_000_000 + "\nend"})
        result = expect_fine(backend.read("/long.txt"), "Reading")
        expect((len(result.file_data["content"]), result.total_lines), (1_000_004, 2), "Length and lines")

    @check(needs="canonical")
    def test_one_file_has_one_name(self, backend: Any) -> None:
        """`//`, `/./` and a missing slash at the start name the same file, so that no rule can be passed by them."""
        put(backend, {"/notes/tea.md": "green"})
        for path in ("//notes/tea.md", "/notes//tea.md", "/notes/./tea.md", "notes/tea.md"):
            expect(text_of(backend, path), "green", f"Read as {path}")
        put(backend, {"//notes///coffee.md": "black"})
        expect(text_of(backend, "/notes/coffee.md"), "black", "Written as //notes///coffee.md")

    @check()
    def test_case_and_likeness(self, backend: Any) -> None:
        """Names that differ in case, or look alike, are different files."""
        put(backend, {"/a.md": "small", "/A.md": "large", "/а.md": "cyrillic"})
        expect([text_of(backend, path) for path in ("/a.md", "/A.md", "/а.md")], ["small", "large", "cyrillic"], "They")
