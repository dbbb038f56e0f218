"""Files that have no index: they are cut into passages and indexed for one question."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from memoranda.backends.finding.parts import Findable, Part, Question
from memoranda.backends.places import Place
from memoranda.backends.protocol import Base, FileInfo, SearchMatch
from memoranda.backends.steps import Steps, block, done
from memoranda.backends.tree import Files, digest_of, paths_below
from memoranda.files.format import FileData
from memoranda.search.passages import Passage, indexed_text, passages_of
from memoranda.search.tokens import length_of, terms_of
from memoranda.store.values import to_datetime, to_microseconds

if TYPE_CHECKING:
    from memoranda.search.ranking import RankedPassage

MOST_BYTES = 8 << 20
"""How much text a backend without an index reads for one question."""


class Text(NamedTuple):
    """A file to be searched. Without a revision its state is the digest of its text."""

    place: Place
    text: str
    at: datetime | None = None
    revision: Base | None = None


class Candidate(NamedTuple):
    """A file that may be searched, before it is read."""

    place: Place
    size: int
    at: datetime | None


def moment_of(text: str | None) -> datetime | None:
    """A time as listings give it; None where they give none."""
    try:
        moment = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def candidate(place: Place, info: FileInfo) -> Candidate:
    """A file of a listing."""
    return Candidate(place, info.get("size", 0), moment_of(info.get("modified_at")))


def chosen_steps(
    place: Place, question: Question, listed: Sequence[Candidate]
) -> Steps[tuple[list[Candidate], tuple[str, ...]]]:
    """As many files as are read for one search, those changed last before the others, and what to say of the rest.

    Args:
        place: The place that is searched.
        question: What is asked, and which files take part.
        listed: The files that there are.
    """
    taken = set((yield from question.taken_steps([one.place for one in listed])))
    candidates = [one for one in listed if one.place in taken]
    found: list[Candidate] = []
    room = MOST_BYTES
    for one in sorted(candidates, key=lambda one: (-_seconds(one.at), one.place.path)):
        if one.size <= room:
            room -= one.size
            found.append(one)
    found.sort(key=lambda one: one.place.path)
    if len(found) == len(candidates):
        return found, ()
    return found, (left_out(place, len(found), len(candidates)),)


def left_out(place: Place, count: int, of: int) -> str:
    """What to say where only some of the files were searched."""
    return (
        f"The files below {place.shown} have no index and hold more than {MOST_BYTES >> 20} MiB: only {count:,} of "
        f"{of:,} were searched. Name a folder with less in it."
    )


def findable_files(files: Files, place: Place, question: Question) -> Steps[Findable]:
    """What can be found in files that are held in memory."""
    inside = [place.below(path) for path in paths_below(files, place.path) if files[path]["encoding"] == "utf-8"]
    read, notices = yield from chosen_steps(place, question, [_candidate_of(one, files[one.path]) for one in inside])
    return (
        yield from findable_texts(
            lambda: (Text(one.place, files[one.place.path]["content"], one.at) for one in read), notices
        )
    )


def _candidate_of(place: Place, data: FileData) -> Candidate:
    return Candidate(place, len(data["content"]), moment_of(data.get("modified_at")))


def findable_texts(texts: Callable[[], Iterable[Text]], notices: tuple[str, ...] = ()) -> Steps[Findable]:
    """What can be found in texts.

    Args:
        texts: Gives them; may block.
        notices: What was left out.
    """
    part = yield from block(lambda: part_of(list(texts())))
    return Findable(parts=[] if part is None else [part], notices=notices)


def part_of(texts: Sequence[Text]) -> Part | None:
    """An index of some texts; None where they hold nothing to be found."""
    import numpy as np

    from memoranda.search.blocks import MAX_PASSAGES, Entry, WordBlock, pack_words
    from memoranda.search.ranking import ScopePart

    known: list[tuple[Text, Passage]] = []
    entries: list[Entry] = []
    for source, one in enumerate(texts):
        at = 0 if one.at is None else to_microseconds(one.at)
        for place, (passage, terms) in enumerate(_indexed(one.place.path, one.text)):
            entries.append(Entry(len(known), source, place, passage.digest, at, source, 0, 0, length_of(terms), terms))
            known.append((one, passage))
    if not known:
        return None
    size = min(MAX_PASSAGES, 1_024)
    blocks = [WordBlock.unpack(pack_words(entries[at : at + size])) for at in range(0, len(entries), size)]

    def read(found: Sequence[RankedPassage]) -> Steps[list[SearchMatch | None]]:
        return done([_match(*known[one.number], one) for one in found])

    return Part(ScopePart(0, blocks, np.zeros(0, np.uint32)), read)


def _indexed(path: str, text: str) -> Iterator[tuple[Passage, dict[int, int]]]:
    known: set[int] = set()
    for passage in passages_of(text, path=path):
        if passage.digest not in known:  # each text once, as a store keeps them
            known.add(passage.digest)
            yield passage, terms_of(indexed_text(passage, path=path))


def _match(file: Text, passage: Passage, found: RankedPassage) -> SearchMatch:
    revision = digest_of(file.text.encode("utf-8", "replace")) if file.revision is None else file.revision
    return SearchMatch(
        path=file.place.shown,
        first_line=passage.first_line,
        last_line=passage.last_line,
        text=passage.text,
        heading=passage.heading,
        revision=revision,
        score=found.score,
        at=to_datetime(found.at) if found.at else None,
    )


def _seconds(moment: datetime | None) -> float:
    return 0.0 if moment is None else moment.timestamp()
