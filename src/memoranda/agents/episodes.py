"""How an agent of ours comes to record its conversations and to search them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from langchain.agents.middleware.types import AgentMiddleware

from memoranda.agents.middleware.identity import AssistantMiddleware
from memoranda.backends.scopes import NamespaceLike
from memoranda.errors import InvalidValueError

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool

    from memoranda.episodes.recording import EpisodeRecorder

Episodes: TypeAlias = "bool | NamespaceLike | EpisodeRecorder | None"


def recorder_of(
    episodes: Episodes, middleware: Sequence[AgentMiddleware[Any, Any, Any]], store: Any
) -> EpisodeRecorder | None:
    """The recorder that an agent was asked to have.

    Args:
        episodes: See `create_deep_agent`.
        middleware: The user's own; a recorder among it is enough.
        store: The agent's store; None where a server gives it.

    Raises:
        InvalidValueError: The store cannot record conversations.
    """
    from memoranda.episodes.recording import EpisodeRecorder
    from memoranda.store.store import MemoryStore

    own = next((each for each in middleware if isinstance(each, EpisodeRecorder)), None)
    if own is not None or episodes is None or episodes is False:
        return own
    if isinstance(episodes, EpisodeRecorder):
        recorder = episodes
    else:
        recorder = EpisodeRecorder() if episodes is True else EpisodeRecorder(episodes)
    if store is not None and recorder.store is None and not isinstance(store, MemoryStore):
        raise InvalidValueError(
            f"{type(store).__name__} cannot record conversations.",
            "Pass store=open_store(…), or episodes=EpisodeRecorder(store=open_store(…)).",
        )
    return recorder


def episode_tools(episodes: Episodes, recorder: EpisodeRecorder | None, tools: Sequence[Any]) -> list[BaseTool]:
    """The tool that searches what the recorder records, unless the user's tools have one of its name."""
    if recorder is None or episodes is None or episodes is False:
        return []
    from memoranda.episodes.tool import search_past_conversations

    search = search_past_conversations(recorder.scope, store=recorder.store)
    names = {getattr(tool, "name", None) or getattr(tool, "__name__", None) for tool in tools}
    return [] if search.name in names else [search]


def with_recorder(
    stacked: Sequence[AgentMiddleware[Any, Any, Any]], recorder: EpisodeRecorder | None
) -> list[AgentMiddleware[Any, Any, Any]]:
    """An agent's middleware with its recorder, which comes last so that it sees what others delete after a reply."""
    if recorder is None:
        return [*stacked]
    assistant = next((each for each in stacked if isinstance(each, AssistantMiddleware)), None)
    bound = recorder if assistant is None else recorder.within(assistant.bound)
    return [*(each for each in stacked if each is not recorder), bound]
