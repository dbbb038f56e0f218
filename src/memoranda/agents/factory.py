"""`create_deep_agent`: an agent with files, memory, skills, subagents and a guard below all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from langchain.agents.middleware.types import AgentMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import SystemMessage
from langchain_core.tools import BaseTool
from langgraph.cache.base import BaseCache
from langgraph.store.base import BaseStore

from memoranda.agents.adopting import BackendLike, adopted
from memoranda.agents.compiling import Checkpoints, DeepAgent, compiled
from memoranda.agents.episodes import Episodes, episode_tools, recorder_of, with_recorder
from memoranda.agents.middleware.subagents import SubagentsMiddleware
from memoranda.agents.models import chat_model
from memoranda.agents.stack import Fence, Stack
from memoranda.agents.subagents import built
from memoranda.agents.tool_names import check_interrupts, tool_names

Tool: TypeAlias = "BaseTool | Callable[..., Any] | dict[str, Any]"


def create_deep_agent(
    model: str | BaseChatModel,
    tools: Sequence[Tool] | None = None,
    *,
    system_prompt: str | SystemMessage | None = None,
    middleware: Sequence[AgentMiddleware[Any, Any, Any]] = (),
    memory: Sequence[str] | str | None = None,
    skills: Sequence[Any] | str | None = None,
    permissions: Sequence[Any] | None = None,
    hooks: Sequence[Any] | None = (),
    backend: BackendLike | None = None,
    episodes: Episodes = False,
    subagents: Sequence[Mapping[str, Any]] | None = None,
    interrupt_on: Mapping[str, Any] | None = None,
    response_format: Any = None,
    state_schema: type[Any] | None = None,
    context_schema: type[Any] | None = None,
    checkpointer: Checkpoints = None,
    store: BaseStore | None = None,
    name: str | None = None,
    debug: bool = False,
    cache: BaseCache[Any] | None = None,
) -> DeepAgent:
    """Build an agent that works with files, remembers, and can hand work to subagents.

    Everything that the agent, its subagents, its memory and its skills do with files goes through one guard around the
    backend. The middleware stands in this order, the first outermost: files, approval, to-do list, subagents,
    summarisation, unanswered tool calls, **yours**, skills, prompt caching, memory, human in the loop, episodes. One
    of yours that has the name of one of ours takes its place. Those of ours that you give with a backend of their own
    are put behind the guard as well, subagents' too; the files of a `runnable` subagent are its own affair.

    Args:
        model: The model, or its name such as `"anthropic:claude-sonnet-4-5"`.
        tools: More tools, beside those for files, the to-do list and subagents.
        system_prompt: What comes first in the system prompt.
        middleware: More middleware.
        memory: Paths of files that are shown in the prompt of every model call, in whatever state they are then;
            folders with a slash at the end. One path may stand without a list.
        skills: Folders of skills, the later of the same name before the earlier.
        permissions: `FilesystemPermission`s; the first that matches decides, and what none matches is allowed.
        hooks: Functions that see every change before it lands; see `memoranda.backends.hooks`.
        backend: Where files lie; a function of the runtime that gives it; None keeps them in the state of the thread.
        episodes: Whether conversations are recorded, each finished turn once, and the agent has the tool
            `search_past_conversations`. True records them for the user who runs; a scope, a tuple or a function of the
            runtime says for whom; an `EpisodeRecorder` says it all. Needs a `MemoryStore` and a `thread_id`.
            A subagent has the tool too, but what it says is not recorded.
        subagents: Specifications as dictionaries: `name`, `description` and either `runnable`, or any of
            `system_prompt`, `tools`, `model`, `middleware`, `permissions`, `skills`, `interrupt_on` and
            `response_format`. A `general-purpose` one is there unless one of yours has that name.
        interrupt_on: Tools that wait for a person, as `HumanInTheLoopMiddleware` takes them.
        response_format: The form of the agent's structured answer.
        state_schema: The state, if it has more keys than `AgentState`.
        context_schema: The form of `context`.
        checkpointer: Keeps threads; without one every run is a new thread.
        store: The store of `StoreBackend`s that have none of their own.
        name: The agent's name; `by_assistant` and the history take it.
        debug: Whether LangGraph tells what it does.
        cache: LangGraph's cache.

    Returns:
        The agent, a compiled graph.

    Raises:
        UnknownModelError: The model's name is not known.
        MissingPackageError: The model's provider is not installed.
        InvalidPermissionError: A rule or a hook is none, or one stands where a list belongs.
        InvalidSubagentError: A specification makes no subagent.
        InvalidValueError: The store cannot record conversations.
        UnknownToolError: A tool is none, or `interrupt_on` names one that is not there.
        InvalidPathError: A source of memory or skills is no path.
        InvalidValueError: Sources of memory or skills are no texts.

    Example:
        >>> from memoranda import open_store
        >>> from memoranda.backends import StoreBackend
        >>> from memoranda.testing.scripted import ScriptedChatModel, call, say
        >>> model = ScriptedChatModel(script=[call("write_file", file_path="/tea.md", content="green"), say("Noted.")])
        >>> with open_store("memory://") as store:
        ...     agent = create_deep_agent(model, backend=StoreBackend(namespace=("ann",)), store=store)
        ...     _ = agent.invoke({"messages": "I like green tea."})
        ...     store.get(("ann",), "/tea.md").value["content"]
        'green'
    """
    chat = chat_model(model)
    fence = Fence(permissions, hooks)
    stack = Stack(chat, adopted(backend), fence, memory, skills, interrupt_on, state_schema, name)
    recorder = recorder_of(episodes, middleware, store)
    own_tools = [*(tools or ()), *episode_tools(episodes, recorder, tools or ())]
    tool_names(own_tools)

    def delegation(others: Sequence[AgentMiddleware[Any, Any, Any]]) -> AgentMiddleware[Any, Any, Any]:
        schemas = [each.state_schema for each in others]
        return SubagentsMiddleware(
            built(subagents or (), stack, own_tools, middleware, state_schema),
            hooks=fence.all_hooks,
            schemas=schemas if state_schema is None else [*schemas, state_schema],
        )

    stacked = with_recorder(stack.middleware(middleware, delegation), recorder)
    theirs = [tool for spec in subagents or () for tool in spec.get("tools") or ()]
    check_interrupts(interrupt_on, [*own_tools, *theirs], stacked)
    return compiled(
        chat,
        own_tools,
        system_prompt=system_prompt,
        middleware=stacked,
        response_format=response_format,
        state_schema=state_schema,
        context_schema=context_schema,
        checkpointer=checkpointer,
        store=store,
        debug=debug,
        name=name,
        cache=cache,
    ).with_config({"recursion_limit": 9_999})
