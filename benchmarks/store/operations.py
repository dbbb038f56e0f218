"""The operations that are timed, each with a check that the answer is right."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable

from benchmarks.store.stocks import Entry
from benchmarks.support.measure import Budget, Samples, Trial, race
from benchmarks.support.texts import (
    FOLDERS,
    RARE,
    RARE_EVERY,
    folder_of,
    key_of,
    reference_line,
    status_line,
    text_of,
)

# Steps through the files in an order that has nothing to do with how they are stored.
_STRIDE = 7_919


def measure(
    entries: list[Entry], size: int, budget: Budget, progress: Callable[[str], None]
) -> dict[str, dict[str, Samples]]:
    """Time every operation on every contender that has it.

    Reads come first, so that what they find is known exactly.

    Args:
        entries: The contenders.
        size: Files in each of their stores.
        budget: How much to measure.
        progress: Called with the name of each operation.

    Returns:
        Operation, contender, samples.
    """
    made: dict[str, itertools.count[int]] = {entry.contender.name: itertools.count(1) for entry in entries}
    removed: dict[str, itertools.count[int]] = {entry.contender.name: itertools.count(1) for entry in entries}

    def number(entry: Entry, sample: int) -> int:
        if size == 1:
            return 0
        return (sample * _STRIDE * 2 + entry.offset) % (size - size % 2)

    def get(entry: Entry) -> Trial:
        def call(sample: int) -> object:
            return entry.contender.get(key_of(number(entry, sample)))

        return Trial(entry.contender.name, call, lambda text: _expect(len(str(text)) > 2_000, True))

    def search(entry: Entry) -> Trial:
        return _counted(entry, lambda _: entry.contender.search(), min(10, size))

    def ls(entry: Entry) -> Trial:
        return _counted(entry, lambda sample: entry.contender.ls(folder_of(sample)), *_folder_sizes(size))

    def glob(entry: Entry) -> Trial:
        return _counted(entry, lambda sample: entry.contender.glob(folder_of(sample)), *_folder_sizes(size))

    def grep_one(entry: Entry) -> Trial:
        def call(sample: int) -> int:
            wanted = number(entry, sample)
            return entry.contender.grep(reference_line(wanted), key_of(wanted))

        return _counted(entry, call, 1)

    def grep_all(entry: Entry) -> Trial:
        return _counted(entry, lambda _: entry.contender.grep(RARE, None), -(-size // RARE_EVERY))

    def edit(entry: Entry) -> Trial:
        def call(sample: int) -> None:
            wanted = number(entry, sample)
            before = entry.edits.get(wanted, 0)
            entry.edits[wanted] = before + 1
            entry.contender.edit(key_of(wanted), status_line(before) + "\n", status_line(before + 1) + "\n")

        return Trial(entry.contender.name, call)

    texts = [text_of(10_000_000 + sample) for sample in range(32)]

    def overwrite(entry: Entry) -> Trial:
        def call(sample: int) -> None:
            entry.contender.put(key_of(number(entry, sample)), texts[sample % len(texts)])

        return Trial(entry.contender.name, call)

    def new_key(entry: Entry, sample: int) -> str:
        return f"{folder_of(sample)}/new-{entry.offset}-{sample}.md"

    def create(entry: Entry) -> Trial:
        def call(sample: int) -> None:
            entry.contender.put(new_key(entry, next(made[entry.contender.name])), texts[sample % len(texts)])

        return Trial(entry.contender.name, call)

    def delete(entry: Entry) -> Trial:
        def call(_: int) -> None:
            entry.contender.delete(new_key(entry, next(removed[entry.contender.name])))

        return Trial(entry.contender.name, call)

    plan: list[tuple[str, str, Callable[[Entry], Trial]]] = [
        ("get", "get", get),
        ("search, first 10", "search", search),
        ("ls one folder", "ls", ls),
        ("glob one folder", "glob", glob),
        ("grep one file", "grep", grep_one),
        ("grep all", "grep", grep_all),
        ("edit one line", "edit", edit),
        ("put, overwrite", "put", overwrite),
        ("put, create", "put", create),
        ("delete one", "delete", delete),
    ]
    results: dict[str, dict[str, Samples]] = {}
    for name, needs, trial in plan:
        progress(name)
        able = [entry for entry in entries if needs in entry.contender.operations]
        if name == "delete one":
            _make_enough(able, made, budget, new_key, texts)
        results[name] = race((trial(entry) for entry in able), budget)
    return results


def _make_enough(
    entries: Iterable[Entry],
    made: dict[str, itertools.count[int]],
    budget: Budget,
    new_key: Callable[[Entry, int], str],
    texts: list[str],
) -> None:
    """See to it that there is a file for every deletion."""
    for entry in entries:
        while (sample := next(made[entry.contender.name])) <= budget.samples + 1:
            entry.contender.put(new_key(entry, sample), texts[0])


def _folder_sizes(size: int) -> tuple[int, int]:
    return size // FOLDERS, -(-size // FOLDERS)


def _counted(entry: Entry, call: Callable[[int], int], *counts: int) -> Trial:
    def check(found: object) -> None:
        if found not in counts:
            raise AssertionError(f"{entry.contender.name} found {found}, not {counts[0]}")

    return Trial(entry.contender.name, call, check)


def _expect(found: object, wanted: object) -> None:
    if found != wanted:
        raise AssertionError(f"found {found!r}, not {wanted!r}")
