"""The memory as the ready-made agent is shown it: all files listed, the small ones in whole."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from memoranda.agents.middleware.prompt import attribute
from memoranda.backends.base import Backend
from memoranda.backends.protocol import FileInfo
from memoranda.backends.steps import Steps, ask

MEMORY_TOKENS: Final = 12_000
"""About how many tokens of files are shown before the model reads any."""

FILE_TOKENS: Final = 3_000
"""A larger file is listed alone."""

MOST_LISTED: Final = 400
_TAG_TOKENS: Final = 20


@dataclass(frozen=True, slots=True)
class Shown:
    """The memory in words.

    Args:
        text: What the model is shown.
        whole: The paths of files that it was shown in whole.
    """

    text: str
    whole: frozenset[str]


def shown_memory(
    files: Backend, mark: str, tokens: int = MEMORY_TOKENS, *, without: frozenset[str] = frozenset()
) -> Steps[Shown]:
    """Show what is in memory, within a budget.

    Args:
        files: The files; what is shown of them counts as seen there.
        mark: What the tags carry, so that no file can close its own.
        tokens: About how many tokens of content are shown.
        without: Folders that are left out, each with a slash at its end.

    Returns:
        The texts of the files that fit, the last changed first into the budget, and a list of the others.
    """
    found = yield from ask(files.glob, "**/*")
    files_there = [entry for entry in found.matches or () if not entry.get("is_dir")]
    entries = [entry for entry in files_there if not entry["path"].startswith(tuple(without))]
    if found.error is not None:
        return Shown(f"(The files could not be listed: {found.error})", frozenset())
    if not entries:
        return Shown("(There is nothing yet.)", frozenset())
    texts = yield from _texts_of(files, _fitting(entries, tokens))
    return Shown(_written(entries, texts, mark), frozenset(texts))


def _fitting(entries: Sequence[FileInfo], tokens: int) -> list[str]:
    """The files that are small enough, as many as the budget takes; three bytes make a token at most."""
    taken: list[str] = []
    left = tokens
    for entry in entries:
        cost = entry.get("size", 3 * FILE_TOKENS) // 3 + _TAG_TOKENS
        if cost <= min(left, FILE_TOKENS):
            taken.append(entry["path"])
            left -= cost
    return taken


def _texts_of(files: Backend, paths: Sequence[str]) -> Steps[dict[str, str]]:
    texts: dict[str, str] = {}
    if not paths:
        return texts
    for found in (yield from ask(files.download_files, paths)):
        if found.content is not None:
            with suppress(UnicodeDecodeError):  # a binary file
                texts[found.path] = found.content.decode()
    return texts


def _written(entries: Sequence[FileInfo], texts: dict[str, str], mark: str) -> str:
    blocks = [_fenced(path, text, mark) for path, text in sorted(texts.items())]
    rest = sorted(_named(entry["path"]) for entry in entries if entry["path"] not in texts)
    if rest:
        lines = "\n".join(rest[:MOST_LISTED])
        more = f"\n… and {len(rest) - MOST_LISTED:,} more; use ls." if len(rest) > MOST_LISTED else ""
        blocks.append(f"Not shown here; read them where they matter:\n{lines}{more}")
    return "\n".join(blocks)


def _fenced(path: str, text: str, mark: str) -> str:
    end = "" if not text or text.endswith("\n") else "\n"
    return f'<file-{mark} path="{_named(path)}">\n{text}{end}</file-{mark}>'


def _named(path: str) -> str:
    """A path as it is, unless it could be taken for something else."""
    return path if path.isprintable() and set('"<>').isdisjoint(path) else attribute(path)
