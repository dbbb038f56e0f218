"""`episodes ls | show | search`: conversations as they were held, and what was said in them."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from memoranda.cli.command import EPISODES, command
from memoranda.cli.commands import shapes
from memoranda.cli.commands.recalling import asked, show_notices, show_passage
from memoranda.cli.failures import NO
from memoranda.cli.highlighting import Highlighter
from memoranda.cli.hints import quoted
from memoranda.cli.moments import Since, Until, span
from memoranda.cli.names import format_namespace
from memoranda.cli.output import Part, counted, human_time, printable
from memoranda.cli.scopes import narrowed_by, nothing_found, nothing_recorded, requested_scope
from memoranda.cli.session import Session
from memoranda.errors import ItemNotFoundError

if TYPE_CHECKING:
    from memoranda.store.changes import Namespace
    from memoranda.store.turns import EpisodeHit, RecordedTurn, ThreadSummary

_TOOL_LINES = 8
_TOOL_CHARACTERS = 800
_AROUND_CHARACTERS = 160
_THREADS = 1_000
_STYLES = {"user": "bold cyan", "assistant": "bold green", "tool": "yellow"}

Below = Annotated[bool, typer.Option("--below", help="Those of the namespaces below it too.")]
Thread = Annotated[
    str, typer.Argument(metavar="THREAD", help="The conversation; `episodes ls` names them.", show_default=False)
]


@command("episodes ls", "memoranda episodes ls -n ann --since 14d", panel=EPISODES)
def ls(
    session: Session,
    since: Since = None,
    until: Until = None,
    below: Below = False,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="At most so many.")] = 100,
) -> None:
    """List conversations, the one in which something was said last first: when, how many turns, which, about what.

    Without -n it lists those of all namespaces.
    """
    first, last = span(since, until)
    scope = session.named_namespace or ()
    below = below or not scope
    found = session.reading().threads(scope, since=first, until=last, below=below, limit=limit)
    if not found:
        nothing_recorded(session, scope, below=below, narrowed=narrowed_by(since=since, until=until))
    if session.json:
        session.out.data({"threads": [shapes.thread(each) for each in found]})
    elif found:
        session.out.rows([_thread_row(session, each, with_namespace=below) for each in found], right=frozenset({2}))
        if len(found) == limit:
            session.out.note(f"There may be more; --limit shows more than {limit}.")


@command("episodes show", "memoranda episodes show -n ann thread-7", panel=EPISODES)
def show(
    session: Session,
    thread: Thread,
    full: Annotated[bool, typer.Option("--full", help="All of what tools answered, however long.")] = False,
) -> None:
    """Show a conversation from its beginning, with dates, who spoke, and the tools that were used.

    Long answers of tools are shortened, but not with --full or --json.
    """
    namespace = _namespace_of(session, thread)
    turns = session.reading().turns(namespace, thread, limit=None)
    if not turns:
        raise _missing(session, namespace, thread)
    if session.json:
        session.out.data(
            {"namespace": list(namespace), "thread_id": thread, "turns": [shapes.turn(each) for each in turns]}
        )
        return
    session.out.line(
        (printable(thread), "bold magenta"),
        (f"  {printable(format_namespace(namespace))}  {counted(len(turns), 'turn')}", "dim"),
    )
    shortened, day = 0, ""
    for turn in turns:
        today = f"{turn.at:%Y-%m-%d}"
        if today != day:
            session.out.line("")
            session.out.line((f"{turn.at:%A} {today}", "bold"))
            day = today
        session.out.line((f"{turn.at:%H:%M:%S}Z  ", "dim"), *_who(turn))
        shortened += _show_text(session, turn, full)
    if shortened:
        session.out.note(f"{counted(shortened, 'long answer')} of tools shortened; --full shows all.")


@command(
    "episodes search",
    "memoranda episodes search -n ann 'what did we say about the flat?' --neighbours 2",
    panel=EPISODES,
)
def search(
    session: Session,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="Words or a question.", show_default=False)],
    k: Annotated[int, typer.Option("-k", metavar="N", min=1, max=1_000, help="At most so many turns.")] = 10,
    since: Since = None,
    until: Until = None,
    thread: Annotated[
        str | None, typer.Option("--thread", metavar="THREAD", help="Only this conversation.", show_default=False)
    ] = None,
    role: Annotated[
        Literal["user", "assistant", "tool"] | None,
        typer.Option("--role", help="Only what one of them said.", show_default=False),
    ] = None,
    neighbours: Annotated[
        int, typer.Option("--neighbours", metavar="N", min=0, max=100, help="So many turns before and after each.")
    ] = 1,
    by_time: Annotated[bool, typer.Option("--by-time", help="The latest conversation first, not the best.")] = False,
    below: Below = False,
) -> None:
    """Find what was said: the turns that answer a question, by conversation, with the turns around them.

    The exit code is 1 if nothing is found.
    """
    query = asked(query)
    first, last = span(since, until)
    store = session.reading()
    scope, below = requested_scope(session, below=below)
    found = store.search_episodes(
        scope,
        query,
        k=k,
        since=first,
        until=last,
        thread=thread,
        role=role,
        neighbours=neighbours,
        below=below,
        order="time" if by_time else "relevance",
    )
    if not found.episodes:
        narrowed = narrowed_by(since=since, until=until, thread=thread, role=role)
        nothing_found(session, scope, query, below=below, narrowed=narrowed)
    if session.json:
        session.out.data(
            {
                "namespace": list(scope),
                "episodes": [shapes.episode(each) for each in found.episodes],
                "notices": list(found.notices),
            }
        )
    else:
        words = Highlighter(session, query)
        for number, episode in enumerate(found.episodes):
            if number:
                session.out.line("")
            _show_heading(session, episode.thread, with_namespace=below)
            _show_hits(session, episode.hits, words)
        show_notices(session, found.notices)
    if not found.episodes:
        raise typer.Exit(NO)


def _thread_row(session: Session, thread: ThreadSummary, *, with_namespace: bool) -> list[Part]:
    place: list[Part] = [(printable(format_namespace(thread.namespace)), "bold blue")] if with_namespace else []
    return [
        (human_time(thread.first_at), "dim"),
        (human_time(thread.last_at), "dim"),
        counted(thread.turns, "turn"),
        *place,
        (printable(thread.thread_id), "magenta"),
        session.out.text(thread.title),
    ]


def _who(turn: RecordedTurn) -> list[Part]:
    name = f" ({printable(turn.speaker)})" if turn.speaker else ""
    tools = ", ".join(map(printable, turn.tools))
    said: list[Part] = [(turn.role, _STYLES[turn.role]), name]
    if tools:
        said.append((f"  {tools}" if turn.role == "tool" else f"  calls {tools}", "yellow"))
    if turn.other_blocks:
        said.append((f"  with {counted(turn.other_blocks, 'attachment')}, not kept", "dim"))
    return said


def _show_text(session: Session, turn: RecordedTurn, full: bool) -> bool:
    """Write what was said, and tell whether something was left out."""
    text = turn.text
    if turn.role == "tool" and not full:
        text = "\n".join(text[:_TOOL_CHARACTERS].split("\n")[:_TOOL_LINES])
    for line in text.split("\n") if text else ():
        session.out.line("    ", session.out.text(line)) if line else session.out.line("")
    left = len(turn.text) - len(text)
    if left:
        session.out.line((f"    … {counted(left, 'more character')}", "dim"))
    return left > 0


def _show_heading(session: Session, thread: ThreadSummary, *, with_namespace: bool) -> None:
    place = f"{printable(format_namespace(thread.namespace))}:" if with_namespace else ""
    day, last = f"{thread.first_at:%Y-%m-%d}", f"{thread.last_at:%Y-%m-%d}"
    session.out.line(
        (place, "dim"),
        (printable(thread.thread_id), "bold magenta"),
        (f"  {day}" if day == last else f"  {day} to {last}", "dim"),
        f"  {session.out.text(thread.title)}",
    )


def _show_hits(session: Session, hits: Sequence[EpisodeHit], words: Highlighter) -> None:
    """Write what was found in a conversation, and the turns around it, as it was said."""
    passages = {hit.turn.place: hit.passage for hit in hits}
    turns = {turn.place: turn for hit in hits for turn in (*hit.before, hit.turn, *hit.behind)}
    for place in sorted(turns):
        turn = turns[place]
        if place in passages:
            session.out.line(("> ", "bold red"), f"{human_time(turn.at)}  ", *_who(turn))
            show_passage(session, passages[place], words)
        else:
            said = "".join(part if isinstance(part, str) else part[0] for part in _who(turn))
            session.out.line((f"  {human_time(turn.at)}  {said}  {_shortened(session, turn.text)}".rstrip(), "dim"))


def _shortened(session: Session, text: str) -> str:
    words = " ".join(text[: 4 * _AROUND_CHARACTERS].split())
    return session.out.text(
        words if len(words) <= _AROUND_CHARACTERS else words[: _AROUND_CHARACTERS - 1].rstrip() + "…"
    )


def _namespace_of(session: Session, thread: str) -> Namespace:
    """Where a conversation is: in the namespace that was named, or the only one that has it."""
    if session.named_namespace is not None:
        return session.named_namespace
    found = [each for each in session.reading().threads((), below=True, limit=None) if each.thread_id == thread]
    if len(found) != 1:
        return session.namespace
    session.out.note(f"In the namespace {format_namespace(found[0].namespace)}.")
    return found[0].namespace


def _missing(session: Session, namespace: Namespace, thread: str) -> ItemNotFoundError:
    known = session.reading().threads((), below=True, limit=_THREADS)
    place = format_namespace(namespace)
    cause = f"There is no conversation {thread} in {place}."
    for each in known:
        if each.thread_id == thread:
            other = quoted(format_namespace(each.namespace))
            return ItemNotFoundError(cause, f"Try `memoranda episodes show -n {other} {quoted(thread)}`.")
    close = get_close_matches(thread, [each.thread_id for each in known if each.namespace == namespace], n=1)
    meant = f"Did you mean {close[0]}? " if close else ""
    return ItemNotFoundError(cause, f"{meant}`memoranda episodes ls` lists those there are.")
