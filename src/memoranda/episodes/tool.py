"""The tool with which an agent looks through earlier conversations."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Any, Final, TypeAlias

from langchain.tools import ToolRuntime
from langchain_core.tools import BaseTool, StructuredTool, ToolException
from pydantic import Field

from memoranda.backends.runtime import current_thread
from memoranda.backends.scopes import NamespaceLike, by_user, resolve_namespace
from memoranda.backends.steps import Steps, aperform, ask, perform
from memoranda.episodes.messages import SEARCH_TOOL
from memoranda.episodes.runtime import store_of
from memoranda.episodes.shown import shown_episodes, shown_threads, shown_turns
from memoranda.errors import InvalidValueError, MemorandaError
from memoranda.store.changes import Namespace
from memoranda.store.store import MemoryStore
from memoranda.store.turns import ThreadSummary

DESCRIPTION: Final = (
    "Look through earlier conversations. Use it when something was said or done before that you need now: what was "
    "decided, how a problem was solved, what somebody prefers. It finds words and their meaning, and shows who said "
    "what and when. The conversation that is going on is not among them."
)

Query: TypeAlias = Annotated[
    str,
    Field(description="What to look for: a few words, or a question. Left out, the conversations are listed."),
]
Since: TypeAlias = Annotated[
    str | None,
    Field(description="Only what was said from this day on, such as 2026-05-01, or time, such as 2026-05-01T14:00."),
]
Until: TypeAlias = Annotated[str | None, Field(description="Only what was said up to this day, or before this time.")]
Thread: TypeAlias = Annotated[
    str | None,
    Field(
        description="Only the conversation with this id, as an answer of this tool gave it. Without a query it is "
        "shown from its beginning."
    ),
]

TOKEN_BUDGET: Final = 2_000
"""About how many tokens an answer takes at most."""

_LEAST_BUDGET: Final = 200
_MOST_LISTED: Final = 50
_MOST_TURNS: Final = 200


def search_past_conversations(
    scope: NamespaceLike = by_user,
    *,
    store: MemoryStore | None = None,
    token_budget: int = TOKEN_BUDGET,
    k: int = 12,
    neighbours: int = 1,
    below: bool = False,
    running: bool = False,
    name: str = SEARCH_TOOL,
    description: str = DESCRIPTION,
) -> BaseTool:
    """A tool with which an agent finds what was said in earlier conversations.

    Whose conversations those are comes from the runtime alone. The answer says who said it and when, the conversation
    that answers best first, and fits a budget; long answers of tools are shortened.

    Args:
        scope: Whose conversations: a scope, a tuple, or a function of the runtime; `by_user` by default.
        store: Where they are recorded; None: the graph's store.
        token_budget: About how many tokens an answer takes at most.
        k: How many turns are looked for.
        neighbours: How many turns before and after each one are shown, as far as they fit.
        below: Look into the namespaces below the scope too.
        running: Whether the conversation that is going on is among them.
        name: The tool's name. The recorder keeps no answers of a tool of the default name; give it another as
            `unrecorded_tools`.
        description: What the model is told about it.

    Returns:
        The tool.

    Raises:
        InvalidValueError: The budget is too small for any answer.

    Example:
        >>> from langchain.agents import create_agent
        >>> from memoranda import open_store
        >>> from memoranda.store.turns import Turn
        >>> from memoranda.testing.scripted import ScriptedChatModel, call, say
        >>> model = ScriptedChatModel(script=[call("search_past_conversations", query="tea"), say("Green.")])
        >>> with open_store("memory://") as store:
        ...     _ = store.record_turns(("ann",), "t1", [Turn("m1", "user", "I like green tea.")])
        ...     agent = create_agent(model, [search_past_conversations(scope=("ann",))], store=store)
        ...     state = agent.invoke({"messages": "Which tea do I like?"})
        ...     "user: I like green tea." in state["messages"][2].text
        True
    """
    if token_budget < _LEAST_BUDGET:
        raise InvalidValueError(f"token_budget is {token_budget}.", f"It has to be at least {_LEAST_BUDGET}.")
    search = _Search(scope, store, token_budget, k, neighbours, below, running)

    def run(
        runtime: ToolRuntime[Any, Any],
        query: Query = "",
        since: Since = None,
        until: Until = None,
        thread: Thread = None,
    ) -> str:
        try:
            return perform(search.answer(runtime, query, since, until, thread))
        except MemorandaError as error:
            raise ToolException(f"Error: {error}") from error

    async def arun(
        runtime: ToolRuntime[Any, Any],
        query: Query = "",
        since: Since = None,
        until: Until = None,
        thread: Thread = None,
    ) -> str:
        try:
            return await aperform(search.answer(runtime, query, since, until, thread))
        except MemorandaError as error:
            raise ToolException(f"Error: {error}") from error

    return StructuredTool.from_function(
        func=run, coroutine=arun, name=name, description=description, handle_tool_error=True
    )


class _Search:
    """One tool's search; see `search_past_conversations`."""

    def __init__(
        self,
        scope: NamespaceLike,
        store: MemoryStore | None,
        budget: int,
        k: int,
        neighbours: int,
        below: bool,
        running: bool,
    ) -> None:
        self.scope = scope
        self.store = store
        self.budget = budget
        self.k = k
        self.neighbours = neighbours
        self.below = below
        self.running = running

    def answer(self, runtime: Any, query: str, since: str | None, until: str | None, thread: str | None) -> Steps[str]:
        """What the model is told."""
        store = store_of(runtime, self.store)
        namespace = resolve_namespace(self.scope, runtime)
        first, last = moment("since", since), moment("until", until, whole_day=True)
        hidden = None if self.running else current_thread()
        if thread and thread == hidden:
            raise InvalidValueError("This is the conversation that is going on.", "Look at it above.")
        if not query.strip():
            return (yield from self._listed(store, namespace, first, last, thread, hidden))
        found = yield from ask(
            store.search_episodes,
            namespace,
            query,
            k=self.k,
            since=first,
            until=last,
            thread=thread or None,
            without_thread=hidden,
            neighbours=self.neighbours,
            below=self.below,
        )
        if found.episodes:
            return shown_episodes(found, self.budget)
        narrowed = [name for name, given in (("since", since), ("until", until), ("thread", thread)) if given]
        hint = f"Try again without {' and '.join(narrowed)}, or with" if narrowed else "Try"
        return (
            f"Nothing about {query.strip()[:100]!r} was found in earlier conversations. {hint} other words; "
            "without a query the conversations are listed."
        )

    def _listed(
        self,
        store: MemoryStore,
        namespace: Namespace,
        since: datetime | None,
        until: datetime | None,
        thread: str | None,
        hidden: str | None,
    ) -> Steps[str]:
        """The conversations of a time, or one from its beginning."""
        if thread:
            turns = yield from ask(store.turns, namespace, thread, limit=None)
            turns = [turn for turn in turns if (not since or turn.at >= since) and (not until or turn.at < until)]
            if not turns:
                raise InvalidValueError(
                    f"Nothing of a conversation {thread[:100]!r} was found.", "Call this without thread to see them."
                )
            first, last = min(turn.at for turn in turns), max(turn.at for turn in turns)
            summary = ThreadSummary(namespace, thread, len(turns), first, last, "")
            return shown_turns(turns[:_MOST_TURNS], summary, self.budget)
        threads = yield from ask(
            store.threads, namespace, since=since, until=until, below=self.below, limit=_MOST_LISTED
        )
        threads = [one for one in threads if one.thread_id != hidden]
        if threads:
            return shown_threads(threads, self.budget)
        return "There are no earlier conversations" + (" of that time." if since or until else " yet.")


def moment(name: str, text: str | None, *, whole_day: bool = False) -> datetime | None:
    """A time from a model; without a zone it is UTC.

    Args:
        name: The argument, for the error.
        text: An ISO date or time; None or blank for none.
        whole_day: Take a date for the end of that day.

    Raises:
        InvalidValueError: It is none.

    Example:
        >>> moment("until", "2026-05-01", whole_day=True).isoformat()
        '2026-05-02T00:00:00+00:00'
    """
    if text is None or not text.strip():
        return None
    try:
        day = date.fromisoformat(text.strip())
        return datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(days=int(whole_day))
    except (ValueError, OverflowError):
        pass
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        raise InvalidValueError(
            f"{name}={text[:40]!r} is no date.", "Write it as 2026-05-01, or as 2026-05-01T14:00."
        ) from None
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found
