"""What a line came from, in one call, whatever happened to its file since."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from memoranda import Author, MemoryStore
from memoranda.backends import CompositeBackend, GuardedBackend, Replace, StoreBackend, WriteEvent
from memoranda.consolidation import Task, asources_of, sources_of, undo
from memoranda.errors import InvalidValueError, ItemNotFoundError
from tests.consolidation.talking import ANN, consolidator, files_of, noting, say, text


def sources(store: MemoryStore, line: int | None = None, path: str = "/facts.md") -> list[str]:
    return [turn.message_id for turn in sources_of(store, ANN, path, line)]


def test_a_line_leads_to_the_turn_it_came_from(store: MemoryStore) -> None:
    first, second = say(store, "I like tea.", "I live in Kyoto.")
    consolidator(store).run(ANN)
    assert [sources(store, 1), sources(store, 2), sources(store)] == [[first], [second], [first, second]]
    (turn,) = sources_of(store, ANN, "/facts.md", 2)
    assert (turn.text, turn.thread_id) == ("I live in Kyoto.", "monday")
    assert asyncio.run(asources_of(store, ANN, "/facts.md", 2)) == (turn,)


def test_a_line_may_come_from_several_turns(store: MemoryStore) -> None:
    first, second, third = say(store, "I like tea.", "Green tea.", "Hm.")

    def work(task: Task) -> None:
        with task.because("t1", second):
            task.files.write("/facts.md", "- likes green tea\n")

    consolidator(store, work).run(ANN)
    assert sources(store, 1) == [first, second]
    assert third not in sources(store)


def test_without_a_word_it_came_from_all(store: MemoryStore) -> None:
    said = say(store, "one", "two")
    consolidator(store, lambda task: task.files.write("/facts.md", "a\nb\n")).run(ANN)
    assert sources(store, 2) == said


def test_blocks_within_blocks_and_tasks_side_by_side_are_told_apart(store: MemoryStore) -> None:
    first, second = say(store, "one", "two")

    async def work(task: Task) -> None:
        async def note(turn: str, path: str, pause: float) -> None:
            with task.because(turn):
                await asyncio.sleep(pause)
                await task.files.aappend(path, f"- {turn}\n")
                await asyncio.sleep(pause)

        await asyncio.gather(note("t1", "/a.md", 0.01), note("t2", "/b.md", 0.005))
        with task.because("t1"):
            await task.files.aappend("/c.md", "outer\n")
            with task.because("t2"):
                await task.files.aappend("/c.md", "inner\n")
            await task.files.aappend("/c.md", "outer again\n")

    consolidator(store, work).run(ANN)
    assert (sources(store, path="/a.md"), sources(store, path="/b.md")) == ([first], [second])
    assert [sources(store, line, "/c.md") for line in (1, 2, 3)] == [[first], [second], [first]]


def test_later_runs_keep_what_they_leave(store: MemoryStore) -> None:
    first, second = say(store, "one", "two")
    consolidator(store, max_turns=1).run(ANN)
    third = say(store, "three", first=3)

    def rewrite(task: Task) -> None:
        data = task.files.read("/facts.md").file_data
        assert data is not None
        task.files.write("/facts.md", "# Facts\n" + data["content"].replace("- two", "- two and three"))

    consolidator(store, rewrite).run(ANN)
    assert (text(store) or "").splitlines() == ["# Facts", "- one", "- two and three"]
    assert [sources(store, line) for line in (1, 2, 3)] == [third, [first], third]
    assert second not in sources(store)


def test_edits_by_others_leave_the_lines_around_them(store: MemoryStore) -> None:
    first, second = say(store, "one", "two")
    consolidator(store).run(ANN)
    store.edit(ANN, "/facts.md", "- one", "- ONE", author=Author("user:ann"))
    store.append(ANN, "/facts.md", "- by hand", author=Author("user:ann"))
    assert [sources(store, line) for line in (1, 2, 3)] == [[], [second], []]
    assert first not in sources(store)


def test_what_was_merged_in_is_told_apart(store: MemoryStore) -> None:
    store.write(ANN, "/facts.md", "# Facts\n- old\n- last\n")
    said = say(store, "new")

    def work(task: Task) -> None:
        data = task.files.read("/facts.md").file_data
        assert data is not None
        store.append(ANN, "/facts.md", "- by hand\n", author=Author("user:ann"))
        task.files.write("/facts.md", data["content"].replace("- old", "- new"))

    consolidator(store, work).run(ANN)
    assert text(store) == "# Facts\n- new\n- last\n- by hand\n"
    assert [sources(store, line) for line in (1, 2, 3, 4)] == [[], said, [], []]


def test_a_last_line_without_an_end_stays_its_writers(store: MemoryStore) -> None:
    first, second = say(store, "one", "two")

    def work(task: Task) -> None:
        for turn in task.turns:
            with task.because(turn.message_id):
                task.files.append("/facts.md", f"- {turn.text}")

    consolidator(store, work, max_turns=1).run(ANN)
    store.append(ANN, "/facts.md", "- by hand", author=Author("user:ann"))
    assert text(store) == "- one\n- two\n- by hand"
    assert [sources(store, line) for line in (1, 2, 3)] == [[first], [second], []]


@pytest.mark.parametrize("to", ["/moved.md", "/shared/moved.md"])
def test_a_file_that_a_run_moves_keeps_its_sources(store: MemoryStore, to: str) -> None:
    target = CompositeBackend(files_of(store), {"/shared/": StoreBackend(namespace=("shared",), store=store)})
    first = say(store, "one")
    consolidator(store, target=target).run(ANN)
    second = say(store, "two", first=2)

    def work(task: Task) -> None:
        task.files.move("/facts.md", to)
        noting(to)(task)

    consolidator(store, work, target=target).run(ANN)
    namespace = ("shared",) if to.startswith("/shared") else ANN
    found = [[turn.message_id for turn in sources_of(store, namespace, "/moved.md", line)] for line in (1, 2)]
    assert found == [first, second]


def test_what_a_hook_replaced_came_from_what_the_file_did(store: MemoryStore) -> None:
    def shorter(event: WriteEvent) -> Replace | None:
        return Replace("- 1\n") if event.after == "- one\n" else None

    said = say(store, "one")
    consolidator(store, target=GuardedBackend(files_of(store), hooks=[shorter])).run(ANN)
    assert (text(store), sources(store, 1)) == ("- 1\n", said)


def _accepted(store: MemoryStore, run_id: str) -> None:
    store.accept_proposal(store.runs.get(run_id).proposal or "", author=Author("user:ann"))


@pytest.mark.parametrize("after", [None, _accepted])
def test_an_accepted_proposal_knows_its_sources(
    store: MemoryStore, after: Callable[[MemoryStore, str], None] | None
) -> None:
    first, second = say(store, "one", "two")
    report = consolidator(store).run(ANN, mode="apply" if after is None else "propose")
    if after is not None:
        after(store, report.run_id or "")
    assert [sources(store, 1), sources(store, 2)] == [[first], [second]]


def test_what_was_undone_and_what_was_forgotten_has_none(store: MemoryStore) -> None:
    store.write(ANN, "/facts.md", "- old\n")
    say(store, "one", thread="gone")
    report = consolidator(store).run(ANN)
    store.forget(thread="gone")
    assert sources(store) == []
    undo(store, report.run_id or "")
    assert sources(store) == []


def test_a_file_by_others_has_none(store: MemoryStore) -> None:
    store.write(ANN, "/facts.md", "by hand\n", author=Author("agent:helper", run_id="r-nobody"))
    assert sources(store) == []


def test_a_line_that_is_not_there_is_an_error(store: MemoryStore) -> None:
    store.write(ANN, "/facts.md", "one\n")
    for line in (0, 2):
        with pytest.raises(InvalidValueError, match="It has 1"):
            sources(store, line)
    with pytest.raises(ItemNotFoundError):
        sources(store, path="/none.md")
