"""Staging changes and committing them comes to the same as making them."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from memoranda import open_store
from memoranda.backends import Backend, StagedBackend, StoreBackend

PATHS = ["/a", "/b", "/d/x", "/d/y", "/e/x"]
TEXTS = ["one\n", "two\n", "one\ntwo\n", ""]

changes = st.one_of(
    st.tuples(st.just("write"), st.sampled_from(PATHS), st.sampled_from(TEXTS)),
    st.tuples(st.just("edit"), st.sampled_from(PATHS), st.sampled_from(["one", "two"]), st.sampled_from(["1", "one"])),
    st.tuples(st.just("append"), st.sampled_from(PATHS), st.sampled_from(["one", "three"])),
    st.tuples(st.just("delete"), st.sampled_from([*PATHS, "/d", "/e"])),
    st.tuples(st.just("move"), st.sampled_from([*PATHS, "/d"]), st.sampled_from([*PATHS, "/e"]), st.booleans()),
    st.tuples(st.just("upload"), st.sampled_from(PATHS), st.sampled_from([b"\xff", b"one\n"])),
    st.tuples(st.just("commit")),
)


def made(backend: Backend, change: tuple[Any, ...]) -> bool:
    match change:
        case ("write", path, text):
            return backend.write(path, text).error is None
        case ("edit", path, old, new):
            return backend.edit(path, old, new).error is None
        case ("append", path, text):
            return backend.append(path, text).error is None
        case ("delete", path):
            return backend.delete(path).error is None
        case ("move", path, to, overwrite):
            return backend.move(path, to, overwrite=overwrite).error is None
        case ("upload", path, content):
            return backend.upload_files([(path, content)])[0].error is None
    raise AssertionError(change)


def contents(backend: Backend) -> dict[str, bytes | None]:
    found = sorted(entry["path"] for entry in backend.glob("**/*").matches)
    return {answer.path: answer.content for answer in backend.download_files(found)}


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(st.sampled_from(PATHS), st.sampled_from(TEXTS)), st.lists(changes, max_size=12))
def test_as_made_directly(files: dict[str, str], sequence: list[tuple[Any, ...]]) -> None:
    with open_store("memory://") as store:
        direct = StoreBackend(namespace=("direct",), store=store)
        below = StoreBackend(namespace=("staged",), store=store)
        for path, text in files.items():
            direct.write(path, text)
            below.write(path, text)
        staged = StagedBackend(below)
        for change in [*sequence, ("commit",)]:
            if change[0] == "commit":
                landed = staged.commit_staged()
                assert landed.error is None, (landed.error, staged.changes)
                assert contents(below) == contents(direct) and staged.changes == ()
                continue
            assert made(staged, change) == made(direct, change), change
            assert contents(staged) == contents(direct), change
            for folder in ("/", "/d", "/e"):
                shown = [entry["path"] for entry in staged.ls(folder).entries]
                assert shown == [entry["path"] for entry in direct.ls(folder).entries]
            assert staged.grep("one").matches == direct.grep("one").matches
