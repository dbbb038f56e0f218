"""`EpisodeRecorder`: middleware that records every finished turn of a conversation, once."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, cast

from langchain.agents.middleware.types import AgentMiddleware, ModelRequest, ModelResponse

from memoranda.backends.runtime import agent_run, current_thread
from memoranda.backends.scopes import NamespaceLike, Scope, by_user, resolve_namespace
from memoranda.backends.steps import Steps, aperform, ask, is_control_flow, perform
from memoranda.episodes.attribution import known_by_content, own_part, owners
from memoranda.episodes.masking import mask_secrets
from memoranda.episodes.messages import MAX_BYTES, SEARCH_TOOL, Keeping, Said, said_in, woven
from memoranda.episodes.runtime import circumstances, ids_last, running_thread, store_of
from memoranda.forking import ForkSafeLock
from memoranda.store.changes import Namespace
from memoranda.store.store import MemoryStore
from memoranda.store.turns import ROLES, Role

logger = logging.getLogger(__name__)

_MOST_THREADS: Final = 200
_FEW: Final = 16
"""So many messages are simply given to the store; of more it is asked first which it knows."""

_NO_THREAD: Final = (
    "A conversation was not recorded: its run has no thread. "
    'Pass {"configurable": {"thread_id": "…"}} as the configuration.'
)


class _Key(NamedTuple):
    """A conversation of somebody, in one agent."""

    namespace: Namespace
    thread: str
    agent_run: str
    user: str | None


@dataclass(slots=True)
class _Held:
    """What this process has seen of a conversation since it was last recorded.

    Args:
        last: The messages of the state as they were at the last call of the model.
        first: The messages that the run began with.
        lost: Earlier ones, of which some have left the state since.
    """

    last: Sequence[Any]
    first: Sequence[Any]
    lost: list[Sequence[Any]] = field(default_factory=list[Sequence[Any]])

    def note(self, messages: Sequence[Any], *, lasting: bool) -> None:
        """Take down the state, and the one before if some of that has left it.

        Args:
            messages: The state's messages.
            lasting: Whether they are kept from run to run; if not, a state that has nothing of the one before begins
                anew.
        """
        last = self.last
        if len(messages) < len(last) or any(now is not then for now, then in zip(messages, last, strict=False)):
            ids = {getattr(message, "id", None) for message in messages}
            left = [getattr(message, "id", None) in ids for message in last]
            if not lasting and not any(left):
                self.lost.clear()
                self.first = messages
            elif not all(left) or None in ids:
                self.lost.append(last)
        self.last = messages


class EpisodeRecorder(AgentMiddleware[Any, Any, Any]):
    """Record each finished turn of a conversation: what was said, by whom, when, and which tools were called.

    Every message is recorded once by its id, however often a run is retried or resumed. A run that waits for a person,
    or that fails, records when it is finished at last. What summarisation or trimming takes out of the state is
    recorded all the same, in its place. Messages of subagents are no turns of the conversation: what they report is,
    as their tool's answer. A failure to record never fails a run; it is logged, and the next turn makes up for it.

    Needs a `thread_id`. Without a checkpointer messages get new ids in every run, so there they are known by what they
    say.

    Args:
        scope: Whose conversations they are: a scope, a tuple, or a function of the runtime; `by_user` by default.
        store: Where they are recorded; None: the graph's store.
        roles: Whose turns are recorded.
        max_bytes: How many bytes of each message are kept; of longer ones the beginning and the end.
        redact: What every text goes through first; by default secrets of well-known formats are masked. None: nothing.
        unrecorded_tools: Tools whose answers are not kept, since they are copies of recorded conversations.

    Raises:
        InvalidValueError: A role is none, or `max_bytes` is too small.

    Example:
        >>> from langchain.agents import create_agent
        >>> from memoranda import open_store
        >>> from memoranda.testing.scripted import ScriptedChatModel, say
        >>> with open_store("memory://") as store:
        ...     model = ScriptedChatModel(script=[say("Noted.")])
        ...     agent = create_agent(model, middleware=[EpisodeRecorder(scope=("ann",))], store=store)
        ...     _ = agent.invoke({"messages": "I like tea."}, {"configurable": {"thread_id": "t1"}})
        ...     [(turn.role, turn.text) for turn in store.turns(("ann",), "t1")]
        [('user', 'I like tea.'), ('assistant', 'Noted.')]
    """

    def __init__(
        self,
        scope: NamespaceLike = by_user,
        *,
        store: MemoryStore | None = None,
        roles: Collection[Role] = ROLES,
        max_bytes: int = MAX_BYTES,
        redact: Callable[[str], str] | None = mask_secrets,
        unrecorded_tools: Collection[str] = (SEARCH_TOOL,),
    ) -> None:
        super().__init__()
        self.scope = scope
        self.store = store
        self.keeping = Keeping(
            tuple(roles) if not isinstance(roles, str) else roles, max_bytes, redact, unrecorded_tools
        )
        self._within: Callable[[], AbstractContextManager[Any]] = nullcontext
        self._lock = ForkSafeLock()
        self._held: OrderedDict[_Key, _Held] = OrderedDict()
        self._known: OrderedDict[tuple[str, _Key], frozenset[str]] = OrderedDict()
        self._told: set[str] = set()

    def within(self, around: Callable[[], AbstractContextManager[Any]]) -> EpisodeRecorder:
        """The same recorder inside an agent that says who runs; `create_deep_agent` calls it."""
        other = copy(self)
        other._within = around
        return other

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> Any:
        """Note the messages of the state, before any of them leave it."""
        self._note(request)
        return handler(request)

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> Any:
        """`wrap_model_call` for an event loop."""
        self._note(request)
        return await handler(request)

    def after_agent(self, state: Any, runtime: Any) -> None:
        """Record what is new."""
        try:
            with self._within():
                perform(self._record(state, runtime))
        except Exception as error:  # noqa: BLE001 - whatever it is, the agent's run has succeeded
            self._tell(error)

    async def aafter_agent(self, state: Any, runtime: Any) -> None:
        """`after_agent` for an event loop."""
        try:
            with self._within():
                await aperform(self._record(state, runtime))
        except Exception as error:  # noqa: BLE001 - as above
            self._tell(error)

    def _note(self, request: ModelRequest[Any]) -> None:
        try:
            thread = running_thread()
            if thread is None:
                return
            with self._within():
                key = self._key(request.runtime, thread)
            messages: Sequence[Any] = cast("dict[str, Any]", request.state)["messages"]
            with self._lock:
                held = self._held.get(key)
                if held is None:
                    self._held[key] = _Held(messages, messages)
                    _limit(self._held)
                else:
                    self._held.move_to_end(key)
                    held.note(messages, lasting=ids_last())
        except Exception as error:  # noqa: BLE001 - it is told of when the turn is over, and meanwhile the run goes on
            logger.debug("The messages before a call of the model were not noted: %s", error)

    def _record(self, state: Any, runtime: Any) -> Steps[None]:
        thread = running_thread()
        if thread is None:
            if current_thread() is None:
                self._tell_once(_NO_THREAD)
            return
        store = store_of(runtime, self.store)
        key, who = self._key(runtime, thread), circumstances(runtime)
        said, given = self._said(state, key)
        known = self._known.get((store.identity, key)) or frozenset[str]()
        of_others: Mapping[str, str] = {}
        if not ids_last():
            found = yield from ask(store.known_messages, key.namespace, thread, run_id=who.run_id)
            said = known_by_content(said, given, found.recorded - found.of_run, found.forgot)
            known = found.recorded
        elif new := sum(one.id not in known for one in said):
            found = yield from ask(store.known_messages, key.namespace, thread, user=who.user, recorded=new > _FEW)
            known |= found.recorded
            of_others = {**self._under_way(key), **found.of_others}
            if not self._shared:
                said = own_part(said, of_others, known)
        said = [one for one in said if self.keeping.takes(one)]
        wanted, order = _new_and_around(said, known)
        whose = dict(zip((one.id for one in said), owners(said, of_others), strict=True))
        for user in dict.fromkeys(whose[one.id] for one in wanted):
            yield from ask(
                store.record_turns,
                key.namespace,
                thread,
                self.keeping.turns([one for one in wanted if whose[one.id] == user]),
                user=who.user if user is None else user,
                org=who.org,
                agent=who.agent,
                run_id=who.run_id,
                order=order,
            )
        with self._lock:
            self._held.pop(key, None)
            self._known[store.identity, key] = known.union(one.id for one in said)
            self._known.move_to_end((store.identity, key))
            _limit(self._known)

    def _key(self, runtime: Any, thread: str) -> _Key:
        return _Key(resolve_namespace(self.scope, runtime), thread, agent_run(), circumstances(runtime).user)

    @property
    def _shared(self) -> bool:
        """Whether the scope is surely meant for several people; then all that they say in a conversation is in it."""
        return isinstance(self.scope, tuple) or (isinstance(self.scope, Scope) and not self.scope.names_user)

    def _under_way(self, key: _Key) -> dict[str, str]:
        """The messages of others whose run in this conversation is not finished, and of whom they are."""
        with self._lock:
            held = [
                (other.user, [*one.lost, one.last])
                for other, one in self._held.items()
                if (other.thread, other.agent_run) == (key.thread, key.agent_run) and other.user not in (None, key.user)
            ]
        return {one.id: user for user, states in held for state in states for one in said_in(state)}

    def _said(self, state: Any, key: _Key) -> tuple[list[Said], list[str]]:
        """The turns of a conversation, and the ids of the messages that the run began with.

        Those that have left the state since it was last recorded are included.
        """
        lasting = ids_last()
        messages: Sequence[Any] = state["messages"]
        lost: list[Sequence[Any]] = []
        first: Sequence[Any] = ()
        with self._lock:
            held = self._held.get(key)
            if held is not None:
                held.note(messages, lasting=lasting)
                lost, first = [*held.lost], held.first
        said = said_in(messages)
        for earlier in reversed(lost):
            said = woven(said, said_in(earlier))
        return said, [one.id for one in said_in(first)]

    def _tell(self, error: Exception) -> None:
        if is_control_flow(error):
            raise error
        self._tell_once(f"A turn was not recorded, and will be with the next: {type(error).__name__}: {error}")

    def _tell_once(self, text: str) -> None:
        """Warn of what went wrong; of the same thing again only in detail."""
        level = logging.DEBUG if text in self._told else logging.WARNING
        self._told.add(text)
        logger.log(level, text)


def _limit(kept: OrderedDict[Any, Any]) -> None:
    if len(kept) > _MOST_THREADS:
        kept.popitem(last=False)


def _new_and_around(said: Sequence[Said], known: Collection[str]) -> tuple[list[Said], list[str]]:
    """The turns that are not recorded yet, and the ids of these and of those beside them, which show their places."""
    new = [one.id not in known for one in said]
    beside = [any(new[max(index - 1, 0) : index + 2]) for index in range(len(said))]
    return (
        [one for one, is_new in zip(said, new, strict=True) if is_new],
        [one.id for one, is_beside in zip(said, beside, strict=True) if is_beside],
    )
