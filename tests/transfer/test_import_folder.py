"""Folders of ordinary files become files of the store."""

from __future__ import annotations

import errno
import os
import socket
import sys
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memoranda import Author, MemoryStore, acting_as
from memoranda.errors import InvalidPathError
from memoranda.store.namespaces import InvalidNamespaceError
from memoranda.transfer import KeyCollisionError, PrefixedKeys, SourceError, import_folder

ANN = ("ann",)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "notes"
    made.mkdir()
    return made


def save(folder: Path, name: str, content: str | bytes = "text") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def contents(store: MemoryStore) -> dict[str, str]:
    return {item.key: item.value["content"] for item in store.search(ANN, limit=10_000)}


def test_text_stays_text_and_the_rest_binary(store: MemoryStore, folder: Path) -> None:
    save(folder, "AGENTS.md", "Be kind.\r\n")
    save(folder, "deep/er/tea.md", "绿茶\n")
    save(folder, "empty.txt", "")
    save(folder, "image.bin", b"\xff\x00\x01")
    save(folder, "bom.txt", b"\xef\xbb\xbfhello")
    save(folder, "nul.txt", b"a\x00b")
    report = import_folder(store, folder, ANN, author=Author("user:ann"))
    assert (report.items, report.namespaces, report.skipped) == (6, (ANN,), ())
    assert contents(store) == {
        "/AGENTS.md": "Be kind.\r\n",
        "/bom.txt": "\ufeffhello",
        "/deep/er/tea.md": "绿茶\n",
        "/empty.txt": "",
        "/image.bin": "/wAB",
        "/nul.txt": "a\x00b",
    }
    assert store.get(ANN, "/image.bin").value["encoding"] == "base64"
    (entry,) = store.history(ANN, "/AGENTS.md")
    assert entry.author == Author("user:ann", reason="imported from notes")
    assert report.bytes == sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def test_times_of_the_files_are_kept(store: MemoryStore, folder: Path) -> None:
    os.utime(save(folder, "a.md"), (1_600_000_000, 1_600_000_000))
    os.utime(save(folder, "ancient.md"), (-5_000_000_000, -5_000_000_000))
    import_folder(store, folder, ANN)
    value = store.get(ANN, "/a.md").value
    assert value["created_at"] == value["modified_at"] == "2020-09-13T12:26:40+00:00"
    os.utime(save(folder, "a.md", "new"), (1_700_000_000, 1_700_000_000))
    import_folder(store, folder, ANN)
    value = store.get(ANN, "/a.md").value
    assert (value["created_at"][:4], value["modified_at"][:4]) == ("2020", "2023")


def test_who_acts_signs_unless_an_author_is_given(store: MemoryStore, folder: Path) -> None:
    save(folder, "a.md")
    with acting_as(Author("user:bob", reason="moving house")):
        import_folder(store, folder, ANN)
    assert store.history(ANN, "/a.md")[0].author == Author("user:bob", reason="moving house")


def test_a_second_import_writes_only_what_changed(store: MemoryStore, folder: Path) -> None:
    for number in range(5):
        save(folder, f"{number}.md", f"text {number}")
    save(folder, "b.bin", b"\xff")
    import_folder(store, folder, ANN)
    os.utime(folder / "1.md")  # touched, not changed
    save(folder, "2.md", "changed")
    assert import_folder(store, folder, ANN).items == 1
    assert import_folder(store, folder, ANN).items == 0
    assert [entry.revision for entry in store.history(ANN, "/2.md")] == [2, 1]
    assert [entry.revision for entry in store.history(ANN, "/1.md")] == [1]


def test_a_file_in_the_older_form_counts_as_the_same(store: MemoryStore, folder: Path) -> None:
    save(folder, "v1.md", "a\nb")
    store.put(ANN, "/v1.md", {"content": ["a", "b"], "created_at": "2025-01-01T00:00:00+00:00"})
    store.put(ANN, "/json.md", {"some": "object"})
    save(folder, "json.md", "text")
    assert import_folder(store, folder, ANN).items == 1
    assert store.get(ANN, "/v1.md").revision == 1


