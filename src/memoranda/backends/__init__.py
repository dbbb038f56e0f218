"""Backends: what lies behind the paths that an agent sees.

Room by room: `protocol` the results, `operations` what every backend does around its own part, `base` what that part
is, `steps` how one definition serves blocking and async callers, `places` how a path keeps the name that the agent
knows, `runtime` and `scopes` who runs, `store` (over `versioned` and `plain`), and `recognition` for Deep Agents.
`composite` joins backends to one tree: `routes` says whose a path is, `gathering` lists and searches over all of them,
`crossing` changes several, `seeded` and `twins` know the other names of a file. `staged` holds changes back.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from memoranda.backends.recognition import recognise_when_imported as _recognise_when_imported

if TYPE_CHECKING:
    from memoranda.backends.base import Backend as Backend
    from memoranda.backends.composite import CompositeBackend as CompositeBackend
    from memoranda.backends.factories import BackendOfRuntime as BackendOfRuntime
    from memoranda.backends.factories import NoBackendError as NoBackendError
    from memoranda.backends.filesystem import FileError as FileError
    from memoranda.backends.filesystem import FilesystemBackend as FilesystemBackend
    from memoranda.backends.foreign import as_backend as as_backend
    from memoranda.backends.guarded import GuardedBackend as GuardedBackend
    from memoranda.backends.guarded import approved as approved
    from memoranda.backends.hooks.events import Allow as Allow
    from memoranda.backends.hooks.events import Hold as Hold
    from memoranda.backends.hooks.events import Refuse as Refuse
    from memoranda.backends.hooks.events import Replace as Replace
    from memoranda.backends.hooks.events import WriteEvent as WriteEvent
    from memoranda.backends.hooks.events import WrittenEvent as WrittenEvent
    from memoranda.backends.misuse import NotAStoreError as NotAStoreError
    from memoranda.backends.permissions import FilesystemPermission as FilesystemPermission
    from memoranda.backends.permissions import InvalidPermissionError as InvalidPermissionError
    from memoranda.backends.protocol import SEEN as SEEN
    from memoranda.backends.protocol import AppendFile as AppendFile
    from memoranda.backends.protocol import DeleteFile as DeleteFile
    from memoranda.backends.protocol import EditFile as EditFile
    from memoranda.backends.protocol import MoveFile as MoveFile
    from memoranda.backends.protocol import WriteFile as WriteFile
    from memoranda.backends.routes import RouteError as RouteError
    from memoranda.backends.runtime import acting_for as acting_for
    from memoranda.backends.scopes import Scope as Scope
    from memoranda.backends.scopes import ScopeError as ScopeError
    from memoranda.backends.scopes import by_assistant as by_assistant
    from memoranda.backends.scopes import by_org as by_org
    from memoranda.backends.scopes import by_user as by_user
    from memoranda.backends.staged import StagedBackend as StagedBackend
    from memoranda.backends.state import OutsideGraphError as OutsideGraphError
    from memoranda.backends.state import StateBackend as StateBackend
    from memoranda.backends.store import NoNamespaceError as NoNamespaceError
    from memoranda.backends.store import NoStoreError as NoStoreError
    from memoranda.backends.store import StoreBackend as StoreBackend

_EXPORTS = {
    "base": ["Backend"],
    "composite": ["CompositeBackend"],
    "guarded": ["GuardedBackend", "approved"],
    "hooks.events": ["Allow", "Hold", "Refuse", "Replace", "WriteEvent", "WrittenEvent"],
    "misuse": ["NotAStoreError"],
    "permissions": ["FilesystemPermission", "InvalidPermissionError"],
    "factories": ["BackendOfRuntime", "NoBackendError"],
    "filesystem": ["FileError", "FilesystemBackend"],
    "foreign": ["as_backend"],
    "protocol": ["SEEN", "AppendFile", "DeleteFile", "EditFile", "MoveFile", "WriteFile"],
    "routes": ["RouteError"],
    "runtime": ["acting_for"],
    "scopes": ["Scope", "ScopeError", "by_assistant", "by_org", "by_user"],
    "staged": ["StagedBackend"],
    "state": ["OutsideGraphError", "StateBackend"],
    "store": ["NoNamespaceError", "NoStoreError", "StoreBackend"],
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


_recognise_when_imported()
