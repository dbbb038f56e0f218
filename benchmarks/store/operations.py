"""The operations that are timed, each with a check that the answer is right."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.store.stocks import OURS, Entry
from benchmarks.support.contenders import Contender
from benchmarks.support.measure import Budget, Samples, Trial, WrongAnswerError, race
from benchmarks.support.texts import (
    FOLDERS,
    RARE,
    RARE_EVERY,
    folder_of,
    key_of,
    reference_line,
    text_of,
)

# Steps through the files in an order that has nothing to do with how they are stored.
_STRIDE = 7_919
_NEW = tuple(text_of(10_000_000 + number) for number in range(64))
_fresh = itertools.count(1)


def measure(
    entries: list[Entry], size: int, budget: Budget, progress: Callable[[str], None]
) -> dict[str, dict[str, Samples]]:
    """Time every operation on every contender that has it.

    Reads come first, so that what they find is known exactly.

    Args:
        entries: The contenders.
        size: Files in each of their namespaces, 2 at least.
        budget: How much to measure.
        progress: Called with the name of each operation.

    Returns:
        Operation, contender, samples.
    """
    results: dict[str, dict[str, Samples]] = {}
    for name, (needs, trial) in PLAN.items():
        progress(name)
        able = [entry for entry in entries if needs in entry.contender.operations]
        results[name] = race([trial(entry, size) for entry in able], budget)
    return results


def _own(entry: Entry, size: int, sample: int) -> int:
    """The number of one of the files that no other contender touches."""
    return (sample * _STRIDE * 2 + entry.offset) % (size - size % 2)


def _get(entry: Entry, size: int) -> Trial:
    def after(_: str, text: str) -> None:
        if len(text) < 2_000:
            raise WrongAnswerError(f"{entry.contender.name} read {len(text)} characters")

    return Trial(entry.contender.name, lambda sample: key_of(_own(entry, size, sample)), entry.contender.get, after)


def _search(entry: Entry, size: int) -> Trial:
    return _counting(entry.contender, lambda sample: sample, lambda _: entry.contender.search(), min(10, size))


def _ls(entry: Entry, size: int) -> Trial:
    return _counting(entry.contender, folder_of, entry.contender.ls, *_folder_sizes(size))


def _glob(entry: Entry, size: int) -> Trial:
    return _counting(entry.contender, folder_of, entry.contender.glob, *_folder_sizes(size))


def _grep_one(entry: Entry, size: int) -> Trial:
    def prepare(sample: int) -> tuple[str, str]:
        number = _own(entry, size, sample)
        return reference_line(number), key_of(number)

    return _counting(entry.contender, prepare, lambda given: entry.contender.grep(*given), 1)


def _grep_all(entry: Entry, size: int) -> Trial:
    return _counting(
        entry.contender,
        lambda sample: sample,
        lambda _: entry.contender.grep(RARE, None),
        -(-size // RARE_EVERY),
    )


def _edit(entry: Entry, size: int) -> Trial:
    def prepare(sample: int) -> tuple[str, str, str]:
        key = key_of(_own(entry, size, sample))
        line = next(line for line in entry.contender.get(key).splitlines() if line.startswith("Status:"))
        return key, line, f"Status: draft {sample} of the edits"

    return Trial(entry.contender.name, prepare, lambda given: entry.contender.edit(*given))


def _revise(entry: Entry, size: int) -> Trial:
    def prepare(sample: int) -> tuple[str, str]:
        key = key_of(_own(entry, size, sample))
        lines = entry.contender.get(key).splitlines()
        chance = random.Random(sample)
        for _ in range(3):
            lines[chance.randrange(4, len(lines))] = f"- changed line of sample {sample}, {chance.random()}"
        return key, "\n".join(lines) + "\n"

    return Trial(entry.contender.name, prepare, lambda given: entry.contender.put(*given))


def _replace(entry: Entry, size: int) -> Trial:
    def prepare(sample: int) -> tuple[str, str]:
        return key_of(_own(entry, size, sample)), _NEW[sample % len(_NEW)]

    return Trial(entry.contender.name, prepare, lambda given: entry.contender.put(*given))


def _create(entry: Entry, size: int) -> Trial:
    def prepare(sample: int) -> tuple[str, str]:
        return f"{folder_of(sample)}/new-{next(_fresh)}.md", _NEW[sample % len(_NEW)]

    return Trial(
        entry.contender.name,
        prepare,
        lambda given: entry.contender.put(*given),
        lambda given, _: entry.contender.drop(given[0]),
    )


def _delete(entry: Entry, size: int) -> Trial:
    def prepare(sample: int) -> str:
        key = f"{folder_of(sample)}/new-{next(_fresh)}.md"
        entry.contender.put(key, _NEW[sample % len(_NEW)])
        return key

    return Trial(entry.contender.name, prepare, entry.contender.delete)


def _folder_sizes(size: int) -> tuple[int, int]:
    return size // FOLDERS, -(-size // FOLDERS)


def _counting(contender: Contender, prepare: Callable[[int], Any], call: Callable[[Any], int], *counts: int) -> Trial:
    def after(given: Any, found: int) -> None:
        if found not in counts:
            raise WrongAnswerError(f"{contender.name} found {found} for {given!r}, not {counts[0]}")

    # Pages of LangGraph's PostgresStore overlap where items have the same time, so that files are missing.
    return Trial(contender.name, prepare, call, after, forgiven=OURS not in contender.name)


PLAN: Mapping[str, tuple[str, Callable[[Entry, int], Trial]]] = {
    "get": ("get", _get),
    "search, first 10": ("search", _search),
    "ls one folder": ("ls", _ls),
    "glob one folder": ("glob", _glob),
    "grep one file": ("grep", _grep_one),
    "grep all": ("grep", _grep_all),
    "edit one line": ("edit", _edit),
    "put, create": ("put", _create),
    "put, 3 lines changed": ("put", _revise),
    "put, all new": ("put", _replace),
    "delete one": ("delete", _delete),
}
"""What is timed: the method that it needs, and how it is tried."""
