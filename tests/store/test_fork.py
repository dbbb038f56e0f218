"""A forked child goes on with the same store object."""

from __future__ import annotations

import asyncio
import os
import sys
import traceback
from collections.abc import Callable

import pytest

from memoranda import MemoryStore, open_store
from tests.store.conftest import settled

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork"),
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]


def in_child(call: Callable[[], object]) -> int:
    """Run a call in a forked child; returns the child's number."""
    sys.stdout.flush()
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        call()
        status = 0
    except BaseException:  # noqa: BLE001 - shown, and seen by the parent as a status
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def wait(*children: int) -> None:
    for child in children:
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def work(store: MemoryStore, name: str) -> None:
    for step in range(10):
        store.append(("a",), "/log.md", f"{name}-{step}")
        store.write(("a",), f"/{name}.md", str(step))
        assert store.get(("a",), f"/{name}.md").value["content"] == str(step)


def test_children_and_parent_write_at_once(store_url: str) -> None:
    with open_store(store_url) as store:
        store.write(("a",), "/start.md", "x")
        store.get(("a",), "/start.md")
        children = [in_child(lambda name=name: work(store, name)) for name in ("one", "two")]
        work(store, "parent")
        wait(*children)
        lines = store.get(("a",), "/log.md").value["content"].split("\n")
        assert sorted(lines) == sorted(f"{name}-{step}" for name in ("one", "two", "parent") for step in range(10))
        assert store.verify().ok
        assert len({change.token for change in settled(store)}) == 61


def test_a_child_uses_the_async_face(store_url: str) -> None:
    with open_store(store_url) as store:
        asyncio.run(store.awrite(("a",), "/a.md", "parent"))

        async def child() -> None:
            assert (await store.aget(("a",), "/a.md")).value["content"] == "parent"
            await store.aappend(("a",), "/a.md", "child")

        wait(in_child(lambda: asyncio.run(child())))
        assert store.get(("a",), "/a.md").value["content"] == "parent\nchild"
        asyncio.run(store.aappend(("a",), "/a.md", "parent again"))


def test_a_child_that_closes_leaves_the_parent_alone(store_url: str) -> None:
    with open_store(store_url) as store:
        store.write(("a",), "/a.md", "x")
        wait(in_child(store.close))
        wait(in_child(lambda: (store.append(("a",), "/a.md", "child"), store.close())))
        store.append(("a",), "/a.md", "parent")
        assert store.get(("a",), "/a.md").value["content"] == "x\nchild\nparent"
    with open_store(store_url) as store:
        assert store.verify().ok


def test_memory_is_copied() -> None:
    with open_store("memory://") as store:
        store.put(("a",), "k", {"n": 1})

        def child() -> None:
            assert store.get(("a",), "k").value == {"n": 1}
            store.put(("a",), "k", {"n": 2})
            assert store.get(("a",), "k").value == {"n": 2}

        wait(in_child(child))
        assert store.get(("a",), "k").value == {"n": 1}
