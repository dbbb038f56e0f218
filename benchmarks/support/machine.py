"""What the figures were taken on."""

from __future__ import annotations

import os
import platform
import sqlite3
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import apsw

_PACKAGES = (
    "memoranda",
    "langgraph",
    "langgraph-checkpoint",
    "langgraph-checkpoint-sqlite",
    "langgraph-checkpoint-postgres",
    "deepagents",
    "psycopg",
    "apsw",
)


def describe(postgres: dict[str, str] | None) -> dict[str, object]:
    """The machine and the versions of everything measured.

    Args:
        postgres: The settings of the server used, if one was.
    """
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "load_before": round(os.getloadavg()[0], 2),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "sqlite": {"memoranda (apsw)": apsw.sqlite_lib_version(), "langgraph (sqlite3)": sqlite3.sqlite_version},
        "postgresql": postgres,
        "packages": {name: found for name in _PACKAGES if (found := _version(name))},
    }


def lines(machine: dict[str, object]) -> list[str]:
    """The description for people."""
    sqlite, packages = machine["sqlite"], machine["packages"]
    assert isinstance(sqlite, dict) and isinstance(packages, dict)
    made = [
        f"{machine['date']} · {machine['cores']} cores · {machine['processor']} · {machine['system']} · "
        f"load {machine['load_before']}",
        f"Python {machine['python']} · SQLite " + ", ".join(f"{text} {who}" for who, text in sqlite.items()),
    ]
    postgres = machine["postgresql"]
    if isinstance(postgres, dict):
        made.append("PostgreSQL " + ", ".join(f"{name} {value}" for name, value in postgres.items()))
    made.append(", ".join(f"{name} {found}" for name, found in packages.items()))
    return made


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
