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
from memoranda.agents.middleware.memory import MemoryMiddleware
from memoranda.agents.middleware.patching import PatchToolCallsMiddleware
from memoranda.agents.middleware.short_term import summarization
from memoranda.agents.middleware.skills import SkillsMiddleware
from memoranda.backends.base import Backend
from memoranda.backends.guarded import GuardedBackend

AnyMiddleware: TypeAlias = AgentMiddleware[Any, Any, Any]


@dataclass(frozen=True)
class Fence:
    """The guards of an agent, to be put around any backend: a subagent's around its parent's.

    Args:
        permissions: The rules of the outermost guard.
        hooks: Its hooks.
        inner: The fence behind it.
    """

    permissions: Sequence[Any] = ()
    hooks: Sequence[Any] = ()
    inner: Fence | None = None

    def around(self, backend: Backend) -> Backend:
        """A backend behind these guards."""
        guarded = backend if self.inner is None else self.inner.around(backend)
        return GuardedBackend(guarded, self.permissions, self.hooks)

    def narrowed(self, permissions: Sequence[Any] | None) -> Fence:
        """This fence with further rules; nothing that it forbids becomes possible."""
        return self if not permissions else Fence(permissions, inner=self)


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
    """

    model: BaseChatModel
    backend: Backend
    fence: Fence
    memory: Sequence[str] | None = None
    skills: Sequence[Any] | None = None
    interrupt_on: Mapping[str, Any] | None = None

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
        delegating = delegation(joined(core, tail, mine))
        if delegating is not None:
            core.insert(3, delegating)
        return joined(core, tail, mine)

    def _core(self, guard: Backend) -> list[AnyMiddleware]:
        return [
            FilesMiddleware(guard),
            # Before what may take a waiting message away, so that its outcome finds it.
            ApprovalMiddleware(guard),
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
            tail.append(HumanInTheLoopMiddleware(interrupt_on=dict(self.interrupt_on)))
        return tail

    def _fenced(self, middleware: AnyMiddleware, guard: Backend) -> AnyMiddleware:
        """A user's `FilesMiddleware` with the fence before its files."""
        if not isinstance(middleware, FilesMiddleware):
            return middleware
        return middleware.over(self.fence.around(middleware.backend) if middleware.has_own_backend else guard)


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
