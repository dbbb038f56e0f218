"""A bundle that is not whole is refused before anything is written."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
import zstandard

from memoranda import ChangeSet, MemoryStore, Write, open_store
from memoranda.store.turns import Turn
from memoranda.transfer import (
    BundleCorruptError,
    BundleTooNewError,
    BundleTruncatedError,
    NotABundleError,
    SourceError,
    TransferError,
    detect,
    export_bundle,
    import_bundle,
)
from tests.transfer.support import digests, fill

Lines = list[dict[str, Any]]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("bundle") / "whole.mbundle"
    with open_store("memory://") as store:
        store.write(("ann",), "/a.md", "one\n")
        store.append(("ann",), "/a.md", "two\n")
        store.write(("ann",), "/b.bin", bytes(range(256)) * 20)
        store.write(("ann",), "/gone.md", "x")
        store.move(("ann",), "/gone.md", "/here.md")
        store.put(("bob",), "profile", {"a": 1}, ttl=5)
        store.record_turns(("bob",), "t", [Turn("m1", "user", "hello"), Turn("m2", "tool", "x", tools=("grep",))])
        store.propose(ChangeSet([Write(("bob",), "/a.md", "x")]))
        export_bundle(store, path)
    return path.read_bytes()


@pytest.fixture
def target() -> Iterator[MemoryStore]:
    with open_store("memory://") as store:
        yield store


def lines_of(bundle: bytes) -> Lines:
    text = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(bundle), read_across_frames=True).read()
    return [orjson.loads(line) for line in text.splitlines()]


def packed(lines: Lines) -> bytes:
    return packed_text(b"".join(orjson.dumps(line) + b"\n" for line in lines))


def packed_text(text: bytes) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=True).compress(text)


def refused(target: MemoryStore, folder: Path, content: bytes) -> TransferError:
    path = folder / "damaged.mbundle"
    path.write_bytes(content)
    with pytest.raises(TransferError) as caught:
        import_bundle(target, path)
    assert target.search(()) == [] and target.verify().namespaces == () and not target.threads((), below=True)
    # One cause and one remedy, each a sentence.
    for sentence in (caught.value.cause, caught.value.remedy):
        assert (sentence.endswith(".") and sentence[0].isupper()) or sentence.startswith(str(path)), sentence
    return caught.value


def test_cut_off_at_every_byte(whole: bytes, target: MemoryStore, tmp_path: Path) -> None:
    for size in range(1, len(whole)):
        assert isinstance(refused(target, tmp_path, whole[:size]), BundleTruncatedError), size
    assert isinstance(refused(target, tmp_path, b""), NotABundleError)


def test_a_damaged_bundle_is_known_as_a_bundle(whole: bytes, tmp_path: Path) -> None:
    path = tmp_path / "cut.mbundle"
    for size in range(4, len(whole)):
        path.write_bytes(whole[:size])
        try:
            assert detect(path) == "bundle"
        except BundleTruncatedError as error:
            assert "was cut off" in error.cause, size
    path.write_bytes(whole[:20] + bytes(30) + whole[50:])
    with pytest.raises(BundleCorruptError, match="is damaged"):
        detect(path)
    path.write_bytes(b"")
    with pytest.raises(SourceError, match="is empty"):
        detect(path)
    path.write_bytes(packed_text(b"a tale of tea\n" * 9_000))
    with pytest.raises(SourceError, match="nothing that can be imported"):
        detect(path)


def test_cut_off_after_every_line(whole: bytes, target: MemoryStore, tmp_path: Path) -> None:
    lines = lines_of(whole)
    for count in range(1, len(lines)):
        assert isinstance(refused(target, tmp_path, packed(lines[:count])), BundleTruncatedError)
    text = b"\n".join(orjson.dumps(line) for line in lines)
    assert isinstance(refused(target, tmp_path, packed_text(text)), BundleTruncatedError)


def test_every_byte_turned_over(whole: bytes, target: MemoryStore, tmp_path: Path) -> None:
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 0xFF
        assert isinstance(
            refused(target, tmp_path, bytes(damaged)), (BundleCorruptError, BundleTruncatedError, NotABundleError)
        ), place


def test_any_line_left_out_doubled_or_swapped(whole: bytes, target: MemoryStore, tmp_path: Path) -> None:
    lines = lines_of(whole)
    for index in range(1, len(lines) - 1):
        error = refused(target, tmp_path, packed(lines[:index] + lines[index + 1 :]))
        assert isinstance(error, BundleCorruptError)
        error = refused(target, tmp_path, packed(lines[: index + 1] + lines[index:]))
        assert isinstance(error, BundleCorruptError)
    assert isinstance(refused(target, tmp_path, packed([*lines, lines[-1]])), BundleCorruptError)
    assert isinstance(refused(target, tmp_path, packed(lines[1:])), NotABundleError)


CHANGES: list[tuple[str, Callable[[dict[str, Any]], Any]]] = [
    ("text", lambda item: item.update(text=item["text"] + "!")),
    ("key", lambda item: item.update(key="/other.md")),
    ("empty key", lambda item: item.update(key="")),
    ("key with NUL", lambda item: item.update(key="a\0")),
    ("namespace", lambda item: item.update(namespace=["bob"])),
    ("no namespace", lambda item: item.update(namespace=[])),
    ("namespace of numbers", lambda item: item.update(namespace=[1])),
    ("kind", lambda item: item.update(kind="json")),
    ("unknown kind", lambda item: item.update(kind="video")),
    ("meta", lambda item: item.update(meta='{"encoding":"utf-8"}')),
    ("meta that is no object", lambda item: item.update(meta="[]")),
    ("meta that is no JSON", lambda item: item.update(meta="{")),
    ("live", lambda item: item.update(live=False)),
    ("no history", lambda item: item.update(revisions=[])),
    ("shorter history", lambda item: item["revisions"].pop()),
    ("history without beginning", lambda item: item["revisions"].pop(0)),
    ("author", lambda item: item["revisions"][0].update(actor="user:eve")),
    ("author with NUL", lambda item: item["revisions"][0].update(actor="\0")),
    ("reason", lambda item: item["revisions"][0].update(reason="another")),
    ("time", lambda item: item["revisions"][1].update(at=item["revisions"][1]["at"] + 1)),
    ("huge time", lambda item: item["revisions"][1].update(at=1 << 63)),
    ("operation", lambda item: item["revisions"][0].update(operation="restore")),
    ("origin", lambda item: item["revisions"][0].update(origin='{"restored":1}')),
    ("origin that is no JSON", lambda item: item["revisions"][0].update(origin="{")),
    ("salt", lambda item: item["revisions"][0].update(salt="00")),
    ("salt that is no hex", lambda item: item["revisions"][0].update(salt="zz")),
    ("content digest", lambda item: item["revisions"][0].update(content_digest="00" * 32)),
    ("digest", lambda item: item["revisions"][1].update(digest="00" * 32)),
    ("delta", lambda item: item["revisions"][1]["previous"].update(delta="AAAA")),
    ("delta that is no base64", lambda item: item["revisions"][1]["previous"].update(delta="?")),
    ("no delta", lambda item: item["revisions"][1].pop("previous")),
    ("position 0", lambda item: item["revisions"][0].update(position=0)),
    ("position beyond", lambda item: item["revisions"][0].update(position=1 << 40)),
    ("type", lambda item: item.update(type="thing")),
    ("times that are text", lambda item: item.update(created_at="now")),
    ("ttl that is text", lambda item: item.update(ttl="soon")),
]


@pytest.mark.parametrize("change", [change for _, change in CHANGES], ids=[name for name, _ in CHANGES])
def test_a_changed_item(change: Callable[[dict[str, Any]], Any], whole: bytes, target: MemoryStore, tmp_path: Path):
    lines = lines_of(whole)
    item = next(line for line in lines if line.get("key") == "/a.md")
    change(item)
    assert isinstance(refused(target, tmp_path, packed(lines)), BundleCorruptError)


def test_a_changed_trailer(whole: bytes, target: MemoryStore, tmp_path: Path) -> None:
    for name, value in (("items", 1), ("revisions", 1), ("namespaces", []), ("namespaces", {})):
        lines = lines_of(whole)
        lines[-1][name] = value
        assert isinstance(refused(target, tmp_path, packed(lines)), BundleCorruptError)
    lines = lines_of(whole)
    lines[-1]["namespaces"][0]["digest"] = "00" * 32
    assert isinstance(refused(target, tmp_path, packed(lines)), BundleCorruptError)


def test_the_changes_start_from_a_bundle_that_is_accepted(whole: bytes, target: MemoryStore, tmp_path: Path) -> None:
    path = tmp_path / "again.mbundle"
    path.write_bytes(packed(lines_of(whole)))
    assert import_bundle(target, path).items == 5


@pytest.mark.parametrize(
    "content",
    [
        b"hello",
        b"PK\x03\x04" + b"0" * 100,
        b"SQLite format 3\0" + b"\0" * 4080,
        packed_text(b"hello\n"),
        packed_text(b'{"format": "something else", "version": 1}\n'),
        packed_text(b'{"format": "memoranda-bundle"}\n'),
        packed_text(b"[]\n"),
        packed_text(b"x" * 1_000_000),
    ],
)
def test_other_files(content: bytes, target: MemoryStore, tmp_path: Path) -> None:
    assert isinstance(refused(target, tmp_path, content), NotABundleError)


def test_a_newer_format(whole: bytes, target: MemoryStore, tmp_path: Path) -> None:
    lines = lines_of(whole)
    lines[0]["version"] = 3
    lines[1] = {"type": "something new"}
    error = refused(target, tmp_path, packed(lines))
    assert isinstance(error, BundleTooNewError)
    assert "Upgrade" in error.remedy


def test_a_newer_bundle_may_still_be_replaced(whole: bytes, tmp_path: Path) -> None:
    lines = lines_of(whole)
    lines[0]["version"] = 3
    path = tmp_path / "newer.mbundle"
    path.write_bytes(packed(lines))
    with open_store("memory://") as store:
        assert export_bundle(store, path, overwrite=True).items == 0


def test_large_bundles_too(tmp_path: Path, target: MemoryStore) -> None:
    path = tmp_path / "large.mbundle"
    with open_store("memory://") as store:
        fill(store)
        for number in range(30):
            store.write(("large",), f"/{number}.bin", bytes([number]) * 50_000 + number.to_bytes(4) * 50_000)
        export_bundle(store, path)
        content = path.read_bytes()
        for size in range(1, len(content), len(content) // 60):
            assert isinstance(refused(target, tmp_path, content[:size]), BundleTruncatedError), size
        import_bundle(target, path)
        assert digests(target) == digests(store)
