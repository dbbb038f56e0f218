"""consolidate schedule: made, listed, paused, resumed, removed, and what is said about bad input."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memoranda import MemoryStore
from memoranda.store.urls import redacted
from tests.cli.conftest import Run, RunJson
from tests.cli.support import execute


def test_a_cron_line(run: Run, run_json: RunJson) -> None:
    run("write", "/a.md", "a")
    made = run("consolidate", "schedule", "0 */6 * * *", "--zone", "Europe/Paris", "-n", "acme")
    assert made.stdout.startswith("consolidation acme: 0 */6 * * * (Europe/Paris) below acme; next 20")
    assert "`memoranda worker --with app.py:consolidator`" in made.stderr
    (shape,) = run_json("consolidate", "schedule")["schedules"]
    assert (shape["name"], shape["line"], shape["zone"]) == ("consolidation acme", "0 */6 * * *", "Europe/Paris")
    assert (shape["kind"], shape["prefix"], shape["paused"]) == ("cron", ["acme"], False)
    again = run_json("consolidate", "schedule", "30 3 * * *", "-n", "acme")
    assert (again["line"], again["zone"]) == ("30 3 * * *", "UTC")
    assert len(run("consolidate", "schedule", "--list").stdout.splitlines()) == 1


def test_that_of_another_consolidator_is_not_replaced(run: Run, run_json: RunJson) -> None:
    run("write", "/a.md", "a")
    run("consolidate", "schedule", "0 3 * * *", "--name", "nightly", "--consolidator", "tidy")
    refused = run("consolidate", "schedule", "0 4 * * *", "--name", "nightly", code=2)
    assert "'tidy'" in refused.stderr
    (shape,) = run_json("consolidate", "schedule")["schedules"]
    assert shape["line"] == "0 3 * * *"


def test_idle(run: Run, run_json: RunJson) -> None:
    run("write", "/a.md", "a")
    made = run("consolidate", "schedule", "--idle", 30, "--consolidator", "tidy", MEMORANDA_NAMESPACE="")
    assert made.stdout == "tidy-idle: idle for 30 minutes; when a scope is idle.\n"
    assert "idle for 2.5 minutes" in run("consolidate", "schedule", "--idle", 2.5, "--name", "soon").stdout
    assert [each["name"] for each in run_json("consolidate", "schedule")["schedules"]] == ["soon", "tidy-idle"]
    (shape,) = run_json("consolidate", "schedule", "--list", "--consolidator", "tidy")["schedules"]
    assert (shape["kind"], shape["minutes"], shape["line"], shape["next_due"]) == ("idle", 30.0, None, None)


OWN = """\
from memoranda import open_store
from memoranda.backends import StoreBackend
from memoranda.consolidation import Consolidator

