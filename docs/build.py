"""Write the reference pages from the docstrings: `python docs/build.py`; `--check` only compares."""

from __future__ import annotations

import argparse
import inspect
import re
import sys
import textwrap
from pathlib import Path
from typing import Any

import memoranda
import memoranda.errors
import memoranda.transfer
import memoranda.transfer.errors as transfer_errors
from memoranda.store.changes import ConflictError
from memoranda.store.namespaces import InvalidNamespaceError

REFERENCE = Path(__file__).resolve().parent / "reference"
_SECTION = re.compile(r"^(Args|Returns|Raises|Example|Attributes):$")
_ENTRY = re.compile(r"^(\*{0,2}[\w.]+): (.*)$")
_GROUPS = {
    "Opening": ["open_store", "aopen_store", "MemoryStore"],
    "Changes": [
        "ChangeSet",
        "Write",
        "Edit",
        "Append",
        "Delete",
        "Move",
        "Restore",
        "CursorMove",
        "Author",
        "acting_as",
    ],
    "What comes of them": ["CommitResult", "Committed", "Conflict", "ConflictError"],
    "What reading gives back": [
        "StoredItem",
        "StoredSearchItem",
        "KeyEntry",
        "GrepResult",
        "GrepMatch",
        "Revision",
        "FeedChange",
        "BlameLine",
        "Proposal",
        "Verification",
        "StoreStats",
    ],
    "Files": ["FileData", "create_file_data"],
}


def main() -> int:
    """Write or check the pages; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; exit with 1 if a page is out of step")
    check = parser.parse_args().check
    stale = [name for name, text in pages().items() if not _same(REFERENCE / name, text, write=not check)]
    if check and stale:
        print(f"Out of step: {', '.join(stale)}. Run `python docs/build.py`.", file=sys.stderr)
    return 1 if check and stale else 0


def pages() -> dict[str, str]:
    """The pages that come from docstrings, by name."""
    return {"python.md": python_page(), "errors.md": errors_page()}


def python_page() -> str:
    """Everything that `memoranda` exports."""
    parts = [
        "# Python reference",
        "Everything here is imported from `memoranda`. Each method of `MemoryStore` that touches the database has an "
        "async twin with an `a` in front, made from the same definition.",
    ]
    for group, names in _GROUPS.items():
        parts.append(f"## {group}")
        for name in names:
            parts += _described(name, getattr(memoranda, name))
            if name == "MemoryStore":
                parts += _methods(memoranda.MemoryStore)
    parts += ["## Moving in and out", "Imported from `memoranda.transfer`; see [the guide](../guides/moving.md)."]
    for name in memoranda.transfer.__all__:
        if not name.endswith("Error") and name not in ("Progress", "SourceKind"):
            parts += _described(name, getattr(memoranda.transfer, name))
    parts += ["## Errors", "`MemorandaError` is the root of all; see [errors](errors.md)."]
    return "\n\n".join(parts) + "\n"


def errors_page() -> str:
    """Every error class, under the one it derives from."""
    classes = [value for value in vars(memoranda.errors).values() if inspect.isclass(value)]
    classes += [ConflictError, InvalidNamespaceError]
    classes += [value for value in vars(transfer_errors).values() if _defined_in(value, transfer_errors)]
    rows = [
        f"| `{error.__name__}` | {', '.join(f'`{base.__name__}`' for base in error.__bases__)} | {_summary(error)} |"
        for error in classes
    ]
    parts = [
        "# Errors",
        "Every error raised on purpose derives from `MemorandaError` and carries two sentences: `cause`, what is "
        "wrong, and `remedy`, what to do about it. `str(error)` is both. They live in `memoranda.errors`, those of "
        "moving in and out in `memoranda.transfer`; `ConflictError` is exported from `memoranda`. Most are a standard "
        "class too, so that `except ValueError` or `except LookupError` works as expected.",
        "\n".join(["| error | is also | means |", "|---|---|---|", *rows]),
    ]
    return "\n\n".join(parts) + "\n"


def _defined_in(value: object, module: object) -> bool:
    return inspect.isclass(value) and value.__module__ == vars(module)["__name__"]


def _same(path: Path, text: str, *, write: bool) -> bool:
    if path.exists() and path.read_text("utf-8") == text:
        return True
    if write:
        path.write_text(text, "utf-8")
    return False


def _methods(store: type[Any]) -> list[str]:
    parts: list[str] = []
    for name, method in vars(store).items():
        twin = name.startswith("a") and name[1:] in vars(store)
        if name.startswith("_") or twin or not (inspect.isfunction(method) or isinstance(method, classmethod)):
            continue
        parts += _described(f"MemoryStore.{name}", getattr(store, name), level=4)
    return parts


def _described(name: str, thing: Any, level: int = 3) -> list[str]:
    heading = f"{'#' * level} `{name}`"
    if inspect.isclass(thing) and issubclass(thing, dict):
        return [heading, *_markdown(thing)]
    try:
        signature = str(inspect.signature(thing)).replace("memoranda.store.changes.", "")
        signature = re.sub(r"(: |-> )'([^']*)'", r"\1\2", signature)
    except (TypeError, ValueError):
        signature = ""
    short = re.sub(r"\((self|context: Context)(, /)?(, )?", "(", signature)
    if inspect.isclass(thing):
        short = short.partition(" -> ")[0]
    call = f"{name.rpartition('.')[2]}{short}"
    wrapped = textwrap.fill(call, 110, subsequent_indent="    ", break_long_words=False)
    return [heading, f"```text\n{wrapped}\n```", *_markdown(thing)]


def _summary(thing: Any) -> str:
    return " ".join((inspect.getdoc(thing) or "").partition("\n\n")[0].split())


def _markdown(thing: Any) -> list[str]:
    """A Google-style docstring as Markdown paragraphs."""
    parts: list[str] = []
    for block in (inspect.getdoc(thing) or "").split("\n\n"):
        first, _, rest = block.partition("\n")
        match = _SECTION.match(first)
        if match is None:
            parts.append(block)
        elif match[1] == "Example":
            # Doctest form, so that it is plain what is typed and what comes back.
            parts.append(f"```pycon\n{textwrap.dedent(rest)}\n```")
        elif match[1] == "Returns":
            parts.append(f"**Returns** {' '.join(textwrap.dedent(rest).split())}")
        else:
            parts.append(f"**{match[1]}**\n\n{_entries(textwrap.dedent(rest))}")
    return parts


def _entries(text: str) -> str:
    entries: list[str] = []
    for line in text.splitlines():
        match = _ENTRY.match(line)
        if match:
            entries.append(f"- `{match[1]}`: {match[2]}")
        elif entries:
            entries[-1] += " " + line.strip()
        else:
            entries.append(f"- {line.strip()}")
    return "\n".join(entries)


if __name__ == "__main__":
    sys.exit(main())
