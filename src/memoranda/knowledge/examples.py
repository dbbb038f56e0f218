"""`Examples`: worked inputs and outputs, found again by how like a new input they are."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, cast

from langchain_core.example_selectors import BaseExampleSelector
from langgraph.store.base import GetOp

from memoranda.backends.runtime import running_author
from memoranda.backends.scopes import NamespaceLike, resolve_namespace
from memoranda.backends.steps import Steps, ask
from memoranda.errors import MemorandaError
from memoranda.knowledge.errors import InvalidSettingError
from memoranda.knowledge.pairs import awaiting, blocking
from memoranda.knowledge.places import checked_folder, checked_memory_store, checked_place
from memoranda.store.changes import Author, ChangeSet, Write
from memoranda.store.store import MemoryStore

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

_MOST_HITS: Final = 1_000


class InvalidExampleError(MemorandaError, ValueError):
    """What is no example: it has no input, or holds something that is no JSON."""


@dataclass(frozen=True, slots=True)
class Example:
    """A worked example.

    Args:
        id: Names it; the same input has the same id.
        input: The fields of the input.
        output: The fields of the output.
        meta: What else was noted about it.
        score: How like the query its input is; comparable within one answer only.
    """

    id: str
    input: Mapping[str, Any]
    output: Mapping[str, Any]
    meta: Mapping[str, Any] = field(default_factory=dict[str, Any])
    score: float | None = None

    @property
    def fields(self) -> dict[str, Any]:
        """All of it as one dictionary, as a prompt template takes it."""
        return {**self.meta, **self.input, **self.output}


class Examples(BaseExampleSelector):
    """Worked examples under one namespace, for few-shot prompts.

    It is a LangChain example selector: pass it as `example_selector` to `FewShotPromptTemplate` or
    `FewShotChatMessagePromptTemplate`. An example that has nothing to do with a query is not selected, so there may be
    fewer than asked for. Every method has an async twin with an `a` in front.

    Args:
        store: Where they live.
        namespace: Whose they are: labels, or `by_user` and the like.
        input_keys: The fields of an example, and of a query, that are its input; None: all but `output`.
        k: How many are selected unless told otherwise.
        name: The folder of the namespace that they lie in.

    Raises:
        InvalidSettingError: A setting makes no sense.

    Example:
        >>> from memoranda import open_store
        >>> with open_store("memory://") as store:
        ...     examples = Examples(store, ("support",))
        ...     _ = examples.add("My parcel is late.", "shipping"), examples.add("I was charged twice.", "billing")
        ...     [example.output for example in examples.select("a late parcel", k=1)]
        [{'output': 'shipping'}]
    """

    def __init__(
        self,
        store: MemoryStore,
        namespace: NamespaceLike,
        *,
        input_keys: Sequence[str] | None = None,
        k: int = 4,
        name: str = "examples",
    ) -> None:
        self.store = checked_memory_store(store)
        self.namespace, self.name = checked_place(namespace, checked_folder(name))
        if isinstance(input_keys, str):
            raise InvalidSettingError(f"input_keys={input_keys!r} is no list.", f"Pass [{input_keys!r}].")
        self.input_keys = None if input_keys is None else tuple(input_keys)
        self.k = _checked_count(k)

    def __repr__(self) -> str:
        return f"Examples({self.namespace!r})"

    # --- writing ----------------------------------------------------------------------------------------------

    def _add(self, input: str | Mapping[str, Any], output: str | Mapping[str, Any], **meta: Any) -> Steps[str]:
        """Store an example. The same input again replaces what it gave; the old output stays in the history.

        Args:
            input: A text, which is the field `input`; or fields.
            output: A text, which is the field `output`; or fields.
            **meta: What else to note about it, as JSON; it is not searched.

        Returns:
            The example's id.

        Raises:
            InvalidExampleError: There is no input, or something is no JSON.
        """
        return (yield from self._store(_fields(input, "input"), _fields(output, "output"), meta))

    def _forget(self, id: str) -> Steps[bool]:
        """Delete an example; its history stays.

        Returns:
            Whether there was one.
        """
        namespace, key = self._namespace(), f"{self._folder}{id}"
        if (yield from ask(self.store.get, namespace, key)) is None:
            return False
        yield from ask(self.store.delete, namespace, key)
        return True

    # --- selecting --------------------------------------------------------------------------------------------

    def _select(self, query: str | Mapping[str, Any], k: int | None = None) -> Steps[list[Example]]:
        """Select the examples whose input is most like a query.

        Args:
            query: A text, or the fields of a new input.
            k: How many at most; None: as the selector was made.

        Returns:
            The examples, the most like first; those that are equally like, always in the same order.

        Raises:
            SearchUnavailableError: The store was opened with `index=False`.
        """
        wanted = self.k if k is None else _checked_count(k)
        text = self._query(query)
        if not text.strip():
            return []
        found: list[tuple[float, str]] = []
        asked, path = max(4 * wanted, 20), None
        while True:
            asked = min(asked, _MOST_HITS)
            hits = yield from ask(self.store.recall, self._namespace(), text, k=asked, kinds=("item",), path=path)
            best: dict[str, float] = {}
            for hit in hits:
                if hit.key.startswith(self._folder):
                    best.setdefault(hit.key, hit.score)
            found = sorted((-score, key) for key, score in best.items())
            if len(found) >= wanted or len(hits) < asked or path is not None:
                break
            if asked == _MOST_HITS:  # what else lies in the namespace is in the way
                path = self._folder
            asked *= 4
        scores = {key: -score for score, key in found[:wanted]}
        return [example for example in (yield from self._read(scores)) if example is not None]

    def _as_messages(self, query: str | Mapping[str, Any], k: int | None = None) -> Steps[list[BaseMessage]]:
        """Select examples as messages of a conversation: what somebody asks, and what the model answers.

        Args:
            query: As in `select`.
            k: As in `select`.

        Raises:
            InvalidExampleError: An example has no output, since nothing says which of its fields are.
        """
        from langchain_core.messages import AIMessage, HumanMessage

        messages: list[BaseMessage] = []
        for example in (yield from self._select(query, k)):
            if not example.output:
                raise InvalidExampleError(
                    f"The example {example.id} has no output.", "Say which fields are the input with input_keys=[…]."
                )
            messages += [HumanMessage(_text(example.input)), AIMessage(_text(example.output))]
        return messages

    add, aadd = blocking(_add), awaiting(_add)
    forget, aforget = blocking(_forget), awaiting(_forget)
    select, aselect = blocking(_select), awaiting(_select)
    as_messages, aas_messages = blocking(_as_messages), awaiting(_as_messages)

    # --- LangChain's contract -----------------------------------------------------------------------------------

    def add_example(self, example: dict[str, str]) -> str:
        """Store an example as LangChain has them: fields of the input and of the output side by side.

        Args:
            example: The fields; those of `input_keys` are the input.

        Returns:
            The example's id.

        Raises:
            InvalidExampleError: It has not all of `input_keys`, or something is no JSON.
        """
        return self.add(*self._parts(example))

    async def aadd_example(self, example: dict[str, str]) -> str:
        """`add_example` without blocking the event loop."""
        return await self.aadd(*self._parts(example))

    def select_examples(self, input_variables: dict[str, str]) -> list[dict[str, Any]]:
        """Select examples for a prompt template.

        Args:
            input_variables: The fields of a new input.

        Returns:
            The fields of each example, the most like first.
        """
        return [example.fields for example in self.select(input_variables)]

    async def aselect_examples(self, input_variables: dict[str, str]) -> list[dict[str, Any]]:
        """`select_examples` without blocking the event loop."""
        return [example.fields for example in await self.aselect(input_variables)]

    # --- the rest ---------------------------------------------------------------------------------------------

    @property
    def _folder(self) -> str:
        return f"/{self.name}/"

    def _namespace(self) -> tuple[str, ...]:
        return resolve_namespace(self.namespace)

    def _parts(self, example: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
        """The input and the output of an example."""
        keys = [name for name in example if name != "output"] if self.input_keys is None else self.input_keys
        if missing := [name for name in keys if name not in example]:
            raise InvalidExampleError(f"The example has no {missing[0]!r}.", "Give every field of input_keys.")
        return (
            {name: example[name] for name in keys},
            {name: part for name, part in example.items() if name not in keys},
        )

    def _store(self, given: Mapping[str, Any], output: Mapping[str, Any], meta: Mapping[str, Any]) -> Steps[str]:
        try:
            form = json.dumps(given, sort_keys=True, ensure_ascii=False)
            json.dumps([output, meta])
        except RecursionError:
            raise InvalidExampleError("The example is too deep to be stored.", "Keep it flat.") from None
        except (TypeError, ValueError) as error:
            raise InvalidExampleError(
                f"The example is no JSON: {error}.", "Pass texts, numbers and the like."
            ) from None
        text = _text(given)
        if not text.strip():
            raise InvalidExampleError("The example has no input.", "Give a text, or fields that say something.")
        id = blake2b(form.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
        item: dict[str, Any] = {"input": dict(given), "output": dict(output), "meta": dict(meta), "found_by": text}
        # A store keeps fields in the order of their names, and an answer may stand after its reasons.
        item["order"] = [*given, *output, *meta]
        write = Write(self._namespace(), f"{self._folder}{id}", item, index=["found_by"])
        author: Author = running_author()
        yield from ask(self.store.commit, ChangeSet([write], author))
        return id

    def _read(self, scores: Mapping[str, float]) -> Steps[list[Example | None]]:
        if not scores:
            return []
        items = yield from ask(self.store.batch, [GetOp(self._namespace(), key) for key in scores])
        return [_example(item, score) for item, score in zip(items, scores.values(), strict=True)]

    def _query(self, query: str | Mapping[str, Any]) -> str:
        if isinstance(query, str):
            return query
        if not isinstance(query, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidSettingError(f"{query!r} is no query.", "Pass a text, or the fields of an input.")
        keys = list(query) if self.input_keys is None else [name for name in self.input_keys if name in query]
        return _text({name: query[name] for name in keys})


def _example(item: Any, score: float) -> Example | None:
    """The example that an item holds; None where it is gone, or somebody else has written something else there."""
    if item is None:
        return None
    parts = [item.value.get(name) for name in ("input", "output", "meta")]
    if not all(isinstance(part, Mapping) for part in parts):
        return None
    order: list[str] = list(item.value.get("order") or ())
    given, output, meta = (_sorted(part, order) for part in cast("list[Mapping[str, Any]]", parts))
    return Example(item.key.rpartition("/")[2], given, output, meta, score)


def _sorted(fields: Mapping[str, Any], order: Sequence[str]) -> dict[str, Any]:
    known = {name: fields[name] for name in order if name in fields}
    return {**known, **fields}


def _fields(given: str | Mapping[str, Any], name: str) -> dict[str, Any]:
    if isinstance(given, Mapping):
        return dict(given)
    if isinstance(given, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        return {name: given}
    raise InvalidExampleError(f"{given!r} is no {name}.", "Pass a text, or fields by their names.")


def _text(fields: Mapping[str, Any]) -> str:
    """Fields as a message: the only one alone, several with their names."""
    shown = {
        name: part if isinstance(part, str) else json.dumps(part, ensure_ascii=False, default=str)
        for name, part in fields.items()
    }
    if len(shown) == 1:
        return next(iter(shown.values()))
    return "\n".join(f"{name}: {part}" for name, part in shown.items())


def _checked_count(k: int) -> int:
    if not isinstance(k, int) or isinstance(k, bool) or k < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidSettingError(f"k={k!r} is no number of examples.", "Pass 1 or more.")
    return k
