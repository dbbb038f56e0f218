"""Files in one namespace of any LangGraph `BaseStore`, with that store's guarantees."""

from __future__ import annotations

from langgraph.store.base import BaseStore

from memoranda.backends.base import Backend
from memoranda.store.changes import Namespace


class PlainFiles(Backend):
    """The files of one namespace, in one store that keeps no revisions.

    Args:
        store: The store.
        namespace: Where; exactly this one.
    """

    def __init__(self, store: BaseStore, namespace: Namespace) -> None:
        self.store = store
        self.namespace = namespace
