"""A process that saves memories at the same time as others: `python -m tests.knowledge.saving_process URL NUMBER`.

It says that it is ready, waits for a line, and saves; then it prints what came of each memory.
"""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime, timedelta

from memoranda import open_store
from memoranda.knowledge.collection import Collection

FACT = {
    "type": "object",
    "properties": {"who": {"type": "string"}, "city": {"type": "string"}},
    "required": ["who", "city"],
}
ROUNDS = 8
START = datetime(2024, 1, 1, tzinfo=UTC)


def main(url: str, number: int) -> None:
    """Save the same facts as the other processes, and others of the same identity."""
    actions: list[str] = []
    with open_store(url) as store:
        same = Collection(None, store, ("same",))
        facts = Collection(FACT, store, ("facts",), identity=["who"])
        print("ready", flush=True)
        sys.stdin.readline()
        for round in range(ROUNDS):
            said = f"Ann has seen the film number {round}{'.!?'[number % 2]}"
            actions.append(same.save(said, at=START + timedelta(hours=number)).action)
            at = START + timedelta(hours=10 * round + number)
            facts.save({"who": "Ann", "city": f"city {round} {number}"}, at=at)
    print(json.dumps(actions))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
