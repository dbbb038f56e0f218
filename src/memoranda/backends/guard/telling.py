"""Telling that memory was written: a stream event for whoever watches the run, and the observers."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict
from typing import Any, NamedTuple

from memoranda.backends.guard.layers import Layers
from memoranda.backends.guard.tracing import note_written
from memoranda.backends.hooks.events import ChangeOperation, WrittenEvent, hook_name
from memoranda.backends.places import Place, PlacedChange
from memoranda.backends.protocol import Base, DeleteFile
from memoranda.backends.runtime import current_runtime, current_thread, in_graph, running_author
from memoranda.backends.steps import Steps, consult, is_control_flow

logger = logging.getLogger(__name__)

_inside: ContextVar[bool] = ContextVar("memoranda_inside_guard", default=False)


@contextmanager
def inside_guard() -> Generator[None]:
    """Mark what happens inside as done for a guard further out, which will tell of it."""
    token = _inside.set(True)
    try:
        yield
    finally:
        _inside.reset(token)


_also: ContextVar[Callable[[Any], None] | None] = ContextVar("memoranda_also_telling", default=None)


@contextmanager
def also_telling(writer: Callable[[Any], None] | None) -> Generator[None]:
    """Give stream events of what happens inside to another writer too, the outermost of several.

    Args:
        writer: Takes events; None: nobody else is told.
    """
    token = _also.set(_also.get() or writer)
    try:
        yield
    finally:
        _also.reset(token)


class Change(NamedTuple):
    """One change of one file that landed."""

    place: Place
    operation: ChangeOperation
    revision: Base | None
    merged: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether nothing is left of what the file held before."""
        return self.operation in ("write", "upload", "delete", "move") and not self.merged


def tell(layers: Layers, changes: Sequence[Change]) -> Steps[None]:
    """Tell of changes, where the files outlive the thread.

    Args:
        layers: Whose observers to tell.
        changes: What landed.
    """
    yield from note_written(layers, [(change.place, change.is_whole) for change in changes])
    streams = in_graph() and not _inside.get()
    if not streams and not layers.observing:
        return
    for change in changes:
        if not layers.inner.is_lasting(change.place):
            continue
        event = WrittenEvent(
            path=change.place.shown,
            operation=change.operation,
            revision=change.revision,
            merged=change.merged,
            author=running_author(),
            thread_id=current_thread(),
            namespace=_namespace(layers, change.place),
            runtime=current_runtime(),
        )
        if streams:
            _stream(event)
        for observer in layers.observing:
            try:
                yield from consult(observer.after_write, event)
            except Exception as error:
                if is_control_flow(error):
                    raise
                logger.warning("The observer %s failed.", hook_name(observer), exc_info=error)


def _stream(event: WrittenEvent) -> None:
    from langgraph.config import get_stream_writer

    shown = {
        "type": "memory_written",
        "path": event.path,
        "operation": event.operation,
        "revision": event.revision,
        "merged": event.merged,
        "author": asdict(event.author),
        "thread_id": event.thread_id,
        "namespace": None if event.namespace is None else list(event.namespace),
    }
    if (also := _also.get()) is not None:
        also(shown)
    try:
        writer = get_stream_writer()
    except (RuntimeError, KeyError):  # a graph that streams nothing
        return
    writer(shown)


def _namespace(layers: Layers, place: Place) -> tuple[str, ...] | None:
    try:
        found = layers.inner.store_changes([PlacedChange(place, DeleteFile(place.shown))])
    except Exception:  # noqa: BLE001 - the change has landed; where exactly is a detail
        return None
    return found[1][0].namespace if found is not None and found[1] else None
