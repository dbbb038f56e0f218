"""LangGraph's `batch`: many small operations in one call."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from langgraph.store.base import GetOp, ListNamespacesOp, Op, PutOp, Result, SearchOp

from memoranda.errors import InvalidChangeError
from memoranda.store.changes import ChangeSet, current_author
from memoranda.store.effects import Operation
from memoranda.store.namespaces import encode_namespace, encode_writable
from memoranda.store.operations.commit import commit, writes
from memoranda.store.operations.context import Context
from memoranda.store.operations.reading import Wanted, get_many, list_namespaces, search


def batch(context: Context, ops: Iterable[Op]) -> Operation[list[Result]]:
    """Perform LangGraph operations; results come in their order.

    As in LangGraph's own stores reads see the state before the batch, all writes land together, and of several
    writes to one key the last counts.
    """
    ops = list(ops)
    results: list[Any] = [None] * len(ops)
    gets = {
        index: Wanted(op.namespace, op.key, op.refresh_ttl) for index, op in enumerate(ops) if isinstance(op, GetOp)
    }
    puts: dict[tuple[tuple[str, ...], str], PutOp] = {}
    if gets:
        items = yield from get_many(context, list(gets.values()))
        for index, item in zip(gets, items, strict=True):
            results[index] = item
    for index, op in enumerate(ops):
        match op:
            case GetOp():
                pass
            case SearchOp(prefix, condition, limit, offset, query, refresh):
                results[index] = yield from search(
                    context, prefix, query=query, filter=condition, limit=limit, offset=offset, refresh=refresh
                )
            case ListNamespacesOp(conditions, max_depth, limit, offset):
                results[index] = yield from list_namespaces(
                    context, conditions or (), max_depth=max_depth, limit=limit, offset=offset
                )
            case PutOp(namespace, key):
                encode_writable(namespace) if op.value is not None else encode_namespace(namespace)
                puts[tuple(namespace), key] = op
            case _:
                raise InvalidChangeError(
                    f"{op!r} is no store operation.", "Use GetOp, SearchOp, ListNamespacesOp or PutOp."
                )
    if puts:
        changes = writes((tuple(op.namespace), op.key, op.value, op.ttl, op.index) for op in puts.values())
        yield from commit(context, ChangeSet(changes, current_author()), opaque=True)
    return results
