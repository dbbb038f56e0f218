"""Errors as a person or a script meets them: a sentence of cause, one with the way out, and an exit code."""

from __future__ import annotations

import errno
import json
import os
import re
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any

import typer

from memoranda.errors import (
    InvalidChangeError,
    ItemExistsError,
    ItemNotFoundError,
    JobNotFoundError,
    MemorandaError,
    ProposalDecidedError,
    ProposalNotFoundError,
    RevisionNotFoundError,
    RunNotFoundError,
    RunSettledError,
    ScheduleNotFoundError,
    StoreError,
    StoreUrlError,
)

OK = 0
NO = 1
USAGE = 2
NOT_FOUND = 3
CONFLICT = 4
UNAVAILABLE = 5
INTERNAL = 70
STOPPED = 130
PIPE_CLOSED = 141


class UsageError(MemorandaError, ValueError):
    """The command line asks for something that makes no sense."""


class PipeClosedError(Exception):
    """Whoever read the output has seen enough."""


class StoppedError(Exception):
    """Somebody pressed Ctrl-C; its text says how things stand, where there is more to say than usual."""


_STOPPED = "Nothing is half-written: every change lands whole or not at all."

# The library's errors name its arguments; here these are options.
_TERMS = (
    (re.compile(r"Use replace_all=True\b"), "Use --all"),
    (re.compile(r"pass overwrite=True\b"), "pass --force"),
    (re.compile(r"\bold_string\b"), "OLD"),
    (re.compile(r"\bnew_string\b"), "NEW"),
    (re.compile(r"open (it|the store) with a longer timeout"), "give a longer --timeout"),
    (re.compile(r"\bwith on_existing='skip'"), "with --skip-existing"),
    (re.compile(r"\bor name none for everything\b"), "or leave -n out for everything"),
    (re.compile(r", or open it with migrate=True"), ""),
    (re.compile(r"Write it without a base\b"), "Write it without --base"),
    (re.compile(r"write with the new revision as base\b"), "write with the new revision as --base"),
    (re.compile(r"\bList the folder to see what there is\b"), "`memoranda ls /` lists what does"),
    (re.compile(r"\bLook at its history\b"), "`memoranda log` shows its history"),
    (
        re.compile(r"\baccept it with changes=… that are made from the current text, or reject it\b"),
        "write what is wanted yourself and reject it",
    ),
    (re.compile(r"\bList the proposals to see which there are\b"), "`memoranda proposals list` lists those there are"),
    (
        re.compile(r"\bList the schedules to see which there are\b"),
        "`memoranda consolidate schedule --list` lists those there are",
    ),
    (re.compile(r"\bList the runs to see which there are\b"), "`memoranda consolidate runs` lists those there are"),
    (re.compile(r"\bUse sqlite:///memory\.db, memory:// or\b"), "Use sqlite:///memory.db or"),
)


def exit_code(error: BaseException) -> int:
    """The exit code that says what kind of error this is."""
    from memoranda.consolidation.errors import UndoConflictError
    from memoranda.store.changes import ConflictError
    from memoranda.transfer.errors import BundleConflictError, KeyCollisionError, SourceError, TransferError

    match error:
        case ItemNotFoundError() | RevisionNotFoundError() | ProposalNotFoundError():
            return NOT_FOUND
        case RunNotFoundError() | ScheduleNotFoundError() | JobNotFoundError():
            return NOT_FOUND
        case FileNotFoundError() | SourceError():
            return NOT_FOUND
        case ConflictError() | ItemExistsError() | ProposalDecidedError() | BundleConflictError() | KeyCollisionError():
            return CONFLICT
        case RunSettledError() | UndoConflictError():
            return CONFLICT
        case TransferError():
            return UNAVAILABLE
        case StoreUrlError() | InvalidChangeError():
            return USAGE
        case StoreError():
            return UNAVAILABLE
        case MemorandaError():
            return USAGE if isinstance(error, ValueError) else UNAVAILABLE
        case typer.TyperException():
            return error.exit_code
        case OSError():
            return UNAVAILABLE
        case _:
            return INTERNAL


