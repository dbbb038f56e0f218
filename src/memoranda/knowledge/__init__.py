"""What is known, kept: a profile, a collection of facts, worked examples, and instructions that learn.

`profile` is one document under a schema, kept current by patches; `collection` many small memories without
duplicates, which know when each was true; `examples` worked inputs and outputs, found again by likeness;
`instructions` a text that is refined from feedback, under review. `tools` gives a collection to an agent. Models are
asked in one way, by `asking`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memoranda.knowledge.collection import Collection as Collection
    from memoranda.knowledge.errors import Attempt as Attempt
    from memoranda.knowledge.errors import EmptyProfileError as EmptyProfileError
    from memoranda.knowledge.errors import InvalidPatchError as InvalidPatchError
    from memoranda.knowledge.errors import InvalidSchemaError as InvalidSchemaError
    from memoranda.knowledge.errors import InvalidSettingError as InvalidSettingError
    from memoranda.knowledge.errors import Misfit as Misfit
    from memoranda.knowledge.errors import ModelCannotCallToolsError as ModelCannotCallToolsError
    from memoranda.knowledge.errors import ModelOutputError as ModelOutputError
    from memoranda.knowledge.errors import ProfileSchemaError as ProfileSchemaError
    from memoranda.knowledge.examples import Example as Example
    from memoranda.knowledge.examples import Examples as Examples
    from memoranda.knowledge.examples import InvalidExampleError as InvalidExampleError
    from memoranda.knowledge.instructions import Instructions as Instructions
    from memoranda.knowledge.instructions import Refined as Refined
    from memoranda.knowledge.keeping import Patched as Patched
    from memoranda.knowledge.memories import InvalidMemoryError as InvalidMemoryError
    from memoranda.knowledge.memories import InvalidMomentError as InvalidMomentError
    from memoranda.knowledge.memories import Memory as Memory
    from memoranda.knowledge.memories import MemorySchemaError as MemorySchemaError
    from memoranda.knowledge.profile import Profile as Profile
    from memoranda.knowledge.profile import Snapshot as Snapshot
    from memoranda.knowledge.tools import memory_tools as memory_tools
    from memoranda.knowledge.writing import Saved as Saved

_EXPORTS = {
    "collection": ["Collection"],
    "errors": [
        "Attempt",
        "EmptyProfileError",
        "InvalidPatchError",
        "InvalidSchemaError",
        "InvalidSettingError",
        "Misfit",
        "ModelCannotCallToolsError",
        "ModelOutputError",
        "ProfileSchemaError",
    ],
    "examples": ["Example", "Examples", "InvalidExampleError"],
    "instructions": ["Instructions", "Refined"],
    "keeping": ["Patched"],
    "memories": ["InvalidMemoryError", "InvalidMomentError", "Memory", "MemorySchemaError"],
    "profile": ["Profile", "Snapshot"],
    "tools": ["memory_tools"],
    "writing": ["Saved"],
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
