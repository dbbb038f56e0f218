"""`FilesMiddleware`: file tools over a backend, and room for results that are too long for a model."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from hashlib import sha256
from typing import Any, Final, cast

from langchain.agents.middleware.types import ToolCallRequest
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from langgraph.runtime import Runtime
from langgraph.types import Command

from memoranda.agents.adopting import BackendLike, adopted, artifacts_root
from memoranda.agents.budget import head_and_tail
from memoranda.agents.middleware.origins import turn_update
from memoranda.agents.middleware.prompt import tokens_of
from memoranda.agents.middleware.signing import run_update, signed
from memoranda.agents.middleware.tool_calls import (
    ToolCallMiddleware,
    ToolResult,
    aaround_tool_call,
    around_tool_call,
)
from memoranda.agents.middleware.turns import Turns
from memoranda.agents.state import FilesState
from memoranda.agents.tools import FILE_TOOLS, TOKEN_LIMIT, file_tools
from memoranda.backends.base import Backend
from memoranda.backends.runtime import current_thread
from memoranda.backends.steps import Steps, aperform, ask, perform

_PREVIEW: Final = 1_000
"""How many tokens are shown of a result that went into a file."""

_ALREADY_SHORT: Final = frozenset(FILE_TOOLS)

_turns = Turns()


class FilesMiddleware(ToolCallMiddleware):
    """Give an agent file tools, and put the long results of its other tools into files.

    Args:
        backend: Where the files are: a backend, or a function of the runtime that gives one; None keeps them in the
            state of the thread.
        tools: The names of the file tools to offer; None offers all of them. See `memoranda.agents.tools.FILE_TOOLS`.
        token_limit: How many tokens a tool's result may have. A longer result of a tool that is no file tool goes
            into `<artifacts_root>/large_tool_results/`; None lets all of them through.
        descriptions: What a model is told of a tool, by name, where it should be something else.

    Example:
        >>> from langchain.agents import create_agent
        >>> from memoranda.testing.scripted import ScriptedChatModel, call, say
        >>> model = ScriptedChatModel(script=[call("write_file", file_path="/a.md", content="tea"), say("Done.")])
        >>> agent = create_agent(model, middleware=[FilesMiddleware()])
        >>> agent.invoke({"messages": "Note it."})["files"]["/a.md"]["content"]
        'tea'
    """

    state_schema = FilesState

    def __init__(
        self,
        backend: BackendLike | None = None,
        *,
        tools: Iterable[str] | None = None,
        token_limit: int | None = TOKEN_LIMIT,
        descriptions: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__()
        self.backend: Backend = adopted(backend)
        self.has_own_backend = backend is not None
        self.token_limit = token_limit
        self._names = None if tools is None else tuple(tools)
        self._descriptions = descriptions
        self._made = self._file_tools()
        self.tools = list(self._made)

    def _file_tools(self) -> list[BaseTool]:
        limit = self.token_limit or TOKEN_LIMIT
        return file_tools(self.backend, self._names, token_limit=limit, descriptions=self._descriptions)

    def _settle(self) -> None:
        # A subclass may have added tools, or left some out.
        made = self._file_tools()
        anew = {id(old): new for old, new in zip(self._made, made, strict=True)}
        self.tools = [anew.get(id(tool), tool) for tool in self.tools]
        self._made = made

    def before_agent(self, state: FilesState, runtime: Runtime[Any]) -> dict[str, Any] | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Name the run for the history, where nobody else did, and take note of a person's word."""
        return {**turn_update(state), **(run_update() or {})}

    async def abefore_agent(self, state: FilesState, runtime: Runtime[Any]) -> dict[str, Any] | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """`before_agent` for an event loop."""
        return self.before_agent(state, runtime)

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolResult]) -> ToolResult:
        """Run the tool inside a `ToolCall`, signed and in its turn, and shorten what it answered."""

        def inside(request: ToolCallRequest) -> ToolResult:
            perform(_turns.wait_steps(request))
            try:
                with signed(request):
                    return perform(self._shortened(request, handler(request)))
            finally:
                _turns.end(request)

        return around_tool_call(request, inside)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolResult]]
    ) -> ToolResult:
        """`wrap_tool_call` for an event loop."""

        async def inside(request: ToolCallRequest) -> ToolResult:
            await aperform(_turns.wait_steps(request))
            try:
                with signed(request):
                    return await aperform(self._shortened(request, await handler(request)))
            finally:
                _turns.end(request)

        return await aaround_tool_call(request, inside)

    def _shortened(self, request: ToolCallRequest, result: Any) -> Steps[Any]:
        """Put the texts of a result that are over the budget into files."""
        if self.token_limit is None or request.tool_call["name"] in _ALREADY_SHORT:
            return result
        if isinstance(result, ToolMessage):
            return (yield from self._short_message(result))
        if isinstance(result, list):  # ToolNode takes several results of one tool
            parts: list[Any] = []
            for part in cast("list[Any]", result):
                parts.append((yield from self._shortened(request, part)))
            return parts
        if isinstance(result, Command):
            command: Any = cast("Any", result)
            update: Any = command.update
            if isinstance(update, dict) and "messages" in update:
                messages = yield from self._shortened(request, cast("Any", update["messages"]))
                return replace(command, update={**cast("dict[str, Any]", update), "messages": messages})
        return cast("Any", result)

    def _short_message(self, message: ToolMessage) -> Steps[ToolMessage]:
        limit = self.token_limit or TOKEN_LIMIT
        text = message.text
        tokens = tokens_of(text)
        if tokens <= limit:
            return message
        path = f"{artifacts_root(self.backend).rstrip('/')}/large_tool_results/{_name_of(message)}"
        written = yield from ask(self.backend.write, path, text)
        lines = len(text.splitlines())
        said = f"This result is too long to be shown: about {tokens:,} tokens in {lines:,} lines. "
        said += (
            f"All of it is in {path}; read parts of it with read_file, or find text in it with grep. "
            if written.error is None
            else "It could not be kept in a file, so ask for less. "
        )
        preview = head_and_tail(text, min(limit, _PREVIEW))
        others = [block for block in message.content_blocks if block["type"] != "text"]
        shown = f"{said}Its beginning and its end:\n\n{preview}"
        content: Any = [{"type": "text", "text": shown}, *others] if others else shown
        return message.model_copy(update={"content": content})


def _name_of(message: ToolMessage) -> str:
    """A name of its own for a result: ids of calls recur in other threads, which may share the files."""
    readable = re.sub(r"[^A-Za-z0-9_-]", "_", message.tool_call_id)[:100] or "result"
    told_apart = json.dumps([current_thread(), message.id, message.tool_call_id, message.text])
    return f"{readable}-{sha256(told_apart.encode()).hexdigest()[:16]}"
