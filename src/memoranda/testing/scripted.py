"""A scripted chat model: real tool calls, in an order that is written down, without a key or a network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, TypeAlias

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import BaseTool
from pydantic import Field, PrivateAttr

Line: TypeAlias = "AIMessage | str | Callable[[list[BaseMessage]], AIMessage | str]"

_ids = count(1)


def say(text: str) -> AIMessage:
    """A reply in words, which ends the turn."""
    return AIMessage(text)


def call(tool: str, /, **arguments: Any) -> AIMessage:
    """A reply that calls one tool.

    Args:
        tool: The tool's name.
        **arguments: What it is called with.
    """
    return calls((tool, arguments))


def calls(*wanted: tuple[str, dict[str, Any]]) -> AIMessage:
    """A reply that calls several tools at once."""
    tool_calls = [
        {"name": name, "args": arguments, "id": f"call_{next(_ids)}", "type": "tool_call"} for name, arguments in wanted
    ]
    return AIMessage("", tool_calls=tool_calls)


class ScriptedChatModel(BaseChatModel):
    """A chat model that answers from a script; the last line is repeated when the script is over.

    A line is a message, a text, or a function of the messages so far that returns one of these, so that a script can
    answer what a tool returned.

    Args:
        script: The replies in order.
        profile: What LangChain is told about the model, such as `{"max_input_tokens": 1000}`.

    Example:
        >>> model = ScriptedChatModel(script=[call("ls", path="/"), say("Nothing there.")])
        >>> model.invoke("Look around.").tool_calls[0]["name"], model.invoke("And?").text
        ('ls', 'Nothing there.')
    """

    script: Sequence[Any] = Field(default_factory=list[Any])
    _position: int = PrivateAttr(default=0)
    _requests: list[list[BaseMessage]] = PrivateAttr(default_factory=list[list[BaseMessage]])
    _tools: list[list[str]] = PrivateAttr(default_factory=list[list[str]])

    @property
    def _llm_type(self) -> str:
        return "scripted"

    @property
    def requests(self) -> list[list[BaseMessage]]:
        """The messages of every request so far, the system message first."""
        return self._requests

    @property
    def prompts(self) -> list[str]:
        """The system prompt of every request so far."""
        return [
            request[0].text if request and isinstance(request[0], SystemMessage) else "" for request in self._requests
        ]

    @property
    def offered(self) -> list[list[str]]:
        """The names of the tools that were offered at every binding."""
        return self._tools

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> ScriptedChatModel:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Note which tools are offered; the script decides which are called."""
        self._tools.append([tool.name if isinstance(tool, BaseTool) else str(tool) for tool in tools])
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        self._requests.append(list(messages))
        line: Any = self.script[min(self._position, len(self.script) - 1)] if self.script else ""
        self._position += 1
        if callable(line):
            line = line(messages)
        reply = AIMessage(line) if isinstance(line, str) else line
        # A message of its own each time: a line that is repeated must not be the same message twice.
        return ChatResult(generations=[ChatGeneration(message=reply.model_copy(update={"id": None}))])
