"""A folder shows the current state of everything, and nothing is written outside it."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from memoranda import MemoryStore
from memoranda.transfer import TargetError, export_folder, import_folder
from memoranda.transfer.names import namespace_of_folder
from tests.transfer.support import HARD_KEYS, HARD_LABELS, fill


def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_files_lie_at_their_paths(store: MemoryStore, tmp_path: Path) -> None:
    fill(store)
    seen: list[tuple[int, int | None]] = []
    report = export_folder(
        store, tmp_path / "out", namespace=("ann",), progress=lambda done, total: seen.append((done, total))
    )
    written = files(tmp_path / "out")
    assert sorted(written) == [
        "ann/back.md",
        "ann/image.bin",
        "ann/notes.md",
        "ann/odd.json",
        "ann/profile.json",
        "ann/soon.json",
        "ann/v1.md",
        "ann/v2.bin",
    ]
    assert written["ann/notes.md"] == b"one\ntwo\nthree\n"
    assert written["ann/image.bin"] == bytes(range(255, -1, -1)) * 3
    assert written["ann/v2.bin"] == b"\x00\xff" * 40
    assert written["ann/v1.md"] == b"a\nc"
    assert orjson.loads(written["ann/profile.json"])["likes"] == ["green tea", "walks"]
    assert (report.items, report.namespaces) == (8, (("ann",),))
    assert report.bytes == sum(map(len, written.values()))
    assert seen[-1] == (8, 8)
    updated = store.get(("ann",), "/notes.md").updated_at.timestamp()
    assert (tmp_path / "out/ann/notes.md").stat().st_mtime == pytest.approx(updated, abs=1e-3)


def test_hard_names_stay_inside_and_apart(store: MemoryStore, tmp_path: Path) -> None:
    outside = tmp_path / "a" / "b"
    outside.mkdir(parents=True)
    for label in HARD_LABELS:
        for key in HARD_KEYS:
            store.put((label,), key, {"content": f"{label}: {key}", "encoding": "utf-8"})
    report = export_folder(store, outside / "out")
    assert report.items == len(HARD_LABELS) * len(HARD_KEYS) and report.skipped == ()
    written = files(outside / "out")
    contents = sorted(content.decode() for content in written.values())
    assert contents == sorted(f"{label}: {key}" for label in HARD_LABELS for key in HARD_KEYS)
    assert sorted(path.name for path in outside.iterdir()) == ["out"]
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["b"]
    assert not any(part.casefold() == ".git" for name in written for part in name.split("/"))
    labels = {
        namespace_of_folder(path.relative_to(outside / "out").parts)
        for path in (outside / "out").iterdir()
        if not path.name.endswith("%")
    }
    assert labels == {(label,) for label in HARD_LABELS if len(label.encode()) <= 200}


def test_a_namespace_is_not_the_folder_of_another(store: MemoryStore, tmp_path: Path) -> None:
    store.write(("acme",), "/ann/x.md", "of acme")
    store.write(("acme", "ann"), "/x.md", "of ann")
    store.write(("acme,ann",), "/x.md", "of both")
    export_folder(store, tmp_path / "out")
    assert files(tmp_path / "out") == {
        "acme/ann/x.md": b"of acme",
        "acme,ann/x.md": b"of ann",
        "acme%2Cann/x.md": b"of both",
    }


def test_a_folder_that_holds_something_is_refused(store: MemoryStore, tmp_path: Path) -> None:
    store.write(("ann",), "/a.md", "ours")
    out = tmp_path / "out"
    (out / "ann").mkdir(parents=True)
    (out / "ann" / "a.md").write_text("theirs")
    (out / "ann" / "b.md").write_text("theirs")
    with pytest.raises(TargetError, match="not empty"):
        export_folder(store, out)
    export_folder(store, out, overwrite=True)
    export_folder(store, out, overwrite=True)
    assert files(out) == {"ann/a.md": b"ours", "ann/b.md": b"theirs"}


def test_links_are_never_followed(store: MemoryStore, tmp_path: Path) -> None:
    store.write(("ann",), "/a.md", "ours")
    store.write(("ann",), "/sub/b.md", "ours")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "target.md").write_text("theirs")
    out = tmp_path / "out"
    (out / "ann").mkdir(parents=True)
    (out / "ann" / "a.md").symlink_to(outside / "target.md")
    (out / "ann" / "sub").symlink_to(outside)
    with pytest.raises(TargetError, match="symbolic link"):
        export_folder(store, out, overwrite=True)
    assert files(outside) == {"target.md": b"theirs"}
    (out / "ann" / "sub").unlink()
    export_folder(store, out, overwrite=True)
    assert files(outside) == {"target.md": b"theirs"}
    assert not (out / "ann" / "a.md").is_symlink()


def test_a_file_in_the_way(store: MemoryStore, tmp_path: Path) -> None:
    store.write(("ann",), "/a.md", "ours")
    (tmp_path / "file").write_text("x")
    with pytest.raises(TargetError):
        export_folder(store, tmp_path / "file")
    out = tmp_path / "out"
    (out / "ann" / "a.md").mkdir(parents=True)
    with pytest.raises(TargetError, match=r"a\.md"):
        export_folder(store, out, overwrite=True)


def test_names_that_are_too_long_in_all_are_reported(store: MemoryStore, tmp_path: Path) -> None:
    key = "/" + "\x01" * 1_023  # three bytes for each
    deep = ("\x7f" * 1_900,)
    store.put(deep, key, {"content": "x", "encoding": "utf-8"})
    store.put(deep, "/short", {"content": "x", "encoding": "utf-8"})
    store.write(("ann",), "/fine.md", "x")
    report = export_folder(store, tmp_path / "out")
    assert report.items == 1
    assert [skipped.path for skipped in report.skipped] == [key, "/short"]
    assert all("name" in skipped.reason for skipped in report.skipped)


def test_an_exported_folder_can_be_imported(store: MemoryStore, tmp_path: Path) -> None:
    store.write(("ann",), "/notes/tea.md", "green")
    store.write(("ann",), "/image.bin", b"\xff\x00")
    export_folder(store, tmp_path / "out")
    import_folder(store, tmp_path / "out" / "ann", ("bob",))
    for key in ("/notes/tea.md", "/image.bin"):
        ours, theirs = (store.get(namespace, key).value for namespace in (("ann",), ("bob",)))
        assert {**ours, "created_at": 0, "modified_at": 0} == {**theirs, "created_at": 0, "modified_at": 0}
