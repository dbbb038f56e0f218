"""`Collection`: many small memories, each once, each with the time during which it was true."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, cast, overload

from memoranda.backends.runtime import running_author
from memoranda.backends.scopes import NamespaceLike, resolve_namespace
from memoranda.backends.steps import Steps, ask
from memoranda.knowledge.checking import Matching, brief, check_size, check_sources, leaves, unquoted
from memoranda.knowledge.documents import document_schema
from memoranda.knowledge.duplicates import NEAR
from memoranda.knowledge.errors import InvalidSettingError
from memoranda.knowledge.memories import (
    InvalidMemoryError,
    Memory,
    MemorySchemaError,
    Shelf,
    Version,
    text_of,
)
from memoranda.knowledge.pairs import awaiting, blocking
from memoranda.knowledge.places import checked_folder, checked_memory_store, checked_model, checked_place
from memoranda.knowledge.writing import Saved, Step
from memoranda.store.changes import Author
from memoranda.store.store import MemoryStore

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

M = TypeVar("M")

TEXT_SCHEMA: Final = {
    "title": "memory",
    "type": "object",
    "properties": {"text": {"type": "string", "description": "One fact, in a sentence that can be read alone."}},
    "required": ["text"],
    "additionalProperties": False,
}
"""The schema of memories that are plain text."""

_PAGE: Final = 500
_MOST_HITS: Final = 1_000


class Collection(Generic[M]):
    """Many small memories under one namespace: each once, each with the time during which it was true.

    Saving looks first. What is known already is skipped, however it is punctuated and wherever in the sentence its
    words stand; what takes the place of something else supersedes it, and the old one stays with the time until which
    it held. What makes two memories the same fact is their `identity`; or without one a `model`, which is asked about
    a new memory only where related ones are stored. Without both, memories are only ever added.

    Statements may come in any order and more than once: one that is dated takes its place in the past, and what was
    taken in before changes nothing. Every method has an async twin with an `a` in front.

    Args:
        schema: A Pydantic model class, or a JSON Schema of an object; None: a text, as `{"text": …}`.
        store: Where they live.
        namespace: Whose they are: labels, or `by_user` and the like.
        identity: The fields that name a fact, such as `("subject", "property")`: of those that agree in them, one
            memory is current.
        model: A LangChain chat model, or its name, that decides what becomes of a new memory with related ones.
        near: How alike two memories must be to be the same, from 0 to 1; see `memoranda.knowledge.duplicates`.
        name: The folder of the namespace that they lie in, for several collections in one namespace.

    Raises:
        InvalidSchemaError: The schema is none, or is not that of an object.
        InvalidSettingError: A setting makes no sense.

    Example:
        >>> from memoranda import open_store
        >>> with open_store("memory://") as store:
        ...     memories = Collection(None, store, ("ann",))
        ...     first = memories.save("Ann likes green tea.")
        ...     again = memories.save("Green tea is what Ann likes!")
        ...     first.action, again.action, [memory.text for memory in memories.search("which tea?")]
        ('inserted', 'skipped', ['Ann likes green tea.'])
    """

    @overload
    def __init__(
        self: Collection[dict[str, Any]],
        schema: Mapping[str, Any] | None,
        store: MemoryStore,
        namespace: NamespaceLike,
        *,
        identity: Sequence[str] = (),
        model: str | BaseChatModel | None = None,
        near: float = NEAR,
        name: str = "facts",
    ) -> None: ...

    @overload
    def __init__(
        self,
        schema: type[M],
        store: MemoryStore,
        namespace: NamespaceLike,
        *,
        identity: Sequence[str] = (),
        model: str | BaseChatModel | None = None,
        near: float = NEAR,
        name: str = "facts",
    ) -> None: ...

    def __init__(
        self,
        schema: type[M] | Mapping[str, Any] | None,
        store: MemoryStore,
        namespace: NamespaceLike,
        *,
        identity: Sequence[str] = (),
        model: str | BaseChatModel | None = None,
        near: float = NEAR,
        name: str = "facts",
    ) -> None:
        self.schema = document_schema(TEXT_SCHEMA if schema is None else schema)
        self.store = checked_memory_store(store)
        self.namespace, self.name = checked_place(namespace, checked_folder(name))
        self.identity = self._checked_identity(identity)
        self.model = checked_model(model)
        if isinstance(near, bool) or not isinstance(near, (int, float)) or not 0 < near <= 1:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidSettingError(f"near={near!r} is no likeness.", "Pass a number above 0 and up to 1.")
        self.near = float(near)

    def __repr__(self) -> str:
        return f"Collection({self.schema.name}, {self.namespace!r})"

    # --- writing ----------------------------------------------------------------------------------------------

    def _save(
        self,
        memory: str | M | Mapping[str, Any],
        *,
        sources: Sequence[str] = (),
        at: datetime | None = None,
        author: Author | None = None,
    ) -> Steps[Saved]:
        """Save a memory, unless it is known.

        Args:
            memory: A text, an instance of the schema, or its fields.
            sources: The ids of the messages that it comes from. The same memory from the same messages is saved once.
            at: When it was stated, which is since when it is true as far as is known; one without a zone is UTC; None:
                now. It cannot be in the future.
            author: Who saves it; None: the agent that runs.

        Returns:
            What came of it.

        Raises:
            InvalidMemoryError: It does not fit the schema, says nothing, or is too large (100,000 bytes of JSON).
            InvalidMomentError: `at` is in the future, or no datetime; it is an `InvalidMemoryError`.
            ModelOutputError: The model gave no usable decision; nothing was stored.
            StoreBusyError: Others kept changing the same memory.
        """
        value = self._checked(memory)
        check_sources(sources)
        step = self._step(author)
        return (yield from step.save(value, at, tuple(dict.fromkeys(sources))))

    def _forget(self, id: str, *, author: Author | None = None) -> Steps[bool]:
        """Forget a memory, and all that it superseded: no search and no list shows them any more.

        Their text stays in the store's history, as that of every deleted item does, and what is only told again from
        the same messages stays forgotten. `store.forget(namespace)` erases a namespace, history included.

        Args:
            id: The memory's id.
            author: Who forgets it; None: the agent that runs.

        Returns:
            Whether there was such a memory.

        Raises:
            StoreBusyError: Others kept changing it.
        """
        return (yield from self._step(author).forget(str(id)))

    # --- reading ----------------------------------------------------------------------------------------------

    def _search(
        self, query: str, *, k: int = 5, at: datetime | None = None, filter: Mapping[str, Any] | None = None
    ) -> Steps[list[Memory[M]]]:
        """Find the memories that answer a query best.

        Args:
            query: Words or a question.
            k: How many at most.
            at: Those that were true then; None: those that are current.
            filter: Fields and the values they must have, or `{"$gte": 3}`, as `MemoryStore.search` takes them.

        Returns:
            The memories with their scores, the best first.

        Raises:
            InvalidValueError: The query is blank, or the filter is none.
            SearchUnavailableError: The store was opened with `index=False`.
        """
        if not isinstance(k, int) or isinstance(k, bool) or k < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidSettingError(f"k={k!r} is no number of memories.", "Pass 1 or more.")
        step, matches = self._step(), Matching(at, filter)
        folder = step.shelf.current_folder if at is None else step.shelf.folder
        asked, path = max(4 * k, 20), None
        while True:
            asked = min(asked, _MOST_HITS)
            hits = yield from ask(step.store.recall, step.shelf.namespace, query, k=asked, kinds=("item",), path=path)
            scores: dict[str, float] = {}
            for hit in hits:
                if hit.key.startswith(folder):
                    scores.setdefault(hit.key, hit.score)
            versions = yield from step.read(list(scores))
            found = [version for version in versions if matches(version)]
            if len(found) >= k or len(hits) < asked or path is not None:
                break
            if asked == _MOST_HITS:  # what else lies in the namespace is in the way
                path = folder
            asked *= 4
        return [self._memory(version, scores[step.shelf.key_of(version)]) for version in found[:k]]

    def _all(self, *, at: datetime | None = None, filter: Mapping[str, Any] | None = None) -> Steps[list[Memory[M]]]:
        """List the memories, the oldest first.

        Args:
            at: Those that were true then; None: those that are current.
            filter: As `search` takes it.
        """
        step, matches = self._step(), Matching(at, filter)
        found: list[Version] = []
        after: str | None = None
        while True:
            folder = step.shelf.current_folder if at is None else step.shelf.folder
            entries = yield from ask(
                step.store.list_keys, step.shelf.namespace, folder, recursive=True, limit=_PAGE, after=after
            )
            versions = yield from step.read([entry.key for entry in entries])
            found += [version for version in versions if matches(version)]
            if len(entries) < _PAGE:
                break
            after = entries[-1].key
        return [self._memory(version) for version in sorted(found, key=lambda each: (each.valid_from, each.id))]

    def _get(self, id: str) -> Steps[Memory[M] | None]:
        """Read a memory by its id, current or superseded; None where there is none."""
        version = yield from self._step().version(str(id))
        return None if version is None else self._memory(version)

    def _history(self, id: str) -> Steps[list[Memory[M]]]:
        """All that was true of the same fact, in the order of time; the last one may be current.

        A memory whose `valid_from` and `valid_to` are the same was put in better words, or corrected at once.

        Args:
            id: The id of any of them.

        Returns:
            The memories; none where the id is unknown.
        """
        step = self._step()
        version = yield from step.version(str(id))
        timeline = [] if version is None else (yield from step.timeline(version))
        return [self._memory(each) for each in timeline]

    save, asave = blocking(_save), awaiting(_save)
    forget, aforget = blocking(_forget), awaiting(_forget)
    search, asearch = blocking(_search), awaiting(_search)
    all, aall = blocking(_all), awaiting(_all)
    get, aget = blocking(_get), awaiting(_get)
    history, ahistory = blocking(_history), awaiting(_history)

    # --- the rest ---------------------------------------------------------------------------------------------

    def _step(self, author: Author | None = None) -> Step:
        """What works on the namespace that is meant now."""
        return Step(
            self.store,
            Shelf(resolve_namespace(self.namespace), self.name),
            self.identity,
            self.near,
            self.model,
            self.schema.json_schema,
            self._checked,
            author or running_author(),
        )

    def _checked(self, memory: Any) -> dict[str, Any]:
        """The JSON of a memory that fits the schema.

        Raises:
            InvalidMemoryError: It does not fit, or says nothing.
        """
        if isinstance(memory, str):
            memory = {self._text_field(): memory}
        elif callable(dump := getattr(memory, "model_dump", None)):
            memory = dump(mode="json", by_alias=True, round_trip=True)
        if not isinstance(memory, Mapping):
            raise InvalidMemoryError(f"{brief(memory)} is no memory.", "Pass a text, or the fields of the schema.")
        fields = cast("Mapping[str, Any]", memory)
        check_size(fields)
        plain = {name: unquoted(part) if isinstance(part, str) else part for name, part in fields.items()}
        fitted = self.schema.fit(plain)
        if fitted.misfits or fitted.unknown:
            problems = [*map(str, fitted.misfits), *(f"{field}: there is no such field" for field in fitted.unknown)]
            raise InvalidMemoryError(
                f"The memory does not fit {self.schema.name}: {'; '.join(problems)}.", "Give the fields of the schema."
            )
        if not any(isinstance(part, (int, float)) or part for part in leaves(fitted.document)):
            raise InvalidMemoryError("The memory is empty.", "Say in a sentence what is to be remembered.")
        return fitted.document

    def _text_field(self) -> str:
        """The field that a plain text goes into: the only one that is a text and must be given."""
        properties = self.schema.properties
        required: Sequence[str] = self.schema.described.get("required") or list(properties)
        about: Any = properties.get(required[0]) if len(required) == 1 else None
        if isinstance(about, Mapping) and cast("Mapping[str, Any]", about).get("type") == "string":
            return required[0]
        names = f": {', '.join(properties)}" if properties else ""
        raise InvalidMemoryError(
            f"A text is no memory of {self.schema.name}.", f"Pass an instance of it, or its fields{names}."
        )

    def _memory(self, version: Version, score: float | None = None) -> Memory[M]:
        fitted = self.schema.fit(version.value)
        if fitted.misfits:
            raise MemorySchemaError(
                f"The memory {version.id} does not fit {self.schema.name} any more: "
                f"{'; '.join(map(str, fitted.misfits))}.",
                f"Give new fields a default, or forget it: forget({version.id!r}).",
            )
        return Memory(
            version.id,
            cast("M", fitted.value),
            text_of({name: fitted.document[name] for name in sorted(fitted.document, key=self._place)}),
            version.valid_from,
            version.valid_to,
            version.sources,
            version.superseded_by,
            score,
        )

    def _place(self, field: str) -> tuple[int, str]:
        fields = list(self.schema.properties)
        return (fields.index(field) if field in fields else len(fields), field)

    def _checked_identity(self, identity: Sequence[str]) -> tuple[str, ...]:
        if not isinstance(identity, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidSettingError(f"identity={identity!r} is no list.", 'Name fields: ["subject"].')
        names, known = (identity,) if isinstance(identity, str) else tuple(identity), self.schema.properties
        if strange := [name for name in names if name not in known]:
            raise InvalidSettingError(
                f"The identity names {strange[0]!r}, which {self.schema.name} has not.",
                f"Name some of its fields: {', '.join(known)}.",
            )
        return names
