"""What a backend's operation asks for, and the two runners that do it.

An operation of a backend is a generator that yields steps and receives what they give. So one definition serves the
blocking and the async method, over stores, disks and other backends alike; the pattern is the store's own (see
`memoranda.store.effects`).
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Generator, Sequence
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeAlias, TypeVar, cast

P = ParamSpec("P")
T = TypeVar("T")


class Call(NamedTuple):
    """Call a method of an object that has an async twin with an `a` in front."""

    method: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


class Block(NamedTuple):
    """Do something that blocks, such as reading a disk; from an event loop it runs in a thread."""

    work: Callable[[], Any]


class Consult(NamedTuple):
    """Call a function of the user that may be a coroutine function."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


class Together(NamedTuple):
    """Run operations side by side where that is possible; each gives its result or its exception."""

    operations: list[Steps[Any]]


Step: TypeAlias = Call | Block | Consult | Together
Steps: TypeAlias = Generator[Step, Any, T]


def ask(method: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Steps[T]:
    """Call a blocking method, or from an event loop its async twin."""
    result: T = yield Call(method, args, kwargs)
    return result


def block(work: Callable[[], T]) -> Steps[T]:
    """Do blocking work."""
    result: T = yield Block(work)
    return result


def consult(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Steps[Any]:
    """Call a function of the user, and wait for it if it is a coroutine function."""
    return (yield Consult(function, args, kwargs))


def together(operations: Sequence[Steps[T]]) -> Steps[list[T | Exception]]:
    """Run operations side by side; a failing one does not stop the others.

    Returns:
        For each, in order, its result or the exception it ended with.
    """
    if len(operations) == 1:  # the common case needs no tasks
        try:
            return [(yield from operations[0])]
        except Exception as error:
            if is_control_flow(error):
                raise
            return [error]
    results: list[T | Exception] = yield Together(list(operations))
    return results


def done(value: T) -> Steps[T]:
    """An operation that needs no step."""
    return value
    yield  # pragma: no cover - makes this a generator


def is_control_flow(error: BaseException) -> bool:
    """Whether an exception is LangGraph's way to pause or redirect a run, which nobody may swallow."""
    return any(kind.__name__ == "GraphBubbleUp" for kind in type(error).__mro__)


def perform(steps: Steps[T]) -> T:
    """Run an operation, blocking."""
    try:
        step = next(steps)
        while True:
            try:
                result = _do(step)
            except BaseException as error:  # noqa: BLE001 - handed to the operation, which may answer it
                step = steps.throw(error)
            else:
                step = steps.send(result)
    except StopIteration as stop:
        return cast("T", stop.value)


def _do(step: Step) -> Any:
    match step:
        case Call(method, args, kwargs):
            return method(*args, **kwargs)
        case Block(work):
            return work()
        case Consult(function, args, kwargs):
            answer = function(*args, **kwargs)
            return _wait_for(answer) if inspect.isawaitable(answer) else answer
        case Together(operations):
            return [_outcome(operation) for operation in operations]


def _outcome(operation: Steps[Any]) -> Any:
    try:
        return perform(operation)
    except Exception as error:
        if is_control_flow(error):
            raise
        return error


def _wait_for(answer: Awaitable[Any]) -> Any:
    """Wait for a coroutine from blocking code, which may itself run beside an event loop."""
    from concurrent.futures import ThreadPoolExecutor
    from contextvars import copy_context

    async def wait() -> Any:
        return await answer

    context = copy_context()
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(context.run, asyncio.run, wait()).result()


async def aperform(steps: Steps[T]) -> T:
    """Run an operation without blocking the event loop."""
    try:
        step = next(steps)
        while True:
            try:
                result = await _ado(step)
            except BaseException as error:  # noqa: BLE001 - handed to the operation, which may answer it
                step = steps.throw(error)
            else:
                step = steps.send(result)
    except StopIteration as stop:
        return cast("T", stop.value)


async def _ado(step: Step) -> Any:
    match step:
        case Call(method, args, kwargs):
            # A bound method's twin has its name with an `a` in front.
            twin = getattr(cast("Any", method).__self__, "a" + method.__name__, None)
            if twin is not None:
                try:
                    return await twin(*args, **kwargs)
                except NotImplementedError:  # such as LangGraph's SqliteStore, which has only blocking methods
                    pass
            return await asyncio.to_thread(method, *args, **kwargs)
        case Block(work):
            return await asyncio.to_thread(work)
        case Consult(function, args, kwargs):
            answer = function(*args, **kwargs)
            return await answer if inspect.isawaitable(answer) else answer
        case Together(operations):
            tasks = [asyncio.create_task(_aoutcome(operation)) for operation in operations]
            try:
                return await asyncio.gather(*tasks)
            except BaseException:  # one pauses the run, or all are cancelled: nothing goes on behind anybody's back
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
                raise


async def _aoutcome(operation: Steps[Any]) -> Any:
    try:
        return await aperform(operation)
    except Exception as error:
        if is_control_flow(error):
            raise
        return error


S = TypeVar("S")


def blocking(operation: Callable[Concatenate[S, P], Steps[T]]) -> Callable[Concatenate[S, P], T]:
    """The blocking method of an operation."""

    def method(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return perform(operation(self, *args, **kwargs))

    return _twin(method, operation, "")


def awaiting(operation: Callable[Concatenate[S, P], Steps[T]]) -> Callable[Concatenate[S, P], Coroutine[Any, Any, T]]:
    """The async method of the same operation."""

    async def method(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await aperform(operation(self, *args, **kwargs))

    return _twin(method, operation, "a")


def _twin(method: Callable[P, T], operation: Callable[..., Any], prefix: str) -> Callable[P, T]:
    """Give a method the name and docstring of its operation, and its signature when asked for."""
    method.__name__ = prefix + operation.__name__
    method.__qualname__ = f"Backend.{method.__name__}"
    method.__doc__ = (operation.__doc__ or "").replace("        backend: The backend.\n", "")
    cast("Any", method).__wrapped__ = operation
    return method
