"""Forgetting: everything of a namespace, a conversation or a person, for good."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, Protocol

from memoranda.errors import InvalidValueError, StoreError
from memoranda.store.changes import Namespace
from memoranda.store.effects import Batch, Body, Operation, Sql, call, query, transact
from memoranda.store.effects import vacuum as vacuum_files
from memoranda.store.forgetting import Receipt, Removed
from memoranda.store.namespaces import encode_namespace
from memoranda.store.operations.context import Context
from memoranda.store.operations.forget_mentions import Found, Wanted, find_mentions
from memoranda.store.operations.forget_namespaces import (
    count_namespace,
    forget_leftovers,
    forget_namespace,
    forget_proposal,
    proposals_selected,
    selected,
)
from memoranda.store.operations.forget_turns import Named, forget_turns, namespaces_with
from memoranda.store.operations.forget_work import Work, count_work, forget_jobs, forget_runs, forget_schedules
from memoranda.store.operations.turns import checked_thread
from memoranda.store.selection import Selection
from memoranda.store.values import to_datetime

Progress = Callable[[int], None]
"""Called with the number of rows removed since the last call."""

_SHOWN: Final = 5
_ELSEWHERE: Final = (
    "What was written about this in other words in other namespaces, exports and bundles made before, and the memory "
    "of running processes are not known to the store."
)
_COMES_BACK: Final = (
    "Until then, whoever goes on in one of them, or takes it over with `backfill`, records all of it again."
)
_COMES_BACK_SHARED: Final = (
    "Whoever goes on in one of them, or takes it over with `backfill`, may record all of it again: go on in a new "
    "thread, and delete the old one there."
)


class Checkpointer(Protocol):
    """What is used of a LangGraph checkpointer."""

    def delete_thread(self, thread_id: str) -> None:
        """Delete all checkpoints of a thread."""
        ...


def forget(
    context: Context,
    scope: Namespace | None = None,
    *,
    below: bool = False,
    thread: str | None = None,
    subject: str | None = None,
    checkpointer: Checkpointer | None = None,
    vacuum: bool = True,
    dry_run: bool = False,
    confirm: bool = False,
    progress: Progress | None = None,
) -> Operation[Receipt]:
    """Forget a namespace, a conversation or a person: everything of it is removed, history and index included.

    Other than deleting, this cannot be undone. Files with all their revisions, documents, recorded turns, proposals,
    jobs, runs, cursors, words and vectors of the index go, in short transactions, so that nobody who writes elsewhere
    has to wait for long; then the database's files are cleaned of them. No other namespace changes: their digests are
    as before. A call that was stopped is completed by the next one, whatever that one is about.

    A proposal that concerns a forgotten namespace goes as a whole, even if it would change others too. Runs over
    conversations that stay keep the range that they cover, without what they say about what is forgotten.

    Args:
        context: The store's settings.
        scope: The namespace. With a thread or a subject: where to look for it; None: everywhere.
        below: Whether the namespaces below it are meant too.
        thread: Only the turns of this conversation. Files that were written in it stay; the receipt names them.
        subject: A person: every namespace that has this label, and elsewhere the turns of this user.
        checkpointer: Of the conversations concerned, its checkpoints are deleted too, unless others have a part in it.
        vacuum: Clean the files at the end. On SQLite that writes the file anew, and writers wait for it; it may be left
            to a quiet hour.
        dry_run: Change nothing, and say what would be removed.
        confirm: Needed for the scope `()`, which is everything that the tenant has.
        progress: Called with the number of rows removed since the last call.

    Returns:
        What is gone and what could not be reached; if there was nothing, it says so.

    Raises:
        InvalidValueError: Nothing was named, both a thread and a subject were, or the scope is everything without
            `confirm=True`.
        InvalidNamespaceError: The scope or the subject is none.

    Example:
        >>> from memoranda import open_store
        >>> with open_store("memory://") as store:
        ...     _ = store.write(("ann",), "/tea.md", "green")
        ...     receipt = store.forget(("ann",))
        ...     receipt.counts["revisions"], store.history(("ann",), "/tea.md")
        (1, [])
    """
    _check(scope, below, thread, subject, confirm)
    selection = Selection.of(scope, below=below, subject=subject)
    work = _Work(context, selection, thread, subject, dry_run, progress)
    threads = yield from work.threads()
    checkpoints = None
    if checkpointer is not None:
        # Before their ids are gone, so that a call that fails here can be made again.
        if not dry_run:
            yield from _forget_checkpoints(checkpointer, threads)
        checkpoints = len(threads)
    if thread is None:
        yield from work.jobs()
        yield from work.proposals()
        yield from work.namespaces()
    yield from work.turns()
    if thread is None:
        yield from work.cursors()
        yield from work.runs()
    if not dry_run:
        context.blocks.clear()
    name = subject if subject is not None else scope[-1] if scope and thread is None else None
    wanted = Wanted(None if thread is not None else selection, name, thread)
    found = yield from find_mentions(context, wanted, ahead=selection if thread is None else None)
    unreached = _written(work.removed) + _unreached(
        found, thread, threads if checkpointer is None else (), work.shared_threads
    )
    vacuumed = False
    if vacuum and not dry_run:
        vacuumed, left = yield from _vacuum()
        unreached += left
    elif not dry_run:
        unreached.append(
            "The database's files still hold what was removed: run `memoranda forget --vacuum-only` to free its room."
        )
    return Receipt(
        None if scope is None else tuple(scope),
        below,
        thread,
        subject,
        to_datetime(context.clock()),
        tuple(each for each in work.removed if each.whole or each),
        work.gone_proposals,
        work.shared_proposals,
        work.gone_cursors,
        tuple(threads),
        checkpoints,
        found.mentions,
        found.count,
        vacuumed,
        tuple(unreached),
        dry_run,
        *work.done_later,
    )


def finish_forgetting(context: Context) -> Operation[Receipt]:
    """Remove what earlier calls of `forget` had begun to remove, and clean the database's files.

    Args:
        context: The store's settings.

    Returns:
        What is gone, and what could not be reached.

    Example:
        >>> from memoranda import open_store
        >>> with open_store("memory://") as store:
        ...     _ = store.write(("ann",), "/tea.md", "green")
        ...     _ = store.forget(("ann",), vacuum=False)
        ...     store.finish_forgetting().vacuumed
        True
    """
    left = yield from forget_leftovers()
    vacuumed, unreached = yield from _vacuum()
    removed = (left,) if left else ()
    now = to_datetime(context.clock())
    return Receipt(None, False, None, None, now, removed, vacuumed=vacuumed, unreached=tuple(unreached))


def _check(scope: Namespace | None, below: bool, thread: str | None, subject: str | None, confirm: bool) -> None:
    if scope is None and thread is None and subject is None:
        raise InvalidValueError("Nothing was named to forget.", "Name a scope, a thread or a subject.")
    if thread is not None and subject is not None:
        raise InvalidValueError("Both a thread and a subject were named.", "Forget them one after the other.")
    if scope is not None:
        encode_namespace(scope)
    if thread is not None:
        checked_thread(thread)
    if subject is not None:
        encode_namespace((subject,))
    if scope is not None and not scope and not below:
        raise InvalidValueError(
            "The scope () holds nothing by itself.",
            "Name a namespace, or pass below=True and confirm=True for everything.",
        )
    if scope is not None and not scope and thread is None and subject is None and not confirm:
        raise InvalidValueError(
            "The scope () with all below it is everything there is.", "Pass confirm=True if that is what you mean."
        )


class _Work:
    """One call: what it is about, and what it has removed so far."""

    def __init__(
        self,
        context: Context,
        selection: Selection,
        thread: str | None,
        subject: str | None,
        dry_run: bool,
        progress: Progress | None,
    ) -> None:
        self._context = context
        self._selection = selection
        self._thread = thread
        self._subject = subject
        self._dry_run = dry_run
        self._progress = progress
        self.removed: list[Removed] = []
        self.shared_threads: list[str] = []
        self.gone_proposals = self.shared_proposals = self.gone_cursors = 0
        self.done_later = Work()

    def threads(self) -> Operation[list[str]]:
        """The ids of the conversations concerned."""
        place = {"tenant": self._context.tenant, **self._selection.params}
        if self._thread is not None:
            where = {name: place[name] for name in ("tenant", "low", "high")}
            stays = yield from transact("read", partial(query, "thread_elsewhere", thread_id=self._thread, **where))
            rows = [(self._thread, bool(stays))]
        else:
            # A user has no empty name.
            asked = partial(query, "threads_concerned", **place, user_id=self._subject or "")
            rows = yield from transact("snapshot", asked)
        self.shared_threads = [thread for thread, shared in rows if shared]
        return [thread for thread, shared in rows if not shared]

    def jobs(self) -> Operation[None]:
        """Those about the namespaces, before these: what is being done there does not land any more."""
        if self._dry_run:
            self.done_later = yield from count_work(self._context, self._selection)
            return
        schedules = yield from forget_schedules(self._context, self._selection)
        jobs = yield from forget_jobs(self._context, self._selection)
        self.done_later = Work(jobs, 0, schedules)
        self._tell(jobs + schedules)

    def runs(self) -> Operation[None]:
        """Those over the namespaces, and jobs that were queued meanwhile."""
        if self._dry_run:
            return
        jobs = yield from forget_jobs(self._context, self._selection)
        actors = () if self._subject is None else (self._subject, f"user:{self._subject}")
        runs = yield from forget_runs(self._context, self._selection, actors)
        self.done_later = Work(self.done_later.jobs + jobs, runs, self.done_later.schedules)
        self._tell(jobs + runs)

    def proposals(self) -> Operation[None]:
        """Those that concern one of the namespaces."""
        for number in (yield from proposals_selected(self._context, self._selection)):
            shared = yield from forget_proposal(self._context, number, self._selection, dry_run=self._dry_run)
            if shared is not None:
                self.gone_proposals += 1
                self.shared_proposals += shared
                self._tell(1)

    def namespaces(self) -> Operation[None]:
        """Those that are meant as a whole."""
        self._note((yield from forget_leftovers(dry_run=self._dry_run)), whole=False)
        for namespace_id, labels in (yield from selected(self._context, self._selection)):
            if self._dry_run:
                self._note((yield from count_namespace(namespace_id, labels)))
                continue
            removed = yield from forget_namespace(self._context, labels)
            if removed is not None:
                self._note(removed)

    def turns(self) -> Operation[None]:
        """Turns of namespaces that stay."""
        named: Named = "thread" if self._thread is not None else "user"
        name = self._thread if self._thread is not None else self._subject
        if name is None:
            return
        where = self._selection.everywhere
        found = yield from namespaces_with(self._context, where, named, name)
        if self._thread is not None and self._selection.low:
            # Even if its turns are gone: the index may still hold what died with them.
            found = sorted({*found, self._selection.low})
        for labels in found:
            if self._thread is None and self._selection.holds_text(labels):
                continue  # gone as a whole
            self._note((yield from forget_turns(self._context, labels, named, name, dry_run=self._dry_run)))

    def cursors(self) -> Operation[None]:
        """How far consumers have read there, and what says how far the index is filled or made anew."""
        place = {"tenant": self._context.tenant, **self._selection.params}
        if self._dry_run:
            ((self.gone_cursors,),) = yield from transact("read", partial(query, "count_cursors", **place))
            return
        statements = [
            Sql("forget_cursors", place),
            Sql("forget_index_progress", place),
            Sql("forget_words_progress", {**place, "newline": "\n"}),
        ]
        gone, *_ = yield from transact("write", partial(_together, statements))
        self.gone_cursors = len(gone)

    def _note(self, removed: Removed, *, whole: bool = True) -> None:
        if removed or (whole and removed.whole):
            self.removed.append(removed)
            self._tell(removed.rows)

    def _tell(self, count: int) -> None:
        if self._progress is not None and count:
            self._progress(count)


def _together(statements: list[Sql]) -> Body[list[Any]]:
    return (yield Batch(statements, last=True))


def _forget_checkpoints(checkpointer: Checkpointer, threads: list[str]) -> Operation[None]:
    for thread in threads:
        yield from call(partial(_delete_thread, checkpointer, thread))


def _delete_thread(checkpointer: Any, thread: str) -> None:
    try:
        checkpointer.delete_thread(thread)
    except NotImplementedError:  # one that can only be awaited
        asyncio.run(checkpointer.adelete_thread(thread))


def _vacuum() -> Operation[tuple[bool, list[str]]]:
    try:
        return True, (yield from vacuum_files())
    except StoreError as error:
        # What was removed is gone; only its room is not free yet.
        again = "Run `memoranda forget --vacuum-only` later."
        return False, [f"The database's files could not be cleaned of what was removed: {error.cause} {again}"]


def _unreached(found: Found, thread: str | None, threads: Sequence[str], shared: Sequence[str]) -> list[str]:
    left: list[str] = []
    if threads:
        left.append(
            f"Checkpoints of {_listed(threads)}, if a checkpointer keeps any: delete these threads there, as "
            f"`store.forget(…, checkpointer=…)` does. {_COMES_BACK if thread is None else ''}".strip()
        )
    if shared:
        left.append(
            f"Checkpoints of {_listed(shared)}, if a checkpointer keeps any: others talked there too, or have it "
            f"recorded. {_COMES_BACK_SHARED if thread is None else ''}".strip()
        )
    if found.count:
        revisions = f"{found.count} revision{'s' * (found.count != 1)}"
        left.append(
            f"{revisions} in other namespaces by this author or moved from or to there: their digests cover that, so "
            "they stay as they are."
            if thread is None
            else f"{revisions} written in this conversation: files and documents stay as they are."
        )
    if found.moved:
        places = _listed([f"{'/'.join(namespace)}:{key}" for namespace, key in found.moved])
        left.append(f"What was moved from there into other namespaces is theirs and stays: {places}.")
    if found.proposals:
        by = "by this author, about other namespaces" if thread is None else "made in this conversation"
        left.append(f"Proposals {by}: {_listed(found.proposals)}.")
    return [*left, _ELSEWHERE]


def _written(removed: Sequence[Removed]) -> list[str]:
    """What consolidators have made of the turns that are gone."""
    runs = sum(each.cleared_runs for each in removed)
    if not runs:
        return []
    which = f"{runs} run{'s' * (runs != 1)}"
    return [f"What {which} of consolidators wrote into files from these turns stays: undo it, or forget the files."]


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
