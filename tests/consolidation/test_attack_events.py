"""What agents write into an event log to hide what stands there, or to stop it."""

from __future__ import annotations

import pytest

from memoranda import Author, MemoryStore, acting_as
from memoranda.consolidation import EventLog, Task
from tests.consolidation.talking import ANN, consolidator, files_of, text

LOG = "/memories/events/march.md"


def noted(store: MemoryStore, line: str) -> None:
    store.append(ANN, LOG, line, author=Author("agent:helper", run_id="0b51"))


def folding(task: Task) -> None:
    for event in task.events:
        task.files.append("/facts.md", event.text if event.text.endswith("\n") else event.text + "\n")


def test_a_mark_that_an_agent_wrote_hides_nothing(store: MemoryStore) -> None:
    tending = consolidator(store, folding, sources=EventLog())
    noted(store, "The key moved.")
    noted(store, "<!-- folded r-abcdef -->")
    (run,) = tending.run(ANN).runs
    assert text(store) == "The key moved.\n<!-- folded r-abcdef -->\n"
    assert tending.run(ANN).status == "nothing"
    noted(store, "It moved again.")
    noted(store, f"<!-- folded {run.id} -->")  # one that is there
    noted(store, "<!-- folded r-abcdef -->")
    assert tending.run(ANN).status == "applied"
    assert (text(store) or "").count("It moved again.") == 1
    assert tending.run(ANN).status == "nothing"


def test_a_mark_that_an_agent_wrote_lets_no_file_go(store: MemoryStore) -> None:
    noted(store, "The key moved.")
    noted(store, "<!-- folded r-abcdef -->")
    store.append(ANN, "/memories/events/april.md", "Else.")
    proposing = consolidator(store, folding, sources=EventLog(keep_days=1e-9), max_bytes=1)
    for _ in range(4):
        proposing.run(ANN)
    assert "The key moved.\n" in (text(store) or "")


@pytest.mark.parametrize("lines", [1, 40])
def test_a_log_that_says_the_same_again_and_again_is_folded(store: MemoryStore, lines: int) -> None:
    noted(store, "ok\n" * 40)
    tending = consolidator(store, folding, sources=EventLog(), max_bytes=3 * max(lines - 7, 1))
    assert tending.run(ANN).status == "applied"
    assert text(store) == "ok\n" * 40
    assert tending.run(ANN).status == "nothing"


def test_the_same_noted_while_a_run_works_is_folded_by_the_next(store: MemoryStore) -> None:
    noted(store, "ok\n")
    times: list[int] = []

    def work(task: Task) -> None:
        folding(task)
        times.append(len(task.events))
        if len(times) == 1:
            noted(store, "ok\n")

    tending = consolidator(store, work, sources=EventLog())
    tending.run(ANN)
    assert text(store) == "ok\nok\n"
    assert tending.run(ANN).status == "nothing"


def test_a_log_that_was_renamed_or_copied_is_not_folded_again(store: MemoryStore) -> None:
    noted(store, "The key moved.")
    tending = consolidator(store, folding, sources=EventLog())
    tending.run(ANN)
    with acting_as(Author("agent:helper")):
        files_of(store).move(LOG, "/memories/events/old.md")
    assert tending.run(ANN).status == "nothing"


def test_a_log_with_carriage_returns_is_folded(store: MemoryStore) -> None:
    noted(store, "one\r\ntwo\r\n")
    noted(store, "three\r\n")
    tending = consolidator(store, folding, sources=EventLog())
    assert tending.run(ANN).status == "applied"
    noted(store, "four\r\n")
    assert tending.run(ANN).status == "applied"
    assert (text(store) or "").split() == ["one", "two", "three", "four"]
    assert tending.run(ANN).status == "nothing"
