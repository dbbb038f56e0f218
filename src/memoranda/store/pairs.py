"""The blocking and the async method of a store, both made from one operation."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar, cast

from memoranda.store.effects import Operation
from memoranda.store.operations.context import Context

if TYPE_CHECKING:
    from memoranda.store.engines.base import Engine

P = ParamSpec("P")
T = TypeVar("T")


class Opened(Protocol):
    """Whatever has methods made here: a store, or a part of it such as its jobs."""

    engine: Engine
    context: Context


def blocking(
    operation: Callable[Concatenate[Context, P], Operation[T]], owner: str = "MemoryStore", name: str = ""
) -> Callable[Concatenate[Opened, P], T]:
    """The blocking method of an operation.

    Args:
        operation: The operation.
        owner: The class whose method it becomes.
        name: The method's name; "": the operation's.
    """

    def method(self: Opened, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.engine.run(operation(self.context, *args, **kwargs))

    return _named(method, operation, owner, name or operation.__name__)


def awaiting(
    operation: Callable[Concatenate[Context, P], Operation[T]], owner: str = "MemoryStore", name: str = ""
) -> Callable[Concatenate[Opened, P], Coroutine[Any, Any, T]]:
    """The async method of the same operation."""

    async def method(self: Opened, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.engine.arun(operation(self.context, *args, **kwargs))

    return _named(method, operation, owner, "a" + (name or operation.__name__))


def _named(method: Callable[P, T], operation: Callable[..., Any], owner: str, name: str) -> Callable[P, T]:
    """Give a method the name and docstring of its operation, less the context, and its signature when asked for."""
    method.__name__ = name
    method.__qualname__ = f"{owner}.{name}"
    method.__doc__ = (operation.__doc__ or "").replace("        context: The store's settings.\n", "")
    # The operation's context stands where a method has `self`.
    cast("Any", method).__wrapped__ = operation
    return method
