"""`reindex`: bring the search index up to date, or to another embedder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from memoranda.cli.command import WHOLE, command
from memoranda.cli.failures import StoppedError, UsageError
from memoranda.cli.opening import index_setting
from memoranda.cli.output import counted, printable
from memoranda.cli.session import Session
from memoranda.errors import MemorandaError, SearchUnavailableError

if TYPE_CHECKING:
    from memoranda.store.index_status import EmbedderIndex, IndexStatus


@command(
    "reindex",
    "memoranda reindex",
    "memoranda reindex --embed local",
    "memoranda reindex --status",
    panel=WHOLE,
)
def reindex(
    session: Session,
    keep_old: Annotated[
        bool,
        typer.Option("--keep-old", help="Keep the vectors of other embedders, for processes that still use them."),
    ] = False,
    rebuild: Annotated[
        bool,
        typer.Option(
            "--rebuild", help="Throw away what the index holds and make it anew, where `verify` found it damaged."
        ),
    ] = False,
    only_status: Annotated[
        bool, typer.Option("--status", help="Change nothing; show what the index holds and what it lacks.")
    ] = False,
) -> None:
    """Bring the search index of the whole store up to date; with --embed, to that embedder.

    Everything that is not indexed yet is, and every passage gets a vector of the embedder. Meanwhile memory is written
    and searched as before; the vectors of the embedder before serve until the new ones are complete, and then go.
    Stopped at any moment, it goes on where it was when it is run again.
    """
    if session.given.namespace is not None:
        raise UsageError("The index is brought up to date for the whole store.", "Leave -n out.")
    store = session.reading()
    if only_status:
        if keep_old or rebuild:
            option = "--keep-old" if keep_old else "--rebuild"
            raise UsageError(f"--status changes nothing, so {option} says nothing.", "Leave one of them out.")
        _show(session, store.index_status())
        return
    before = {index.name for index in store.index_status().indexes}
    try:
        with session.out.progress("Indexing") as advance:
            status = store.reindex(progress=advance, keep_old=keep_old, rebuild=rebuild)
    except KeyboardInterrupt:
        raise StoppedError(
            session.placed("Nothing is lost: `memoranda reindex` goes on where it was, and searches find as before.")
        ) from None
    except MemorandaError:
        raise
    except Exception as error:
        name = index_setting(session.settings)
        raise SearchUnavailableError(
            f"The embedder {name} fails: {' '.join(str(error).split()) or type(error).__name__}",
            "What is done stays done: see to it, and run `memoranda reindex` again.",
        ) from error
    _show(session, status, gone=sorted(before - {index.name for index in status.indexes}))


def _show(session: Session, status: IndexStatus, gone: list[str] | None = None) -> None:
    if session.json:
        session.out.data(
            {
                "passages": status.passages,
                "to_index": status.to_index,
                "indexes": [_shape(index) for index in status.indexes],
                "dropped": gone or [],
            }
        )
        return
    session.out.line(f"{counted(status.passages, 'passage')} can be found by words.")
    if status.to_index:
        session.note(f"{counted(status.to_index, 'more thing')} can be once they are indexed: `memoranda reindex`.")
    for index in status.indexes:
        session.out.line(*_sentence(index))
        if index.last_error:
            session.out.note(f"{index.name} last failed: {index.last_error}")
    for name in gone or ():
        session.out.line(f"The vectors of {printable(name)} are gone.")
    if not status.indexes:
        session.note("None can be found by meaning: `memoranda reindex --embed local` sees to that.")


def _sentence(index: EmbedderIndex) -> list[Any]:
    whole = index.embedded >= index.passages
    how_many = f"{index.embedded:,}" if whole else f"{index.embedded:,} of {index.passages:,}"
    verb = "is" if index.embedded == 1 and whole else "are"
    noun = "passage" if index.embedded == 1 and whole else "passages"
    state = "" if index.state == "serving" else ("; it does not serve yet", "yellow")
    return [f"{how_many} {noun} {verb} embedded by ", (printable(index.name), "bold"), state or "", "."]


def _shape(index: EmbedderIndex) -> dict[str, Any]:
    return {
        "name": index.name,
        "dims": index.dims,
        "state": index.state,
        "passages": index.passages,
        "embedded": index.embedded,
        "waiting": index.waiting,
        "in_use": index.in_use,
        "last_error": index.last_error,
    }
