"""What an operation asks for. Operations are generators; the engines' runners perform what they yield.

Two levels, so that a transaction can be repeated as a whole:

- An *operation* yields `Transact` (run this body in one transaction), as often as it needs to, `Call` (run this
  function, which may take long, outside of any transaction) and `Vacuum`, and returns its result.
- A transaction's *body* yields `Batch`es of statements and receives the rows of each. Statements of one batch do
  not depend on each other's rows, so PostgreSQL answers them in one round trip.

Neither ever waits by itself: that is what lets one definition serve the blocking and the async face, and both
engines. The pattern is that of psycopg's generators and httpx's `auth_flow`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

T = TypeVar("T")

Row: TypeAlias = tuple[Any, ...]
Rows: TypeAlias = list[Row]
Mode: TypeAlias = Literal["read", "snapshot", "write"]


class Sql(NamedTuple):
    """One named statement with its parameters."""

    name: str
    params: dict[str, Any]


class Batch(NamedTuple):
    """Independent statements, answered with a list of rows each.

    `last=True` says that nothing follows in this transaction, so that the commit can travel along.
    """

    statements: list[Sql]
    last: bool = False


Body: TypeAlias = Generator[Batch, list[Rows], T]


@dataclass(frozen=True, slots=True)
class Transact:
    """Run `body()` in one transaction; it is called again, afresh, when the transaction has to be repeated.

    Modes: `read` for a single batch that needs no transaction of its own, `snapshot` for several reads that must
    see one state, `write` for everything that changes something. `locks`: it surely needs more than the write of one
    item, so that it is not tried without locks first.
    """

    mode: Mode
    body: Callable[[], Body[Any]]
    locks: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """Run a function that computes or waits; never inside a transaction, and never on an event loop."""

    function: Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Vacuum:
    """Overwrite and give back what deleted rows have left in the files; answered as `Engine.vacuum` returns."""


Effect: TypeAlias = Transact | Call | Vacuum

Operation: TypeAlias = Generator[Effect, Any, T]


def query(name: str, /, **params: Any) -> Body[Rows]:
    """Body helper: run one statement and return its rows."""
    (rows,) = yield Batch([Sql(name, params)])
    return rows


def query_and_commit(name: str, /, **params: Any) -> Body[Rows]:
    """Body helper: run one statement, the last of its transaction, and return its rows."""
    (rows,) = yield Batch([Sql(name, params)], last=True)
    return rows


def call(function: Callable[[], T]) -> Operation[T]:
    """Operation helper: run a function outside of any transaction and return what it returns."""
    result: T = yield Call(function)
    return result


def vacuum() -> Operation[list[str]]:
    """Operation helper: vacuum, and return one sentence for each place where deleted data may still be."""
    left: list[str] = yield Vacuum()
    return left


def transact(mode: Mode, body: Callable[[], Body[T]], *, locks: bool = False) -> Operation[T]:
    """Operation helper: run a body in a transaction and return what it returns."""
    result: T = yield Transact(mode, body, locks)
    return result
