"""What every test of approvals needs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from uuid import uuid4

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver

from tests.agents.approval.support import THREAD


@pytest.fixture(autouse=True)
def own_thread() -> None:
    """A thread of each test's own: what a thread has seen is remembered by the process."""
    THREAD["configurable"]["thread_id"] = uuid4().hex


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def checkpointer(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BaseCheckpointSaver[str]]:
    with ExitStack() as stack:
        if request.param == "memory":
            yield InMemorySaver()
        elif request.param == "sqlite":
            yield stack.enter_context(SqliteSaver.from_conn_string(str(tmp_path / "threads.db")))
        else:
            saver = stack.enter_context(PostgresSaver.from_conn_string(request.getfixturevalue("other_postgres_url")))
            saver.setup()
            yield saver
