"""Many writers on few files: own lines edited, lines appended, and one line that all of them want.

Every reported success leaves something that only it can have left, so that afterwards the losses can be counted:

- An *own* edit adds a token to the line that only this worker edits.
- An *append* adds a line with a token.
- A *shared* edit reads the one line that all edit, and replaces exactly what it read by a token of its own. The
  successes must form one chain from the first state to the last; those outside the chain are lost.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from benchmarks.concurrency.crew import Tally
from benchmarks.concurrency.rivals import Refused, Rival

FILES = tuple(f"/shared/notes-{number}.md" for number in range(5))
_SHARED = "shared: "


class Success(NamedTuple):
    """A change that was reported as made."""

    kind: str
    key: str
    token: str
    old: str = ""


def prepare(rival: Rival, workers: int) -> None:
    """Write the files, with a line for each worker."""
    lines = ["# Notes of the whole team", "", f"{_SHARED}start;", ""]
    lines += [_own(worker, ()) for worker in range(workers)]
    lines += ["", "## Log", "begin", ""]
    for key in FILES:
        rival.write(key, "\n".join(lines))


def _own(worker: int, tokens: tuple[str, ...]) -> str:
    return f"worker {worker:03}:" + "".join(f" {token}" for token in tokens) + " ."


@dataclass(frozen=True, slots=True)
class Edits:
    """The work of one thread.

    Args:
        changes: How many it makes.
    """

    changes: int

    def __call__(self, rival: Rival, worker: int, tally: Tally, is_over: Callable[[], bool]) -> None:
        own = {key: _own(worker, ()) for key in FILES}
        for number in range(self.changes):
            if is_over():
                return
            key = FILES[(worker + number) % len(FILES)]
            token = f"t{worker}-{number}"
            start = time.perf_counter()
            try:
                kind = self._step(rival, worker, number, key, token, own, tally)
            except Refused:
                tally.counts["conflict"] += 1
                own.pop(key, None)
            except Exception as error:  # noqa: BLE001 - errors are what is counted here
                tally.counts[f"error: {_brief(error)}"] += 1
            else:
                tally.took(kind, time.perf_counter() - start)
                tally.counts["ok"] += 1

    @staticmethod
    def _step(rival: Rival, worker: int, number: int, key: str, token: str, own: dict[str, str], tally: Tally) -> str:
        if number % 10 == 9:
            before = _find(rival.read(key), _SHARED)
            rival.edit(key, before, f"{_SHARED}{token};")
            old = before.removeprefix(_SHARED).removesuffix(";")
            tally.evidence.append(Success("shared edit", key, token, old))
            return "shared edit"
        if number % 2 == 0:
            # As last written, or read again after a refusal.
            before = own.get(key) or _find(rival.read(key), f"worker {worker:03}:")
            after = before.removesuffix(" .") + f" {token} ."
            rival.edit(key, before, after)
            own[key] = after
            tally.evidence.append(Success("own edit", key, token))
            return "own edit"
        rival.append(key, f"appended by worker {worker}: {token}")
        tally.evidence.append(Success("append", key, token))
        return "append"


def lost(rival: Rival, successes: list[Success]) -> Counter[str]:
    """Count the reported successes that cannot be found, by kind."""
    missing: Counter[str] = Counter()
    for key in FILES:
        text = rival.read(key)
        tokens = {word for line in text.splitlines() for word in line.split()[2:]}
        chain: dict[str, str] = {}
        shared: list[Success] = []
        for success in successes:
            if success.key != key:
                continue
            if success.kind == "shared edit":
                chain[success.token] = success.old
                shared.append(success)
            elif success.token not in tokens:
                missing[success.kind] += 1
        reached: set[str] = set()
        state = _find(text, _SHARED).removeprefix(_SHARED).removesuffix(";")
        while state in chain and state not in reached:
            reached.add(state)
            state = chain[state]
        missing["shared edit"] += len(shared) - len(reached)
    return +missing


def _find(text: str, start: str) -> str:
    for line in text.splitlines():
        if line.startswith(start):
            return line
    raise RuntimeError(f"the line {start!r} is gone")


def _brief(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:80]
