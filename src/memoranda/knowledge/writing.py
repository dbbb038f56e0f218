"""The writing step of a collection: look first, then insert, update, supersede or skip, in one transaction.

A memory whose identity or text is known joins the timeline of its fact. Any other is compared with those that a search
finds: what says the same is skipped, and with a model, the model decides about the rest. Somebody else who writes the
same fact meanwhile makes the step start again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast

from langgraph.store.base import GetOp

from memoranda.backends.steps import Steps, ask
from memoranda.errors import ItemNotFoundError, RevisionNotFoundError, SearchUnavailableError, StoreBusyError
from memoranda.knowledge.deciding import Decision, decide
from memoranda.knowledge.duplicates import bag_of, digest_of, likeness
from memoranda.knowledge.memories import InvalidMomentError, Shelf, Version, from_item, in_utc, is_id, slot_of, text_of
from memoranda.knowledge.timeline import (
    Placed,
    Statement,
    closed,
    corrected,
    find_known,
    find_told,
    in_order,
    is_told_again,
    is_whole,
    meant,
    noted,
    place,
)
from memoranda.store.changes import Author, Change, ChangeSet
from memoranda.store.store import MemoryStore

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

Action: TypeAlias = Literal["inserted", "updated", "superseded", "skipped"]

_CANDIDATES: Final = 10
_LISTED: Final = 500
_ALIKE: Final = 50
"""So many memories of the same words in another order are compared with a new one."""
_TRIES: Final = 20
_SKEW: Final = timedelta(minutes=5)
_REMEMBERED: Final = 200
"""So many revisions of a forgotten memory are looked at, to know what was said before."""


@dataclass(frozen=True, slots=True)
class Saved:
    """What came of a memory that was to be saved.

    Args:
        id: The memory that says it now; of what is only told again and was forgotten, the one that is gone.
        action: `inserted`: it is new. `updated`: it took the place of one that said it less well, or is known to hold
            since earlier. `superseded`: it is true now, and what was true before holds no more. `skipped`: it was
            known.
        superseded: The ids of the memories that are not current any more.
    """

    id: str
    action: Action
    superseded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """One writing step, all but what is written.

    Args:
        store: The store.
        shelf: Where in it.
        identity: The fields that make it the same fact; none: the whole text does.
        near: How alike two memories must be to be the same.
        model: What decides about those that are only related; None: nothing does, they are all kept.
        schema: The JSON Schema of a memory, for the model.
        checked: Makes JSON that fits the schema of what the model wrote.
        author: Who writes.
    """

    store: MemoryStore
    shelf: Shelf
    identity: tuple[str, ...]
    near: float
    model: str | BaseChatModel | None
    schema: Mapping[str, Any]
    checked: Callable[[Any], dict[str, Any]]
    author: Author

    # --- the step ---------------------------------------------------------------------------------------------

    def save(self, value: dict[str, Any], at: datetime | None, sources: tuple[str, ...]) -> Steps[Saved]:
        """Save a memory; see `Collection.save`."""
        stated = in_utc(at)
        if stated > (latest := in_utc(None) + _SKEW):
            # It would stay current, and hide all that is said until then.
            raise InvalidMomentError(
                f"at={stated.isoformat()} is in the future: now it is {(latest - _SKEW).isoformat()}.",
                "Pass when it was stated, in UTC or with a zone.",
            )
        statement = Statement(self._slot(value), digest_of(value), value, stated, sources, at is not None)
        for _ in range(_TRIES):
            saved = yield from self._try(statement if at is not None else replace(statement, at=in_utc(None)))
            if saved is not None:
                return saved
        raise StoreBusyError(
            f"Others kept changing the same memory during {_TRIES} attempts to save it.", "Save it again."
        )

    def _try(self, statement: Statement) -> Steps[Saved | None]:
        """One attempt; None where somebody else was faster."""
        if not self.identity and (statement.is_dated or statement.sources):
            # The same words may have become part of several facts by now.
            told = find_told((yield from self.past(statement.slot)), statement)
            if told is not None:
                return Saved(told.superseded_by or told.id if told.is_reworded else told.id, "skipped")
        timeline = yield from self._known_timeline(statement)
        if find_known(timeline, statement) is None:
            forgotten = yield from self._forgotten(timeline, statement)
            if forgotten is not None:
                return Saved(forgotten, "skipped")
        if timeline:
            return (yield from self._tell(timeline, statement))
        near = None if self.identity else (yield from self._nearest(statement))
        if near is not None:
            same = replace(statement, slot=near.slot, digest=near.digest, value=near.value)
            return (yield from self._tell((yield from self.timeline(near)), same))
        candidates = [] if self.identity or self.model is None else (yield from self._related(statement))
        if self.model is None or not candidates:
            return (yield from self._land((), place((), statement), statement))
        decision = yield from decide(self.model, statement, candidates, self.schema, self.checked)
        return (yield from self._carry_out(decision, statement))

    def _tell(self, timeline: Sequence[Version], statement: Statement) -> Steps[Saved | None]:
        """Add a statement to a fact that it belongs to."""
        statement = _not_before(timeline, statement)
        if find_known(timeline, statement) is not None:
            return (yield from self._land(timeline, place(timeline, statement), statement))
        better = meant(timeline, statement)
        return (yield from self._land(timeline, self._noted(place(timeline, better), statement), better))

    def _slot(self, value: Mapping[str, Any]) -> str:
        if self.identity:
            return "m" + digest_of({name: value.get(name) for name in self.identity})
        # Those that are alike have slots, and so keys, that begin alike.
        return f"m{bag_of(value)}{digest_of(value)[:8]}"

    def _known_timeline(self, statement: Statement) -> Steps[Sequence[Version]]:
        """The timeline of what is the same memory; empty for a new one."""
        current = yield from self.current(statement.slot)
        if current is not None and not statement.sources and statement.at >= max(current.stated):
            return (current,)  # the past has no say in what is said now
        if current is not None:
            return (yield from self.timeline(current))
        past = yield from self.past(statement.slot)
        if not past:
            return ()
        # A text that was superseded, perhaps several times: the timeline that it was in last.
        return (yield from self.timeline(past[-1]))

    def _nearest(self, statement: Statement) -> Steps[Version | None]:
        """What says the same in other words; of what is dated or has sources, among what was superseded too."""
        start = statement.slot[:-8]
        folders = {self.shelf.current_folder: self.shelf.current_folder + start}
        if statement.is_dated or statement.sources:  # it may be something old that is told again
            folders[self.shelf.superseded_folder] = f"{self.shelf.superseded_folder}{start}/!"
        keys: list[str] = []
        for folder, after in folders.items():
            entries = yield from ask(
                self.store.list_keys, self.shelf.namespace, folder, recursive=True, limit=_ALIKE, after=after
            )
            keys += [entry.key for entry in entries if entry.key.startswith(folder + start)]
        versions = yield from self.read(keys)
        likely = [(likeness(version.value, statement.value), version) for version in versions]
        score, near = max(likely, key=lambda pair: pair[0], default=(0.0, None))
        return near if score >= self.near else None

    def _related(self, statement: Statement) -> Steps[list[Version]]:
        """The current memories that a search finds about the same, for a model to look at."""
        found: list[Version] = []
        listed: list[str] | None = None
        for _ in range(_TRIES):
            try:
                hits = yield from ask(
                    self.store.recall,
                    self.shelf.namespace,
                    text_of(statement.value),
                    k=_CANDIDATES,
                    kinds=("item",),
                    path=self.shelf.current_folder,  # what was superseded must not take the room
                )
            except SearchUnavailableError:
                return []
            keys = dict.fromkeys(hit.key for hit in hits)
            found = yield from self.read(list(keys))
            if keys and len(found) == len(keys):
                break
            # What is superseded during a search is not among the hits, nor is what took its place.
            before, listed = listed, (yield from self._listed())
            if not keys and before == listed:
                break
        return found

    def _listed(self) -> Steps[list[str]]:
        """The keys of the current memories."""
        folder = self.shelf.current_folder
        entries = yield from ask(self.store.list_keys, self.shelf.namespace, folder, recursive=True, limit=_LISTED)
        return [entry.key for entry in entries]

    def _carry_out(self, decision: Decision, statement: Statement) -> Steps[Saved | None]:
        """Do what the model decided."""
        if decision.kind == "insert":
            return (yield from self._land((), place((), statement), statement))
        first, *others = decision.about
        timeline = yield from self.timeline(first)
        if not any(version.id == first.id and version.revision == first.revision for version in timeline):
            return None
        statement = _not_before(timeline, statement)
        if decision.kind == "supersede":
            return (yield from self._land(timeline, place(timeline, statement), statement, others))
        value = first.value if decision.kind == "skip" else decision.value
        better = replace(statement, slot=self._slot(value), digest=digest_of(value), value=value)
        if better.digest == first.digest:
            return (yield from self._land(timeline, self._noted(place(timeline, better), statement), better))
        other = yield from self.current(better.slot)
        if other is None or other.id == first.id:
            placed = self._noted(corrected(timeline, first, better), statement)
            return (yield from self._land(timeline, placed, better, action="updated"))
        # Another memory says just that already: it stays, and this one goes.
        known = yield from self.timeline(other)
        gone = closed(first, first.valid_from, other.id)
        placed = self._noted(place(known, better), statement)
        return (yield from self._land(known, placed, better, replaced=[(first, gone)], action="updated"))

    def _noted(self, placed: Placed, statement: Statement) -> Placed:
        """Keep the words of a statement that was understood as others, where it can be told that it is told again."""
        said = next(version for version in placed.versions if version.id == placed.id)
        can_tell = statement.is_dated or bool(statement.sources)
        return noted(placed, statement) if can_tell and said.digest != statement.digest else placed

    def _land(
        self,
        timeline: Sequence[Version],
        placed: Placed,
        statement: Statement,
        others: Sequence[Version] = (),
        replaced: Sequence[tuple[Version, Version]] = (),
        action: Action | None = None,
    ) -> Steps[Saved | None]:
        """Write what is different now; None where somebody else was faster."""
        open_ = [other for other in others if other.valid_from <= statement.at and placed.is_new]
        replaced = [*replaced, *((other, closed(other, statement.at, placed.id)) for other in open_)]
        before = (*timeline, *(old for old, _ in replaced))
        after = (*placed.versions, *(new for _, new in replaced))
        gone = tuple(
            old.id for old in before if old.valid_to is None and any(new.id == old.id and new.valid_to for new in after)
        )
        changes = self.changes(before, after)
        if changes and not (yield from self.commit(changes)):
            return None
        if action is None:
            earlier = next((old for old in before if old.id == placed.id), None)
            now = next(new for new in after if new.id == placed.id)
            if placed.is_new:
                action = "superseded" if gone else "inserted"
            else:
                action = "updated" if earlier is not None and now.valid_from < earlier.valid_from else "skipped"
        return Saved(placed.id, action, gone)

    def _forgotten(self, timeline: Sequence[Version], statement: Statement) -> Steps[str | None]:
        """The id of a memory that was forgotten and is only told again here, as its history knows."""
        is_early = statement.is_dated and (not timeline or statement.at < timeline[0].valid_from)
        if not is_early and not statement.sources:
            return None
        key, known = self.shelf.current_key(statement.slot), {version.id for version in timeline}
        revisions = yield from ask(self.store.history, self.shelf.namespace, key, limit=_REMEMBERED)
        is_gone = False
        for revision in revisions:
            if revision.operation == "delete" or not is_gone:
                is_gone = is_gone or revision.operation == "delete"
                continue
            try:
                item = yield from ask(self.store.get_at, self.shelf.namespace, key, revision=revision.revision)
            except (ItemNotFoundError, RevisionNotFoundError):  # forgotten for good meanwhile
                return None
            version = from_item(item.value, 0)
            if version is None or version.id in known:
                continue
            is_same = version.digest == statement.digest and is_told_again(version, statement)
            if is_same or (is_early and statement.at <= version.stated[-1]):
                return version.id
        return None

    def forget(self, id: str) -> Steps[bool]:
        """Take away all versions of a fact."""
        for _ in range(_TRIES):
            version = yield from self.version(id)
            if version is None:
                return False
            timeline = yield from self.timeline(version)
            if (yield from self.commit([self.shelf.delete(each) for each in timeline])):
                return True
        raise StoreBusyError(
            f"Others kept changing the same memory during {_TRIES} attempts to forget it.", "Forget it again."
        )

    # --- reading and writing versions ----------------------------------------------------------------------------

    def current(self, slot: str) -> Steps[Version | None]:
        """The current version of a slot."""
        found = yield from self.read([self.shelf.current_key(slot)])
        return found[0] if found else None

    def past(self, slot: str) -> Steps[list[Version]]:
        """The superseded versions of a slot, the earliest first."""
        entries = yield from ask(
            self.store.list_keys, self.shelf.namespace, self.shelf.past_folder(slot), recursive=True
        )
        return in_order((yield from self.read([entry.key for entry in entries])))

    def version(self, id: str) -> Steps[Version | None]:
        """A version by its id, current or not."""
        if not is_id(id):
            return None
        slot = slot_of(id)
        keys = [self.shelf.current_key(slot), self.shelf.past_folder(slot) + id]
        return next((version for version in (yield from self.read(keys)) if version.id == id), None)

    def timeline(self, version: Version) -> Steps[list[Version]]:
        """All versions of the fact of one of them, the earliest first.

        They are read one after the other while others may write, so they are read again until their links agree.
        """
        found: list[Version] = []
        for _ in range(_TRIES):
            found = yield from (self._of_identity(version.slot) if self.identity else self._walk(version.id))
            if is_whole(found):
                break
        return found

    def _of_identity(self, slot: str) -> Steps[list[Version]]:
        past = yield from self.past(slot)
        current = yield from self.current(slot)
        return in_order(past if current is None else [*past, current])

    def _walk(self, id: str) -> Steps[list[Version]]:
        """Versions that are found by their links alone."""
        version = yield from self.version(id)
        found = [] if version is None else [version]
        while found and (before := found[0].before) is not None:
            earlier = yield from self.version(before)
            if earlier is None or any(one.id == earlier.id for one in found):
                break
            found.insert(0, earlier)
        while found and (after := found[-1].after) is not None:
            later = yield from self.version(after)
            if later is None or any(one.id == later.id for one in found):
                break
            found.append(later)
        return found

    def read(self, keys: Sequence[str]) -> Steps[list[Version]]:
        """The versions that lie at some keys, in one reading."""
        if not keys:
            return []
        wanted = [GetOp(self.shelf.namespace, key) for key in keys]
        items = cast("list[Any]", (yield from ask(self.store.batch, wanted)))
        found = {key: from_item(item.value, item.revision) for key, item in zip(keys, items, strict=True) if item}
        # What was copied or moved there by hand is not what it says.
        return [version for key, version in found.items() if version is not None and self.shelf.key_of(version) == key]

    def changes(self, before: Sequence[Version], after: Sequence[Version]) -> list[Change]:
        """The changes that lead from some versions to others."""
        old = {self.shelf.key_of(version): version for version in before}
        new = {self.shelf.key_of(version): version for version in after}
        found: list[Change] = [self.shelf.delete(version) for key, version in old.items() if key not in new]
        for key, version in new.items():
            there = old.get(key)
            if there is None or not there.same_as(version):
                found.append(self.shelf.write(version, 0 if there is None else there.revision))
        return found

    def commit(self, changes: Sequence[Change]) -> Steps[bool]:
        """Land changes together; False where something was changed meanwhile, and nothing landed."""
        result = yield from ask(self.store.commit, ChangeSet(changes, self.author), on_conflict="return")
        return not result.conflicts


def _not_before(timeline: Sequence[Version], statement: Statement) -> Statement:
    """What is said now comes after what is current, even where another machine's clock is a little ahead."""
    latest = timeline[-1].stated[-1] if timeline else statement.at
    if statement.is_dated or not statement.at <= latest < statement.at + _SKEW:
        return statement
    return replace(statement, at=latest + timedelta(microseconds=1))
