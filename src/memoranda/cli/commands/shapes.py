"""The JSON shapes of what a store gives back, and how people see the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from memoranda.cli.names import format_namespace
from memoranda.cli.output import Part, human_size, human_time, printable

if TYPE_CHECKING:
    from memoranda.cli.session import Session
    from memoranda.store.changes import Author, Committed
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
