"""A real folder: confined, never torn, no edit lost among processes."""

from __future__ import annotations

import multiprocessing
import os
import stat
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from memoranda.backends import FileError, FilesystemBackend
from memoranda.backends.disk import files as disk_files
from memoranda.backends.disk.folder import Folder
from memoranda.backends.disk.names import TEMPORARY
from memoranda.backends.disk.root import Found, Root
from memoranda.backends.places import Place
from memoranda.backends.protocol import DeleteFile, EditFile, MoveFile, WriteFile
from memoranda.backends.steps import perform


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


@pytest.fixture
def files(root: Path) -> FilesystemBackend:
    return FilesystemBackend(root)


def paths(entries: Any) -> list[str]:
    return [entry["path"] for entry in entries or []]


def text(result: Any) -> str:
    assert result.error is None, result.error
    return result.file_data["content"]


def test_every_operation(files: FilesystemBackend, root: Path) -> None:
    assert files.write("/notes/tea.md", "green\nblack").path == "/notes/tea.md"
    assert files.edit("/notes/tea.md", "green", "white").occurrences == 1
    assert files.append("/notes/tea.md", "oolong").error is None
    assert (root / "notes/tea.md").read_text() == "white\nblack\noolong"
    assert [answer.error for answer in files.upload_files([("/pic.bin", b"\xff\x00"), ("/a.md", b"a")])] == [None, None]
    assert paths(files.ls("/").entries) == ["/a.md", "/notes/", "/pic.bin"]
    assert text(files.read("/notes/tea.md", 1, 1)) == "black\n"
    assert files.read("/pic.bin").file_data["encoding"] == "base64"  # type: ignore[index]
    assert files.download_files(["/pic.bin", "/none", "/notes"])[0].content == b"\xff\x00"
    assert [answer.error for answer in files.download_files(["/pic.bin", "/none", "/notes"])] == [
        None,
        "file_not_found",
        "is_directory",
    ]
    assert set(paths(files.glob("*.md").matches)) == {"/notes/tea.md", "/a.md"}
    assert paths(files.glob("notes/*").matches) == ["/notes/tea.md"]
    assert files.grep("oolong").matches == [{"path": "/notes/tea.md", "line": 3, "text": "oolong"}]
    assert files.move("/notes", "/old/notes").paths == ("/old/notes/tea.md",)
    assert files.delete("/old").paths == ("/old/notes/tea.md",)
    assert paths(files.ls("/").entries) == ["/a.md", "/pic.bin"]
    assert files.commit([WriteFile("/b.md", "b"), MoveFile("/a.md", "/c.md"), DeleteFile("/pic.bin")]).error is None
    assert paths(files.ls("/").entries) == ["/b.md", "/c.md"]
    assert files.commit([WriteFile("/d.md", "d"), EditFile("/b.md", "nothing", "x")]).error is not None
    assert paths(files.ls("/").entries) == ["/b.md", "/c.md"]


async def test_every_operation_from_async_code(files: FilesystemBackend) -> None:
    assert (await files.awrite("/a.md", "x")).error is None
    assert (await files.aedit("/a.md", "x", "y")).error is None
    assert text(await files.aread("/a.md")) == "y"
    assert paths((await files.als("/")).entries) == ["/a.md"]
    assert paths((await files.aglob("*")).matches) == ["/a.md"]
    assert len((await files.agrep("y")).matches or []) == 1
    assert (await files.amove("/a.md", "/b.md")).error is None
    assert (await files.adownload_files(["/b.md"]))[0].content == b"y"
    assert (await files.adelete("/b.md")).error is None


def test_an_empty_file_reads_as_empty(files: FilesystemBackend, root: Path) -> None:
    (root / "empty.md").touch()
    assert text(files.read("/empty.md")) == ""
    assert files.download_files(["/empty.md"])[0].content == b""


@pytest.mark.parametrize("name", ["/v1..v2.md", "/..hidden", "/a b.md", "/.env", "/~x", "/ä/ö.md", "/" + "n" * 255])
def test_unusual_names_are_names(files: FilesystemBackend, name: str) -> None:
    assert files.write(name, "x").error is None
    assert text(files.read(name)) == "x"
    assert paths(files.grep("x").matches) == [name]
    assert files.delete(name).error is None


def test_names_that_no_disk_takes_are_refused(files: FilesystemBackend) -> None:
    name = "/" + "n" * 256
    assert "too long for a disk" in (files.write(name, "x").error or "")
    assert files.read(name).error == f"File '{name}' not found"
    assert "is a name that is kept" in (files.write(f"/{TEMPORARY}", "x").error or "")


