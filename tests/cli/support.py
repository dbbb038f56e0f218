"""Reaching behind a store's back, and running the installed program."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import apsw
import psycopg

from tests.cli.conftest import CLEAN

PROGRAM = Path(sys.executable).with_name("memoranda")


def execute(url: str, statement: str) -> None:
    """Run a statement on the database of a store."""
    if url.startswith("postgresql"):
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("SET search_path = memoranda")
            connection.execute(statement)
        return
    connection = apsw.Connection(url.removeprefix("sqlite:///"))
    connection.execute(statement)
    connection.close()


def set_schema(url: str, number: int) -> None:
    """Let a store say that it is at this schema."""
    execute(url, f"DELETE FROM memoranda_schema WHERE number > {number}")
    execute(url, f"INSERT INTO memoranda_schema VALUES ({number}, {0}) ON CONFLICT DO NOTHING")


def damage(url: str) -> None:
    """Change a text behind the store's back."""
    other = "'\\x626c61636b'::bytea" if url.startswith("postgresql") else "x'626c61636b'"
    execute(url, f"UPDATE items SET body = {other} WHERE key = '/notes/tea.md'")


def environment(**settings: str) -> dict[str, str]:
    """The environment of a program run apart from the machine's own settings."""
    clean = {name: value for name, value in os.environ.items() if name not in CLEAN}
    return {**clean, "PYTHONWARNINGS": "ignore", **settings}


def memoranda(
    *arguments: object, settings: Mapping[str, str] | None = None, **how: Any
) -> subprocess.CompletedProcess[bytes]:
    """Run the installed program to its end."""
    how = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **how}
    command = [PROGRAM, *map(str, arguments)]
    return subprocess.run(command, env=environment(**(settings or {})), timeout=60, check=False, **how)