def described(error: BaseException) -> dict[str, Any]:
    """The error as the JSON object that scripts read."""
    name, cause, remedy = type(error).__name__, str(error), ""
    match error:
        case MemorandaError():
            cause, remedy = in_our_terms(error.cause), in_our_terms(error.remedy)
        case typer.TyperException():
            name, cause = "UsageError", _sentence(error.format_message())
            context = getattr(error, "ctx", None)
            remedy = f"See `{context.command_path if context else 'memoranda'} --help`."
        case OSError():
            what = os.strerror(error.errno) if error.errno else str(error)
            cause = f"{error.filename}: {what}." if error.filename else f"{what}."
            remedy = {
                errno.ENOENT: "Check the path.",
                errno.EISDIR: "Name a file in it.",
                errno.EACCES: "Check who may read and write it.",
                errno.EPERM: "Check who may read and write it.",
                errno.ENOSPC: "Free some disk space.",
            }.get(error.errno or 0, "Check the file and the disk.")
        case _:
            cause = f"Something unexpected happened ({name}): {cause or 'no details'}."
            remedy = "Run it again with --debug and report what that shows."
    return {"error": name, "cause": cause, "remedy": remedy, **_conflicts(error)}


def _sentence(text: str) -> str:
    return text if text.endswith((".", "?", "!")) else f"{text}."


def in_our_terms(text: str) -> str:
    """A sentence of the library with options and commands for the names of its arguments and methods."""
    for pattern, ours in _TERMS:
        text = pattern.sub(ours, text)
    return text


def _conflicts(error: BaseException) -> dict[str, Any]:
    from memoranda.store.changes import ConflictError

    if not isinstance(error, ConflictError):
        return {}
    return {
        "conflicts": [
            {
                "namespace": list(conflict.namespace),
                "key": conflict.key,
                "reason": conflict.reason,
                "revision": conflict.revision,
                "base": conflict.base,
                "theirs": conflict.theirs,
                "yours": conflict.yours,
            }
            for conflict in error.conflicts
        ]
    }


def guarded(body: Callable[[], Any], arguments: Sequence[str]) -> int:
    """Run a command line and answer for whatever it raises.

    Args:
        body: What to run; an integer that it returns is the exit code.
        arguments: The command line, to know what was asked for even where it could not be parsed.

    Returns:
        The exit code.
    """
    options = list(arguments)
    options = options[: options.index("--")] if "--" in options else options
    as_json, debug = "--json" in options, "--debug" in options
    try:
        code = body()
        sys.stdout.flush()
        return code if isinstance(code, int) else OK
    except (PipeClosedError, BrokenPipeError):
        _silence_stdout()
        return PIPE_CLOSED
    except (StoppedError, KeyboardInterrupt, typer.Abort) as stop:
        said = str(stop) if isinstance(stop, StoppedError) else ""
        _report({"error": "Stopped", "cause": "Stopped.", "remedy": said or _STOPPED}, as_json)
        return STOPPED
    except Exception as error:  # noqa: BLE001 - a person gets a sentence, whatever it is
        if debug:
            traceback.print_exc()
        _report(described(error), as_json)
        return exit_code(error)


def _report(description: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print(json.dumps(description), file=sys.stderr)
        return
    from memoranda.cli.output import error_console, printable

    console = error_console("--no-color" in sys.argv)
    stopped = description["error"] == "Stopped"
    parts: list[str | tuple[str, str]] = [] if stopped else [("Error: ", "bold red")]
    parts.append(printable(description["cause"], lines=True))
    if description["remedy"]:
        parts.append((" " + printable(description["remedy"], lines=True), "" if stopped else "yellow"))
    from rich.text import Text

    console.print(Text.assemble(*parts), soft_wrap=True)


def _silence_stdout() -> None:
    """Send what is still buffered nowhere, or Python complains about the pipe as it exits."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
    except (OSError, ValueError):
        pass
