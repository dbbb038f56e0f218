"""How a transaction's statements travel to PostgreSQL in as few round trips as they can.

A write of one item is tried without locks first: its reads run on their own, and all it writes goes out as one
statement, which fails as a whole if the namespace has moved on since it was read (see `update_namespace`). Two round
trips, and no lock is held while this process computes. If it was overtaken, or needs more than that, it runs in a
transaction that locks the namespace first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, LiteralString, TypeAlias, cast

from memoranda.store.effects import Batch, Body, Row, Rows, Sql, Transact
from memoranda.store.statements import Dialect

Query: TypeAlias = tuple[LiteralString, dict[str, Any] | None]

_BEGIN: dict[str, LiteralString] = {
    "write": "BEGIN",
    "snapshot": "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
}
_PARAMETER = re.compile(r"%\((\w+)\)s")
_READS = ("SELECT", "WITH")
_FIRST_READS = ("lock_namespace", "item_to_change")
_NAMESPACE_COLUMNS = 8
# What may travel with the update of one namespace: none of these touches a row that another one of them touches.
_FUSABLE = {"insert_item", "update_item", "insert_revision", "insert_block"}
_MOST_FUSED = 8


class Repeat(Exception):  # noqa: N818 - not an error: the transaction starts again, with locks
    """The optimistic try has to give way to a locking one."""


@dataclass(slots=True)
class Attempt:
    """How a transaction is being tried.

    Args:
        optimistic: Without locks, for now.
        deadline: When to stop trying, on the monotonic clock.
        tries: How often it failed in a way that may be tried again.
        committing: Whether its commit was sent, so that a broken connection leaves its fate unknown.
    """

    optimistic: bool
    deadline: float
    tries: int = 0
    committing: bool = False


class Statements:
    """The named statements as psycopg takes them, with and without locks, and fused where that saves a round trip."""

    def __init__(self, dialect: Dialect) -> None:
        self.locking = dialect.statements()
        unlocked = Dialect(dialect.name, {**dialect.tokens, "for_update": ""}, dialect.pyformat).statements()
        # Those that lock are not among them.
        self._reads = {
            name for name, text in self.locking.items() if text.startswith(_READS) and text == unlocked[name]
        }
        namespace, item = (unlocked[name] for name in _FIRST_READS)
        self._first_reads = f"SELECT * FROM ({namespace}) scope FULL JOIN ({item}) item ON true"
        self._fused: dict[tuple[str, ...], str] = {}

    def read(self, statements: list[Sql]) -> Query | None:
        """A statement on its own, if it changes nothing and locks nothing."""
        if len(statements) != 1 or statements[0].name not in self._reads:
            return None
        return _query(self.locking, statements[0])

    def first_reads(self, statements: list[Sql]) -> Query | None:
        """A namespace and one of its items in one statement, if that is what is asked for."""
        if tuple(name for name, _ in statements) != _FIRST_READS:
            return None
        return cast("LiteralString", self._first_reads), {**statements[0].params, **statements[1].params}

    def fused(self, statements: list[Sql]) -> Query | None:
        """Several writes as one statement, if they are few and independent."""
        # The statement proper runs before those in WITH, so it has to be the one that waits for other writers.
        statements = [*statements[1:], *statements[:1]]
        names = tuple(name for name, _ in statements)
        if len(names) > _MOST_FUSED or names[-1:] != ("update_namespace",) or not _FUSABLE.issuperset(names[:-1]):
            return None
        text = self._fused.get(names)
        if text is None:
            parts = [_PARAMETER.sub(rf"%(\1_{index})s", self.locking[name]) for index, name in enumerate(names)]
            *first, last = parts
            named = ", ".join(f"part_{index} AS ({part})" for index, part in enumerate(first))
            text = self._fused[names] = f"WITH {named} {last}" if named else last
        params = {
            f"{name}_{index}": value for index, (_, given) in enumerate(statements) for name, value in given.items()
        }
        return cast("LiteralString", text), params


class Steps:
    """One try of a transaction: which statements to send next, and what the body makes of the rows.

    Args:
        statements: The named statements.
        effect: The transaction.
        attempt: How it is tried; this notes when the commit is on its way.
    """

    def __init__(self, statements: Statements, effect: Transact, attempt: Attempt) -> None:
        self._statements = statements
        self._body: Body[Any] = effect.body()
        self._attempt = attempt
        attempt.committing = False
        self._begin: LiteralString | None = None if attempt.optimistic else _BEGIN.get(effect.mode)
        self._open = False
        self._closing = False
        self._skip = 0
        self._read = False
        self._together = False
        self._next: Batch | None = None
        self.result: Any = None
        self._advance(None)

    def queue(self) -> list[Query]:
        """The statements to send now; none when all is done.

        Raises:
            Repeat: An optimistic try has to give way to a locking one.
        """
        batch = self._next
        if batch is None:
            return self._end()
        if self._attempt.optimistic:
            return [self._unlocked(batch)]
        queue: list[Query] = []
        if self._begin is not None and not self._open:
            queue.append(_plain(self._begin))
            self._open = True
        self._skip = len(queue)
        queue += [_query(self._statements.locking, statement) for statement in batch.statements]
        if batch.last and self._open:
            queue.append(self._commit())
        if not queue:
            # An empty batch has nothing to send, but its body waits for an answer.
            self._advance([])
            return self.queue()
        return queue

    def answer(self, rows: list[Rows]) -> None:
        """Hand the rows of the last queue to the body."""
        if self._next is None:
            return
        count = len(self._next.statements)
        if self._together:
            self._together = False
            self._advance(_apart(rows[0]))
        elif self._attempt.optimistic and self._closing:
            self._advance([[] for _ in range(count)])
        else:
            self._advance(rows[self._skip : self._skip + count])

    def abandon(self) -> None:
        """Let the body clean up."""
        self._body.close()

    def _end(self) -> list[Query]:
        if self._attempt.optimistic and not self._closing:
            # What was read without a lock decided that there is nothing to write; decide it again under one.
            raise Repeat
        if self._open and not self._closing:
            return [self._commit()]
        return []

    def _unlocked(self, batch: Batch) -> Query:
        """The one statement of a step without locks: a namespace with one item first, single reads, one write."""
        if batch.last:
            query = self._statements.fused(batch.statements)
            self._closing = self._attempt.committing = query is not None
        elif not self._read:
            query = self._statements.first_reads(batch.statements)
            self._read = self._together = query is not None
        else:
            query = self._statements.read(batch.statements)
        if query is None:
            # More than that goes with locks from the start, before anything was sent or computed twice.
            raise Repeat
        return query

    def _commit(self) -> Query:
        self._closing = self._attempt.committing = True
        return _plain("COMMIT")

    def _advance(self, rows: list[Rows] | None) -> None:
        try:
            self._next = next(self._body) if rows is None else self._body.send(rows)
        except StopIteration as stop:
            self._next, self.result = None, stop.value
        except Exception as error:
            # What was read without a lock decided to refuse; decide it again under one.
            if self._attempt.optimistic:
                raise Repeat from error
            raise


def _query(texts: dict[str, str], statement: Sql) -> Query:
    return cast("LiteralString", texts[statement.name]), statement.params


def _plain(text: LiteralString) -> Query:
    return text, None


def _apart(rows: Rows) -> list[Rows]:
    """The row of a namespace and that of an item, where each was found, from the one that holds both."""
    if not rows:
        return [[], []]
    row = rows[0]
    parts: tuple[Row, Row] = (row[:_NAMESPACE_COLUMNS], row[_NAMESPACE_COLUMNS:])
    return [[part] if part[0] is not None else [] for part in parts]
