"""The machine's own PostgreSQL, an older one without pgvector, holds the same promises."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memoranda import Author, ConflictError, open_store
from memoranda.testing.store_conformance import run_conformance
from tests.conformance.stores import ours
from tests.support.postgres import create_database, system_server

_BINARIES = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
pytestmark = pytest.mark.skipif(not _BINARIES, reason="no PostgreSQL is installed on this machine")


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with system_server(_BINARIES[-1].parent) as url:
        yield url


def test_files_with_a_history(server: str) -> None:
    with open_store(create_database(server, "files")) as store:
        store.write(("ann",), "/a-b/x.md", "one\ntwo\n", author=Author("user:ann"))
        store.write(("ann",), "/a/y.md", "one\ntwo\n")
        store.edit(("ann",), "/a/y.md", "two", "TWO")
        assert store.write(("ann",), "/a/y.md", "ONE\ntwo\n", base=1).merged
        with pytest.raises(ConflictError):
            store.write(("ann",), "/a/y.md", "uno\n", base=1)
        assert [entry.key for entry in store.list_keys(("ann",))] == ["/a-b/", "/a/"]
        assert [match.line for match in store.grep(("ann",), "TWO").matches] == [2]
        assert [line.revision.revision for line in store.blame(("ann",), "/a/y.md")] == [3, 2]
        assert len(store.changes()) == 4
        assert store.verify().ok


def test_the_whole_contract(server: str) -> None:
    url = create_database(server, "contract")
    with ours(url) as store:
        results = run_conformance(store.factory, capabilities=store.claims, short_ttl=0.4)
    assert not [result for result in results if not result.passed]
