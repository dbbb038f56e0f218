"""What `ToolCallMiddleware` adds to Deep Agents' own tools, and what its own memory does with a backend that fails."""

from __future__ import annotations

from typing import Any

import pytest

from memoranda import MemoryStore
from memoranda.agents.middleware import MemoryMiddleware, ToolCallMiddleware
from memoranda.backends import StoreBackend
from memoranda.backends.places import Place
from memoranda.backends.protocol import FileDownloadResponse, ReadResult
from memoranda.backends.steps import Steps, done
from memoranda.testing.scripted import call, say
from tests.integrations.support import WAYS, agent, answers, run

ANN = ("ann",)


@pytest.mark.parametrize("way", WAYS)
def test_the_history_names_the_tool_call(store: MemoryStore, way: str) -> None:
    for key, middleware in (("/a.md", [ToolCallMiddleware()]), ("/b.md", [])):
        writing = call("write_file", file_path=key, content="tea")
        files = StoreBackend(namespace=ANN)
        run(agent([writing, say("Done.")], backend=files, store=store, middleware=middleware), "Write.", way=way)
        (made,) = store.history(ANN, key)
        assert made.author.tool_call_id == (writing.tool_calls[0]["id"] if middleware else None)


class Failing(StoreBackend):
    """Its storage cannot be reached."""

    def download_steps(self, places: Any) -> Steps[list[FileDownloadResponse]]:
        return done([FileDownloadResponse(place.shown, None, "Error: the storage failed.") for place in places])

    def read_steps(self, place: Place, offset: int, limit: int) -> Steps[ReadResult]:
        return done(ReadResult(error="Error: the storage failed."))


def test_a_backend_that_fails(store: MemoryStore) -> None:
    script = [call("read_file", file_path="/a.md"), say("It failed.")]
    files = Failing(namespace=ANN)
    assert "the storage failed" in answers(run(agent(script, backend=files, store=store), "Read."))[0]
    with pytest.raises(ValueError, match="Failed to download"):
        run(agent(script, backend=files, store=store, memory=["/AGENTS.md"]), "Read.")
    ours = agent(script, backend=files, store=store, middleware=[MemoryMiddleware(files, ["/AGENTS.md"])])
    assert "the storage failed" in answers(run(ours, "Read."))[0]
