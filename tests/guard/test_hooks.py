"""Hooks: what they are told, what their answers do, and that nothing lands that they did not see."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langgraph.store.memory import InMemoryStore

from memoranda import Author, MemoryStore, acting_as
from memoranda.backends import Allow, GuardedBackend, Hold, Refuse, Replace, StoreBackend, WriteEvent
from memoranda.backends.protocol import AppendFile, DeleteFile, EditFile, MoveFile, WriteFile


class Watching:
    """A hook that keeps what it was told, and answers what it is asked to."""

    def __init__(self, answer: Any = None) -> None:
        self.events: list[WriteEvent] = []
        self.answer = answer

    def __call__(self, event: WriteEvent) -> Any:
        self.events.append(event)
        return self.answer

    @property
    def told(self) -> list[tuple[Any, ...]]:
        return [(event.operation, event.path, event.before, event.after) for event in self.events]


def answering(answer: Any, is_async: bool) -> Any:
    if not is_async:
        return lambda event: answer(event)

    async def hook(event: WriteEvent) -> Any:
        await asyncio.sleep(0)
        return answer(event)

    return hook


@pytest.fixture
def inner(store: MemoryStore) -> StoreBackend:
    backend = StoreBackend(namespace=("ann",), store=store)
    backend.write("/a.md", "one\ntwo\n")
    return backend


def text(backend: Any, path: str) -> str | None:
    (answer,) = backend.download_files([path])
    return None if answer.content is None else answer.content.decode(errors="replace")


def test_what_hooks_are_told(inner: Any, store: MemoryStore) -> None:
    inner.write("/b.md", "bee\n")
    watch = Watching()
    guard = GuardedBackend(inner, hooks=[watch])
    with acting_as(Author("user:ann", reason="asked")):
        guard.write("/a.md", "new\n")
    guard.edit("/a.md", "new", "newer")
    guard.append("/a.md", "last")
    guard.restore("/a.md", 1)
    guard.upload_files([("/up.md", b"text"), ("/up.bin", b"\xff\x00")])
    guard.move("/b.md", "/c.md")
    guard.delete("/c.md")
    guard.commit([EditFile("/a.md", "one", "1"), AppendFile("/d.md", "d"), DeleteFile("/up.bin")])
    assert watch.told == [
        ("write", "/a.md", "one\ntwo\n", "new\n"),
        ("edit", "/a.md", "new\n", "newer\n"),
        ("append", "/a.md", "newer\n", "newer\nlast"),
        ("restore", "/a.md", "newer\nlast", "one\ntwo\n"),
        ("upload", "/up.md", None, "text"),
        ("upload", "/up.bin", None, b"\xff\x00"),
        ("move", "/b.md", "bee\n", None),
        ("move", "/c.md", None, "bee\n"),
        ("delete", "/c.md", "bee\n", None),
        ("edit", "/a.md", "one\ntwo\n", "1\ntwo\n"),
        ("append", "/d.md", None, "d"),
        ("delete", "/up.bin", b"\xff\x00", None),
    ]
    first = watch.events[0]
    assert first.author == Author("user:ann", reason="asked")
    assert (first.base, first.runtime, first.untrusted, first.messages) == (1, None, False, ())
    assert (first.shown, first.names) == ("/a.md", ("/a.md",))
    assert [revision.operation for revision in store.history(("ann",), "/a.md")] == [
        "edit",
        "restore",
        "append",
        "edit",
        "write",
        "write",
    ]
    moved = store.history(("ann",), "/c.md")[-1]
    assert moved.operation == "move"


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("called_async", [False, True])
def test_answers(inner: Any, is_async: bool, called_async: bool) -> None:
    def write(hook: Any, path: str, content: str) -> Any:
        guard = GuardedBackend(inner, hooks=[answering(hook, is_async)])
        return asyncio.run(guard.awrite(path, content)) if called_async else guard.write(path, content)

    assert write(lambda event: None, "/x", "none").error is None
    assert write(lambda event: Allow(), "/x", "allow").error is None
    assert text(inner, "/x") == "allow"
    refused = write(lambda event: Refuse("it is late"), "/x", "refused")
    assert refused.error == "Error: writing /x was refused: it is late"
    assert write(lambda event: Replace("replaced"), "/x", "given").error is None
    assert text(inner, "/x") == "replaced"
    held = write(lambda event: Hold("wait"), "/x", "held")
    assert held.proposal is not None
    failed = write(lambda event: 1 / 0, "/x", "failed")
    assert "failed with ZeroDivisionError" in (failed.error or "")
    for nonsense in (True, False, "no", object()):
        answered = write(lambda event, nonsense=nonsense: nonsense, "/x", "nonsense")
        assert f"answered {type(nonsense).__name__}" in (answered.error or "")
    assert text(inner, "/x") == "replaced"


def test_langgraphs_control_flow_passes_through_a_hook(inner: Any) -> None:
    from langgraph.errors import GraphInterrupt

    def hook(event: WriteEvent) -> None:
        raise GraphInterrupt

    with pytest.raises(GraphInterrupt):
        GuardedBackend(inner, hooks=[hook]).write("/x", "y")


def test_a_replacement_is_shown_to_every_hook(inner: Any) -> None:
    watch = Watching()

    def redact(event: WriteEvent) -> Any:
        assert isinstance(event.after, str)
        return Replace(event.after.replace("secret", "[gone]"))

    guard = GuardedBackend(inner, hooks=[watch, redact])
    assert guard.edit("/a.md", "two", "secret").error is None
    assert watch.told[-1] == ("edit", "/a.md", "one\ntwo\n", "one\n[gone]\n")
    assert text(inner, "/a.md") == "one\n[gone]\n"

    def never(event: WriteEvent) -> Any:
        return Refuse("gone") if "[gone]" in str(event.after) else None

    assert "refused: gone" in (GuardedBackend(inner, hooks=[never, redact]).write("/x", "secret").error or "")
    assert text(inner, "/x") is None


def test_hooks_that_do_not_agree_change_nothing(inner: Any) -> None:
    def more(event: WriteEvent) -> Any:
        return Replace(f"{event.after}!")

    assert "do not agree" in (GuardedBackend(inner, hooks=[more]).write("/x", "y").error or "")
    assert text(inner, "/x") is None


def test_what_would_be_gone_cannot_be_replaced(inner: Any) -> None:
    guard = GuardedBackend(inner, hooks=[Watching(Replace("x"))])
    assert "would be gone" in (guard.delete("/a.md").error or "")
    assert text(inner, "/a.md") == "one\ntwo\n"


def test_the_content_of_a_move_can_be_replaced(inner: Any) -> None:
    def hook(event: WriteEvent) -> Any:
        return Replace("clean") if event.operation == "move" and event.after else None

    guard = GuardedBackend(inner, hooks=[hook])
    assert guard.move("/a.md", "/b.md").error is None
    assert (text(inner, "/a.md"), text(inner, "/b.md")) == (None, "clean")


def test_a_refused_file_refuses_the_whole_commit(inner: Any) -> None:
    guard = GuardedBackend(inner, hooks=[lambda event: Refuse("no") if event.path == "/b.md" else None])
    result = guard.commit([WriteFile("/c.md", "c"), WriteFile("/b.md", "b")])
    assert "refused: no" in (result.error or "")
    assert text(inner, "/c.md") is None


def test_changes_of_one_file_in_one_commit_are_seen_as_what_comes_of_them(inner: Any) -> None:
    watch = Watching()
    guard = GuardedBackend(inner, hooks=[watch])
    result = guard.commit(
        [
            EditFile("/a.md", "one", "sk-"),
            AppendFile("/a.md", "three"),
            EditFile("/a.md", "sk-", "1"),
            MoveFile("/a.md", "/b.md"),
            EditFile("/b.md", "two", "2"),
            WriteFile("/c.md", "c"),
            DeleteFile("/c.md"),
        ]
    )
    assert result.error is None
    assert watch.told == [
        ("delete", "/a.md", "one\ntwo\n", None),
        ("write", "/b.md", None, "1\n2\nthree"),
    ]
    assert (text(inner, "/a.md"), text(inner, "/b.md"), text(inner, "/c.md")) == (None, "1\n2\nthree", None)


def test_a_secret_that_comes_in_two_pieces_is_seen(inner: Any) -> None:
    guard = GuardedBackend(inner, hooks=[lambda event: Refuse("no") if "AB" in str(event.after) else None])
    assert guard.append("/b.md", "A").error is None
    assert "refused" in (guard.edit("/b.md", "A", "AB").error or "")
    assert guard.write("/c.md", "A-").error is None
    assert "refused" in (guard.edit("/c.md", "-", "B").error or "")


def test_an_older_base_is_merged_and_the_merge_is_seen(inner: Any) -> None:
    watch = Watching()
    guard = GuardedBackend(inner, hooks=[watch])
    inner.edit("/a.md", "two", "TWO")
    result = guard.write("/a.md", "ONE\ntwo\n", base=1)
    assert (result.error, result.merged) == (None, True)
    assert watch.told == [("write", "/a.md", "one\nTWO\n", "ONE\nTWO\n")]
    clash = guard.write("/a.md", "one\ntoo\n", base=1)
    assert clash.conflict
    assert "The current text is:\nONE\nTWO" in (clash.error or "")
    assert text(inner, "/a.md") == "ONE\nTWO\n"
    fresh = guard.write("/a.md", "x", base=0)
    assert fresh.conflict
    stale = guard.edit("/a.md", "ONE", "1", base=1)
    assert stale.conflict
    assert guard.delete("/a.md", base=1).conflict
    assert guard.append("/a.md", "x", base=0).conflict


def test_a_json_document_stays_one_and_both_its_forms_are_seen(inner: Any, store: MemoryStore) -> None:
    store.put(("ann",), "/fact", {"name": "Ann", "key": ""})
    watch = Watching()
    guard = GuardedBackend(inner, hooks=[watch])
    result = guard.edit("/fact", '"key": ""', '"key":    "\\u0041B"')
    assert result.error is None
    seen = [str(event.after) for event in watch.events]
    assert any("AB" in after for after in seen), seen
    item = store.get(("ann",), "/fact")
    assert item is not None
    assert item.value == {"name": "Ann", "key": "AB"}


def test_binary_that_is_text_is_text(inner: Any) -> None:
    watch = Watching()
    GuardedBackend(inner, hooks=[watch]).upload_files([("/x", "é".encode()), ("/y", b"\xc3")])
    assert [event.after for event in watch.events] == ["é", b"\xc3"]


# --- others who write meanwhile -----------------------------------------------------------------------------


class Interfering:
    """A hook in whose time somebody else changes the file."""

    def __init__(self, backend: Any, times: int, change: Any) -> None:
        self.backend, self.left, self.change = backend, times, change
        self.seen: list[Any] = []

    def __call__(self, event: WriteEvent) -> None:
        self.seen.append((event.before, event.after))
        if self.left:
            self.left -= 1
            self.change(self.backend)


@pytest.mark.parametrize("kind", ["versioned", "plain"])
@pytest.mark.parametrize(
    "ask",
    [
        lambda guard: guard.write("/a.md", "mine\n"),
        lambda guard: guard.edit("/a.md", "one", "ONE"),
        lambda guard: guard.append("/a.md", "mine\n"),
        lambda guard: guard.move("/a.md", "/b.md"),
        lambda guard: guard.upload_files([("/a.md", b"mine\n")])[0],
        lambda guard: guard.commit([EditFile("/a.md", "one", "ONE"), WriteFile("/b.md", "b")]),
    ],
)
def test_what_changes_meanwhile_is_checked_anew(store: MemoryStore, kind: str, ask: Any) -> None:
    inner = StoreBackend(namespace=("ann",), store=store if kind == "versioned" else InMemoryStore())
    inner.write("/a.md", "one\ntwo\n")
    hook = Interfering(inner, 3, lambda backend: backend.append("/a.md", "theirs\n"))
    guard = GuardedBackend(inner, hooks=[hook])
    result = ask(guard)
    assert result.error is None, result
    final = {text(inner, path) for path in ("/a.md", "/b.md")}
    assert final - {None} <= {after for _, after in hook.seen}
    assert ("one\ntwo\n" + "theirs\n" * 3) in {before for before, _ in hook.seen}


def test_a_file_that_appears_meanwhile_is_not_overwritten_unseen(inner: Any) -> None:
    hook = Interfering(inner, 1, lambda backend: backend.write("/new.md", "theirs\n"))
    guard = GuardedBackend(inner, hooks=[hook])
    assert guard.write("/new.md", "mine\n").error is None
    assert hook.seen == [(None, "mine\n"), ("theirs\n", "mine\n")]


def test_a_file_that_vanishes_meanwhile(inner: Any) -> None:
    hook = Interfering(inner, 1, lambda backend: backend.delete("/a.md"))
    guard = GuardedBackend(inner, hooks=[hook])
    assert "not found" in (guard.edit("/a.md", "one", "ONE").error or "")
    assert text(inner, "/a.md") is None


def test_a_file_that_never_rests_is_given_up(inner: Any) -> None:
    hook = Interfering(inner, 10_000, lambda backend: backend.append("/a.md", "x"))
    result = GuardedBackend(inner, hooks=[hook]).edit("/a.md", "one", "ONE")
    assert "changes faster" in (result.error or "")
    assert "ONE" not in (text(inner, "/a.md") or "")


@pytest.mark.parametrize("is_async", [False, True])
def test_two_writers_lose_nothing_and_hide_nothing(store: MemoryStore, is_async: bool) -> None:
    inner = StoreBackend(namespace=("ann",), store=store)
    inner.write("/log.md", "".join(f"slot {writer} {number}\n" for writer in range(2) for number in range(25)))
    seen: set[Any] = set()
    guard = GuardedBackend(inner, hooks=[lambda event: seen.add(event.after)])

    def work(writer: int) -> list[Any]:
        return [guard.edit("/log.md", f"slot {writer} {n}\n", f"done {writer} {n}\n") for n in range(25)]

    async def awork(writer: int) -> list[Any]:
        return [await guard.aedit("/log.md", f"slot {writer} {n}\n", f"done {writer} {n}\n") for n in range(25)]

    async def both() -> list[list[Any]]:
        return await asyncio.gather(awork(0), awork(1))

    if is_async:
        results = asyncio.run(both())
    else:
        with ThreadPoolExecutor(2) as pool:
            results = list(pool.map(work, range(2)))
    assert [result.error for result in results[0] + results[1] if result.error] == []
    assert (text(inner, "/log.md") or "").count("done") == 50
    revisions = store.history(("ann",), "/log.md")
    assert len(revisions) == 51
    for revision in revisions[:-1]:
        item = store.get_at(("ann",), "/log.md", revision=revision.revision)
        assert item.value["content"] in seen
