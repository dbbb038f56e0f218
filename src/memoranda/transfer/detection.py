"""Telling what a source is."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeAlias

SourceKind: TypeAlias = Literal["folder", "bundle", "langgraph-sqlite", "langgraph-postgres", "memoranda"]


def detect(path_or_url: str | Path) -> SourceKind:
    """Say what a path or URL is, for `memoranda import SOURCE`.

    Args:
        path_or_url: A folder, a file, `sqlite:///…` or `postgresql://…`.

    Returns:
        `"memoranda"` stands for another Memoranda store.

    Raises:
        SourceError: It does not exist, cannot be read, or is none of these.

    Example:
        >>> from tempfile import mkdtemp
        >>> detect(mkdtemp())
        'folder'
    """
    raise NotImplementedError
