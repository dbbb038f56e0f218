"""`episodes import`: conversations from files, and from what a LangGraph checkpointer holds."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memoranda.cli.command import EPISODES, command
from memoranda.cli.failures import NO, StoppedError, UsageError
from memoranda.cli.names import format_namespace
from memoranda.cli.output import counted, printable
from memoranda.cli.session import Session

if TYPE_CHECKING:
    from langgraph.checkpoint.base import CheckpointTuple

    from memoranda.episodes import Backfilled
    from memoranda.store.changes import Namespace

_STDIN = "-"
_AGAIN = "What was recorded stays; run it again for the rest: nothing is recorded twice."


@command(
    "episodes import",
    "memoranda episodes import -n ann chat.json --agent assistant",
    "memoranda episodes import --checkpointer checkpoints.db --by-user",
    panel=EPISODES,
)
def import_(
    session: Session,
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE",
            help="A JSON or JSON-lines file of messages, or of conversations with their messages; - for stdin.",
            show_default=False,
        ),
    ] = None,
    checkpointer: Annotated[
        str | None,
        typer.Option(
            "--checkpointer",
            metavar="SOURCE",
            help="Instead of a file: the database of a LangGraph checkpointer, a SQLite file or postgresql://….",
            show_default=False,
        ),
    ] = None,
    thread: Annotated[
        str | None,
        typer.Option(
            "--thread",
            metavar="THREAD",
            help="File: the conversation of messages that name none; by default the file's name. Else: only it.",
            show_default=False,
        ),
    ] = None,
    by_user: Annotated[
        bool,
        typer.Option(
            "--by-user",
            help="Checkpointer only: each conversation goes to its user (`user_id` in its metadata), below -n.",
        ),
    ] = False,
    user: Annotated[
        str | None, typer.Option("--user", metavar="WHO", help="Who talked with the agent.", show_default=False)
    ] = None,
    org: Annotated[
        str | None, typer.Option("--org", metavar="NAME", help="Whose organisation.", show_default=False)
    ] = None,
    agent: Annotated[
        str | None, typer.Option("--agent", metavar="NAME", help="Which agent it was.", show_default=False)
    ] = None,
) -> None:
    """Record past conversations, each message once, however often it is imported.

    A message is {"role", "content"} and may have "at", "name" and "id"; messages of several conversations have
    "thread_id", or stand in {"thread_id", "messages"}. Of a checkpointer everything that it still has is taken over.
    System messages are left out, and secrets are masked, as agents do when they record.
    """
    if (file is None) == (checkpointer is None):
        given = "Both FILE and --checkpointer were given." if file is not None else "Nothing to import was named."
        raise UsageError(given, "Give a file of messages, or --checkpointer with the database of one.")
    if file is not None:
        if by_user:
            raise UsageError("--by-user says nothing for a file.", "Leave it out; -n says whose they are.")
        _from_file(session, file, thread, (user, org, agent))
    else:
        assert checkpointer is not None
        _from_checkpointer(session, checkpointer, thread, by_user, (user, org, agent))


def _from_file(session: Session, file: str, thread: str | None, who: tuple[str | None, str | None, str | None]) -> None:
    from memoranda.episodes.conversation_files import read_conversations
    from memoranda.store.turns import RecordedTurns

    conversations = read_conversations(_text(file), thread_id=thread or _stem(file))
    store = session.writing()
    namespace = session.namespace
    user, org, agent = who
    done = RecordedTurns()
    try:
        with session.out.progress("Recording") as advance:
            for number, each in enumerate(conversations):
                advance(number, len(conversations))
                done += store.record_turns(namespace, each.thread_id, each.turns, user=user, org=org, agent=agent)
    except KeyboardInterrupt:
        raise StoppedError(_AGAIN) from None
    left_out = sum(each.left_out for each in conversations)
    if session.json:
        session.out.data(
            {
                "namespace": list(namespace),
                "threads": [each.thread_id for each in conversations],
                "new": done.new,
                "known": done.known,
                "left_out": left_out,
            }
        )
        return
    _say(session, len(conversations), done.new, done.known, namespace)
    if left_out:
        session.out.note(f"{counted(left_out, 'message')} left out: system messages, empty and repeated ones.")


def _from_checkpointer(
    session: Session, source: str, thread: str | None, by_user: bool, who: tuple[str | None, str | None, str | None]
) -> None:
    from memoranda.episodes import backfill
    from memoranda.episodes.checkpointers import open_checkpointer

    with open_checkpointer(source) as saver:
        store = session.writing()
        below = session.named_namespace or ()
        namespace = below if by_user else session.namespace

        def owner(found: CheckpointTuple) -> Namespace | None:
            name = _user_of(found)
            return None if name is None else (*below, name)

        user, org, agent = who
        try:
            with session.out.progress("Taking over") as advance:
                done = backfill(
                    saver,
                    store,
                    scope=owner if by_user else namespace,
                    threads=None if thread is None else [thread],
                    user=_user_of if by_user and user is None else user,
                    org=org,
                    agent=agent,
                    progress=lambda far: advance(far.threads, far.total),
                )
        except KeyboardInterrupt:
            raise StoppedError(_AGAIN) from None
    if session.json:
        session.out.data(_shape(done, namespace))
    else:
        taken = done.threads - done.skipped - len(done.failed)
        _say(session, taken, done.new, done.known, None if by_user else namespace)
        if done.skipped:
            why = "they have no user, or have not gone on since" if by_user else "they have not gone on since"
            session.out.note(f"{counted(done.skipped, 'conversation')} skipped: {why}.")
        for name, why in done.failed:
            session.out.note(f"{name} cannot be read: {why}")
    if done.failed:
        raise typer.Exit(NO)


def _user_of(found: CheckpointTuple) -> str | None:
    """The user that a checkpoint names."""
    named: Any = (found.metadata or {}).get("user_id") or found.config.get("configurable", {}).get("user_id")
    return None if named is None else str(named)


def _say(session: Session, threads: int, new: int, known: int, namespace: Namespace | None) -> None:
    place = "" if namespace is None else f" in {printable(format_namespace(namespace))}"
    before = f"; {known:,} {'was' if known == 1 else 'were'} there before" if known else ""
    session.out.line(
        ("Recorded", "bold green"), f" {counted(new, 'turn')} of {counted(threads, 'conversation')}{place}{before}."
    )


def _shape(done: Backfilled, namespace: Namespace) -> dict[str, Any]:
    return {
        "namespace": list(namespace),
        "conversations": done.threads,
        "new": done.new,
        "known": done.known,
        "skipped": done.skipped,
        "failed": [{"thread_id": name, "why": why} for name, why in done.failed],
    }


def _text(file: str) -> str:
    data = sys.stdin.buffer.read() if file == _STDIN else Path(file).read_bytes()
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        from memoranda.transfer.errors import SourceError

        raise SourceError(f"{file} is no UTF-8 text.", "Give a JSON or JSON-lines file of messages.") from None


def _stem(file: str) -> str:
    if file == _STDIN:
        return "imported"
    return Path(file).stem or "imported"
