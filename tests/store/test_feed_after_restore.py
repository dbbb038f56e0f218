"""The feed of a dump that is restored into a server that counts its transactions anew."""

from __future__ import annotations

from collections.abc import Callable

import psycopg

from memoranda import MemoryStore, open_store
from tests.store.conftest import settled


def test_the_feed_goes_on_after_a_restore(postgres_url: str, open_here: Callable[..., MemoryStore]) -> None:
    with open_store(postgres_url) as store:
        store.write(("ann",), "/a.md", "one")
        store.write(("ann",), "/b.md", "two")
        (_, last) = settled(store)
    # As in a restored dump: the rows carry transaction numbers that this server has not reached yet.
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("UPDATE memoranda.revisions SET feed = feed + 1000000000000")
        token = last.token.split("-")
        token[0] = str(int(token[0]) + 1_000_000_000_000)
    store = open_here(postgres_url)
    assert [change.key for change in store.changes()] == ["/a.md", "/b.md"]
    assert store.changes(since="-".join(token)) == []
    store.write(("ann",), "/c.md", "three")
    assert [change.key for change in settled(store)] == ["/a.md", "/b.md", "/c.md"]
    assert [change.key for change in store.changes(since="-".join(token))] == ["/c.md"]
