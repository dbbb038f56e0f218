"""Listing folders, finding files by patterns, and deleting."""

from __future__ import annotations

import time
from typing import Any

from memoranda.testing.backend_conformance.checks import (
    Checks,
    bytes_of,
    check,
    expect,
    expect_fine,
    expect_paths,
    expect_refused,
    paths,
    put,
    text_of,
)

_TREE: dict[str, str | bytes] = {
    "/top.md": "1",
    "/notes/tea.md": "2",
    "/notes/tea.txt": "3",
    "/notes/deep/cake.md": "4",
    "/notes/.hidden.md": "5",
    "/.config/x.md": "6",
    "/notes.md/odd": "7",
}


class ListChecks(Checks):
    """Checks of `ls`."""

    @check()
    def test_ls_lists_one_folder(self, backend: Any) -> None:
        """`ls` gives the files and folders directly in a folder, by absolute path, folders with a slash at the end."""
        put(backend, _TREE)
        expect_paths(backend.ls("/"), ["/.config/", "/notes.md/", "/notes/", "/top.md"], "The root")
        expect_paths(
            backend.ls("/notes"), ["/notes/.hidden.md", "/notes/deep/", "/notes/tea.md", "/notes/tea.txt"], "A folder"
        )
        expect(paths(backend.ls("/notes")), paths(backend.ls("/notes/")), "With a slash at the end")

    @check()
    def test_ls_says_what_is_what(self, backend: Any) -> None:
        """An entry says whether it is a folder; a file's says its size in bytes and when it was changed."""
        put(backend, {"/tea.md": "grün", "/notes/x.md": "x"})
        entries = {entry["path"]: entry for entry in expect_fine(backend.ls("/"), "The listing").entries}
        expect(entries["/tea.md"].get("is_dir", False), False, "The file is a folder")
        expect(entries["/notes/"].get("is_dir"), True, "The folder is one")
        expect(entries["/tea.md"].get("size"), 5, "The size in bytes")
        expect(bool(entries["/tea.md"].get("modified_at")), True, "There is a time")

    @check()
    def test_ls_sorts(self, backend: Any) -> None:
        """Entries come sorted by path."""
        put(backend, {"/b.md": "1", "/a/x.md": "2", "/c.md": "3", "/B.md": "4"})
        found = paths(backend.ls("/"))
        expect(found, sorted(found), "The order")

    @check()
    def test_ls_of_nothing(self, backend: Any) -> None:
        """A folder that is not there has no entries, and that is no error."""
        expect_paths(backend.ls("/"), [], "The empty root")
        put(backend, {"/notes/x.md": "x"})
        expect_paths(backend.ls("/note"), [], "A folder that is not there")

    @check()
    def test_ls_of_many(self, backend: Any) -> None:
        """Three hundred files of one folder are all listed."""
        put(backend, {f"/many/{number:03}.md": "x" for number in range(300)})
        expect(len(paths(backend.ls("/many"))), 300, "The number of entries")


