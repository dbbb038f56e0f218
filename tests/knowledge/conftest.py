"""Collections in the store of a test."""

from __future__ import annotations

from typing import Any

import pytest

from memoranda import MemoryStore
from memoranda.knowledge.collection import Collection
from tests.knowledge.collection_support import ANN, Fact


@pytest.fixture
def notes(store: MemoryStore) -> Collection[dict[str, Any]]:
    """Memories that are texts."""
    return Collection(None, store, ANN)


@pytest.fixture
def facts(store: MemoryStore) -> Collection[Fact]:
    """Memories that are facts with an identity."""
    return Collection(Fact, store, ANN, identity=("subject", "property"))
