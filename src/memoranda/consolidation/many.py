"""Many scopes side by side, from blocking and from async code."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from contextvars import copy_context
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from memoranda.consolidation.giving_back import noting_jobs
from memoranda.consolidation.reports import RunReport
from memoranda.store.changes import Namespace

if TYPE_CHECKING:
    from memoranda.consolidation.consolidator import Consolidator


class Many:
    """Runs a consolidator on many scopes.

    Args:
        consolidator: The consolidator.
        concurrency: How many scopes at a time.
        progress: Told what came of each.
    """

    def __init__(
        self, consolidator: Consolidator, concurrency: int, progress: Callable[[RunReport], None] | None
    ) -> None:
        self._consolidator = consolidator
        self._concurrency = max(concurrency, 1)
        self._progress = progress

    def do(self, scopes: Sequence[Namespace], **settings: Any) -> list[RunReport]:
        """Run all, and return what came of each in order.

        Ctrl-C ends it at once: what runs gives its job back, and nothing of it lands.
        """
        todo = iter(list(enumerate(scopes)))
        ended: SimpleQueue[tuple[int, RunReport | BaseException]] = SimpleQueue()
        lock = threading.Lock()

        def lane() -> None:
            while True:
                with lock:
                    at, scope = next(todo, (-1, ()))
                if at < 0:
                    return
                try:
                    ended.put((at, self._told(self._consolidator.run(scope, **settings))))
                except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
                    ended.put((at, error))

        reports: dict[int, RunReport] = {}
        with noting_jobs() as jobs:
            # Daemons: what does not come to its end must not keep the process from its own.
            lanes = [
                threading.Thread(
                    target=copy_context().run, args=(lane,), name=f"memoranda-consolidation-{number}", daemon=True
                )
                for number in range(min(self._concurrency, len(scopes)))
            ]
            try:
                for each in lanes:
                    each.start()
                while len(reports) < len(scopes):
                    at, came = ended.get()
                    if isinstance(came, BaseException):
                        raise came
                    reports[at] = came
            except Exception:
                with lock:
                    todo = iter(())
                for each in lanes:
                    each.join()
                raise
            except BaseException:
                with lock:
                    todo = iter(())
                jobs.give_back()
                raise
        return [reports[at] for at in range(len(scopes))]

    async def ado(self, scopes: Sequence[Namespace], **settings: Any) -> list[RunReport]:
        """The same from an event loop."""
        places = asyncio.Semaphore(self._concurrency)

        async def one(scope: Namespace) -> RunReport:
            async with places:
                return self._told(await self._consolidator.arun(scope, **settings))

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(scope)) for scope in scopes]
        return [task.result() for task in tasks]

    def _told(self, report: RunReport) -> RunReport:
        if self._progress is not None:
            self._progress(report)
        return report
