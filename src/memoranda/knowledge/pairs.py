"""The blocking and the async method of a kind of knowledge, both made from one operation."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from memoranda.backends.steps import Steps, aperform, perform

P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T")


def blocking(operation: Callable[Concatenate[S, P], Steps[T]]) -> Callable[Concatenate[S, P], T]:
    """The blocking method of an operation: a method whose name begins with an underscore, or a function."""

    def method(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return perform(operation(self, *args, **kwargs))

    return _named(method, operation, "")


def awaiting(operation: Callable[Concatenate[S, P], Steps[T]]) -> Callable[Concatenate[S, P], Coroutine[Any, Any, T]]:
    """The async method of the same operation."""

    async def method(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await aperform(operation(self, *args, **kwargs))

    return _named(method, operation, "a")


def _named(method: Callable[P, T], operation: Callable[..., Any], prefix: str) -> Callable[P, T]:
    """Give a method the docstring of its operation, its name without the underscore, and its signature."""
    kind, _, name = operation.__qualname__.rpartition(".")
    method.__name__ = prefix + name.removeprefix("_")
    method.__qualname__ = f"{kind}.{method.__name__}" if kind else method.__name__
    # An operation that stands outside of its class has the object where a method has `self`.
    method.__doc__ = (operation.__doc__ or "").replace("        consolidator: The consolidator.\n", "")
    method.__module__ = operation.__module__
    cast("Any", method).__wrapped__ = operation
    return method
