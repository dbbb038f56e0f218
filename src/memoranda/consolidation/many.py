"""Many scopes side by side, from blocking and from async code."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

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
        """Run all, and return what came of each in order."""

        def one(scope: Namespace) -> RunReport:
            return self._told(self._consolidator.run(scope, **settings))

        with ThreadPoolExecutor(self._concurrency, "memoranda-consolidation") as pool:
            futures = [pool.submit(copy_context().run, one, scope) for scope in scopes]
            try:
                return [future.result() for future in futures]
            except BaseException:
                pool.shutdown(wait=True, cancel_futures=True)
                raise

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
