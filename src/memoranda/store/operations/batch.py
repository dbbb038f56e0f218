"""LangGraph's `batch`: many small operations in one call."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from langgraph.store.base import GetOp, ListNamespacesOp, Op, PutOp, Result, SearchOp

from memoranda.errors import InvalidChangeError
from memoranda.store.changes import ChangeSet, current_author
from memoranda.store.effects import Operation
from memoranda.store.operations.commit import commit, writes
from memoranda.store.operations.context import Context
from memoranda.store.operations.reading import get, list_namespaces, search


def batch(context: Context, ops: Iterable[Op]) -> Operation[list[Result]]:
    """Perform LangGraph operations; results come in their order.

    As in LangGraph's own stores reads see the state before the batch, all writes land together, and of several
    writes to one key the last counts.
    """
    results: list[Any] = []
    puts: dict[tuple[tuple[str, ...], str], PutOp] = {}
    for op in ops:
        match op:
            case GetOp(namespace, key, refresh):
                results.append((yield from get(context, namespace, key, refresh=refresh)))
            case SearchOp(prefix, condition, limit, offset, query, refresh):
                results.append(
                    (
                        yield from search(
                            context,
                            prefix,
                            query=query,
                            filter=condition,
                            limit=limit,
                            offset=offset,
                            refresh=refresh,
                        )
                    )
                )
            case ListNamespacesOp(conditions, max_depth, limit, offset):
                results.append(
                    (
                        yield from list_namespaces(
                            context, conditions or (), max_depth=max_depth, limit=limit, offset=offset
                        )
                    )
                )
            case PutOp(namespace, key):
                puts[tuple(namespace), key] = op
                results.append(None)
            case _:
                raise InvalidChangeError(
                    f"{op!r} is no store operation.", "Use GetOp, SearchOp, ListNamespacesOp or PutOp."
                )
    if puts:
        changes = writes((tuple(op.namespace), op.key, op.value, op.ttl) for op in puts.values())
        yield from commit(context, ChangeSet(changes, current_author()), opaque=True)
    return results
