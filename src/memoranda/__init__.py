"""Memoranda gives AI agents a memory that lasts.

A map of the packages, from the ground up (imports point down only):

- `memoranda.files`: paths, edits, merges, diffs, globs. Pure, no I/O.
- `memoranda.search`: passages, words, ranking and embedders. Pure as well.
- `memoranda.store`: the versioned store, one LangGraph `BaseStore` on SQLite or PostgreSQL.
- `memoranda.backends`: the files that an agent sees, in a store, on a disk or in a thread, and the guard around them;
  `backends.hooks` are checks of what is written, ready-made.
- `memoranda.agents`: `create_deep_agent` and its middleware; needs the extra `agents`.
- `memoranda.episodes`: recording conversations, and finding what was said in them.
- `memoranda.knowledge`: profiles, collections, examples, and instructions that learn.
- `memoranda.consolidation`: what was said becomes what is known, in the background.
- `memoranda.transfer`: import and export of folders, bundles and LangGraph stores.
- `memoranda.testing`: the conformance suites, and a scripted chat model.
- `memoranda.evaluation`: conversations with labelled questions, and how well they are answered.
- `memoranda.integrations`: what other packages want to hear; nothing here depends on it.
- `memoranda.cli`: the command line.

Everything public is named here and loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memoranda._version import __version__

if TYPE_CHECKING:
    from memoranda.agents.factory import create_deep_agent as create_deep_agent
    from memoranda.errors import MemorandaError as MemorandaError
    from memoranda.files.format import FileData as FileData
    from memoranda.files.format import create_file_data as create_file_data
    from memoranda.store.changes import Append as Append
    from memoranda.store.changes import Author as Author
    from memoranda.store.changes import ChangeSet as ChangeSet
    from memoranda.store.changes import CommitResult as CommitResult
    from memoranda.store.changes import Committed as Committed
    from memoranda.store.changes import Conflict as Conflict
    from memoranda.store.changes import ConflictError as ConflictError
    from memoranda.store.changes import CursorMove as CursorMove
    from memoranda.store.changes import Delete as Delete
    from memoranda.store.changes import Edit as Edit
    from memoranda.store.changes import Move as Move
    from memoranda.store.changes import Restore as Restore
    from memoranda.store.changes import Write as Write
    from memoranda.store.changes import acting_as as acting_as
    from memoranda.store.forgetting import Receipt as Receipt
    from memoranda.store.index_status import EmbedderIndex as EmbedderIndex
    from memoranda.store.index_status import IndexStatus as IndexStatus
    from memoranda.store.jobs import Job as Job
    from memoranda.store.namespaces import InvalidNamespaceError as InvalidNamespaceError
    from memoranda.store.opening import aopen_store as aopen_store
    from memoranda.store.opening import open_store as open_store
    from memoranda.store.recalled import Hit as Hit
    from memoranda.store.recalled import Recall as Recall
    from memoranda.store.recalled import ScoreParts as ScoreParts
    from memoranda.store.runs import Run as Run
    from memoranda.store.runs import RunChange as RunChange
    from memoranda.store.runs import Unread as Unread
    from memoranda.store.schedules import Schedule as Schedule
    from memoranda.store.store import MemoryStore as MemoryStore
    from memoranda.store.turns import Turn as Turn
    from memoranda.store.types import BlameLine as BlameLine
    from memoranda.store.types import FeedChange as FeedChange
    from memoranda.store.types import GrepMatch as GrepMatch
    from memoranda.store.types import GrepResult as GrepResult
    from memoranda.store.types import KeyEntry as KeyEntry
    from memoranda.store.types import Proposal as Proposal
    from memoranda.store.types import Revision as Revision
    from memoranda.store.types import StoredItem as StoredItem
    from memoranda.store.types import StoredSearchItem as StoredSearchItem
    from memoranda.store.types import StoreStats as StoreStats
    from memoranda.store.types import Verification as Verification

_EXPORTS = {
    "memoranda.agents": ["create_deep_agent"],
    "memoranda.errors": ["MemorandaError"],
    "memoranda.files.format": ["FileData", "create_file_data"],
    "memoranda.store.changes": [
        "Append",
        "Author",
        "ChangeSet",
        "CommitResult",
        "Committed",
        "Conflict",
        "ConflictError",
        "CursorMove",
        "Delete",
        "Edit",
        "Move",
        "Restore",
        "Write",
        "acting_as",
    ],
    "memoranda.store.namespaces": ["InvalidNamespaceError"],
    "memoranda.store.opening": ["aopen_store", "open_store"],
    "memoranda.store.store": ["MemoryStore"],
    "memoranda.store.types": [
        "BlameLine",
        "FeedChange",
        "GrepMatch",
        "GrepResult",
        "KeyEntry",
        "Proposal",
        "Revision",
        "StoreStats",
        "StoredItem",
        "StoredSearchItem",
        "Verification",
    ],
    "memoranda.store.forgetting": ["Receipt"],
    "memoranda.store.index_status": ["EmbedderIndex", "IndexStatus"],
    "memoranda.store.jobs": ["Job"],
    "memoranda.store.recalled": ["Hit", "Recall", "ScoreParts"],
    "memoranda.store.runs": ["Run", "RunChange", "Unread"],
    "memoranda.store.schedules": ["Schedule"],
    "memoranda.store.turns": ["Turn"],
}
_HOME = {name: module for module, names in _EXPORTS.items() for name in names}

__all__ = ["__version__", *_HOME]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
