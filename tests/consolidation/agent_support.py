"""Tasks made by hand, for the tests of what the ready-made agent does with one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from langchain_core.messages import AIMessage

from memoranda import MemoryStore
from memoranda.backends import StoreBackend
from memoranda.consolidation.agent import ready_made
from memoranda.consolidation.task import Task
from memoranda.consolidation.tracing import TracedStage
from memoranda.store.turns import Turn
from memoranda.testing.scripted import ScriptedChatModel

SCOPE = ("ann",)
BEGINNING = datetime(2026, 3, 2, 9, tzinfo=UTC)


def recorded(store: MemoryStore, *texts: str, thread: str = "monday") -> None:
    """Record a conversation of one person who says these texts, a minute apart."""
    turns = [
        Turn(f"{thread}-{number}", "user", text, at=BEGINNING + timedelta(minutes=number))
        for number, text in enumerate(texts, 1)
    ]
    store.record_turns(SCOPE, thread, turns)


def task_over(store: MemoryStore, *texts: str, **files: str) -> Task:
    """A task over files of a store, which are called as the arguments are, with the ending `.md`.

    Args:
        store: The store.
        *texts: What was said, one turn each.
        **files: The files that there are.
    """
    for name, text in files.items():
        store.write(SCOPE, f"/{name}.md", text)
    recorded(store, *texts)
    turns = tuple(store.turns(SCOPE, "monday"))
    labels = {f"t{number}": turn for number, turn in enumerate(turns, 1)}
    stage = TracedStage(StoreBackend(namespace=SCOPE, store=store), [turn.message_id for turn in turns])
    text = "\n".join(f"[t{number}] user: {turn.text}" for number, turn in enumerate(turns, 1))
    return Task(SCOPE, "r-aaaaaa", turns, stage, text, BEGINNING, UTC, labels=labels)


def worked(task: Task, *script: Any, **settings: Any) -> ScriptedChatModel:
    """Let the agent do a task by a script, and give the model that was asked."""
    model = ScriptedChatModel(script=script)
    ready_made(model, **settings)(task)
    return model


def staged(task: Task) -> dict[str, str | None]:
    """What each changed file is to hold; None: it is to go."""
    return {
        file.place.path: None if file.after is None else file.after["content"] for file in task.files.pending().files
    }


def costing(message: AIMessage, tokens_in: int, tokens_out: int) -> AIMessage:
    """A message that says what it cost."""
    usage: Any = {"input_tokens": tokens_in, "output_tokens": tokens_out, "total_tokens": tokens_in + tokens_out}
    return message.model_copy(update={"usage_metadata": usage, "response_metadata": {"model_name": "scripted-1"}})


def with_instructions(task: Task, instructions: str) -> Task:
    """The same task, with other instructions."""
    return replace(task, instructions=instructions)


def answers(model: ScriptedChatModel, request: int = -1) -> list[str]:
    """What the model was told in one request besides the first: the answers of tools, and what is wrong."""
    return [message.text for message in model.requests[request][2:] if message.type in ("tool", "human")]


def names(offered: Sequence[Sequence[str]]) -> set[str]:
    """The names of all tools that were offered."""
    return {name for binding in offered for name in binding}
