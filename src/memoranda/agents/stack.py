"""The middleware of an agent and of its subagents: one list of parts, so that a subagent lacks nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, TypeAlias

from langchain.agents.middleware import HumanInTheLoopMiddleware, TodoListMiddleware
from langchain.agents.middleware.types import AgentMiddleware
from langchain_core.language_models import BaseChatModel

from memoranda.agents.middleware.approval import ApprovalMiddleware
from memoranda.agents.middleware.files import FilesMiddleware
from memoranda.agents.middleware.identity import AssistantMiddleware
from memoranda.agents.middleware.memory import MemoryMiddleware
from memoranda.agents.middleware.patching import PatchToolCallsMiddleware
from memoranda.agents.middleware.rebasing import OverBackend
from memoranda.agents.middleware.short_term import summarization
from memoranda.agents.middleware.skills import SkillsMiddleware
from memoranda.agents.middleware.subagents import SubagentsMiddleware
from memoranda.agents.tool_names import interrupts
from memoranda.backends.base import Backend
from memoranda.backends.guard.layers import layer_of
from memoranda.backends.guarded import GuardedBackend

AnyMiddleware: TypeAlias = AgentMiddleware[Any, Any, Any]


@dataclass(frozen=True)
class Fence:
    """The guards of an agent, to be put around any backend: a subagent's around its parent's.

    Raises:
        InvalidPermissionError: A rule or a hook is none.

    Args:
        permissions: The rules of the outermost guard.
        hooks: Its hooks.
        inner: The fence behind it.
    """

    permissions: Sequence[Any] | None = ()
    hooks: Sequence[Any] | None = ()
    inner: Fence | None = None

    def __post_init__(self) -> None:
        layer = layer_of(self.permissions, self.hooks)
        object.__setattr__(self, "permissions", layer.rules.permissions)
        object.__setattr__(self, "hooks", layer.hooks)

    @property
    def all_hooks(self) -> tuple[Any, ...]:
        """The hooks of all these guards."""
        return (*(() if self.inner is None else self.inner.all_hooks), *(self.hooks or ()))

    def around(self, backend: Backend) -> Backend:
        """A backend behind these guards."""
        guarded = backend if self.inner is None else self.inner.around(backend)
        return GuardedBackend(guarded, self.permissions, self.hooks)

    def narrowed(self, permissions: Sequence[Any] | None) -> Fence:
        """This fence with further rules; nothing that it forbids becomes possible."""
        return self if permissions is None else Fence(permissions, inner=self)


@dataclass(frozen=True)
class Stack:
    """What the middleware of an agent is made from.

    Args:
        model: The agent's model.
        backend: Where files lie; not guarded yet.
        fence: What stands before it.
        memory: The files in the prompt.
        skills: The folders of skills.
        interrupt_on: Tools that wait for a person.
        state_schema: The form of the agent's state, if it has one of its own.
        assistant: Whose memory `by_assistant` is.
    """

    model: BaseChatModel
    backend: Backend
    fence: Fence
    memory: Sequence[str] | str | None = None
    skills: Sequence[Any] | str | None = None
    interrupt_on: Mapping[str, Any] | None = None
    state_schema: type[Any] | None = None
    assistant: str | None = None

    def middleware(
        self, own: Sequence[AnyMiddleware], delegation: Callable[[Sequence[AnyMiddleware]], AnyMiddleware | None]
    ) -> list[AnyMiddleware]:
        """The agent's middleware in its order.

        Args:
            own: The user's.
            delegation: Called with all the others, gives the middleware for subagents; None for an agent without any.
        """
        guard = self.fence.around(self.backend)
        core, tail = self._core(guard), self._tail(guard)
        mine = [self._fenced(each, guard) for each in own]
        schemas = [each.state_schema for each in joined(core, tail, mine)]
        schemas += [] if self.state_schema is None else [self.state_schema]
        mine = [_inside(each, guard, self.fence.all_hooks, schemas) for each in mine]
        delegating = delegation(joined(core, tail, mine))
        if delegating is not None:
            core.insert(4, _inside(delegating, guard, (), ()))
        return joined(core, tail, mine)

    def _core(self, guard: Backend) -> list[AnyMiddleware]:
        assistant = AssistantMiddleware(self.assistant)
        return [
            assistant,
            FilesMiddleware(guard),
            # Before what may take a waiting message away, so that its outcome finds it.
            ApprovalMiddleware(guard, within=assistant.bound),
            TodoListMiddleware(),
            summarization(self.model),
            PatchToolCallsMiddleware(),
        ]

    def _tail(self, guard: Backend) -> list[AnyMiddleware]:
        tail: list[AnyMiddleware] = []
        if self.skills:
            tail.append(SkillsMiddleware(guard, self.skills))
        tail.extend(prompt_caching())
        if self.memory:
            # Last in the prompt, so that a change of memory leaves what stands before it in a provider's cache.
            tail.append(MemoryMiddleware(guard, self.memory, add_cache_control=True))
        if self.interrupt_on:
            tail.append(HumanInTheLoopMiddleware(interrupt_on=interrupts(self.interrupt_on)))
        return tail

    def _fenced(self, middleware: AnyMiddleware, guard: Backend) -> AnyMiddleware:
        """A middleware of the user's that is one of ours, with the fence before its files."""
        if not isinstance(middleware, OverBackend) or not hasattr(middleware, "backend"):
            return middleware
        if isinstance(middleware, FilesMiddleware) and not middleware.has_own_backend:
            return middleware.over(guard)
        return middleware.over(self.fence.around(middleware.backend))


def _inside(
    middleware: AnyMiddleware, guard: Backend, hooks: Sequence[Any], schemas: Sequence[type[Any]]
) -> AnyMiddleware:
    """A `SubagentsMiddleware` of the user's with what the agent around it knows; another middleware as it is."""
    return middleware.within(guard, hooks, schemas) if isinstance(middleware, SubagentsMiddleware) else middleware


def prompt_caching() -> list[AnyMiddleware]:
    """Anthropic's prompt caching, where its package is installed; it leaves other models alone."""
    if find_spec("langchain_anthropic") is None:
        return []
    from langchain_anthropic.middleware import AnthropicPromptCachingMiddleware

    return [AnthropicPromptCachingMiddleware(unsupported_model_behavior="ignore")]


def joined(
    core: Sequence[AnyMiddleware], tail: Sequence[AnyMiddleware], own: Sequence[AnyMiddleware]
) -> list[AnyMiddleware]:
    """Core, the user's own, tail; one of the user's takes the place of one of ours that has its name."""
    mine = {each.name: each for each in own}
    taken = {each.name for each in (*core, *tail)}
    return [
        *(mine.get(each.name, each) for each in core),
        *(each for each in own if each.name not in taken),
        *(mine.get(each.name, each) for each in tail),
    ]
