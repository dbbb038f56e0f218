"""Locks that somebody else holds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import apsw
import psycopg

from memoranda.store.namespaces import encode_namespace


@contextmanager
def locked(url: str, namespace: tuple[str, ...]) -> Iterator[None]:
    """Keep writers of a namespace out, as a transaction of another process that does not end would."""
    if url.startswith("sqlite"):
        connection = apsw.Connection(url.removeprefix("sqlite:///"))
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        finally:
            connection.execute("ROLLBACK")
            connection.close()
        return
    with psycopg.connect(url) as connection:
        connection.execute(
            "SELECT id FROM memoranda.namespaces WHERE labels = %s FOR UPDATE", (encode_namespace(namespace),)
        )
        yield
        connection.rollback()
