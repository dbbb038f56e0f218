"""The command line in this process, on each engine in turn."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any, Protocol

import pytest
import typer.testing
from typer.main import get_command
from typer.testing import CliRunner, Result

from memoranda.cli.app import program

_STORE = ("MEMORANDA_STORE", "MEMORANDA_NAMESPACE", "MEMORANDA_TENANT", "MEMORANDA_EMBED", "MEMORANDA_ACTOR")
CLEAN = dict.fromkeys((*_STORE, "NO_COLOR", "FORCE_COLOR", "VISUAL", "EDITOR"))
"""What must not come in from the machine."""


class Run(Protocol):
    """Run a command line; it has to end with `code`, or anyhow for None."""

    def __call__(
        self, *arguments: object, code: int | None = 0, input: str | bytes | None = None, **environment: str
    ) -> Result: ...


class RunJson(Protocol):
    """Run a command line with --json and read what it says."""

    def __call__(
        self, *arguments: object, code: int | None = 0, input: str | bytes | None = None, **environment: str
    ) -> Any: ...


@pytest.fixture(scope="session", autouse=True)
def _commands_are_made_once() -> Iterator[None]:
    """Typer's runner makes every command of the program anew for each call, which takes longer than most calls."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.testing, "_get_command", cache(get_command), raising=False)
        yield


@pytest.fixture
def anywhere() -> Run:
    """The command line without a store."""

    def run(*arguments: object, code: int | None = 0, input: str | bytes | None = None, **environment: str) -> Result:
        result = CliRunner(env=CLEAN).invoke(program(), [str(each) for each in arguments], input=input, env=environment)
        assert code in (None, result.exit_code), (
            arguments,
            result.exit_code,
            result.stdout,
            result.stderr,
            result.exception,
        )
        assert "Traceback" not in result.stderr
        return result

    return run


@pytest.fixture
def run(anywhere: Run, store_url: str) -> Run:
    """The command line on an empty store, in the namespace `ann`."""

    def running(*arguments: object, **settings: Any) -> Result:
        return anywhere(*arguments, **{"MEMORANDA_STORE": store_url, "MEMORANDA_NAMESPACE": "ann", **settings})

    return running


@pytest.fixture
def run_json(run: Run) -> RunJson:
    """The same, read as JSON: what was written to stdout, or the error."""

    def running(*arguments: object, **settings: Any) -> Any:
        result = run(*arguments, "--json", **settings)
        return json.loads(result.stdout or result.stderr)

    return running


@pytest.fixture
def notes(run: Run) -> Run:
    """The command line on a store with a few things in it."""
    run("write", "/notes/tea.md", "green\nblack\nwhite\n", "--reason", "asked", "--actor", "user:ann")
    run("edit", "/notes/tea.md", "black", "BLACK")
    run("write", "/notes/deep/er.md", "tea time")
    run("write", "/logo.png", input=b"\x89PNG\xff\x00")
    run("write", "profile", "--document", '{"name": "Ann"}')
    return run
