"""The files of one namespace of a `MemoryStore`, by the index that the store keeps."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from memoranda.backends.finding.by_hand import in_text, texts_of_documents
from memoranda.backends.finding.parts import Findable, Part, Question
from memoranda.backends.places import Place
from memoranda.backends.protocol import SearchMatch
from memoranda.backends.steps import Steps, ask, block
from memoranda.store.changes import Namespace
from memoranda.store.operations.path_index import PathIndex, path_index
from memoranda.store.operations.recalling import Passed, Source, read_sources
from memoranda.store.store import MemoryStore
from memoranda.store.values import to_datetime

if TYPE_CHECKING:
    from memoranda.search.ranking import RankedPassage, ScopePart


def findable_in_store(store: MemoryStore, namespace: Namespace, place: Place, question: Question) -> Steps[Findable]:
    """What can be found at or below a place.

    Args:
        store: The store.
        namespace: Where; exactly this one.
        place: The file or folder.
        question: What is asked.
    """
    judged = question.takes is not None
    index: PathIndex = yield from ask(
        store.engine.run, path_index(store.context, namespace, question.query, place.path, with_keys=judged)
    )
    if not index.corpus.parts:
        return Findable(notices=index.notices)
    (part,) = index.corpus.parts
    keys = index.keys
    if judged:
        keys = yield from _taken(index.keys or {}, place, question)

    def read(found: Sequence[RankedPassage]) -> Steps[list[SearchMatch | None]]:
        page = [Passed(part.scope, one) for one in found]
        sources = yield from ask(store.engine.run, read_sources(store.context, page))
        documents = {source.key for source in sources.values() if source.kind == "item"}
        texts = yield from texts_of_documents(store, namespace, documents)
        matches: list[SearchMatch | None] = []
        for one in found:
            source = sources.get((part.scope, one.source))
            match = _match(place, keys, one, source)
            text = None if source is None else texts.get(source.key)
            matches.append(match if match is None or text is None else in_text(match, text))
        return matches

    meaning = index.meaning
    made = Part(part, read, meaning=meaning)
    if meaning is not None and meaning.vector is not None and part.vectors:
        made.space = (store.identity, store.context.tenant, meaning.index_id)
    if judged:
        made.index = yield from block(lambda: _without(part, keys or ()))
    else:
        made.corpus = index.corpus
        made.sources = keys.keys() if keys is not None else (yield from block(lambda: _sources(index)))
    return Findable(parts=[made], notices=index.notices)


def _taken(keys: dict[int, str], place: Place, question: Question) -> Steps[dict[int, str]]:
    places = {number: place.below(key) for number, key in keys.items()}
    taken = set((yield from question.taken_steps(list(places.values()))))
    return {number: keys[number] for number, file in places.items() if file in taken}


def _sources(index: PathIndex) -> Collection[int] | None:
    """The items whose keys are paths, where there are others."""
    if not index.pathless:
        return None
    return set(index.corpus.columns.source.tolist()) - index.pathless


def _without(part: ScopePart, keys: Collection[int]) -> ScopePart:
    """A part in which every passage of other items is gone, so that they do not even count as words that there are."""
    import numpy as np

    from memoranda.search.ranking import ScopePart
    from memoranda.search.wordblocks import Columns

    kept = np.fromiter(keys, np.uint32, len(keys))
    gone = [part.dead]
    for words in part.words:
        columns = Columns(words.columns)
        gone.append(columns.number[np.isin(columns.source, kept, invert=True)])
    return ScopePart(part.scope, part.words, np.unique(np.concatenate(gone)), part.vectors)


def _match(
    place: Place, keys: dict[int, str] | None, found: RankedPassage, source: Source | None
) -> SearchMatch | None:
    passage = None if source is None else source.passages.get(found.digest)
    if source is None or passage is None:
        return None
    # It may have moved since it was ranked: it is found under the name that was asked about, or not at all.
    if keys.get(found.source) != source.key if keys is not None else not source.key.startswith("/"):
        return None
    return SearchMatch(
        path=place.show(source.key),
        first_line=passage.first_line,
        last_line=passage.last_line,
        text=passage.text,
        heading=passage.heading,
        revision=source.revision,
        score=found.score,
        at=to_datetime(found.at),
    )
