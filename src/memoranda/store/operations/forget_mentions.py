"""What names, elsewhere in the store, the one who was forgotten."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import orjson

from memoranda.store.changes import Namespace
from memoranda.store.effects import Operation, Row, query, transact
from memoranda.store.forgetting import MOST_MENTIONS, How, Mention
from memoranda.store.namespaces import decode_namespace
from memoranda.store.operations.context import Context
from memoranda.store.selection import Selection
from memoranda.store.values import stored_json

_PAGE = 500
_ENDS: tuple[tuple[str, How], ...] = (("from", "moved from"), ("to", "moved to"))
_ACTORS = ("accepted_by", "proposed_by")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to look for.

    Args:
        selection: The namespaces that are forgotten; None: only a conversation is.
        name: What the person is called, as a user or an actor.
        thread: The conversation that is forgotten.
    """

    selection: Selection | None
    name: str | None
    thread: str | None

    @property
    def actors(self) -> tuple[str, ...]:
        """How authors sign who are this person."""
        return () if self.name is None else (self.name, f"user:{self.name}")

    @property
    def params(self) -> dict[str, str]:
        """The parameters of statements that look for it; no actor and no thread has an empty name."""
        said = "" if self.name is None else orjson.dumps(self.name).decode()[1:-1]
        actor, user = self.actors or ("", "")
        return {"actor": actor, "user": user, "thread_id": self.thread or "", "said": said}

    def how(self, actor: str | None, thread: str | None, origin: str | None) -> How | None:
        """In what way a revision mentions it, if it does."""
        parts: dict[str, Any] = stored_json(origin) if origin else {}
        for end, how in _ENDS:
            place = parts.get(end)
            if place and self.selection is not None and self.selection.holds(tuple(place["namespace"])):
                return how
        if self.thread is not None and thread == self.thread:
            return "thread"
        if {actor, *(parts.get(name) for name in _ACTORS)} & {*self.actors}:
            return "actor"
        return None


@dataclass(frozen=True, slots=True)
class Found:
    """What was found.

    Args:
        mentions: Revisions, `MOST_MENTIONS` at most.
        count: How many there are.
        moved: Items that have come from there.
        proposals: The ids of proposals about other namespaces.
    """

    mentions: tuple[Mention, ...]
    count: int
    moved: tuple[tuple[Namespace, str], ...]
    proposals: tuple[str, ...]


def find_mentions(context: Context, wanted: Wanted, *, ahead: Selection | None = None) -> Operation[Found]:
    """Look through the histories of all other namespaces.

    Args:
        context: The store's settings.
        wanted: What to look for.
        ahead: Namespaces to leave out, where they are there still.
    """
    mentions: list[Mention] = []
    moved: dict[tuple[Namespace, str], None] = {}
    count, after = 0, (0, 0)
    rows: list[Row] = []
    while True:
        params = {"tenant": context.tenant, **wanted.params, "after_namespace": after[0], "after_position": after[1]}
        rows = yield from transact("read", partial(query, "revisions_naming", **params, limit=_PAGE))
        for _, _, labels, key, revision, *said in rows:
            how = wanted.how(*said)
            namespace = decode_namespace(labels)
            if how is None or (ahead is not None and ahead.holds(namespace)):
                continue
            count += 1
            if len(mentions) < MOST_MENTIONS:
                mentions.append(Mention(namespace, key, revision, how))
                if how == "moved from":
                    moved[namespace, key] = None
        if len(rows) < _PAGE:
            break
        after = (rows[-1][0], rows[-1][1])
    names = {name: value for name, value in wanted.params.items() if name != "said"}
    proposals = yield from transact("read", partial(query, "proposals_naming", tenant=context.tenant, **names))
    return Found(tuple(mentions), count, tuple(moved), tuple(row[0] for row in proposals))
