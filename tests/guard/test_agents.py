"""The guard below whole agents: tools, subagents, memory and skills in the prompt."""

from __future__ import annotations

import asyncio
from typing import Any, cast
from uuid import uuid4

import pytest
from langchain_core.messages import HumanMessage

from memoranda.agents import create_deep_agent
from memoranda.backends import FilesystemPermission
from memoranda.files.format import create_file_data
from memoranda.testing.scripted import ScriptedChatModel, call, say
from tests.guard.conftest import KINDS
from tests.guard.support import CANARY, World
from tests.guard.worlds import EVERYTHING

HERE = ["state", "store", "plain", "routed", "nested", "twins", "staged", "filesystem", "routed_filesystem"]
some_worlds = pytest.mark.parametrize(
    "world", [kind for kind in KINDS if cast("tuple[Any, Any]", kind.values[0])[0] in HERE], indirect=True
)
SKILL = f"---\nname: hidden\ndescription: {CANARY}\n---\n{CANARY}\n"


def tool_calls(path: str) -> list[Any]:
    folder = path.rpartition("/")[0]
    return [
        call("ls", path=folder),
        call("read_file", file_path=path),
        call("read_file", file_path="/" + path),
        call("grep", pattern=CANARY, output_mode="content"),
        call("grep", pattern=CANARY, path=folder, output_mode="content"),
        call("glob", pattern="**/*", path=folder),
        call("write_file", file_path=path, content="gone"),
        call("edit_file", file_path=path, old_string="CANARY", new_string="gone"),
        call("edit_file", file_path=path.replace("/", "//"), old_string="CANARY", new_string="gone", replace_all=True),
        call("move", file_path=path, to="/pub/out.md"),
        call("move", file_path=folder, to="/pub/out"),
        call("delete", file_path=path),
        call("delete", file_path=folder),
        call("delete", file_path="/"),
        call("read_file", file_path="/pub/out.md"),
    ]


@some_worlds
@pytest.mark.parametrize("who", ["agent", "subagent", "widening subagent"])
def test_nothing_denied_is_read_or_changed(world: World, is_async: bool, who: str) -> None:
    skills = [path.rpartition("/")[0] + "/" for path in world.hidden if path.endswith("plan.md")]
    if world.inside_graph is not None:
        world.inside_graph["/secrets/hidden/SKILL.md"] = create_file_data(SKILL)
    else:
        written = world.backend.write(skills[0] + "hidden/SKILL.md", SKILL)
        assert written.error is None, written
    hidden = {key: content for key, content in world.snapshot().items() if CANARY.encode() in content}
    done = [ask for path in world.hidden for ask in tool_calls(path)]
    script = [*done, say("done")]
    if who != "agent":
        kind = "general-purpose" if who == "subagent" else "helper"
        script = [call("task", description="Look.", subagent_type=kind), *done, say("seen"), say("done")]
    model = ScriptedChatModel(script=script)
    graph = create_deep_agent(
        model,
        backend=world.backend,
        memory=world.hidden,
        skills=skills,
        permissions=[FilesystemPermission(["read", "write"], world.denied, "deny")],
        subagents=[
            {
                "name": "helper",
                "description": "helps",
                "system_prompt": "Help.",
                "permissions": [FilesystemPermission(["read", "write"], ["/**"], "allow")],
                "skills": skills,
            }
        ],
    )
    given: Any = {"messages": [HumanMessage("Look everywhere.")]}
    if world.inside_graph is not None:
        given["files"] = dict(world.inside_graph)
    config: Any = {"configurable": {"thread_id": str(uuid4())}, "recursion_limit": 1000}
    result = asyncio.run(graph.ainvoke(given, config)) if is_async else graph.invoke(given, config)
    if world.inside_graph is not None:
        world.inside_graph = result["files"]

    assert len(model.requests) == len(script)
    asked = {message.id for request in model.requests for message in request if message.type == "ai"}
    for request in model.requests:
        for message in request:
            if message.type == "ai" or message.id in asked:
                continue  # what the script itself says
            lines = str(message.content).replace(f"'{CANARY}'", "")
            assert CANARY not in lines, message
    after = {key: content for key, content in world.snapshot().items() if CANARY.encode() in content}
    assert after == hidden


@some_worlds
def test_what_is_allowed_is_shown(world: World) -> None:
    """Or the test above would prove nothing."""
    model = ScriptedChatModel(script=[call("read_file", file_path=world.hidden[0]), say("done")])
    graph = create_deep_agent(model, backend=world.backend, memory=[world.hidden[1]])
    given: Any = {"messages": [HumanMessage("Look.")]}
    if world.inside_graph is not None:
        given["files"] = {path: create_file_data(text) for path, text in EVERYTHING.items()}
    graph.invoke(given, {"configurable": {"thread_id": str(uuid4())}})
    assert f"second {CANARY}" in model.prompts[0]
    assert f"key={CANARY}" in str(model.requests[1][-1].content)
