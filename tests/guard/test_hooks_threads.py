"""A hook that computes for long holds up no event loop."""

from __future__ import annotations

import asyncio
import threading
from contextvars import ContextVar
from typing import Any

import pytest
from langgraph.errors import GraphInterrupt

from memoranda import Author, MemoryStore, acting_as
from memoranda.backends import GuardedBackend, Refuse, StoreBackend, WriteEvent

LARGE = "text\n" * 30_000
WHO: ContextVar[str] = ContextVar("WHO", default="nobody")


@pytest.fixture
def inner(store: MemoryStore) -> StoreBackend:
    return StoreBackend(namespace=("ann",), store=store)


class Waiting:
    """Blocks until it is released, and notes where and for whom."""

    def __init__(self) -> None:
        self.seen: list[tuple[int, str, str | None]] = []
        self.released = threading.Event()

    def __call__(self, event: WriteEvent) -> Any:
        self.seen.append((threading.get_ident(), WHO.get(), event.author.actor))
        if not self.released.wait(5):
            return Refuse("the loop stands still")
        return Refuse("slowly") if event.path == "/no" else None


async def test_a_blocking_hook_runs_beside_the_loop(inner: Any) -> None:
    WHO.set("ann")
    for path, error in (("/a", ""), ("/no", "slowly")):
        hook = Waiting()
        asyncio.get_running_loop().call_later(0.05, hook.released.set)
        with acting_as(Author("user:ann")):
            result = await GuardedBackend(inner, hooks=[hook]).awrite(path, LARGE)
        assert (result.error or "").endswith(error) and bool(result.error) == bool(error)
        ((thread, who, actor),) = hook.seen
        assert thread != threading.get_ident()
        assert (who, actor) == ("ann", "user:ann")


async def test_a_large_file_that_shrinks_is_large_too(inner: Any) -> None:
    inner.write("/a", LARGE)
    hook = Waiting()
    hook.released.set()
    assert (await GuardedBackend(inner, hooks=[hook]).awrite("/a", "short")).error is None
    assert hook.seen[0][0] != threading.get_ident()


async def test_a_coroutine_function_stays_in_its_loop(inner: Any) -> None:
    loops: list[Any] = []

    class Callable:
        async def __call__(self, event: WriteEvent) -> Any:
            loops.append((asyncio.get_running_loop(), threading.get_ident()))
            return Refuse("as told")

    hook = Callable()
    for one in (hook, hook.__call__, lambda event: hook(event)):
        assert "as told" in ((await GuardedBackend(inner, hooks=[one]).awrite("/a", LARGE)).error or "")
    assert loops == [(asyncio.get_running_loop(), threading.get_ident())] * 3


@pytest.mark.parametrize("error", [ValueError("broken"), StopIteration()], ids=["error", "stop"])
async def test_a_hook_that_fails_in_a_thread_refuses(inner: Any, error: Exception) -> None:
    def hook(event: WriteEvent) -> None:
        raise error

    async with asyncio.timeout(10):
        result = await GuardedBackend(inner, hooks=[hook]).awrite("/a", LARGE)
    assert "was refused: the hook hook failed" in (result.error or "")
    assert inner.read("/a").error


async def test_control_flow_passes_out_of_a_thread(inner: Any) -> None:
    def hook(event: WriteEvent) -> None:
        raise GraphInterrupt(())

    with pytest.raises(GraphInterrupt):
        await GuardedBackend(inner, hooks=[hook]).awrite("/a", LARGE)


def test_without_a_loop_nothing_changes(inner: Any) -> None:
    hook = Waiting()
    hook.released.set()
    assert GuardedBackend(inner, hooks=[hook]).write("/a", LARGE).error is None
    assert hook.seen == [(threading.get_ident(), "nobody", None)]
