"""Memory that cannot work as it was set up: the developer is told, once for each source, with the remedy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memoranda import MemoryStore
from memoranda.agents import create_deep_agent
from memoranda.backends import (
    CompositeBackend,
    FilesystemBackend,
    FilesystemPermission,
    StateBackend,
    StoreBackend,
    by_user,
)
from memoranda.testing.scripted import ScriptedChatModel, call, say
from tests.agents.memory_agent import Agent


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]


def routed(store: MemoryStore) -> CompositeBackend:
    return CompositeBackend(StateBackend(), {"/memories/": StoreBackend(namespace=by_user, store=store)})


class TestMemoryThatDoesNotLast:
    @pytest.mark.parametrize("backend", [None, StateBackend, lambda _: StateBackend()])
    def test_it_is_told_once_with_the_remedy(self, caplog: pytest.LogCaptureFixture, backend: Any) -> None:
        files = backend() if backend is StateBackend else backend
        subagent = call("task", description="x", subagent_type="general-purpose")
        model = ScriptedChatModel(script=[subagent, say("done"), say("ok"), say("ok")])
        agent = create_deep_agent(model, backend=files, memory=["/AGENTS.md", "/notes/a.md", "/m/"])
        agent.invoke({"messages": "hi"})
        agent.invoke({"messages": "hi"})
        first, second, third = told(caplog)
        assert "/AGENTS.md does not outlive its thread" in first and '"/memories/": StoreBackend(' in first
        assert "/notes/a.md" in second and '"/notes/": StoreBackend(' in second
        assert '"/m/": StoreBackend(' in third

    def test_a_path_outside_every_route_is_told(self, store: MemoryStore, caplog: pytest.LogCaptureFixture) -> None:
        Agent(routed(store), ["/memory/a.md", "/memories/a.md", "/memories/"]).turn(user_id="ann")
        (one,) = [line for line in told(caplog) if "does not outlive" in line]
        assert "/memory/a.md" in one

    def test_what_lasts_is_not(self, store: MemoryStore, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        files = CompositeBackend(FilesystemBackend(tmp_path), {"/m/": StoreBackend(namespace=by_user, store=store)})
        Agent(files, ["/a.md", "/m/a.md", "/m/"]).turn(user_id="ann")
        assert told(caplog) == []


class TestNobodyKnown:
    @pytest.mark.parametrize("guarded", [False, True])
    def test_it_is_told_once_for_each_source(
        self, store: MemoryStore, caplog: pytest.LogCaptureFixture, guarded: bool
    ) -> None:
        rules = [FilesystemPermission(["write"], ["/memories/**"], "deny")] if guarded else []
        model = ScriptedChatModel(script=["ok"])
        agent = create_deep_agent(
            model, backend=routed(store), permissions=rules, memory=["/memories/a.md", "/memories/b.md", "/memories/c/"]
        )
        agent.invoke({"messages": "hi"})
        agent.invoke({"messages": "hi"})
        said = told(caplog)
        assert len(said) == 3
        for path, line in zip(("/memories/a.md", "/memories/b.md", "/memories/c/"), sorted(said), strict=True):
            assert line.startswith(f"The memory {path} is not in the prompt.")
            assert 'Pass context={"user_id": "…"}' in line

    def test_a_file_that_is_missing_or_forbidden_is_no_news(
        self, store: MemoryStore, caplog: pytest.LogCaptureFixture
    ) -> None:
        rules = [FilesystemPermission(["read"], ["/memories/secret/**"], "deny")]
        model = ScriptedChatModel(script=["ok"])
        sources = ["/memories/a.md", "/memories/secret/b.md", "/memories/secret/"]
        agent = create_deep_agent(model, backend=routed(store), permissions=rules, memory=sources)
        agent.invoke({"messages": "hi"}, context={"user_id": "ann"})
        assert told(caplog) == []


class TestAFolderWithoutItsSlash:
    def test_nobody_is_told_to_write_there(self, store: MemoryStore, caplog: pytest.LogCaptureFixture) -> None:
        store.write(("ann",), "/notes/a.md", "tea")
        agent = Agent(routed(store), ["/memories", "/memories/notes", "/memories/b.md"])
        for _ in range(2):
            prompt = agent.turn(user_id="ann")
        for path in ("/memories", "/memories/notes"):
            assert f'<memory_file path="{path}">not shown: it is a folder' in prompt
        assert '<memory_file path="/memories/b.md">not written yet; create it here' in prompt
        first, second = told(caplog)
        assert "'/memories/', with a slash" in first and "'/memories/notes/', with a slash" in second
        store.delete(("ann",), "/notes/a.md")
        assert '<memory_file path="/memories/notes">not written yet; create it here' in agent.turn(user_id="ann")

    async def test_and_in_an_event_loop(self, store: MemoryStore) -> None:
        prompt = await Agent(routed(store), ["/memories"]).aturn(user_id="ann")
        assert '<memory_file path="/memories">not shown: it is a folder' in prompt

    def test_on_a_disk(self, tmp_path: Path) -> None:
        (tmp_path / "notes").mkdir()
        (tmp_path / "notes" / "a.md").write_text("tea")
        assert "not shown: it is a folder" in Agent(FilesystemBackend(tmp_path), ["/notes"]).turn()
