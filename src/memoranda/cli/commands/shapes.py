"""The JSON shapes of what a store gives back, and how people see the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from memoranda.cli.names import format_namespace
from memoranda.cli.output import Part, counted, human_size, human_time, printable

if TYPE_CHECKING:
    from memoranda.cli.session import Session
    from memoranda.consolidation.reports import RunReport, ScopeStatus
    from memoranda.store.changes import Author, Committed
    from memoranda.store.jobs import Job
    from memoranda.store.recalled import Hit, ScoreParts
    from memoranda.store.runs import Run, RunChange
    from memoranda.store.schedules import Schedule
    from memoranda.store.turns import Episode, RecordedTurn, ThreadSummary
    from memoranda.store.types import KeyEntry, Revision


def entry(item: KeyEntry) -> dict[str, Any]:
    """One file, folder or named item."""
    return {
        "key": item.key,
        "is_folder": item.is_folder,
        "size": item.size,
        "revision": item.revision,
        "created_at": item.created_at,
        "updated_at": item.updated_at,
    }


def author(who: Author) -> dict[str, Any]:
    """Who made a change."""
    return {
        "actor": who.actor,
        "thread_id": who.thread_id,
        "run_id": who.run_id,
        "tool_call_id": who.tool_call_id,
        "reason": who.reason,
    }


def revision(change: Revision) -> dict[str, Any]:
    """One entry of a history."""
    return {
        "namespace": list(change.namespace),
        "key": change.key,
        "revision": change.revision,
        "operation": change.operation,
        "author": author(change.author),
        "at": change.at,
        "size": change.size,
        "digest": change.digest,
        "origin": dict(change.origin),
    }


def committed(change: Committed) -> dict[str, Any]:
    """One change that landed."""
    return {
        "namespace": list(change.namespace),
        "key": change.key,
        "revision": change.revision,
        "operation": change.operation,
        "merged": change.merged,
        "occurrences": change.occurrences,
    }


def entry_rows(items: Sequence[KeyEntry]) -> list[list[Part]]:
    """A listing in columns: size, revision, time, key."""
    return [
        ["", "", "", (printable(item.key), "bold blue")]
        if item.is_folder
        else [human_size(item.size), f"r{item.revision}", (human_time(item.updated_at), "dim"), printable(item.key)]
        for item in items
    ]


def revision_row(change: Revision, *, place: str = "") -> list[Part]:
    """A change in columns: revision, time, operation, author, place, and at the end why and where from."""
    return [
        (f"r{change.revision}", "yellow"),
        (human_time(change.at), "dim"),
        change.operation,
        (printable(change.author.actor or "-"), "cyan"),
        *([place] if place else []),
        remark(change),
    ]


def where(who: Author) -> str:
    """The thread, run and tool call that a change was made in, as far as they are known."""
    named = {"thread": who.thread_id, "run": who.run_id, "tool call": who.tool_call_id}
    return ", ".join(f"{name} {printable(text)}" for name, text in named.items() if text)


def remark(change: Revision) -> str:
    """Why a change was made, and where its content came from."""
    said = [change.author.reason] if change.author.reason else []
    origin = change.origin
    if "merged_from" in origin:
        said.append(f"(merged, made from r{origin['merged_from']})")
    if "restored" in origin:
        said.append(f"(from r{origin['restored']})")
    for direction in ("from", "to"):
        if direction in origin:
            other = origin[direction]
            place = (
                ""
                if tuple(other["namespace"]) == change.namespace
                else format_namespace(tuple(other["namespace"])) + ":"
            )
            said.append(f"({direction} {place}{other['key']})")
    if "proposal" in origin:
        by = f", accepted by {origin['accepted_by']}" if "accepted_by" in origin else ""
        said.append(f"(proposal {origin['proposal']}{by})")
    return printable(" ".join(said))


def show_committed(session: Session, change: Committed) -> None:
    """Say what one change made."""
    if session.json:
        session.out.data(committed(change))
        return
    merged = " (merged with what others wrote since)" if change.merged else ""
    session.out.line(printable(change.key), f" is at revision {change.revision}{merged}.")


def hit(found: Hit) -> dict[str, Any]:
    """One passage that answers a query."""
    return {
        "kind": found.kind,
        "namespace": list(found.namespace),
        "key": found.key,
        "revision": found.revision,
        "first_line": found.first_line,
        "last_line": found.last_line,
        "heading": found.heading,
        "text": found.text,
        "at": found.at,
        "score": found.score,
        "parts": score_parts(found.parts),
        "why": found.why,
        "thread_id": found.thread_id,
        "role": found.role,
        "speaker": found.speaker,
    }


def score_parts(parts: ScoreParts) -> dict[str, float]:
    """What a score is made of."""
    return {"words": parts.words, "meaning": parts.meaning, "context": parts.context}


def thread(found: ThreadSummary) -> dict[str, Any]:
    """One conversation in a listing."""
    return {
        "namespace": list(found.namespace),
        "thread_id": found.thread_id,
        "turns": found.turns,
        "first_at": found.first_at,
        "last_at": found.last_at,
        "title": found.title,
    }


def turn(found: RecordedTurn) -> dict[str, Any]:
    """One message of a conversation."""
    return {
        "namespace": list(found.namespace),
        "thread_id": found.thread_id,
        "message_id": found.message_id,
        "position": found.position,
        "role": found.role,
        "speaker": found.speaker,
        "text": found.text,
        "at": found.at,
        "recorded_at": found.recorded_at,
        "tools": list(found.tools),
        "other_blocks": found.other_blocks,
        "size": found.size,
        "user": found.user,
        "org": found.org,
        "agent": found.agent,
        "run_id": found.run_id,
    }


def episode(found: Episode) -> dict[str, Any]:
    """One conversation in which something was found."""
    return {
        "thread": thread(found.thread),
        "hits": [
            {
                "turn": turn(each.turn),
                "passage": each.passage,
                "score": each.score,
                "parts": score_parts(each.parts),
                "before": [turn(other) for other in each.before],
                "behind": [turn(other) for other in each.behind],
            }
            for each in found.hits
        ],
    }


def run(found: Run) -> dict[str, Any]:
    """One run of a consolidator."""
    return {
        "id": found.id,
        "consolidator": found.consumer,
        "namespace": list(found.scope),
        "after": found.after,
        "to": found.to,
        "status": found.status,
        "turns": found.turns,
        "changes": [run_change(each) for each in found.changes],
        "model": found.model,
        "tokens_in": found.tokens_in,
        "tokens_out": found.tokens_out,
        "attempts": found.attempts,
        "started_at": found.started_at,
        "ended_at": found.ended_at,
        "proposal": found.proposal,
        "undone_by": found.undone_by,
        "error": found.error,
        "summary": found.summary,
        "job": found.job,
    }


def run_change(found: RunChange) -> dict[str, Any]:
    """One item that a run changed."""
    return {
        "namespace": list(found.namespace),
        "key": found.key,
        "operation": found.operation,
        "revision": found.revision,
        "before": found.before,
        "to": found.to,
        "sources": list(found.sources),
    }


def schedule(found: Schedule) -> dict[str, Any]:
    """When jobs are made by themselves."""
    return {
        "name": found.name,
        "consolidator": found.queue,
        "kind": found.kind,
        "line": found.line,
        "zone": found.zone,
        "minutes": found.minutes,
        "prefix": list(found.prefix),
        "paused": found.paused,
        "created_at": found.created_at,
        "last_due": found.last_due,
        "next_due": found.next_due,
    }


def job(found: Job) -> dict[str, Any]:
    """Something that a worker has to do."""
    return {
        "number": found.number,
        "consolidator": found.queue,
        "namespace": None if found.scope is None else list(found.scope),
        "state": found.state,
        "due_at": found.due_at,
        "attempts": found.attempts,
        "worker": found.worker,
        "error": found.error,
    }


RUN_STYLES = {
    "applied": "green",
    "unchanged": "dim",
    "nothing": "dim",
    "preview": "cyan",
    "proposed": "yellow",
    "rejected": "red",
    "busy": "yellow",
    "lost": "yellow",
    "failed": "bold red",
    "parked": "bold red",
    "undone": "magenta",
}
_STATUSES = {
    "nothing": "nothing new",
    "preview": "not applied",
    "lost": "another has taken it over",
}


def report(found: RunReport) -> dict[str, Any]:
    """What came of consolidating one namespace."""
    return {
        "namespace": list(found.scope),
        "status": found.status,
        "runs": [run(each) for each in found.runs],
        "after": found.after,
        "to": found.to,
        "turns": found.turns,
        "diff": found.diff,
        "summary": found.summary,
        "error": found.error,
        "attempts": found.attempts,
        "model": found.model,
        "tokens_in": found.tokens_in,
        "tokens_out": found.tokens_out,
        "seconds": found.seconds,
    }


def scope_status(found: ScopeStatus) -> dict[str, Any]:
    """How one namespace stands with a consolidator."""
    return {
        "namespace": list(found.scope),
        "unread": found.unread,
        "position": found.position,
        "turns": found.turns,
        "turned_at": found.turned_at,
        "parked": found.parked,
        "proposed": found.proposed,
        "waiting": found.waiting,
        "running": found.running,
        "last_run": None if found.last_run is None else run(found.last_run),
    }


def report_parts(found: RunReport) -> list[Part]:
    """The same in a line: what came of it, in which runs, of how many turns."""
    parts: list[Part] = [(_STATUSES.get(found.status, found.status), RUN_STYLES[found.status])]
    if found.runs:
        parts += ["  ", (" ".join(each.id for each in found.runs), "bold yellow")]
    if found.turns:
        parts.append(f"  {counted(found.turns, 'turn')}")
    changes = sum(len(each.changes) for each in found.runs)
    if changes:
        parts.append(f", {counted(changes, 'change')}")
    if found.proposal:
        parts.append(f"  {found.proposal}")
    said = found.error if not found.ok or found.error else found.summary
    if said:
        parts.append(f"  {printable(' '.join(said.split()))}")
    return parts
