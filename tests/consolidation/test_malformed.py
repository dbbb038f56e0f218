"""Whatever a model answers that is no work: nothing of it is kept, no turn is lost, and the run says what happened."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from memoranda import MemoryStore
from memoranda.backends import StoreBackend
from memoranda.consolidation import Consolidator
from memoranda.consolidation.agent import ready_made
from memoranda.testing.scripted import ScriptedChatModel, call, calls, say
from tests.consolidation.agent_support import SCOPE, recorded

BEFORE = "- Drinks coffee.\n"
MARK = "zebra"
"""It stands in everything that a malformed answer says, so that no trace of one goes unseen."""


def write(path: str = "/ann.md", content: Any = f"- Drinks {MARK} tea.\n", turns: Any = ("t1",)) -> AIMessage:
    return call("write_file", path=path, content=content, turns=list(turns) if isinstance(turns, tuple) else turns)


def edit(path: str, old: str, new: str = MARK) -> AIMessage:
    return call("edit_file", path=path, old_string=old, new_string=new, turns=["t1"])


def _raise(messages: list[BaseMessage]) -> AIMessage:
    raise ConnectionError(f"The provider is overloaded: {MARK}.")


def _sleep(messages: list[BaseMessage]) -> AIMessage:
    time.sleep(0.3)
    return calls(("write_file", {"path": "/late.md", "content": MARK, "turns": ["t1"]}), ("finish", {"summary": MARK}))


def _unreadable(arguments: str) -> AIMessage:
    broken: Any = {"name": "write_file", "args": arguments, "id": "c1", "error": "half", "type": "invalid_tool_call"}
    return AIMessage("", invalid_tool_calls=[broken])


def _endless(messages: list[BaseMessage]) -> AIMessage:
    return write(f"/{MARK}-{len(messages)}.md")


def _edit_and_finish(messages: list[BaseMessage]) -> AIMessage:
    asked = sum(message.type == "ai" for message in messages)
    return call("finish", summary=MARK) if asked % 2 else edit("/ann.md", "beer")


@dataclass(frozen=True)
class Kind:
    """One way to answer badly, for ever.

    Args:
        script: What the model says; the last of it again and again.
        says: What the run says went wrong, as a part of it.
        once: What it says before it comes round, where that is not the first of the script.
        settings: What the consolidator is told besides.
    """

    script: list[Any]
    says: str
    once: Any = None
    settings: dict[str, Any] = field(default_factory=dict[str, Any])


KINDS: dict[str, Kind] = {
    "no JSON": Kind([say(f"Ann drinks {MARK} tea now.")], "no tool call"),
    "half JSON": Kind(
        [say('{"name": "write_file", "arguments": {"path": "/ann.md", "content": "' + MARK)], "no tool call"
    ),
    "whole JSON in words": Kind([say('{"name": "finish", "arguments": {"summary": "' + MARK + '"}}')], "no tool call"),
    "wrong schema": Kind([call("write_file", file="/ann.md", text=MARK, turns=["t1"])], "path: Field required"),
    "empty": Kind([say("")], "no tool call"),
    "white space": Kind([say(" \n\t\n ")], "no tool call"),
    "refusal": Kind([say(f"I'm sorry, but I can't help with {MARK}.")], "no tool call"),
    "refusal as a file": Kind(
        [write(content=f"I'm sorry, but I can't help with {MARK}.")], "an answer to whoever asked"
    ),
    "a missing file": Kind([edit(f"/{MARK}.md", "tea")], "not found"),
    "an unknown tool": Kind([call("remember", fact=MARK)], "remember is not a valid tool"),
    "wrong types": Kind([write(content={"text": [MARK]})], "content: Input should be a valid string"),
    "turns as text": Kind([write(turns="t1")], "turns: Input should be a valid list"),
    "unknown turns": Kind([write(turns=("t1", "t99"))], "'t99' is no turn"),
    "no turns": Kind([write(turns=())], "names no turn"),
    "a text that is not there": Kind([edit("/ann.md", "beer")], "String not found"),
    "a text that is not there, and finish": Kind([_edit_and_finish], "5 messages in a row came to nothing"),
    "a path outside": Kind([write("/../../etc/passwd")], "'..'"),
    "a path that is none": Kind([write(f"/{MARK}\0.md")], "control character"),
    "a path with half a character": Kind([write(f"/{MARK}\ud800.md")], "a broken character"),
    "round in circles": Kind([call("ls", path="/")], "the same calls 4 times"),
    "an endless loop": Kind([_endless], "did not finish within 9 messages", call("ls", path="/"), {"limit_steps": 9}),
    "arguments cut off": Kind([_unreadable('{"path": "/ann.md", "content": "- ' + MARK)], "no complete JSON"),
    "finish without a summary": Kind([call("finish")], "summary: Field required"),
    "finish with an empty one": Kind([call("finish", summary=" ")], "say in one sentence"),
    "finish beside a failing change": Kind(
        [
            calls(
                ("edit_file", {"path": "/ann.md", "old_string": str(number), "new_string": MARK, "turns": ["t1"]}),
                ("finish", {"summary": MARK}),
            )
            for number in range(40)
        ],
        "another call of the same message failed",
    ),
    "a huge answer": Kind([say(MARK * 40_000)], "no tool call"),
    "a huge file": Kind([write(content=MARK * 40_000)], "Keep memory short"),
    "NUL and noise": Kind([write(content=f"{MARK}\0\x01\x02\x1b")], "control character U+0000"),
    "half a character": Kind([write(content=f"{MARK} \ud800")], "a broken character"),
    "half a character in words": Kind([say(f"{MARK} \udfff")], "no tool call"),
    "half a character in the summary": Kind(
        [write(), call("finish", summary=f"{MARK} \ud800")], "a broken character", call("finish", summary="\ud800")
    ),
    "the model raises": Kind([_raise], "overloaded"),
    "the model takes too long": Kind([_sleep], "longer than", settings={"timeout": 0.1}),
    "content blocks": Kind([AIMessage([{"type": "text", "text": f"Ann drinks {MARK} tea."}])], "no tool call"),
    "strange content blocks": Kind([AIMessage([{"type": "reasoning", "summary": []}, MARK])], "no tool call"),
    "done without finish": Kind(
        [write(), say(f"Done! The {MARK} is remembered.")], "no tool call", say(f"Done! The {MARK} is remembered.")
    ),
    "writes, then refuses": Kind(
        [write(), say(f"I'm sorry, I can't continue with {MARK}.")],
        "no tool call",
        say(f"I'm sorry, I can't continue with {MARK}."),
    ),
    "writes, then raises": Kind([write(), _raise], "overloaded", _raise),
    "a tool call as a file": Kind([write(content='{"name": "write_file", "args": {"x": "' + MARK)], "a tool call"),
    "a placeholder for the rest": Kind([write(content=f"- {MARK}\n(rest of the file unchanged)\n")], "in the place of"),
    "half a JSON file": Kind([write("/ann.json", '{"drinks": "' + MARK)], "not valid JSON"),
    "the markup of a model": Kind([write(content=f"- {MARK}<|im_end|>")], "'<|im_end|>'"),
    "a secret": Kind([write(content=f"- {MARK} key: ghp_" + "Zk3q" * 9)], "no secret is remembered"),
    "calls without ids": Kind(
        [AIMessage("", tool_calls=[{"name": "ls", "args": {"path": f"/{MARK}"}, "id": None, "type": "tool_call"}])],
        "the same calls 4 times",
    ),
    "a tool without a name": Kind([call("", x=MARK)], "is not a valid tool"),
    "a message of another kind": Kind([HumanMessage(MARK)], "no answer of a model"),
}

Make = Callable[..., Consolidator]


@pytest.fixture
def make(store: MemoryStore) -> Make:
    """Makes consolidators over the store under test."""
    return over(store)


def over(store: MemoryStore) -> Make:
    """Makes consolidators over a store, each with a model that follows a script."""

    def making(script: list[Any], *, limit_steps: int = 60, **settings: Any) -> Consolidator:
        model = ScriptedChatModel(script=script)
        target = StoreBackend(namespace=SCOPE, store=store)
        return Consolidator(ready_made(model, limit_steps=limit_steps), store=store, target=target, **settings)

    return making


def good(number: int = 1) -> list[Any]:
    return [
        call("edit_file", path="/ann.md", old_string="coffee", new_string="tea", turns=[f"t{number}"]),
        call("finish", summary="Ann drinks tea."),
    ]


def everything(store: MemoryStore) -> str:
    """Every text in the store, with its key, in every revision."""
    found: list[str] = []
    for namespace in store.list_namespaces(limit=100):
        for entry in store.list_keys(namespace, recursive=True):
            for made in store.history(namespace, entry.key):
                item = store.get_at(namespace, entry.key, revision=made.revision)
                found += [entry.key, item.value["content"], str(made.author)]
    return "\n".join(found)


@pytest.mark.parametrize("name", KINDS)
def test_nothing_of_it_is_kept(store: MemoryStore, make: Make, name: str) -> None:
    kind = KINDS[name]
    store.write(SCOPE, "/ann.md", BEFORE)
    recorded(store, "I drink tea now.")
    report = make(kind.script, attempts=2, **kind.settings).run(SCOPE)

    assert report.status == "parked" and not report.ok
    assert kind.says in str(report.error)
    (run,) = store.runs.list()
    assert (run.status, run.after, run.to, run.turns, run.changes) == ("parked", 0, 1, 1, ())
    assert kind.says in str(run.error) and len(str(run.error)) < 5_000
    assert MARK not in everything(store) and BEFORE in everything(store)
    assert store.runs.cursor(run.consumer, SCOPE) == 1, "the range does not block its scope"
    assert [turn.text for turn in store.turns(SCOPE, "monday")] == ["I drink tea now."]

    retried = make(good()).retry(run.id)
    assert retried.status == "applied"
    item = store.get(SCOPE, "/ann.md")
    assert item is not None and item.value["content"] == "- Drinks tea.\n"
    (run,) = store.runs.list()
    assert (run.status, run.after, run.to) == ("applied", 0, 1)
    assert [change.sources for change in run.changes] == [(1,)]


@pytest.mark.parametrize("name", [name for name in KINDS if name != "the model takes too long"])
def test_a_model_that_comes_round_does_the_work(open_here: Callable[..., MemoryStore], name: str) -> None:
    """What is wrong once is said, and put right in the same run or in the next attempt; on any engine alike."""
    store = open_here("memory://")
    store.write(SCOPE, "/ann.md", BEFORE)
    recorded(store, "I drink tea now.")
    first = KINDS[name].once or KINDS[name].script[0]
    report = over(store)([first, *good(), call("finish", summary="Ann drinks tea.")]).run(SCOPE)
    assert report.status == "applied", report.error
    item = store.get(SCOPE, "/ann.md")
    assert item is not None and item.value["content"] == "- Drinks tea.\n"
    assert MARK not in everything(store)


def test_there_are_twenty_kinds() -> None:
    assert len(KINDS) >= 20
