"""What is given where something else is meant, told so that the right form stands in the message."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar, cast

from langgraph.store.base import BaseStore

from memoranda.errors import MemorandaError
from memoranda.store.urls import redacted

E = TypeVar("E", bound=MemorandaError)


class NotAStoreError(MemorandaError, TypeError):
    """Something was given as a store that is none, such as a URL or a coroutine that nobody awaited."""


def checked_store(store: Any) -> BaseStore:
    """A store as it is.

    Raises:
        NotAStoreError: It is none.

    Example:
        >>> checked_store("sqlite:///memory.db")
        Traceback (most recent call last):
        memoranda.backends.misuse.NotAStoreError: 'sqlite:///memory.db' is a string, no store. \
Pass store=open_store('sqlite:///memory.db').
    """
    methods = () if isinstance(store, type) else ("batch", "search", "put")
    if isinstance(store, BaseStore) or (methods and all(callable(getattr(store, name, None)) for name in methods)):
        return cast("BaseStore", store)
    if isinstance(store, str):
        shown = redacted(store)
        raise NotAStoreError(f"{shown!r} is a string, no store.", f"Pass store=open_store({shown!r}).")
    if inspect.isawaitable(store):
        name = getattr(store, "__name__", "the call")
        dismissed(store)
        raise NotAStoreError(
            f"A {type(store).__name__} that nobody awaited was given as store.", f"Pass store=await {name}(…)."
        )
    if not isinstance(store, type) and (hasattr(store, "__enter__") or hasattr(store, "__aenter__")):
        kind = "with" if hasattr(store, "__enter__") else "async with"
        raise NotAStoreError(
            f"{store!r} is a context manager around a store, no store.",
            f"Write `{kind} … as store:`, and pass store=store.",
        )
    raise NotAStoreError(f"{store!r} is no store.", "Pass store=open_store(…), or another LangGraph store.")


def check_function(function: Callable[..., Any], what: str, error: Callable[[str, str], E]) -> None:
    """Refuse a function that cannot be called with a runtime.

    Args:
        function: The function.
        what: What it gives: `backend` or `namespace`.
        error: The kind of error, which takes cause and remedy.
    """
    called = getattr(function, "__call__", None)  # noqa: B004 - an object's own method is looked at, too
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(called):
        raise must_not_be_async(what, error)
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # such as some built-in ones
        return
    try:
        signature.bind(None)
    except TypeError:
        article = "Let it take the runtime and nothing else"
        raise error(
            f"The {what} function cannot be called with the runtime: its parameters are {signature}.",
            f"{article}, as in `lambda runtime: …`.",
        ) from None


def must_not_be_async(what: str, error: Callable[[str, str], E]) -> E:
    """The error for a function that answers with a coroutine."""
    return error(
        f"The {what} function is async.",
        f"It must not be: let a plain function give the {what}, as in `lambda runtime: …`, and do what has to be "
        "awaited before the run.",
    )


def dismissed(answer: Any) -> None:
    """Close a coroutine that nobody is going to await, so that Python does not warn of it."""
    if inspect.iscoroutine(answer):
        answer.close()
