"""What the storage fails at is told apart from what is refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from memoranda import MemoryStore
from memoranda.backends import CompositeBackend, GuardedBackend, Refuse, StagedBackend, StateBackend, StoreBackend
from memoranda.backends.base import Backend
from memoranda.backends.protocol import AppendFile, EditFile, FileChange, FilesCommitResult, MoveFile, WriteFile
from memoranda.errors import StoreBusyError
from memoranda.store.changes import CursorMove
from memoranda.store.companions import Companion, Landed, accompanied
from memoranda.store.effects import Body, Sql
from memoranda.store.operations.context import Context

CHANGES: list[list[FileChange]] = [
    [EditFile("/a.md", "one", "1")],
    [AppendFile("/a.md", "two"), WriteFile("/b.md", "b")],
    [MoveFile("/a.md", "/sub/a.md")],
]


def plain(store: MemoryStore) -> Backend:
    return StoreBackend(namespace=("ann",), store=store)


def guarded(store: MemoryStore) -> Backend:
    return GuardedBackend(plain(store), hooks=[lambda event: None])


def routed(store: MemoryStore) -> Backend:
    return CompositeBackend(plain(store), {"/sub/": StoreBackend(namespace=("ann", "sub"), store=store)})


def staged(store: MemoryStore) -> Backend:
    return StagedBackend(guarded(store))


Worlds = pytest.mark.parametrize("world", [plain, guarded, routed, staged])


def landed(backend: Backend, changes: Sequence[FileChange]) -> FilesCommitResult:
    answer = backend.commit(changes)
    if isinstance(backend, StagedBackend) and answer.error is None:
        answer = backend.commit_staged()
    return answer


@pytest.fixture
def fail(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    transact = type(store.engine).transact

    def failing(*modes: str) -> None:
        def at_once(engine: Any, effect: Any) -> Any:
            if effect.mode in modes:
                raise StoreBusyError("Another writer held the database.", "Try again.")
            return transact(engine, effect)

        monkeypatch.setattr(type(store.engine), "transact", at_once)

    return failing


@Worlds
@pytest.mark.parametrize("changes", CHANGES, ids=["one", "two", "move"])
@pytest.mark.parametrize("modes", [("write",), ("read", "snapshot", "write")], ids=["writing", "all"])
def test_a_storage_that_fails_is_told_apart(
    store: MemoryStore,
    fail: Callable[..., None],
    world: Callable[[MemoryStore], Backend],
    changes: list[FileChange],
    modes: tuple[str, ...],
) -> None:
    backend = world(store)
    plain(store).write("/a.md", "one\n")
    fail(*modes)
    answer = landed(backend, changes)
    assert answer.error is not None and "held the database" in answer.error
    assert (answer.failed, answer.conflicts) == (True, ())


@Worlds
def test_a_refusal_is_no_failure(store: MemoryStore, world: Callable[[MemoryStore], Backend]) -> None:
    missing = landed(world(store), [EditFile("/none.md", "one", "1")])
    assert (missing.error is not None, missing.failed) == (True, False)
    never = GuardedBackend(world(store), hooks=[lambda event: Refuse("never")])
    assert never.commit([WriteFile("/a.md", "1")]).failed is False


def test_single_changes_and_reads_say_so_too(store: MemoryStore, fail: Callable[..., None]) -> None:
    plain(store).write("/a.md", "one\n")
    fail("read", "snapshot", "write")
    for backend in (plain(store), guarded(store), routed(store)):
        for answer in (
            backend.read("/a.md"),
            backend.write("/b.md", "b"),
            backend.edit("/a.md", "one", "1"),
            backend.append("/a.md", "two"),
            backend.move("/a.md", "/c.md"),
            backend.delete("/a.md", base=1),
        ):
            assert (answer.error is not None, answer.failed) == (True, True)
    assert plain(store).write("/", "x").failed is False


def _nothing(_: Context, __: Landed) -> Body[list[Sql]]:
    return []
    yield  # pragma: no cover - makes this a generator


@Worlds
def test_a_cursor_that_stands_elsewhere_is_no_conflict_about_a_file(
    store: MemoryStore, world: Callable[[MemoryStore], Backend]
) -> None:
    backend = world(store)
    plain(store).write("/a.md", "one\n")
    companion = Companion(_nothing, [CursorMove("tidy", ("ann",), 5, 6)], store.context)
    with accompanied(companion):
        answer = landed(backend, [WriteFile("/b.md", "b", 0), MoveFile("/a.md", "/sub/a.md")])
    assert answer.error is not None and "The cursor 'tidy' was expected at 5, but it stands at 0." in answer.error
    assert ".md" not in answer.error
    assert len(answer.conflicts) == 1


def test_a_cursor_that_stands_elsewhere_beside_what_is_there_already(store: MemoryStore) -> None:
    files = plain(store)
    files.write("/a.md", "one\n")
    files.write("/a.md", "two\n")
    with accompanied(Companion(_nothing, [CursorMove("tidy", ("ann",), 5, 6)], store.context)):
        answer = files.commit([WriteFile("/a.md", "two\n", 1), WriteFile("/b.md", "b")])
    assert answer.error is not None and answer.error.count("The cursor") == 1 and ".md" not in answer.error


def test_a_state_never_fails() -> None:
    assert StateBackend().commit([EditFile("/none.md", "a", "b")]).failed is False
