"""Kill writers with SIGKILL at random moments and see whether anything acknowledged is missing.

    python -m benchmarks.faults.kill --kills 200 --engine sqlite
    python -m benchmarks.faults.kill --kills 200 --engine postgres

Each round starts a process that writes, appends, edits, moves and deletes, and commits change sets over two
namespaces, acknowledging each over a pipe once it has returned. It is killed at a random moment, every tenth time
while it opens the store. Then the store has to hold every acknowledged revision, and the change under way as a whole
or not at all; `verify` has to be clean, and another writer has to get through.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import Progress
from tests.faults.killing import random_kills
from tests.support.postgres import create_database, drop_database, running_server


@contextmanager
def fresh_store(engine: str) -> Iterator[str]:
    """The URL of an empty store that goes away afterwards."""
    with tempfile.TemporaryDirectory(prefix="memoranda-faults-") as folder:
        if engine == "sqlite":
            yield f"sqlite:///{folder}/memory.db"
            return
        Path(folder).chmod(0o755)
        with running_server(Path(folder) / "postgres") as server:
            name = f"memoranda_{uuid.uuid4().hex[:12]}"
            yield create_database(server, name)
            drop_database(server, name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200, help="how many writers to kill")
    parser.add_argument("--engine", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument("--longest", type=float, default=0.5, help="seconds that a writer lives at most")
    parser.add_argument("--seed", type=int, default=1, help="another seed gives other moments and other changes")
    parser.add_argument("--json", action="store_true", help="print the counts as JSON")
    given = parser.parse_args()
    started = time.monotonic()
    with fresh_store(given.engine) as url, Progress(disable=given.json) as progress:
        task = progress.add_task(f"killing writers on {given.engine}", total=given.kills)
        counts = random_kills(
            url,
            given.kills,
            longest=given.longest,
            seed=given.seed,
            report=lambda counts: progress.update(task, completed=counts["kills"]),
        )
    if given.json:
        print(json.dumps({"engine": given.engine, **counts}))
        return
    Console().print(
        f"[bold]{given.engine}[/]: {counts['kills']} writers killed, {counts['acknowledged']:,} change sets "
        f"acknowledged and all there with their history; of those under way {counts['landed_unacknowledged']} landed "
        f"as a whole, {counts['undone']} not at all, none by half. verify() clean. {time.monotonic() - started:.0f} s."
    )


if __name__ == "__main__":
    main()
