"""Tending memory in the background: what was said becomes what is known, each turn exactly once.

Room by room: `consolidator` is the public face, `running` one run of it and `landing` its end, `sources` and `events`
what it reads and `rendering` how that reads, `task` what it is given, `working` and `agent` who does the work,
`tracing` and `provenance` what each line came from, `undoing` the way back, `by_hand` runs without a `worker`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memoranda.consolidation.agent import ready_made as ready_made
    from memoranda.consolidation.consolidator import Consolidator as Consolidator
    from memoranda.consolidation.errors import ChangeRefusedError as ChangeRefusedError
    from memoranda.consolidation.errors import ConsolidationError as ConsolidationError
    from memoranda.consolidation.errors import InvalidConsolidatorError as InvalidConsolidatorError
    from memoranda.consolidation.errors import ModelOutputError as ModelOutputError
    from memoranda.consolidation.errors import TooManyConflictsError as TooManyConflictsError
    from memoranda.consolidation.errors import UndoConflictError as UndoConflictError
    from memoranda.consolidation.errors import UnknownTurnError as UnknownTurnError
    from memoranda.consolidation.errors import WorkFailedError as WorkFailedError
    from memoranda.consolidation.errors import WorkTimeoutError as WorkTimeoutError
    from memoranda.consolidation.errors import WroteOutsideError as WroteOutsideError
    from memoranda.consolidation.events import Event as Event
    from memoranda.consolidation.events import EventLog as EventLog
    from memoranda.consolidation.provenance import asources_of as asources_of
    from memoranda.consolidation.provenance import sources_of as sources_of
    from memoranda.consolidation.reports import RunReport as RunReport
    from memoranda.consolidation.reports import ScopeStatus as ScopeStatus
    from memoranda.consolidation.sources import Conversations as Conversations
    from memoranda.consolidation.sources import ScopeOf as ScopeOf
    from memoranda.consolidation.task import Task as Task
    from memoranda.consolidation.undoing import aundo as aundo
    from memoranda.consolidation.undoing import undo as undo
    from memoranda.consolidation.worker import Worker as Worker
    from memoranda.consolidation.working import from_agent as from_agent

_EXPORTS = {
    "agent": ["ready_made"],
    "consolidator": ["Consolidator"],
    "errors": [
        "ChangeRefusedError",
        "ConsolidationError",
        "InvalidConsolidatorError",
        "ModelOutputError",
        "TooManyConflictsError",
        "UndoConflictError",
        "UnknownTurnError",
        "WorkFailedError",
        "WorkTimeoutError",
        "WroteOutsideError",
    ],
    "events": ["Event", "EventLog"],
    "provenance": ["asources_of", "sources_of"],
    "reports": ["RunReport", "ScopeStatus"],
    "sources": ["Conversations", "ScopeOf"],
    "task": ["Task"],
    "undoing": ["aundo", "undo"],
    "worker": ["Worker"],
    "working": ["from_agent"],
}
_HOME = {name: module for module, names in _EXPORTS.items() for name in names}

__all__ = [*_HOME]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> object:
    module = _HOME.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
