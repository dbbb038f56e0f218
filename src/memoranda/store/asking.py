"""Calls of an embedder, which is somebody else's code: it may hang, or raise what ends a thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextvars import copy_context
from dataclasses import replace
from typing import Any, ParamSpec, TypeVar

from memoranda.search.embedding import Embedder

P = ParamSpec("P")
T = TypeVar("T")


class LateError(Exception):
    """There was no answer in time; the call goes on."""


def ordinary(embedder: Embedder) -> Embedder:
    """The same embedder, with ordinary exceptions in place of those that end a thread or a program."""
    return replace(
        embedder,
        embed_documents=_ordinary(embedder.embed_documents),
        embed_query=_ordinary(embedder.embed_query),
    )


def _ordinary(function: Callable[P, T]) -> Callable[P, T]:
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except Exception:
            raise
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread():
                raise  # Ctrl-C
            # SystemExit, or the cancellation of something inside: neither is meant for who writes or searches.
            raise RuntimeError(f"it raised {type(error).__name__} {error}".rstrip()) from error

    return call


def ask(function: Callable[[], T]) -> Future[T]:
    """Call a function on a thread of its own, where it may take as long as it likes; nobody has to wait for it.

    Args:
        function: What to call, with the context variables of the caller.

    Returns:
        Its result when it is there, or what it raised.
    """
    future: Future[T] = Future()
    context = copy_context()

    def run() -> None:
        try:
            result = context.run(function)
        except BaseException as error:  # noqa: BLE001 - it is raised where the result is asked for
            future.set_exception(error)
        else:
            future.set_result(result)

    threading.Thread(target=run, name="memoranda-asking", daemon=True).start()
    return future


def answer(future: Future[T], seconds: float | None) -> T:
    """Wait for an answer.

    Args:
        future: What `ask` has returned.
        seconds: How long; None: until it is there.

    Returns:
        The function's result.

    Raises:
        LateError: It takes longer.
        BaseException: What the function raised.
    """
    _: Any = wait((future,), seconds)
    if not future.done():
        raise LateError
    return future.result()
