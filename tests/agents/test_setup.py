"""Backends and models of every kind, and those that fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memoranda import MemoryStore
from memoranda.agents import create_deep_agent
from memoranda.agents.errors import MissingPackageError, UnknownModelError
from memoranda.backends import Backend, CompositeBackend, StateBackend, StoreBackend, by_user
from memoranda.testing.scripted import ScriptedChatModel, call, calls, say
from tests.agents.support import ANN, echo, last_text, thread, tool_messages


class Failing(Backend):
    """A backend whose storage is away."""

    def __getattribute__(self, name: str) -> Any:
        if name.endswith("_steps") and name != "names_steps":
            raise ConnectionError("the storage is away")
        return super().__getattribute__(name)


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_backend_that_raises_is_a_tool_error(is_async: bool) -> None:
    script = [
        calls(
            ("ls", {"path": "/"}),
            ("read_file", {"file_path": "/a"}),
            ("write_file", {"file_path": "/a", "content": "x"}),
            ("edit_file", {"file_path": "/a", "old_string": "x", "new_string": "y"}),
            ("delete", {"file_path": "/a"}),
            ("move", {"file_path": "/a", "to": "/b"}),
            ("glob", {"pattern": "*"}),
            ("grep", {"pattern": "x"}),
        ),
        say("I go on."),
    ]
    agent = create_deep_agent(ScriptedChatModel(script=script), backend=Failing(), memory=["/AGENTS.md"])
    given: Any = {"messages": "Go."}
    result = await agent.ainvoke(given) if is_async else agent.invoke(given)
    told = tool_messages(result)
    assert len(told) == 8
    for message in told:
        assert message.status == "error" and "the storage is away" in message.text, message
    assert last_text(result) == "I go on."


@pytest.mark.parametrize(
    "make",
    [
        lambda rt: StateBackend(rt),
        lambda rt: StoreBackend(rt, namespace=lambda ctx: (ctx.runtime.context["user_id"],)),
        lambda rt: CompositeBackend(StateBackend(rt), {"/memories/": StoreBackend(rt, namespace=by_user)}),
    ],
)
def test_a_function_of_the_runtime_is_a_backend(store: MemoryStore, make: Callable[[Any], Any]) -> None:
    script = [
        call("write_file", file_path="/memories/a.md", content="x"),
        call("read_file", file_path="/memories/a.md"),
    ]
    model = ScriptedChatModel(script=[*script, echo])
    agent = create_deep_agent(model, backend=make, store=store, context_schema=dict)
    result = agent.invoke({"messages": "Go."}, thread(), context=ANN)
    assert last_text(result) == "@@ lines 1-1 of 1 @@\nx"


def test_a_function_that_fails_is_told_and_the_run_goes_on() -> None:
    def make(runtime: Any) -> Any:
        raise KeyError("team")

    model = ScriptedChatModel(script=[call("ls"), echo])
    text = last_text(create_deep_agent(model, backend=make).invoke({"messages": "Go."}))
    assert text.startswith("Error: The backend function failed with KeyError: 'team'.")


@pytest.mark.parametrize(
    ("model", "kind", "said"),
    [
        ("nobody:x", UnknownModelError, "cannot be set up"),
        ("just-a-name", UnknownModelError, '"provider:model"'),
        ("mistralai:small", MissingPackageError, "pip install langchain-mistralai"),
        ("", UnknownModelError, "is no model"),
        (None, UnknownModelError, "is no model"),
    ],
)
def test_a_model_that_cannot_be_set_up(model: Any, kind: type[Exception], said: str) -> None:
    with pytest.raises(kind) as caught:
        create_deep_agent(model)
    assert said in str(caught.value)


def test_arguments_that_are_missing_or_wrong_are_told() -> None:
    script = [calls(("read_file", {}), ("write_file", {"file_path": 1, "content": None}), ("nothing", {})), say("ok")]
    result = create_deep_agent(ScriptedChatModel(script=script)).invoke({"messages": "Go."})
    assert [message.status for message in tool_messages(result)] == ["error"] * 3
    assert last_text(result) == "ok"
