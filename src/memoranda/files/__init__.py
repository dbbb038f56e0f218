"""Files as values: paths, formats, edits, merges, differences and globs. Pure: nothing here does I/O.

Room by room: `path` names, `format` the JSON form of a file, `edit` replaces text, `matching` aligns lines,
`merge` joins two changes of one base, `diff` shows a change to a person, `delta` stores superseded bytes,
`blame` says who wrote a line, `globbing` selects paths. Names load on first use, so importing this is cheap.
The one function not offered here is `memoranda.files.blame.blame`, whose name belongs to its module.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memoranda.files.delta import (
        Delta,
        DeltaKind,
        LineSplice,
        apply_delta,
        encode_previous,
        splice_between,
        splice_of,
    )
    from memoranda.files.diff import DiffStat, diff_stat, unified_diff
    from memoranda.files.edit import Replaced, replace
    from memoranda.files.format import (
        FileData,
        Window,
        create_file_data,
        file_bytes,
        file_text,
        is_file_value,
        read_file_data,
        read_window,
        update_file_data,
    )
    from memoranda.files.globbing import Glob, compile_glob
    from memoranda.files.matching import Match, Opcode, matching_blocks, opcodes, split_lines
    from memoranda.files.merge import Merged, MergedJson, Overlap, merge_json, merge_text
    from memoranda.files.path import canonical_path, file_path, folder_prefix, is_within, name_of, parent_of

_MODULE_OF = {
    "Delta": "delta",
    "DeltaKind": "delta",
    "DiffStat": "diff",
    "FileData": "format",
    "Glob": "globbing",
    "LineSplice": "delta",
    "Match": "matching",
    "Merged": "merge",
    "MergedJson": "merge",
    "Opcode": "matching",
    "Overlap": "merge",
    "Replaced": "edit",
    "Window": "format",
    "apply_delta": "delta",
    "canonical_path": "path",
    "compile_glob": "globbing",
    "create_file_data": "format",
    "diff_stat": "diff",
    "encode_previous": "delta",
    "file_bytes": "format",
    "file_path": "path",
    "file_text": "format",
    "folder_prefix": "path",
    "is_file_value": "format",
    "is_within": "path",
    "matching_blocks": "matching",
    "merge_json": "merge",
    "merge_text": "merge",
    "name_of": "path",
    "opcodes": "matching",
    "parent_of": "path",
    "read_file_data": "format",
    "read_window": "format",
    "replace": "edit",
    "splice_between": "delta",
    "splice_of": "delta",
    "split_lines": "matching",
    "unified_diff": "diff",
    "update_file_data": "format",
}

__all__ = [
    "Delta",
    "DeltaKind",
    "DiffStat",
    "FileData",
    "Glob",
    "LineSplice",
    "Match",
    "Merged",
    "MergedJson",
    "Opcode",
    "Overlap",
    "Replaced",
    "Window",
    "apply_delta",
    "canonical_path",
    "compile_glob",
    "create_file_data",
    "diff_stat",
    "encode_previous",
    "file_bytes",
    "file_path",
    "file_text",
    "folder_prefix",
    "is_file_value",
    "is_within",
    "matching_blocks",
    "merge_json",
    "merge_text",
    "name_of",
    "opcodes",
    "parent_of",
    "read_file_data",
    "read_window",
    "replace",
    "splice_between",
    "splice_of",
    "split_lines",
    "unified_diff",
    "update_file_data",
]


def __getattr__(name: str) -> object:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = value  # the next look-up does not come here again
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
