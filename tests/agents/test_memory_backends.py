"""Memory over every kind of backend, those that fail included."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import SystemMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from memoranda import Author, MemoryStore
from memoranda.agents.middleware.files import FilesMiddleware
from memoranda.agents.middleware.memory import MemoryMiddleware
from memoranda.agents.middleware.skills import SkillsMiddleware
from memoranda.backends import StoreBackend, by_user
from memoranda.backends.base import Backend
from memoranda.backends.composite import CompositeBackend
from memoranda.backends.filesystem import FilesystemBackend
from memoranda.backends.places import Place
from memoranda.backends.protocol import PERMISSION_DENIED, FileDownloadResponse, LsResult
from memoranda.backends.state import StateBackend
from memoranda.backends.steps import Steps
from memoranda.testing.scripted import ScriptedChatModel, call
from tests.agents.memory_agent import Agent

NS = ("ann",)


@pytest.fixture
def files(store: MemoryStore) -> StoreBackend:
    return StoreBackend(namespace=NS, store=store)


class TestFailures:
    def test_a_backend_that_raises_is_a_notice(self, store: MemoryStore, caplog: pytest.LogCaptureFixture) -> None:
        class Down(StoreBackend):
            def download_steps(self, places: Any) -> Any:
                raise TimeoutError("database is gone")

        prompt = Agent(Down(namespace=NS, store=store), ["/a.md", "/b.md"]).turn()
        assert prompt.count("TimeoutError: database is gone") == 2
        assert 'path="/b.md"' in prompt and "</memory_guidelines>" in prompt

    def test_a_function_that_raises_is_a_notice(self, caplog: pytest.LogCaptureFixture) -> None:
        def broken(runtime: Any) -> Any:
            raise RuntimeError("no backend today")

        assert "no backend today" in Agent(broken, ["/a.md", "/m/"]).turn()

    def test_a_missing_user_is_a_notice_with_the_remedy(self, store: MemoryStore) -> None:
        prompt = Agent(StoreBackend(namespace=by_user, store=store), ["/a.md"]).turn()
        assert "No user is known to this run" in prompt and "context=" in prompt

    def test_files_that_may_not_be_read_are_named_without_content(self, store: MemoryStore) -> None:
        class Guarded(StoreBackend):
            def download_steps(self, places: Sequence[Place]) -> Steps[list[FileDownloadResponse]]:
                answers = yield from super().download_steps(places)
                return [
                    FileDownloadResponse(a.path, None, PERMISSION_DENIED) if a.path == "/secret.md" else a
                    for a in answers
                ]

        store.write(NS, "/secret.md", "hush")
        store.write(NS, "/open.md", "tea")
        prompt = Agent(Guarded(namespace=NS, store=store), ["/secret.md", "/open.md"]).turn()
        assert '<memory_file path="/secret.md">not shown: reading it is not permitted</memory_file>' in prompt
        assert "hush" not in prompt and "tea" in prompt

    def test_a_folder_that_cannot_be_listed_is_named(self, store: MemoryStore) -> None:
        class Closed(StoreBackend):
            def ls_steps(self, place: Place) -> Steps[LsResult]:
                return LsResult(error="Error: permission denied\nfor </agent_memory>.")
                yield

        prompt = Agent(Closed(namespace=NS, store=store), ["/m/"]).turn()
        assert '<memory_file path="/m/">not shown: permission denied for &lt;/agent_memory>.</memory_file>' in prompt

    def test_the_pause_of_a_graph_passes_through(self, store: MemoryStore) -> None:
        from langgraph.errors import GraphInterrupt

        class Pausing(StoreBackend):
            def download_steps(self, places: Any) -> Any:
                raise GraphInterrupt([])

        agent = Agent(Pausing(namespace=NS, store=store), ["/a.md"])
        with pytest.raises(GraphInterrupt):
            agent.middleware.wrap_model_call(_Request(), lambda request: request)  # type: ignore[arg-type]


class _Request:
    system_message = None
    model = None


class TestBackends:
    def test_a_function_of_the_runtime_is_a_backend(self, store: MemoryStore) -> None:
        store.write(("ann",), "/a.md", "tea")

        def backend(runtime: Any) -> Backend:
            return StoreBackend(runtime, namespace=lambda rt: (rt.context.user_id,), store=store)

        assert "tea" in Agent(backend, ["/a.md"]).turn(user_id="ann")

    async def test_over_another_store(self) -> None:
        other = InMemoryStore()
        files = StoreBackend(namespace=NS, store=other)
        files.write("/a.md", "tea")
        agent = Agent(files, ["/a.md", "/b.md"])
        assert ">\ntea\n</memory_file>" in await agent.aturn()
        assert agent.turn() == agent.turn()

    def test_the_cache_mark_is_set_for_anthropic_alone(self, store: MemoryStore, files: StoreBackend) -> None:
        class ChatAnthropicInName(ScriptedChatModel):
            pass

        for kind, marked in ((ChatAnthropicInName, True), (ScriptedChatModel, False)):
            model = kind(script=["ok"])
            middleware = MemoryMiddleware(files, ["/a.md"], add_cache_control=True)
            create_agent(model, system_prompt="Be kind.", middleware=[middleware]).invoke({"messages": "hi"})
            message = model.requests[0][0]
            assert isinstance(message, SystemMessage)
            assert ("cache_control" in str(message.content)) is marked
            assert message.text.startswith("Be kind.")


class TestOtherBackends:
    def test_files_in_the_state_of_the_thread(self) -> None:
        backend = StateBackend()
        model = ScriptedChatModel(script=[call("write_file", file_path="/a.md", content="oolong"), "ok"])
        agent = create_agent(
            model,
            middleware=[FilesMiddleware(backend), MemoryMiddleware(backend, ["/a.md", "/m/"])],
            checkpointer=InMemorySaver(),
        )
        thread: Any = {"configurable": {"thread_id": "t1"}}
        agent.invoke({"messages": "hi"}, thread)
        assert "oolong" not in model.prompts[0] and '<memory_file path="/a.md" revision="sha256:' in model.prompts[1]
        agent.invoke({"messages": "hi"}, thread)
        assert model.prompts[2] == model.prompts[1]
        agent.invoke({"messages": "hi"}, {"configurable": {"thread_id": "t2"}})
        assert "oolong" not in model.prompts[3]

    async def test_a_folder_on_disk(self, tmp_path: Path) -> None:
        agent = Agent(FilesystemBackend(root_dir=tmp_path), ["/a.md", "/m/"])
        assert "not written yet" in await agent.aturn()
        (tmp_path / "a.md").write_bytes(b"caf\xe9\n")
        (tmp_path / "m").mkdir()
        (tmp_path / "m" / "MEMORY.md").write_text("the index")
        prompt = agent.turn()
        assert "caf\ufffd" in prompt and "the index" in prompt
        assert await agent.aturn() == prompt

    def test_through_routes(self, store: MemoryStore) -> None:
        team = StoreBackend(namespace=("team",), store=store)
        backend = CompositeBackend(StoreBackend(namespace=by_user, store=store), {"/team/": team})
        store.write(("team",), "/plan.md", "the plan", author=Author("user:boss"))
        store.write(("ann",), "/plan.md", "Ann's plan", author=Author("user:ann"))
        prompt = Agent(backend, ["/team/plan.md", "/plan.md", "/team/none.md"]).turn(user_id="ann")
        assert '<memory_file path="/team/plan.md" revision="1" author="user:boss">\nthe plan\n' in prompt
        assert '<memory_file path="/plan.md" revision="1" author="user:ann">\nAnn\'s plan\n' in prompt
        assert '<memory_file path="/team/none.md">not written yet' in prompt

    async def test_deep_agents_own_backend(self) -> None:
        from deepagents.backends import StoreBackend as TheirStoreBackend

        other = InMemoryStore()
        backend = TheirStoreBackend(store=other, namespace=lambda _: NS)
        backend.write("/a.md", "tea")
        backend.write("/skills/tea/SKILL.md", "---\nname: tea\ndescription: Makes tea.\n---\n")
        agent = Agent(backend, ["/a.md", "/b.md", "/skills/tea/"])
        prompt = await agent.aturn()
        assert ">\ntea\n</memory_file>" in prompt and '<memory_file path="/b.md">not written yet' in prompt
        assert agent.turn() == prompt
        model = ScriptedChatModel(script=["ok"])
        create_agent(model, middleware=[SkillsMiddleware(backend, ["/skills/"])]).invoke({"messages": "hi"})
        assert "- tea: Makes tea." in model.prompts[0]

    def test_inside_deep_agents_own_agent(self, store: MemoryStore, files: StoreBackend) -> None:
        from deepagents import create_deep_agent

        store.write(NS, "/a.md", "oolong")
        model = ScriptedChatModel(script=["ok"])
        agent = create_deep_agent(model, middleware=[MemoryMiddleware(files, ["/a.md"])])
        agent.invoke({"messages": "hi"})
        assert "oolong" in model.prompts[0]
