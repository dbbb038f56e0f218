"""consolidate schedule: made, listed, paused, resumed, removed, and what is said about bad input."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Run, RunJson


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


def test_idle(run: Run, run_json: RunJson) -> None:
    run("write", "/a.md", "a")
    made = run("consolidate", "schedule", "--idle", 30, "--consolidator", "tidy", MEMORANDA_NAMESPACE="")
    assert made.stdout == "tidy-idle: idle for 30 minutes; when a scope is idle.\n"
    assert "idle for 2.5 minutes" in run("consolidate", "schedule", "--idle", 2.5, "--name", "soon").stdout
    assert [each["name"] for each in run_json("consolidate", "schedule")["schedules"]] == ["soon", "tidy-idle"]
    (shape,) = run_json("consolidate", "schedule", "--list", "--consolidator", "tidy")["schedules"]
    assert (shape["kind"], shape["minutes"], shape["line"], shape["next_due"]) == ("idle", 30.0, None, None)


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
