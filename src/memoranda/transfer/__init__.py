"""Moving memory in and out: folders of files, bundles with all history, LangGraph's stores.

- `import_folder`, `export_folder`: ordinary files, the current state only.
- `export_bundle`, `import_bundle`: one file with every item, every revision and every digest.
- `import_langgraph`: the tables of a LangGraph `SqliteStore` or `PostgresStore`.
- `detect`: which of these a path or URL is.
- `find_prefixed`: keys that carry their mount's route prefix by mistake.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memoranda.transfer.bundles import export_bundle as export_bundle
    from memoranda.transfer.bundles import import_bundle as import_bundle
    from memoranda.transfer.detection import SourceKind as SourceKind
    from memoranda.transfer.detection import detect as detect
    from memoranda.transfer.errors import BundleConflictError as BundleConflictError
    from memoranda.transfer.errors import BundleCorruptError as BundleCorruptError
    from memoranda.transfer.errors import BundleTooNewError as BundleTooNewError
    from memoranda.transfer.errors import BundleTruncatedError as BundleTruncatedError
    from memoranda.transfer.errors import KeyCollisionError as KeyCollisionError
    from memoranda.transfer.errors import NotABundleError as NotABundleError
    from memoranda.transfer.errors import SourceError as SourceError
    from memoranda.transfer.errors import TargetError as TargetError
    from memoranda.transfer.errors import TransferError as TransferError
    from memoranda.transfer.exporting import export_folder as export_folder
    from memoranda.transfer.folders import import_folder as import_folder
    from memoranda.transfer.langgraph import import_langgraph as import_langgraph
    from memoranda.transfer.prefixes import find_prefixed as find_prefixed
    from memoranda.transfer.types import PrefixedKeys as PrefixedKeys
    from memoranda.transfer.types import Progress as Progress
    from memoranda.transfer.types import Skipped as Skipped
    from memoranda.transfer.types import TransferReport as TransferReport

_EXPORTS = {
    "bundles": ["export_bundle", "import_bundle"],
    "detection": ["SourceKind", "detect"],
    "errors": [
        "BundleConflictError",
        "BundleCorruptError",
        "BundleTooNewError",
        "BundleTruncatedError",
        "KeyCollisionError",
        "NotABundleError",
        "SourceError",
        "TargetError",
        "TransferError",
    ],
    "exporting": ["export_folder"],
    "folders": ["import_folder"],
    "langgraph": ["import_langgraph"],
    "prefixes": ["find_prefixed"],
    "types": ["PrefixedKeys", "Progress", "Skipped", "TransferReport"],
}
_HOME = {name: module for module, names in _EXPORTS.items() for name in names}

__all__ = [*_HOME]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
