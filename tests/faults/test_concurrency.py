"""Several processes with several threads on few files: what is reported as done is there."""

from __future__ import annotations

import threading
from collections.abc import Callable
from multiprocessing.connection import Connection

from memoranda import Author, ChangeSet, ConflictError, Edit, MemoryStore, Write, open_store
from tests.faults.killing import fresh

Opening = Callable[..., MemoryStore]
PROCESSES, THREADS, TURNS, FILES = 3, 4, 25, 3
SPACE = ("shared",)


def work(url: str, process: int, results: Connection) -> None:
    """Append, edit the own line, fight over a common line, and write with an old base; report what was said."""
    reported: list[tuple[str, str]] = []
    conflicts = [0]
    with open_store(url) as store:

        def run(thread: int) -> None:
            me = f"{process}.{thread}"
            for turn in range(TURNS):
                key = f"/{turn % FILES}.md"
                store.append(SPACE, key, f"appended {me} {turn}", author=Author(me))
                reported.append((key, f"appended {me} {turn}"))
                store.edit(SPACE, "/lines.md", f"{me}: {turn}.", f"{me}: {turn + 1}.", author=Author(me))
                item = store.get(SPACE, "/counter.md")
                assert item is not None
                number = int(item.value["content"].split()[0])
                try:
                    # Signed, since two who write the very same text agree.
                    store.write(SPACE, "/counter.md", f"{number + 1} {me}", base=item.revision)
                    store_counts.append(1)
                except ConflictError:
                    conflicts[0] += 1

        store_counts: list[int] = []
        threads = [threading.Thread(target=run, args=(thread,), daemon=True) for thread in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    results.send((reported, len(store_counts), conflicts[0]))


def test_nothing_reported_is_lost(store_url: str, open_here: Opening) -> None:
    store = open_here(store_url)
    names = [f"{process}.{thread}" for process in range(PROCESSES) for thread in range(THREADS)]
    lines = "\n".join(f"{name}: 0." for name in names)
    store.commit(ChangeSet([Write(SPACE, "/lines.md", lines), Write(SPACE, "/counter.md", "0")]))
    pipes = [fresh.Pipe(duplex=False) for _ in range(PROCESSES)]
    processes = [fresh.Process(target=work, args=(store_url, n, pipes[n][1]), daemon=True) for n in range(PROCESSES)]
    for process in processes:
        process.start()
    assert all(reading.poll(60) for reading, _ in pipes)
    outcomes = [reading.recv() for reading, _ in pipes]
    for process in processes:
        process.join(20)
        assert process.exitcode == 0
    reported = [entry for reported, _, _ in outcomes for entry in reported]
    assert len(reported) == PROCESSES * THREADS * TURNS
    for number in range(FILES):
        item = store.get(SPACE, f"/{number}.md")
        assert item is not None
        mine = [line for key, line in reported if key == f"/{number}.md"]
        assert sorted(item.value["content"].split("\n")) == sorted(mine)
        assert len(store.history(SPACE, f"/{number}.md", limit=10_000)) == len(mine)
    item = store.get(SPACE, "/lines.md")
    assert item is not None and item.value["content"] == "\n".join(f"{name}: {TURNS}." for name in names)
    # The counter went up once for each success and never for a conflict, of which there were some.
    item = store.get(SPACE, "/counter.md")
    succeeded, refused = sum(outcome[1] for outcome in outcomes), sum(outcome[2] for outcome in outcomes)
    assert item is not None and item.value["content"].split()[0] == str(succeeded)
    assert refused > 0 and succeeded + refused == PROCESSES * THREADS * TURNS
    assert store.verify().ok


def test_edits_of_one_line(store_url: str, open_here: Opening) -> None:
    """All want to replace the same text: one does, the others are told so."""
    store = open_here(store_url)
    store.write(SPACE, "/one.md", "start")
    outcomes: list[str] = []

    def run(number: int) -> None:
        result = store.commit(ChangeSet([Edit(SPACE, "/one.md", "start", f"won {number}")]), on_conflict="return")
        outcomes.append(result.conflicts[0].reason if result.conflicts else f"won {number}")

    threads = [threading.Thread(target=run, args=(number,), daemon=True) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    item = store.get(SPACE, "/one.md")
    assert item is not None
    assert sorted(outcomes) == sorted([item.value["content"], *["text_not_found"] * 11])
