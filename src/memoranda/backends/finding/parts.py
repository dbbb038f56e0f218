"""What backends hand each other to be searched: what is looked for, and the passages that may be found."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from memoranda.backends.places import Place
from memoranda.backends.protocol import Result, SearchMatch
from memoranda.backends.steps import Steps, done
from memoranda.errors import InvalidValueError
from memoranda.search.query import Query
from memoranda.store.operations.recalling import check_count, checked_query
from memoranda.store.values import to_microseconds

if TYPE_CHECKING:
    from memoranda.search.ranking import Corpus, RankedPassage, ScopePart
    from memoranda.store.meaning import QueryMeaning

Judge: TypeAlias = Callable[[Sequence[Place]], Steps[list[bool]]]
"""Says which files take part in a question."""

Told: TypeAlias = Callable[[Sequence[str]], Steps[None]]
"""Is told the paths, as the agent knows them, of the files that passages are shown of."""

Reader: TypeAlias = "Callable[[Sequence[RankedPassage]], Steps[list[SearchMatch | None]]]"
"""Gives the passages behind ranks; None for one that is no longer there."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, and of which files.

    Args:
        text: The query as it was given.
        query: Its terms.
        k: How many passages are wanted.
        since: Only passages of this time or later.
        until: Only passages before this time.
        takes: Which files take part, given as places of the tree that is asked; None: all. A file that does not is as
            if it were not there.
    """

    text: str
    query: Query
    k: int
    since: datetime | None = None
    until: datetime | None = None
    takes: Judge | None = None

    @classmethod
    def of(cls, text: str, k: int, since: datetime | None, until: datetime | None) -> Question:
        """A question as a caller asks it.

        Raises:
            InvalidValueError: The query is blank, `k` is no number of passages, or a time is none.
        """
        check_count(k)
        for moment in (since, until):
            if moment is not None and not isinstance(moment, datetime):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise InvalidValueError(f"{moment!r} is no time.", "Pass a datetime.")
        return cls(text, checked_query(text), k, since, until)

    @property
    def first(self) -> int | None:
        """`since` in microseconds since 1970."""
        return None if self.since is None else to_microseconds(self.since)

    @property
    def last(self) -> int | None:
        """`until` in microseconds since 1970."""
        return None if self.until is None else to_microseconds(self.until)

    def only(self, judge: Judge) -> Question:
        """The same of those of its files that another judge of the same tree takes too."""
        outer = self.takes

        def both(places: Sequence[Place]) -> Steps[list[bool]]:
            mine = yield from judge(places)
            if outer is None:
                return mine
            left = [place for place, taken in zip(places, mine, strict=True) if taken]
            theirs = iter((yield from outer(left)) if left else ())
            return [taken and next(theirs) for taken in mine]

        return replace(self, takes=both)

    def where(self, judge: Callable[[str], bool]) -> Question:
        """`only` by the path in the tree."""
        return self.only(lambda places: done([judge(place.path) for place in places]))

    def inside(self, outward: Callable[[str], str]) -> Question:
        """The same of a tree whose paths lie elsewhere in this one.

        Args:
            outward: Where a path of that tree lies in this one.
        """
        takes = self.takes
        if takes is None:
            return self

        def judge(places: Sequence[Place]) -> Steps[list[bool]]:
            return takes([Place(outward(place.path), place.shown) for place in places])

        return replace(self, takes=judge)

    def taken_steps(self, places: Sequence[Place]) -> Steps[list[Place]]:
        """Those of some files that take part."""
        if self.takes is None or not places:
            return list(places)
        verdict = yield from self.takes(places)
        return [place for place, taken in zip(places, verdict, strict=True) if taken]


@dataclass(slots=True)
class Part:
    """Passages of one backend, with their index.

    Args:
        index: The index.
        read: Reads the passages that were found.
        sources: The items to which the search is confined; None: it is not.
        corpus: The index as arrays, where it is kept.
        meaning: The query's vector by the embedder of this index.
        space: What is equal for two parts whose vectors can be compared with one vector of the query.
        told: Who wants to know what is shown.
    """

    index: ScopePart
    read: Reader
    sources: Collection[int] | None = None
    corpus: Corpus | None = None
    meaning: QueryMeaning | None = None
    space: object = None
    told: tuple[Told, ...] = ()


class Answered(NamedTuple):
    """Passages that a backend has ranked by itself, the best first."""

    matches: list[SearchMatch]
    told: tuple[Told, ...] = ()


@dataclass
class Findable(Result):
    """What a backend has to be searched.

    Args:
        error: Why it has nothing.
        parts: Passages to be ranked.
        answers: Passages that are ranked already, as by a backend with a search of its own.
        notices: What the reader of the answer should know about the query and the indexes.
        warnings: What could not be searched although the rest could.
    """

    error: str | None = None
    parts: list[Part] = field(default_factory=list["Part"])
    answers: list[Answered] = field(default_factory=list["Answered"])
    notices: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def add(self, other: Findable) -> None:
        """Take in what another backend has."""
        self.parts += other.parts
        self.answers += other.answers
        self.notices = tuple(dict.fromkeys((*self.notices, *other.notices)))
        self.warnings = tuple(dict.fromkeys((*self.warnings, *other.warnings)))

    def tell(self, told: Told) -> None:
        """Have somebody told which files passages are shown of."""
        for part in self.parts:
            part.told = (*part.told, told)
        self.answers = [Answered(answer.matches, (*answer.told, told)) for answer in self.answers]