class GlobChecks(Checks):
    """Checks of `glob`."""

    @check()
    def test_glob_by_name(self, backend: Any) -> None:
        """A pattern without a slash matches names, at any depth."""
        put(backend, _TREE)
        expect_paths(backend.glob("*.txt"), ["/notes/tea.txt"], "*.txt")
        expect_paths(backend.glob("tea.*"), ["/notes/tea.md", "/notes/tea.txt"], "tea.*")
        expect_paths(backend.glob("cake.md"), ["/notes/deep/cake.md"], "cake.md")

    @check()
    def test_glob_by_path(self, backend: Any) -> None:
        """A pattern with a slash matches the path below the folder that is searched."""
        put(backend, _TREE)
        expect_paths(backend.glob("notes/*.md"), ["/notes/tea.md"], "notes/*.md")
        expect_paths(backend.glob("notes/*/*.md"), ["/notes/deep/cake.md"], "notes/*/*.md")
        expect_paths(backend.glob("deep/*.md"), [], "deep/*.md")
        expect_paths(backend.glob("deep/*.md", "/notes"), ["/notes/deep/cake.md"], "deep/*.md in /notes")

    @check()
    def test_glob_with_a_slash_at_the_start(self, backend: Any) -> None:
        """A slash at the start ties the pattern to the folder that is searched."""
        put(backend, _TREE)
        expect_paths(backend.glob("/*.md"), ["/top.md"], "/*.md")
        expect_paths(backend.glob("/*.md", "/notes"), ["/notes/tea.md"], "/*.md in /notes")

    @check()
    def test_glob_across_folders(self, backend: Any) -> None:
        """`**` stands for any number of folders, none included."""
        put(backend, _TREE)
        expect_paths(backend.glob("**/*.md"), ["/top.md", "/notes/tea.md", "/notes/deep/cake.md"], "**/*.md")
        expect_paths(backend.glob("notes/**/*.md"), ["/notes/tea.md", "/notes/deep/cake.md"], "notes/**/*.md")
        expect_paths(backend.glob("/notes/**"), ["/notes/tea.md", "/notes/tea.txt", "/notes/deep/cake.md"], "/notes/**")

    @check()
    def test_glob_alternatives(self, backend: Any) -> None:
        """Braces are alternatives, also with slashes in them; brackets and `?` stand for one character."""
        put(backend, _TREE)
        expect_paths(backend.glob("tea.{md,txt}"), ["/notes/tea.md", "/notes/tea.txt"], "tea.{md,txt}")
        expect_paths(backend.glob("{top,notes/tea}.md"), ["/top.md", "/notes/tea.md"], "{top,notes/tea}.md")
        expect_paths(backend.glob("[st]?a.md"), ["/notes/tea.md"], "[st]?a.md")

    @check()
    def test_glob_and_dots(self, backend: Any) -> None:
        """A name that starts with a dot is matched only where the pattern has the dot; `**` enters no such folder."""
        put(backend, _TREE)
        expect_paths(backend.glob("*hidden*"), [], "*hidden*")
        expect_paths(backend.glob(".*.md"), ["/notes/.hidden.md"], ".*.md")
        expect_paths(backend.glob("**/.*"), ["/notes/.hidden.md"], "**/.*")
        expect_paths(backend.glob("**/x.md"), [], "**/x.md")
        expect_paths(backend.glob(".config/*"), ["/.config/x.md"], ".config/*")

    @check()
    def test_glob_counts_case(self, backend: Any) -> None:
        """Upper and lower case are different."""
        put(backend, {"/Tea.MD": "x"})
        expect_paths(backend.glob("*.md"), [], "*.md")
        expect_paths(backend.glob("T*.MD"), ["/Tea.MD"], "T*.MD")

    @check()
    def test_glob_gives_files(self, backend: Any) -> None:
        """Only files are found, no folders, with the fields of a listing."""
        put(backend, {"/notes/tea.md": "grün"})
        expect_paths(backend.glob("notes"), [], "The name of a folder")
        (entry,) = expect_fine(backend.glob("*"), "The glob").matches
        expect((entry["path"], entry.get("is_dir", False)), ("/notes/tea.md", False), "The entry")
        expect((entry.get("size"), bool(entry.get("modified_at"))), (5, True), "Its size, and whether it has a time")

    @check()
    def test_glob_newest_first(self, backend: Any) -> None:
        """The file that was changed last comes first."""
        for path, content in (("/b.md", "1"), ("/a.md", "2"), ("/c.md", "3"), ("/b.md", "4")):
            put(backend, {path: content})
            time.sleep(0.02)  # the clock of a disk is coarse
        expect(paths(backend.glob("*.md")), ["/b.md", "/c.md", "/a.md"], "The order")

    @check()
    def test_glob_does_not_climb(self, backend: Any) -> None:
        """A pattern with `..` is refused with an error."""
        put(backend, _TREE)
        for pattern in ("../*", "notes/../top.md", "/../x"):
            expect_refused(backend.glob(pattern), f"The pattern {pattern}")

    @check()
    def test_glob_of_nothing(self, backend: Any) -> None:
        """No match is no error."""
        put(backend, _TREE)
        expect_paths(backend.glob("*.pdf"), [], "*.pdf")
        expect_paths(backend.glob("*", "/nowhere"), [], "A folder that is not there")


class DeleteChecks(Checks):
    """Checks of `delete`."""

    @check()
    def test_delete_a_file(self, backend: Any) -> None:
        """`delete` removes one file from reads, listings and searches, and no other."""
        put(backend, {"/a.md": "x", "/a.md.bak": "x", "/b.md": "x"})
        expect(expect_fine(backend.delete("/a.md"), "Deleting").path, "/a.md", "The path")
        expect_refused(backend.read("/a.md"), "Reading what was deleted")
        expect_paths(backend.ls("/"), ["/a.md.bak", "/b.md"], "The listing")
        expect_paths(backend.glob("*"), ["/a.md.bak", "/b.md"], "The glob")
        expect(sorted({match["path"] for match in backend.grep("x").matches}), ["/a.md.bak", "/b.md"], "The grep")

    @check()
    def test_delete_a_folder(self, backend: Any) -> None:
        """Deleting a folder deletes everything below it, dot names included, and nothing beside it."""
        put(backend, {"/d/a.md": "1", "/d/.b.md": "2", "/d/e/c.md": "3", "/d2/x.md": "4", "/d.md": "5"})
        expect_fine(backend.delete("/d"), "Deleting")
        gone = [bytes_of(backend, path) for path in ("/d/a.md", "/d/.b.md", "/d/e/c.md")]
        expect(gone, [None, None, None], "Its files")
        expect_paths(backend.glob("*"), ["/d2/x.md", "/d.md"], "What is left")
        expect([text_of(backend, path) for path in ("/d2/x.md", "/d.md")], ["4", "5"], "The files beside it")

    @check()
    def test_delete_takes_names_as_they_stand(self, backend: Any) -> None:
        """What is special in patterns is not special in the path to delete."""
        put(backend, {"/s*r.md": "1", "/star.md": "2", "/%/x.md": "3", "/y/x.md": "4"})
        expect_fine(backend.delete("/s*r.md"), "Deleting")
        expect_fine(backend.delete("/%"), "Deleting")
        expect_paths(backend.glob("*"), ["/star.md", "/y/x.md"], "What is left")

    @check()
    def test_delete_of_nothing(self, backend: Any) -> None:
        """Deleting what is not there is an error that names the path."""
        put(backend, {"/a.md": "x"})
        expect_refused(backend.delete("/b.md"), "Deleting", "/b.md")

    @check()
    def test_write_after_delete(self, backend: Any) -> None:
        """What was deleted can be written again."""
        put(backend, {"/a/b.md": "1"})
        expect_fine(backend.delete("/a"), "Deleting")
        put(backend, {"/a/b.md": "2"})
        expect(text_of(backend, "/a/b.md"), "2", "The text")