def test_without_overwriting(store: MemoryStore, folder: Path) -> None:
    save(folder, "same.md", "same")
    save(folder, "other.md", "theirs")
    save(folder, "new.md", "new")
    store.write(ANN, "/same.md", "same")
    store.write(ANN, "/other.md", "ours")
    report = import_folder(store, folder, ANN, overwrite=False)
    assert report.items == 1
    assert [(skipped.path, skipped.reason) for skipped in report.skipped] == [
        ("other.md", "/other.md exists with other content.")
    ]
    assert contents(store) == {"/new.md": "new", "/other.md": "ours", "/same.md": "same"}


def test_what_others_write_meanwhile_is_not_overwritten(
    store: MemoryStore,
    store_url: str,
    folder: Path,
    open_here: Callable[..., MemoryStore],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for number in range(3):
        save(folder, f"{number}.md", "from the folder")
    other = open_here(store_url)
    look = MemoryStore.batch

    def looked(self: MemoryStore, ops):  # type: ignore[no-untyped-def]
        found = look(self, ops)
        other.write(ANN, "/1.md", "written just now")
        return found

    monkeypatch.setattr(MemoryStore, "batch", looked)
    report = import_folder(store, folder, ANN, overwrite=False)
    assert report.items == 2
    assert [skipped.path for skipped in report.skipped] == ["1.md"]
    assert store.get(ANN, "/1.md").value["content"] == "written just now"


def test_below_a_folder_and_by_pattern(store: MemoryStore, folder: Path) -> None:
    for name in ("a.md", "b.txt", "sub/c.md", ".hidden/d.md"):
        save(folder, name)
    assert import_folder(store, folder, ANN, to="docs/", include="*.md").items == 3
    assert sorted(contents(store)) == ["/docs/.hidden/d.md", "/docs/a.md", "/docs/sub/c.md"]
    assert import_folder(store, folder, ("bob",), include="sub/**").items == 1
    with pytest.raises(InvalidPathError):
        import_folder(store, folder, ANN, to="/../x")


def test_a_dry_run_writes_nothing(store: MemoryStore, folder: Path) -> None:
    save(folder, "memories/AGENTS.md")
    (folder / "link").symlink_to("memories")
    planned = import_folder(store, folder, ANN, dry_run=True)
    assert contents(store) == {}
    assert import_folder(store, folder, ANN) == planned
    assert planned.items == 1 and len(planned.skipped) == 1
    assert planned.prefixed == (PrefixedKeys(ANN, "/memories/", ("/memories/AGENTS.md",)),)


def test_what_is_no_memory_is_left_out_and_reported(store: MemoryStore, folder: Path, tmp_path: Path) -> None:
    save(folder, "fine.md")
    save(tmp_path, "secret.md", "outside")
    (folder / "link.md").symlink_to(tmp_path / "secret.md")
    (folder / "folder-link").symlink_to(tmp_path)
    (folder / "broken").symlink_to("nowhere")
    save(folder, ".git/config", "[core]")
    save(folder, "sub/.git", "gitdir: elsewhere")
    save(folder, "back\\slash.md")
    save(folder, "k" * 200 + "/" + "漢" * 80 + "/" + "漢" * 80 + "/" + "漢" * 80 + "/" + "漢" * 50 + "/x.md")
    os.mkfifo(folder / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.path.relpath(folder / "sock"))
    if sys.platform == "linux":
        (folder / os.fsdecode(b"latin-\xe9.md")).write_text("x")
    report = import_folder(store, folder, ANN)
    assert contents(store) == {"/fine.md": "text"}
    reasons = {skipped.path[:20]: skipped.reason for skipped in report.skipped}
    assert all(reason.endswith(".") for reason in reasons.values())
    assert reasons.pop("latin-\\udce9.md", "Its name is not UTF-8.") == "Its name is not UTF-8."
    assert "takes 1080 bytes" in reasons.pop("k" * 20)
    assert reasons == {
        ".git": "It belongs to Git.",
        "back\\slash.md": "Its name holds a backslash, which paths read as a slash.",
        "broken": "It is a symbolic link.",
        "folder-link": "It is a symbolic link.",
        "link.md": "It is a symbolic link.",
        "pipe": "It is no plain file.",
        "sock": "It is no plain file.",
        "sub/.git": "It belongs to Git.",
    }


def test_what_cannot_be_read_is_reported(store: MemoryStore, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("fine.md", "locked.md", "closed/x.md"):
        save(folder, name)

    def refusing(function: Callable[..., Any]) -> Callable[..., Any]:
        # Not by permissions, which do not bind everybody who runs this.
        def opening(path: Any, *rest: Any) -> Any:
            if Path(path).name in ("locked.md", "closed"):
                raise PermissionError(errno.EACCES, "Permission denied")
            return function(path, *rest)

        return opening

    monkeypatch.setattr(os, "open", refusing(os.open))
    monkeypatch.setattr(os, "scandir", refusing(os.scandir))
    report = import_folder(store, folder, ANN)
    assert contents(store) == {"/fine.md": "text"}
    assert {skipped.path: skipped.reason for skipped in report.skipped} == {
        "closed": "It cannot be read: Permission denied.",
        "locked.md": "It cannot be read: Permission denied.",
    }


def test_a_file_that_vanishes_is_reported(store: MemoryStore, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from memoranda.transfer import folders

    for number in range(3):
        save(folder, f"{number}.md")
    batches = folders._batches  # pyright: ignore[reportPrivateUsage]

    def late(files):  # type: ignore[no-untyped-def]
        (folder / "1.md").unlink()
        return batches(files)

    monkeypatch.setattr(folders, "_batches", late)
    report = import_folder(store, folder, ANN)
    assert report.items == 2
    assert [skipped.path for skipped in report.skipped] == ["1.md"]


def test_the_store_itself_is_no_file(tmp_path: Path, open_here: Callable[..., MemoryStore], folder: Path) -> None:
    store = open_here(f"sqlite:///{folder / 'memory.db'}")
    save(folder, "a.md")
    save(folder, "lonely-wal")
    report = import_folder(store, folder, ANN)
    assert sorted(contents(store)) == ["/a.md", "/lonely-wal"]
    assert {skipped.path for skipped in report.skipped} == {"memory.db", "memory.db-shm", "memory.db-wal"}


def test_names_become_nfc(store: MemoryStore, folder: Path) -> None:
    decomposed = unicodedata.normalize("NFD", "Übung.md")
    save(folder, decomposed, "nfd")
    assert import_folder(store, folder, ANN).items == 1
    assert contents(store) == {"/" + unicodedata.normalize("NFC", decomposed): "nfd"}


@pytest.mark.skipif(sys.platform == "darwin", reason="its file systems hold both names for one")
def test_two_forms_of_one_name(store: MemoryStore, folder: Path) -> None:
    save(folder, "e\u0301.md", "nfd")
    save(folder, "é.md", "nfc")
    report = import_folder(store, folder, ANN)
    assert report.items == 1
    assert "Unicode" in report.skipped[0].reason


def test_without_a_prefix(store: MemoryStore, folder: Path) -> None:
    save(folder, "memories/AGENTS.md", "agents")
    save(folder, "memories/sub/x.md", "x")
    save(folder, "other.md", "other")
    report = import_folder(store, folder, ANN, strip_prefix="/memories/", to="/imported")
    assert sorted(contents(store)) == ["/imported/AGENTS.md", "/imported/other.md", "/imported/sub/x.md"]
    assert report.prefixed == ()
    save(folder, "AGENTS.md", "another")
    with pytest.raises(KeyCollisionError, match=r"AGENTS\.md and memories/AGENTS\.md"):
        import_folder(store, folder, ("bob",), strip_prefix="/memories/")
    assert store.search(("bob",)) == []


def test_bad_arguments(store: MemoryStore, folder: Path) -> None:
    save(folder, "a.md")
    with pytest.raises(SourceError):
        import_folder(store, folder / "missing", ANN)
    with pytest.raises(SourceError):
        import_folder(store, folder / "a.md", ANN)
    with pytest.raises(InvalidNamespaceError):
        import_folder(store, folder, ())


def test_hundreds_of_real_files(store: MemoryStore) -> None:
    packages = Path(pytest.__file__).parent.parent
    expected = {
        "/" + path.relative_to(packages).as_posix(): path.read_text("utf-8")
        for path in packages.rglob("*")
        if path.suffix in (".md", ".rst", ".txt") and path.is_file()
    }
    seen: list[tuple[int, int | None]] = []
    report = import_folder(
        store,
        packages,
        ANN,
        include="*.{md,rst,txt}",
        author=Author("user:ann"),
        progress=lambda done, total: seen.append((done, total)),
    )
    assert len(expected) > 100
    assert contents(store) == expected
    assert report.items == len(expected)
    assert seen[-1] == (len(expected), len(expected))
    assert report.skipped == ()
    assert store.verify().ok
