"""Uploading and downloading files as bytes."""

from __future__ import annotations

from typing import Any

from memoranda.testing.backend_conformance.checks import (
    Checks,
    bytes_of,
    check,
    expect,
    expect_fine,
    put,
    text_of,
)

_FILES = [
    ("/z.bin", bytes(range(256))),
    ("/a.md", "grün\r\n".encode()),
    ("/deep/b.md", b""),
    ("/m.utf16", "tea".encode("utf-16")),
]


class TransferChecks(Checks):
    """Checks of `upload_files` and `download_files`."""

    @check()
    def test_bytes_round_trip(self, backend: Any) -> None:
        """What is uploaded is downloaded byte for byte, and answers come in the order of the files."""
        answers = backend.upload_files(_FILES)
        expect([(answer.path, answer.error) for answer in answers], [(path, None) for path, _ in _FILES], "Uploads")
        answers = backend.download_files([path for path, _ in reversed(_FILES)])
        expect([(a.path, a.content, a.error) for a in answers], [(*f, None) for f in reversed(_FILES)], "Downloads")

    @check()
    def test_uploaded_text_is_text(self, backend: Any) -> None:
        """Uploaded bytes that are UTF-8 are a text file; others are binary and read as base64."""
        put(backend, {"/a.md": "grün".encode(), "/b.bin": b"\xff"})
        expect(text_of(backend, "/a.md"), "grün", "The text")
        expect_fine(backend.edit("/a.md", "grün", "rot"), "Editing it")
        data = expect_fine(backend.read("/b.bin"), "Reading the other").file_data
        expect((data["encoding"], data["content"]), ("base64", "/w=="), "Encoding and content")

    @check()
    def test_upload_overwrites(self, backend: Any) -> None:
        """An upload over a file sets the whole of it; of two to one path the later counts."""
        put(backend, {"/a.md": "old and long"})
        backend.upload_files([("/a.md", b"1"), ("/a.md", b"\xff2")])
        expect(bytes_of(backend, "/a.md"), b"\xff2", "The bytes")

    @check()
    def test_missing_downloads(self, backend: Any) -> None:
        """A missing file is answered with `file_not_found`, a folder with `is_directory` or that; the rest comes."""
        put(backend, {"/d/a.md": "x"})
        answers = backend.download_files(["/none", "/d/a.md", "/d"])
        expect([answer.content for answer in answers], [None, b"x", None], "The contents")
        expect(answers[0].error, "file_not_found", "The error")
        expect(answers[2].error in ("is_directory", "file_not_found"), True, "The folder's error is a known one")

    @check()
    def test_a_bad_path_spoils_no_other(self, backend: Any) -> None:
        """A path that cannot be is answered with an error, and the other files land all the same."""
        answers = backend.upload_files([("/a.md", b"1"), ("/../../b.md", b"2"), ("/c.md", b"3")])
        expect([answer.error is None for answer in answers], [True, False, True], "Which landed")
        expect([bytes_of(backend, path) for path in ("/a.md", "/c.md")], [b"1", b"3"], "The contents")
        answers = backend.download_files(["/a.md", "/../../b.md", "/c.md"])
        expect([answer.content for answer in answers], [b"1", None, b"3"], "The downloads")

    @check()
    def test_nothing_to_transfer(self, backend: Any) -> None:
        """No files are no answers."""
        expect((list(backend.upload_files([])), list(backend.download_files([]))), ([], []), "The answers")
