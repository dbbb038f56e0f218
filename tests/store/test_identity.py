"""Which database a store is: the same for every process, and another once the database is made anew."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psycopg

from memoranda import MemoryStore, open_store


def test_it_is_the_same_for_all_who_open_it(
    store: MemoryStore, store_url: str, open_here: Callable[..., MemoryStore]
) -> None:
    assert open_here(store_url).identity == store.identity
    assert open_here(store_url, migrate=False).identity == store.identity
    code = "import sys; from memoranda import open_store; print(open_store(sys.argv[1]).identity)"
    found = subprocess.run([sys.executable, "-c", code, store_url], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == store.identity


def test_two_databases_differ(store: MemoryStore, other_store_url: str, open_here: Callable[..., MemoryStore]) -> None:
    assert open_here(other_store_url).identity != store.identity


def test_a_new_database_at_the_old_place_is_another(
    engine: str, store: MemoryStore, store_url: str, tmp_path: Path
) -> None:
    store.close()
    if engine == "postgres":
        with psycopg.connect(store_url, autocommit=True) as connection:
            connection.execute("DROP SCHEMA memoranda CASCADE")
    else:
        for left in tmp_path.glob("memory.db*"):
            left.unlink()
    with open_store(store_url) as new:
        assert new.identity != store.identity


def test_memory_is_its_own(open_here: Callable[..., MemoryStore]) -> None:
    assert open_here("memory://").identity != open_here("memory://").identity
