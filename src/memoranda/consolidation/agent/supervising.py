"""The supervision of a run: only an accepted `finish` ends it, and a model that gets nowhere is stopped."""

from __future__ import annotations

import json
from typing import Any, Final, NoReturn, cast

from langchain.agents.middleware import AgentMiddleware, AgentState
from langchain.agents.middleware.types import hook_config
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from memoranda.consolidation.agent.current import current
from memoranda.consolidation.agent.prompts import NOT_FINISHED, NOT_READABLE, NOT_REPAIRED, NOT_YET
from memoranda.consolidation.agent.tools import CHANGING_TOOLS, Work
from memoranda.knowledge.errors import Attempt, ModelOutputError

MOST_FAULTS: Final = 5
"""A model of which so many messages in a row came to nothing is not asked again."""

MOST_REPEATS: Final = 4
"""Nor is one that sends the same calls so many times in a row."""

_LONGEST_SHOWN: Final = 500
_LONGEST_KEPT: Final = 4_000


class Supervised(AgentMiddleware[AgentState[Any], Any, Any]):
    """Hands each step of the graph to the supervision of the run that it belongs to."""

    @hook_config(can_jump_to=["end"])
    def before_model(self, state: AgentState[Any], runtime: Any) -> dict[str, Any] | None:
        """Accept `finish`, or say why not; stop a model that gets nowhere."""
        return current().supervision.before_model(state["messages"])

    @hook_config(can_jump_to=["model"])
    def after_model(self, state: AgentState[Any], runtime: Any) -> dict[str, Any] | None:
        """Count what it cost; ask again where no tool was called, or none that can be read."""
        return current().supervision.after_model(state["messages"])


class Supervision:
    """Watches over one run of the agent.

    Args:
        work: The run's work; its `summary` is set when a `finish` is accepted.
        limit_steps: How many messages the model may send.
    """

    def __init__(self, work: Work, limit_steps: int) -> None:
        self.work = work
        self.limit_steps = limit_steps
        self._steps = 0
        self._faults = 0
        self._repeats = 0
        self._last_calls = ""
        self._tried: list[Attempt] = []
        self._note: str | None = None
        self._broken: set[str] = set()
        self._was_warned = False

    # --- before the model is asked: what came of its last message ------------------------------------------------

    def before_model(self, messages: list[AnyMessage]) -> dict[str, Any] | None:
        """Accept `finish`, or say why not; stop a model that gets nowhere."""
        reply, answers = _last(messages)
        notes = [] if self._note is None else [self._note]
        if reply is not None and answers:
            refused = self._judge(reply, answers)
            if refused is None:
                return {"jump_to": "end"}
            notes += [refused] if refused else []
        self._note = None
        if self._faults >= MOST_FAULTS:
            self._give_up(f"{self._faults} messages in a row came to nothing")
        if self._repeats >= MOST_REPEATS:
            self._give_up(f"it made the same calls {self._repeats} times in a row")
        if self._steps >= self.limit_steps:
            self._give_up(f"it did not finish within {self.limit_steps} messages")
        return {"messages": [HumanMessage("\n".join(notes))]} if notes else None

    def _judge(self, reply: AIMessage, answers: list[ToolMessage]) -> str | None:
        """What to say to the answered calls of a message: nothing, why it is not finished, or None: it is."""
        failed = [answer for answer in answers if answer.status == "error"]
        self._follow(reply, {answer.tool_call_id for answer in failed})
        said = next((answer for answer in answers if answer.name == "finish" and answer.status != "error"), None)
        if said is None:
            self._count(reply, failed[0].text if len(failed) == len(answers) else None)
            self._was_warned = self._was_warned and not failed
            return ""
        if failed or self._note is not None:
            refused = NOT_YET
        elif self._broken and not self._was_warned:
            refused = NOT_REPAIRED.format(paths=", ".join(sorted(self._broken)))
            self._was_warned = True
        else:
            self.work.summary = said.text
            return None
        self._count(reply, refused)
        return refused

    def _follow(self, reply: AIMessage, failed: set[str]) -> None:
        """Note on which files the last change failed."""
        for call in reply.tool_calls:
            if call["name"] in CHANGING_TOOLS:
                path = str(call["args"].get("path", ""))
                (self._broken.add if call["id"] in failed else self._broken.discard)(path)

    def _count(self, reply: AIMessage, problem: str | None) -> None:
        if problem is None:
            self._faults = 0
            return
        self._faults += 1
        self._tried.append(Attempt(_shown(reply), problem))

    # --- after the model has answered ----------------------------------------------------------------------------

    def after_model(self, messages: list[AnyMessage]) -> dict[str, Any] | None:
        """Count what it cost; ask again where no tool was called, or none that can be read."""
        reply = messages[-1]
        if not isinstance(reply, AIMessage):
            self._give_up(f"it answered with a {type(reply).__name__}, which is no answer of a model")
        self._steps += 1
        usage = reply.usage_metadata
        self.work.task.used(
            tokens_in=usage["input_tokens"] if usage else 0,
            tokens_out=usage["output_tokens"] if usage else 0,
            model=reply.response_metadata.get("model_name") or reply.response_metadata.get("model"),
        )
        calls = json.dumps([[call["name"], call["args"]] for call in reply.tool_calls], default=str, sort_keys=True)
        self._repeats = self._repeats + 1 if calls == self._last_calls and reply.tool_calls else 1
        self._last_calls = calls
        if reply.invalid_tool_calls:
            self._note = NOT_READABLE
        if reply.tool_calls:
            return None if _can_stay(reply) else {"messages": [_readable(reply)]}
        problem = self._note or NOT_FINISHED
        self._note = None
        self._count(reply, problem)
        if self._faults >= MOST_FAULTS:
            self._give_up(f"{self._faults} messages in a row came to nothing")
        return {"messages": [_readable(reply), HumanMessage(problem)], "jump_to": "model"}

    def _give_up(self, why: str) -> NoReturn:
        last = f"; the last thing wrong was: {self._tried[-1].problem}" if self._tried else "."
        raise ModelOutputError(
            f"The model did not finish the work: {why}{last}",
            "Nothing was stored; try again, or use another model.",
            self._tried,
        )


