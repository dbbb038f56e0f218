"""What may name a scope, and who may say it."""

from __future__ import annotations

from typing import Any
from unittest.mock import MagicMock
from uuid import UUID

import pytest

from memoranda import MemoryStore, create_deep_agent
from memoranda.backends import ScopeError, StoreBackend, by_assistant, by_user
from memoranda.testing.scripted import ScriptedChatModel, call, say


class Runtime:
    def __init__(self, context: Any) -> None:
        self.context = context


class Broken:
    @property
    def user_id(self) -> str:
        raise RuntimeError("the session is over")


@pytest.mark.parametrize(
    "user", [["a"], (), {"a": 1}, b"ann", object(), False, True, float("nan"), "", "  ", MagicMock()]
)
def test_what_is_no_name_names_nobody(user: Any) -> None:
    with pytest.raises(ScopeError):
        by_user.resolve(Runtime({"user_id": user}))


def test_a_context_that_fails_names_nobody() -> None:
    with pytest.raises(ScopeError, match="the session is over"):
        by_user.resolve(Runtime(Broken()))


@pytest.mark.parametrize(("user", "label"), [("ann@x.org", "ann@x.org"), (7, "7"), (UUID(int=1), str(UUID(int=1)))])
def test_names_and_numbers_do(user: Any, label: str) -> None:
    assert by_user.resolve(Runtime({"user_id": user})) == (label,)


@pytest.mark.parametrize("name", ["me", None])
@pytest.mark.parametrize("key", ["memoranda_assistant", "lc_agent_name"])
async def test_no_caller_says_which_assistant_runs(store: MemoryStore, name: str | None, key: str) -> None:
    model = ScriptedChatModel(script=[call("write_file", file_path="/a.md", content="x"), say("ok")])
    memory = StoreBackend(namespace=by_assistant, store=store)
    agent = create_deep_agent(model, backend=memory, memory=["/notes.md"], name=name)
    config: Any = {"metadata": {key: "victim"}}
    store.write(("victim",), "/notes.md", "SECRET")
    agent.invoke({"messages": "x"}, config)
    await agent.ainvoke({"messages": "x"}, config)
    assert not any("SECRET" in prompt for prompt in model.prompts)
    assert store.get(("victim",), "/a.md") is None
    assert (store.get(("me",), "/a.md") is not None) == (name == "me")