# --- confinement ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("link", ["absolute", "relative", "chained", "file"])
def test_no_link_leads_out(files: FilesystemBackend, root: Path, tmp_path: Path, link: str) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key.txt").write_text("SECRET")
    match link:
        case "absolute":
            (root / "out").symlink_to(secret)
        case "relative":
            (root / "out").symlink_to("../secret")
        case "chained":
            (root / "inner").mkdir()
            (root / "inner/up").symlink_to("..")
            (root / "out").symlink_to("inner/up/../secret")
        case _:
            (root / "out").symlink_to(secret / "key.txt")
    path = "/out" if link == "file" else "/out/key.txt"
    for result in (
        files.read(path),
        files.write(path, "x"),
        files.edit(path, "S", "x"),
        files.append(path, "x"),
        files.write("/out/new/x.md" if link != "file" else path, "x"),
    ):
        assert result.error is not None and "SECRET" not in result.error
    assert files.download_files([path])[0].error == "permission_denied"
    assert files.upload_files([(path, b"x")])[0].error == "permission_denied"
    assert "/out" not in " ".join(paths(files.ls("/").entries))
    assert any("leads outside" in warning for warning in files.ls("/").warnings)
    assert files.grep("SECRET").matches == [] and paths(files.glob("**/key.txt").matches) == []
    assert (secret / "key.txt").read_text() == "SECRET" and len(list(secret.iterdir())) == 1
    assert files.delete("/out").error is None  # the link itself lies inside
    assert (secret / "key.txt").read_text() == "SECRET"


def test_links_inside_lead_where_they_lead_and_guards_hear_of_it(files: FilesystemBackend, root: Path) -> None:
    (root / "secrets").mkdir()
    (root / "secrets/key.txt").write_text("k")
    (root / "pub").mkdir()
    (root / "pub/link").symlink_to("../secrets")
    (root / "pub/absolute").symlink_to(root / "secrets/key.txt")
    (root / "pub/twice").symlink_to("link")
    assert text(files.read("/pub/link/key.txt")) == "k"
    assert text(files.read("/pub/absolute")) == "k"

    def names(path: str) -> set[str]:
        (found,) = perform(files.names_steps([Place(path, "/mount" + path)]))
        assert found[0] == path
        return set(found[1:])

    assert names("/pub/link/key.txt") == {"/secrets/key.txt"}
    assert names("/pub/absolute") == {"/secrets/key.txt"}
    assert names("/pub/twice/key.txt") == {"/pub/link/key.txt", "/secrets/key.txt"}
    assert names("/pub/link/new/file.md") == {"/secrets/new/file.md"}
    assert names("/secrets/key.txt") == set()
    assert names("/nowhere/at/all") == set()
    assert paths(files.ls("/pub").entries) == ["/pub/absolute", "/pub/link/", "/pub/twice/"]
    # Searches do not enter folders that are links, so nothing is found twice.
    assert paths(files.glob("*.txt").matches) == ["/secrets/key.txt"]
    assert paths(files.grep("k").matches) == ["/pub/absolute", "/secrets/key.txt"]
    assert paths(files.glob("*", "/pub/link").matches) == ["/pub/link/key.txt"]
    assert files.write("/pub/absolute", "new").error is None
    assert (root / "secrets/key.txt").read_text() == "new" and (root / "pub/absolute").is_symlink()
    assert files.delete("/pub/link").paths == ("/pub/link",)
    assert (root / "secrets/key.txt").exists()


def test_links_in_circles_and_to_nowhere(files: FilesystemBackend, root: Path) -> None:
    (root / "a").symlink_to("b")
    (root / "b").symlink_to("a")
    (root / "dangling").symlink_to("missing.md")
    (root / "self").symlink_to(".")
    assert "in circles" in (files.read("/a").error or "")
    assert files.read("/dangling").error == "File '/dangling' not found"
    assert paths(files.ls("/").entries) == ["/self/"]
    assert len(files.ls("/").warnings) == 3
    assert paths(files.glob("**").matches) == []
    assert files.write("/dangling", "made").error is None
    assert (root / "missing.md").read_text() == "made"


