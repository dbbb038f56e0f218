"""An event loop that ends is not held up by the store that was used on it."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import asyncio, sys
from memoranda import open_store

async def burst(store, count):
    await asyncio.gather(*(store.aput(("loop-end",), f"key-{n}", {"n": n}) for n in range(count)))

for number in range(25):
    with open_store(sys.argv[1]) as store:
        asyncio.run(burst(store, 3 + number % 12))
print("done")
"""


def test_asyncio_run_ends_while_connections_are_being_made(store_url: str) -> None:
    """The loop ends just after a burst, when a pool that grows may still be connecting."""
    try:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", SCRIPT, store_url], capture_output=True, text=True, timeout=25
        )
    except subprocess.TimeoutExpired:
        pytest.fail("asyncio.run() did not return within 25 s")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "done\n"