store = open_store({url!r})
files = StoreBackend(namespace=("team",), store=store)
tidy = Consolidator(print, store=store, target=files, name="tidy", prefix=("acme",))
"""


def test_with_a_consolidator_it_is_in_its_store(
    anywhere: Run,
    run_json: RunJson,
    store_url: str,
    other_store_url: str,
    open_here: Callable[..., MemoryStore],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    open_here(store_url)
    other = open_here(other_store_url)
    (tmp_path / "own_store_app.py").write_text(OWN.format(url=other_store_url))
    own = f"{tmp_path / 'own_store_app.py'}:tidy"
    monkeypatch.setattr(sys, "path", list(sys.path))

    def once(how: Callable[..., Any], *arguments: object, **settings: Any) -> Any:
        """As a process of its own: the command closes the store, which the file opens again."""
        try:
            return how("consolidate", *arguments, "--with", own, **settings)
        finally:
            sys.modules.pop("own_store_app").store.close()

    made = once(anywhere, "schedule", "0 6 * * *")
    assert f"It stands in {redacted(other_store_url)}. " in made.stderr and f"worker --with {own}" in made.stderr
    (found,) = other.schedules.list()
    assert (found.queue, found.prefix) == ("tidy", ("acme",))
    assert once(anywhere, "schedule").stdout.startswith("tidy acme")
    assert "is read by tidy" in once(anywhere, "status").stdout
    error = once(run_json, "schedule", "0 7 * * *", code=2)
    assert redacted(store_url) in error["cause"] and redacted(other_store_url) in error["cause"]
    anywhere("consolidate", "schedule", "0 7 * * *", "--with", own, "--consolidator", "x", code=2)


def test_a_missing_store_is_not_made(anywhere: Run, tmp_path: Path) -> None:
    file = tmp_path / "no.db"
    said = anywhere("consolidate", "schedule", "0 6 * * *", "--store", f"sqlite:///{file}", code=5).stderr
    assert "There is no store" in said and not file.exists()


def test_what_nobody_fires_is_told(run: Run, store_url: str) -> None:
    run("write", "/a.md", "a")
    made = run("consolidate", "schedule", "0 6 * * *", "--consolidator", "other")
    assert "Consolidator(…, name='other')" in made.stderr and "app.py:consolidator" not in made.stderr
    execute(store_url, "UPDATE schedules SET next_due = 1000000")
    assert "due since 1970-01-01 00:00:01Z; no worker has fired it" in run("consolidate", "schedule").stdout


def test_pause_resume_and_remove(run: Run, run_json: RunJson) -> None:
    run("write", "/a.md", "a")
    run("consolidate", "schedule", "0 * * * *", "--name", "hourly")
    assert run("consolidate", "schedule", "--pause", "hourly").stdout == "hourly is paused.\n"
    assert run("consolidate", "schedule", "--list").stdout.endswith("paused\n")
    assert run_json("consolidate", "schedule", "--pause", "hourly")["paused"] is True
    assert run("consolidate", "schedule", "--resume", "hourly").stdout.startswith("hourly goes on: next 20")
    assert run("consolidate", "schedule", "--remove", "hourly").stdout == "hourly is removed.\n"
    assert "There are no schedules." in run("consolidate", "schedule").stderr
    for option in ("--pause", "--resume", "--remove"):
        error = run_json("consolidate", "schedule", option, "hourly", code=3)
        assert error["error"] == "ScheduleNotFoundError" and "`memoranda consolidate schedule" in error["remedy"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("0 25 * * *", "hour"),
        ("61 * * * *", "minute"),
        ("0 0 * * MOON", "day-of-week"),
        ("0 0 31 2 *", "31"),
        ("every day", "2 fields"),
        ("@daily", "0 0 * * *"),
        ("", "0 fields"),
    ],
)
def test_a_wrong_line_says_what_is_wrong(run: Run, run_json: RunJson, line: str, said: str) -> None:
    run("write", "/a.md", "a")
    error = run_json("consolidate", "schedule", line, code=2)
    assert error["error"] == "InvalidScheduleError"
    assert said in error["cause"] + error["remedy"], error


def test_a_line_that_the_shell_took_apart(run_json: RunJson) -> None:
    error = run_json("consolidate", "schedule", "0", "6", "x", "y", "z", code=2)
    assert "Quote" in error["remedy"] and "'0 6 x y z'" in error["remedy"]


def test_an_unknown_zone_names_the_nearest(run: Run, run_json: RunJson) -> None:
    run("write", "/a.md", "a")
    error = run_json("consolidate", "schedule", "0 6 * * *", "--zone", "Europe/Pariss", code=2)
    assert error["error"] == "InvalidScheduleError" and "Europe/Paris" in error["remedy"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("0 * * * *", "--idle", 3),
        ("0 * * * *", "--list"),
        ("--pause", "a", "--resume", "a"),
        ("--zone", "UTC"),
        ("--idle", 5, "--zone", "UTC"),
        ("--name", "x"),
        ("--idle", 0),
        ("--idle", -5),
        ("--idle", "nan"),
    ],
)
def test_what_makes_no_sense(run: Run, run_json: RunJson, arguments: tuple[object, ...]) -> None:
    run("write", "/a.md", "a")
    error = run_json("consolidate", "schedule", *arguments, code=2)
    assert error["error"] in ("UsageError", "InvalidScheduleError") and error["cause"] and error["remedy"]


def test_listing_makes_no_store(run_json: RunJson, engine: str) -> None:
    error = run_json("consolidate", "schedule", code=None)
    assert error.get("schedules") == [] if engine == "postgres" else error["error"] == "StoreUnavailableError"