def test_a_folder_swapped_for_a_link_meanwhile_does_not_open_a_way_out(
    files: FilesystemBackend, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x.md").write_text("SECRET")
    (root / "dir").mkdir()
    (root / "dir/x.md").write_text("inside")
    find = Root.find

    def swapping(self: Root, path: str, **settings: Any) -> Found:
        found = find(self, path, **settings)
        if path == "/dir/x.md" and not (root / "dir").is_symlink():
            (root / "dir").rename(root / "moved")
            (root / "dir").symlink_to(outside)
        return found

    monkeypatch.setattr(Root, "find", swapping)
    result = files.read("/dir/x.md")
    assert result.error is not None and "SECRET" not in str(result)
    (root / "dir").unlink()
    (root / "moved").rename(root / "dir")
    assert files.write("/dir/x.md", "x").error is not None
    assert (outside / "x.md").read_text() == "SECRET"


def test_only_regular_files_are_read_and_a_pipe_keeps_nobody_waiting(files: FilesystemBackend, root: Path) -> None:
    os.mkfifo(root / "pipe")
    started = time.monotonic()
    assert files.read("/pipe").error == "Error: /pipe is no regular file."
    assert files.write("/pipe", "x").error is not None
    assert files.grep("x").matches == [] and files.ls("/").entries == []
    assert time.monotonic() - started < 5


# --- names ------------------------------------------------------------------------------------------------------


def test_a_decomposed_name_on_disk_is_reached_by_the_composed_one(files: FilesystemBackend, root: Path) -> None:
    (root / "cafe\u0301.md").write_text("x")
    assert paths(files.ls("/").entries) == ["/caf\u00e9.md"]
    assert text(files.read("/cafe\u0301.md")) == "x" == text(files.read("/caf\u00e9.md"))
    assert files.edit("/caf\u00e9.md", "x", "y").error is None
    assert [entry.name for entry in root.iterdir()] == ["cafe\u0301.md"]
    (root / "caf\u00e9.md").write_text("other")
    assert text(files.read("/caf\u00e9.md")) == "other"
    assert paths(files.ls("/").entries) == ["/caf\u00e9.md"] and len(files.ls("/").warnings) == 1


def test_names_that_no_path_can_give_are_reported(files: FilesystemBackend, root: Path) -> None:
    (root / "a\\b").write_text("x")
    (root / "\u212aelvin").write_text("x")  # the sign for kelvin, which composes to a plain K
    Path(os.fsdecode(os.fsencode(root) + b"/\xff")).write_text("x")
    (root / TEMPORARY).write_text("half")
    listing = files.ls("/")
    assert listing.entries == [] and len(listing.warnings) == 3
    assert files.read("/Kelvin").error == "File '/Kelvin' not found"
    assert files.read(f"/{TEMPORARY}").error is not None


def test_a_disk_that_does_not_tell_cases_apart_gives_no_second_name(
    files: FilesystemBackend, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "secrets").mkdir()
    (root / "secrets/key.md").write_text("k")
    real = Folder._status

    def insensitive(self: Folder, name: str) -> os.stat_result | None:
        for entry in os.listdir(self.path):  # noqa: PTH208
            if entry.lower() == name.lower():
                return real(self, entry)
        return None

    monkeypatch.setattr(Folder, "_status", insensitive)
    assert text(files.read("/secrets/key.md")) == "k"
    assert files.read("/SECRETS/key.md").error == "File '/SECRETS/key.md' not found"
    assert files.read("/secrets/Key.md").error == "File '/secrets/Key.md' not found"
    assert "differs only in its spelling" in (files.write("/Secrets/new.md", "x").error or "")
    assert "differs only in its spelling" in (files.write("/secrets/KEY.md", "x").error or "")
    assert (root / "secrets/key.md").read_text() == "k"


# --- limits and permissions -------------------------------------------------------------------------------------


def test_large_files_are_reported_and_never_half_handled(root: Path) -> None:
    files = FilesystemBackend(root, max_file_size_mb=0.001)
    (root / "big.log").write_text("x" * 2_000)
    (root / "small.md").write_text("x")
    assert "takes 2,000 bytes" in (files.read("/big.log").error or "")
    assert "takes 2,000 bytes" in (files.download_files(["/big.log"])[0].error or "")
    found = files.grep("x")
    assert paths(found.matches) == ["/small.md"] and "/big.log takes 2,000 bytes" in found.warnings[0]
    assert paths(files.glob("*").matches) and len(files.ls("/").entries or []) == 2
    assert "takes 3,000 bytes" in (files.write("/new.md", "x" * 3_000).error or "")
    assert files.edit("/big.log", "x", "y").error is not None
    assert (root / "big.log").read_text() == "x" * 2_000


def test_what_may_not_be_read_is_reported(
    files: FilesystemBackend, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files.upload_files([("/closed/x.md", b"x"), ("/private.md", b"x"), ("/open.md", b"x")])

    def refusing(method: Any, name: str) -> Any:  # a superuser is refused nothing, so the system's answer is played
        def refused(self: Folder, asked: str) -> Any:
            if asked == name:
                raise PermissionError(13, "Permission denied")
            return method(self, asked)

        return refused

    monkeypatch.setattr(Folder, "open_file", refusing(Folder.open_file, "private.md"))
    monkeypatch.setattr(Folder, "sub", refusing(Folder.sub, "closed"))
    assert paths(files.grep("x").matches) == ["/open.md"]
    assert [warning.split()[0] for warning in files.grep("x").warnings] == ["/private.md", "/closed"]
    assert paths(files.ls("/").entries) == ["/closed/", "/open.md", "/private.md"]
    assert files.download_files(["/private.md"])[0].error == "permission_denied"
    assert "permission denied" in (files.read("/private.md").error or "")
    assert "permission denied" in (files.ls("/closed").error or "")
    assert files.upload_files([("/closed/y.md", b"y")])[0].error == "permission_denied"


def test_a_read_only_file_stays_as_it_is(files: FilesystemBackend, root: Path) -> None:
    (root / "fixed.md").write_text("x")
    (root / "fixed.md").chmod(0o444)
    assert "is read-only on this disk" in (files.write("/fixed.md", "y").error or "")
    assert files.upload_files([("/fixed.md", b"y")])[0].error == "permission_denied"
    assert (root / "fixed.md").read_text() == "x"


def test_the_mode_of_a_file_is_kept(files: FilesystemBackend, root: Path) -> None:
    (root / "run.sh").write_text("x")
    (root / "run.sh").chmod(0o750)
    files.write("/run.sh", "y")
    assert stat.S_IMODE((root / "run.sh").stat().st_mode) == 0o750


def test_files_and_folders_in_the_way(files: FilesystemBackend, root: Path) -> None:
    (root / "file").write_text("x")
    (root / "folder").mkdir()
    assert "would lie below something that is no folder" in (files.write("/file/below.md", "x").error or "")
    assert "is a folder, not a file" in (files.write("/folder", "x").error or "")
    assert files.upload_files([("/folder", b"x"), ("/ok.md", b"x")])[0].error == "is_directory"
    assert (root / "ok.md").read_text() == "x"
    assert "is a folder that is there already" in (files.move("/file", "/folder").error or "")
    assert files.read("/folder").error == "Error: /folder is a folder, not a file. List it instead."
    assert files.ls("/file").entries == []


def test_bad_settings_are_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for make in (
        lambda: FilesystemBackend(tmp_path / "file"),
        lambda: FilesystemBackend(tmp_path, virtual_mode=False),
        lambda: FilesystemBackend(tmp_path, max_file_size_mb=0),
    ):
        with pytest.raises(FileError):
            make()


def test_a_missing_folder_is_empty_and_made_at_the_first_write(tmp_path: Path) -> None:
    files = FilesystemBackend(tmp_path / "later/on")
    assert files.ls("/").entries == [] and files.glob("*").matches == [] and files.grep("x").matches == []
    assert files.read("/a.md").error == "File '/a.md' not found"
    assert files.delete("/").error is not None
    assert not (tmp_path / "later").exists()
    assert files.write("/a.md", "x").error is None
    assert text(files.read("/a.md")) == "x"


# --- moving and deleting ----------------------------------------------------------------------------------------


def test_moves(files: FilesystemBackend, root: Path) -> None:
    files.upload_files([("/a/x.md", b"x"), ("/a/y.md", b"y"), ("/b/x.md", b"old")])
    assert files.move("/a", "/b").error == "Error: /b/x.md exists already. Choose another target, or overwrite it."
    assert (root / "a/y.md").exists()
    assert files.move("/a", "/b", overwrite=True).paths == ("/b/x.md", "/b/y.md")
    assert text(files.read("/b/x.md")) == "x" and not (root / "a").exists()
    assert files.move("/b", "/b/c").error is not None and files.move("/b", "/b").error is not None
    assert files.move("/none", "/n").error == "Error: File '/none' not found"
    assert files.move("/b", "/deep/er/b").paths == ("/deep/er/b/x.md", "/deep/er/b/y.md")
    moved = files.move("/deep/er/b/x.md", "/x.md")
    assert moved.revision == files.read("/x.md").revision


def test_deleting_everything_keeps_the_folder_itself(files: FilesystemBackend, root: Path) -> None:
    files.upload_files([("/a/x.md", b"x"), ("/.env", b"y")])
    assert files.delete("/").paths == ("/.env", "/a/x.md")
    assert list(root.iterdir()) == []
    assert files.delete("/").error == "Error: File '/' not found"


# --- states -----------------------------------------------------------------------------------------------------


def test_a_stale_base_is_refused(files: FilesystemBackend, root: Path) -> None:
    base = files.write("/a.md", "one").revision
    (root / "a.md").write_text("changed by hand")
    refused = files.write("/a.md", "two", base=base)
    assert refused.conflict and (refused.error or "").endswith("changed by hand")
    assert files.edit("/a.md", "changed", "x", base=base).conflict
    assert files.delete("/a.md", base=base).conflict
    assert files.write("/a.md", "two", base=files.read("/a.md").revision).error is None
    assert files.write("/a.md", "three", base=0).conflict
    assert files.write("/new.md", "x", base=0).error is None


def test_listings_tell_the_state_of_files_that_were_read(files: FilesystemBackend, root: Path) -> None:
    (root / "a.md").write_text("x")
    os.utime(root / "a.md", (1_000_000_000, 1_000_000_000))
    time.sleep(0.15)
    assert "revision" not in (files.glob("*").matches or [])[0]
    revision = files.read("/a.md").revision
    assert (
        (files.glob("*").matches or [])[0].get("revision")
        == revision
        == (files.ls("/").entries or [])[0].get("revision")
    )
    (root / "a.md").write_text("y")
    assert "revision" not in (files.glob("*").matches or [])[0]


# --- many writers -----------------------------------------------------------------------------------------------


def _append(root: str, writer: int, count: int) -> None:
    files = FilesystemBackend(root)
    for number in range(count):
        assert files.append("/log.md", f"{writer}:{number}").error is None
        edited = files.edit("/counter.md", "end", f"{writer}.{number}\nend")
        assert edited.error is None, edited.error


def test_processes_lose_no_edit_and_readers_see_no_torn_file(files: FilesystemBackend, root: Path) -> None:
    files.upload_files([("/log.md", b"start"), ("/counter.md", b"start\nend")])
    spawn = multiprocessing.get_context("spawn")
    writers = [spawn.Process(target=_append, args=(str(root), writer, 40), daemon=True) for writer in range(3)]
    for writer in writers:
        writer.start()
    torn = 0
    while any(writer.is_alive() for writer in writers):
        content = files.download_files(["/counter.md"])[0].content or b""
        torn += not (content.startswith(b"start") and content.endswith(b"end"))
        names = [entry["path"] for entry in files.ls("/").entries or []]
        torn += names != ["/counter.md", "/log.md"]
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0, 0] and torn == 0
    assert len(set(text(files.read("/log.md")).splitlines())) == 121
    assert len(set(text(files.read("/counter.md")).splitlines())) == 122
    assert sorted(entry.name for entry in root.iterdir()) == ["counter.md", "log.md"]


def test_threads_lose_no_edit(files: FilesystemBackend) -> None:
    files.write("/log.md", "start")
    threads = [
        threading.Thread(target=lambda n=n: [files.append("/log.md", f"{n}:{m}") for m in range(10)], daemon=True)
        for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(text(files.read("/log.md")).splitlines())) == 81


def test_a_writer_that_was_killed_leaves_nothing_in_the_way(files: FilesystemBackend, root: Path) -> None:
    (root / TEMPORARY).write_text("half a fi")
    assert files.ls("/").entries == [] and files.grep("half").matches == []
    assert files.write("/a.md", "whole").error is None
    assert [entry.name for entry in root.iterdir()] == ["a.md"]


def test_a_full_disk_leaves_the_old_file(files: FilesystemBackend, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files.write("/a.md", "old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(disk_files.os, "fsync", full)
    assert files.write("/a.md", "new").error == "Error: /a.md cannot be used: No space left on device."
    assert (root / "a.md").read_text() == "old"
    assert [entry.name for entry in root.iterdir()] == ["a.md"]


def test_no_error_tells_where_the_folder_lies(files: FilesystemBackend, root: Path) -> None:
    (root / "file").write_text("x")
    (root / "out").symlink_to("/etc")
    for result in (
        files.read("/out/passwd"),
        files.read("/none"),
        files.write("/file/x", "x"),
        files.ls("/out"),
        files.move("/none", "/x"),
        files.delete("/none"),
    ):
        assert str(root) not in str(result) and "/etc" not in str(result)