def _last(messages: list[AnyMessage]) -> tuple[AIMessage | None, list[ToolMessage]]:
    """The last message of the model, and the answers to its calls."""
    answers: list[ToolMessage] = []
    for message in reversed(messages):
        if isinstance(message, AIMessage):
            return message, answers[::-1]
        if isinstance(message, ToolMessage):
            answers.append(message)
    return None, []


def _can_stay(reply: AIMessage) -> bool:
    """Whether providers take a conversation with this message: a model may well write what they refuse."""
    ids = [call["id"] for call in reply.tool_calls]
    is_whole = not reply.invalid_tool_calls and all(ids) and len(set(ids)) == len(ids)
    return is_whole and all(call["args"] == whole_characters(call["args"]) for call in reply.tool_calls)


def _readable(reply: AIMessage) -> AIMessage:
    """A message as it can stay in the conversation, in the place of the same message."""
    text = whole_characters(reply.text if len(reply.text) <= _LONGEST_KEPT else f"{reply.text[:_LONGEST_KEPT]}…")
    calls = [{**call, "args": whole_characters(call["args"])} for call in reply.tool_calls]
    if not all(call["id"] for call in calls) or len({call["id"] for call in calls}) < len(calls):
        calls = [{**call, "id": f"{reply.id or 'call'}-{number}"} for number, call in enumerate(calls)]
    return AIMessage(text if text.strip() or calls else "(nothing)", id=reply.id, tool_calls=calls)


def whole_characters(value: Any) -> Any:
    r"""A JSON value with U+FFFD in the place of each half of a character, which no text and no request may hold.

    Example:
        >>> whole_characters({"text": "tea \ud800"})
        {'text': 'tea \ufffd'}
    """
    match value:
        case str():
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case list():
            return [whole_characters(each) for each in cast("list[Any]", value)]
        case dict():
            return {
                whole_characters(name): whole_characters(each) for name, each in cast("dict[Any, Any]", value).items()
            }
        case _:
            return value


def _shown(reply: AIMessage) -> str:
    parts = [reply.text] if reply.text else []
    parts += [
        f"{call['name']}({json.dumps(call['args'], ensure_ascii=False, default=str)})" for call in reply.tool_calls
    ]
    parts += [f"{call['name']}({call['args']})" for call in reply.invalid_tool_calls]
    text = whole_characters("\n".join(parts)).replace("\0", "\ufffd")
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"
