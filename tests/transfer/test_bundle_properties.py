"""Whatever was done to a store, a bundle brings it back."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memoranda import Append, Author, ChangeSet, Delete, Edit, MemoryStore, Move, Restore, Write, open_store
from memoranda.errors import MemorandaError
from memoranda.transfer import export_bundle, import_bundle
from tests.support.postgres import Reused
from tests.transfer.support import HARD_LABELS, digests, feed, values

TEXT = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=30)
LABELS = st.sampled_from([("a",), ("b",), ("a", "b"), *((label,) for label in HARD_LABELS[:12])])
PATHS = st.sampled_from(["/x", "/y/z", "/é", "/e\u0301", "name"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**62), 2**62) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
VALUES = st.one_of(
    TEXT,
    st.binary(max_size=60),
    st.dictionaries(TEXT, JSON, max_size=4),
    st.builds(lambda lines: {"content": lines, "created_at": "2025"}, st.lists(TEXT, min_size=1, max_size=4)),
)
AUTHORS = st.builds(Author, *[st.none() | TEXT] * 5)
CHANGES = st.one_of(
    st.builds(Write, LABELS, PATHS, VALUES, ttl=st.none() | st.floats(1, 1e6)),
    st.builds(Append, LABELS, PATHS, TEXT),
    st.builds(Edit, LABELS, PATHS, TEXT, TEXT, st.booleans()),
    st.builds(Delete, LABELS, PATHS),
    st.builds(Move, LABELS, PATHS, PATHS, st.none() | LABELS, st.booleans()),
    st.builds(Restore, LABELS, PATHS, st.integers(1, 3)),
)
HISTORY = st.lists(st.tuples(st.lists(CHANGES, min_size=1, max_size=3), AUTHORS), max_size=25)


@pytest.fixture(scope="module")
def middle(tmp_path_factory: pytest.TempPathFactory):  # type: ignore[no-untyped-def]
    with open_store(f"sqlite:///{tmp_path_factory.mktemp('middle') / 'memory.db'}") as store:
        yield store


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(HISTORY)
def test_a_round_trip_in_memory(history: list[tuple[list[Any], Author]]) -> None:
    with open_store("memory://") as store, open_store("memory://") as other:
        play(store, history)
        round_trip(store, other)


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(HISTORY)
def test_a_round_trip_through_postgresql(postgres_database: Reused, history: list[tuple[list[Any], Author]]) -> None:
    url = postgres_database.with_empty_store()
    with open_store("memory://") as store, open_store(url) as middle, open_store("memory://") as other:
        play(store, history)
        round_trip(store, middle)
        round_trip(middle, other)


def play(store: MemoryStore, history: list[tuple[list[Any], Author]]) -> None:
    for changes, author in history:
        try:
            store.commit(ChangeSet(changes, author), on_conflict="return")
        except MemorandaError:
            pass  # what makes no sense leaves no trace


def round_trip(store: MemoryStore, other: MemoryStore) -> None:
    with TemporaryDirectory() as folder:
        export_bundle(store, Path(folder) / "x.mbundle")
        import_bundle(other, Path(folder) / "x.mbundle")
    kept = {name: found for name, found in digests(store).items() if found[1]}
    assert digests(other) == kept
    assert values(other) == values(store)
    for namespace in kept:
        assert feed(other, namespace) == feed(store, namespace)
