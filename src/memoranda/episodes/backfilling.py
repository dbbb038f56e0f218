"""Taking over conversations that a LangGraph checkpointer holds already."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

from memoranda.backends.scopes import Scope, ScopeError
from memoranda.backends.steps import Steps, aperform, ask, consult, perform
from memoranda.episodes.attribution import own_part
from memoranda.episodes.checkpoints import Checkpoints
from memoranda.episodes.messages import Keeping
from memoranda.errors import StoreError
from memoranda.store.changes import Namespace
from memoranda.store.store import MemoryStore
from memoranda.store.turns import RecordedTurns

OwnerLike: TypeAlias = "Namespace | Callable[[CheckpointTuple], Namespace | None]"
NameLike: TypeAlias = "str | Callable[[CheckpointTuple], str | None] | None"


@dataclass(frozen=True, slots=True)
class Backfilled:
    """How far a backfill is, and at last what came of it.

    Args:
        threads: How many conversations were looked at.
        total: How many there are.
        skipped: How many of them were taken over before, and have not gone on since; or have no owner.
        new: How many turns were recorded.
        known: How many were recorded before.
        failed: Conversations that could not be read, and why.
        thread_id: The one that was looked at last.
    """

    threads: int = 0
    total: int = 0
    skipped: int = 0
    new: int = 0
    known: int = 0
    failed: tuple[tuple[str, str], ...] = field(default=())
    thread_id: str | None = None


Progress: TypeAlias = "Callable[[Backfilled], Any]"


def backfill(
    checkpointer: BaseCheckpointSaver[Any],
    store: MemoryStore,
    *,
    scope: OwnerLike,
    threads: Iterable[str] | None = None,
    user: NameLike = None,
    org: NameLike = None,
    agent: NameLike = None,
    progress: Progress | None = None,
    keeping: Keeping | None = None,
) -> Backfilled:
    """Record the conversations that a checkpointer holds, as `EpisodeRecorder` would have.

    Each message is recorded once by its id, so it may run again, beside live recording, and after it was broken off:
    conversations that have not gone on since are skipped. What was trimmed or summarised away is taken from older
    checkpoints, as far as the checkpointer has them. A conversation that is under way is recorded as far as it is. The
    messages of subagents are left out, and so is what is recorded of other users where `scope` and `user` say whose
    the conversation is.

    Args:
        checkpointer: Any checkpointer of LangGraph's; an async one needs `abackfill`.
        store: Where to record them.
        scope: Whose conversations they are: one namespace for all, or a function of each conversation's newest
            checkpoint, whose `metadata` and `config` tell more; None skips the conversation.
        threads: The ids of the conversations; None: all. To find them, everything is read once.
        user: Who talked with the agent, or a function of the checkpoint that tells.
        org: Whose organisation, likewise.
        agent: Which agent, likewise; None: the name that the agent was made with, where the checkpoint has it.
        progress: Told after every conversation how far it is.
        keeping: What is kept of each message; None: what the recorder keeps by default.

    Returns:
        What came of it.

    Raises:
        InvalidValueError: The checkpointer is none, or needs its event loop.
        ScopeError: The scope is one that needs a runtime.

    Example:
        >>> from langchain.agents import create_agent
        >>> from langgraph.checkpoint.memory import InMemorySaver
        >>> from memoranda import open_store
        >>> from memoranda.testing.scripted import ScriptedChatModel, say
        >>> saver = InMemorySaver()
        >>> agent = create_agent(ScriptedChatModel(script=[say("Noted.")]), checkpointer=saver)
        >>> config = {"configurable": {"thread_id": "t1"}, "metadata": {"user_id": "ann"}}
        >>> _ = agent.invoke({"messages": "I like tea."}, config)
        >>> with open_store("memory://") as store:
        ...     done = backfill(saver, store, scope=lambda found: (found.metadata["user_id"],))
        ...     done.new, [turn.text for turn in store.turns(("ann",), "t1")]
        (2, ['I like tea.', 'Noted.'])
    """
    return perform(
        _Backfill(Checkpoints(checkpointer), store, scope, (user, org, agent), progress, keeping).run(threads)
    )


async def abackfill(
    checkpointer: BaseCheckpointSaver[Any],
    store: MemoryStore,
    *,
    scope: OwnerLike,
    threads: Iterable[str] | None = None,
    user: NameLike = None,
    org: NameLike = None,
    agent: NameLike = None,
    progress: Progress | None = None,
    keeping: Keeping | None = None,
) -> Backfilled:
    """`backfill` for an event loop, which async checkpointers need; functions may be coroutine functions."""
    work = _Backfill(Checkpoints(checkpointer), store, scope, (user, org, agent), progress, keeping)
    return await aperform(work.run(threads))


class _Backfill:
    """One backfill; see there."""

    def __init__(
        self,
        checkpoints: Checkpoints,
        store: MemoryStore,
        scope: OwnerLike,
        names: tuple[NameLike, NameLike, NameLike],
        progress: Progress | None,
        keeping: Keeping | None,
    ) -> None:
        if isinstance(scope, Scope):
            raise ScopeError(
                f"{scope!r} takes its names from a running agent, and there is none here.",
                'Pass a namespace, or a function of the checkpoint such as lambda found: (found.metadata["user_id"],).',
            )
        self.checkpoints = checkpoints
        self.store = store
        self.scope: Any = scope
        self.names = names
        self.progress = progress
        self.keeping = keeping or Keeping()

    def run(self, threads: Iterable[str] | None) -> Steps[Backfilled]:
        """Take over each conversation in turn."""
        wanted = [*threads] if threads is not None else (yield from self.checkpoints.threads())
        done = Backfilled(total=len(wanted))
        for thread in wanted:
            done = replace(done, threads=done.threads + 1, thread_id=thread)
            try:
                landed = yield from self._thread(thread)
            except StoreError:
                raise
            except Exception as error:  # noqa: BLE001 - one that cannot be read must not stop the others
                done = replace(done, failed=(*done.failed, (thread, f"{type(error).__name__}: {error}")))
            else:
                skipped = done.skipped + (landed is None)
                landed = landed or RecordedTurns()
                done = replace(done, skipped=skipped, new=done.new + landed.new, known=done.known + landed.known)
            if self.progress is not None:
                yield from consult(self.progress, done)
        return done

    def _thread(self, thread_id: str) -> Steps[RecordedTurns | None]:
        """Take over one conversation; None where there is nothing to do."""
        newest = yield from self.checkpoints.newest(thread_id)
        if newest is None:
            return None
        namespace = yield from _told(self.scope, newest)
        if namespace is None:
            return None
        mark = self._mark(newest)
        if (yield from ask(self.store.thread_checkpoint, namespace, thread_id)) == mark:
            return None
        found = yield from self.checkpoints.conversation(thread_id)
        user, org, agent = self.names
        name = yield from _told(user, newest)
        said = found.said
        if name and callable(self.scope):
            known = yield from ask(self.store.known_messages, namespace, thread_id, user=name)
            said = own_part(said, known.of_others, known.recorded)
        said = [one for one in said if self.keeping.takes(one)]
        landed = yield from ask(
            self.store.record_turns,
            namespace,
            thread_id,
            self.keeping.turns(said, found.times),
            user=name,
            org=(yield from _told(org, newest)),
            agent=(yield from _told(agent, newest)) or _agent_of(newest),
        )
        yield from ask(self.store.note_thread_checkpoint, namespace, thread_id, mark)
        return landed

    def _mark(self, newest: CheckpointTuple) -> str:
        """What is noted of a conversation that was taken over: up to where, and whose turns."""
        return f"{newest.checkpoint['id']} {','.join(sorted(self.keeping.roles))}"


def _told(source: Any, newest: CheckpointTuple) -> Steps[Any]:
    """What a caller gave: as it is, or what their function says of a conversation."""
    if not callable(source):
        return source
    return (yield from consult(source, newest))


def _agent_of(newest: CheckpointTuple) -> str | None:
    name = (newest.metadata or {}).get("lc_agent_name")
    return name if isinstance(name, str) else None
