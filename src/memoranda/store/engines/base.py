"""What a store needs of an engine, and the two runners that perform an operation's effects."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from memoranda.store.effects import Call, Effect, Operation, Transact, Vacuum

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SchemaState:
    """How far a database is migrated.

    Args:
        applied: The number of the last migration applied; 0: none.
        known: The number of the last migration this version knows.
        since: When the first migration was applied, in microseconds since the epoch; 0: never.
    """

    applied: int
    known: int
    since: int = 0


class Engine(ABC):
    """A database that performs transactions, for blocking and for async callers."""

    name: str

    @abstractmethod
    def transact(self, effect: Transact) -> Any:
        """Run a body in a transaction, repeating it where the database asks for that, and return its result."""

    @abstractmethod
    async def atransact(self, effect: Transact) -> Any:
        """The same without blocking the event loop."""

    @abstractmethod
    def setup(self, progress: Callable[[SchemaState], None] | None = None) -> SchemaState:
        """Open the database and bring its schema up to date.

        Args:
            progress: Told how far it is before every migration.
        """

    @abstractmethod
    def schema(self) -> SchemaState:
        """Say how far the database is migrated, without changing it."""

    @abstractmethod
    def size(self) -> int | None:
        """How many bytes the database takes."""

    @abstractmethod
    def vacuum(self) -> list[str]:
        """Overwrite and give back what deleted and replaced rows have left in the database's files.

        Returns:
            One sentence for each place where such data may still be, with what to do about it.
        """

    @abstractmethod
    def close(self) -> None:
        """Let go of everything; a second call does nothing."""

    async def aclose(self) -> None:
        """The same from an event loop."""
        await asyncio.to_thread(self.close)

    def run(self, operation: Operation[T]) -> T:
        """Perform an operation, blocking."""
        try:
            effect = next(operation)
        except StopIteration as stop:
            return cast("T", stop.value)
        return self.resume(operation, effect)

    def resume(self, operation: Operation[T], effect: Effect) -> T:
        """Perform an operation from an effect on that it has yielded already, blocking."""
        try:
            while True:
                try:
                    result = self.transact(effect) if isinstance(effect, Transact) else self._perform(effect)
                except BaseException as error:  # noqa: BLE001 - handed to the operation, which may clean up
                    effect = operation.throw(error)
                else:
                    effect = operation.send(result)
        except StopIteration as stop:
            return cast("T", stop.value)

    async def arun(self, operation: Operation[T]) -> T:
        """Perform an operation without blocking the event loop."""
        try:
            effect = next(operation)
            while True:
                try:
                    if isinstance(effect, Transact):
                        result = await self.atransact(effect)
                    else:
                        result = await asyncio.to_thread(self._perform, effect)
                except BaseException as error:  # noqa: BLE001 - handed to the operation, which may clean up
                    effect = operation.throw(error)
                else:
                    effect = operation.send(result)
        except StopIteration as stop:
            return cast("T", stop.value)

    def _perform(self, effect: Call | Vacuum) -> Any:
        return effect.function() if isinstance(effect, Call) else self.vacuum()
