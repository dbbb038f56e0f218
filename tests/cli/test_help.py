"""Help that is complete, the reference that keeps step with it, and the speed of both."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from memoranda.cli.app import COMMANDS, program
from tests.cli.conftest import Run
from tests.cli.support import environment

REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"
NAMES = [each.name for each in COMMANDS]
WANTED = {"ls", "tree", "cat", "write", "edit", "rm", "mv", "log", "diff", "blame", "restore", "changes", "grep"}
WANTED |= {"import", "export", "verify", "stats", "migrate"}
WIDE = {"COLUMNS": "200", "TERMINAL_WIDTH": "200"}


def parameters(name: str | None) -> Iterator[Any]:
    """The options and arguments of a command, or of the program itself."""
    group: Any = get_command(program())
    for word in (name or "").split():
        group = group.commands[word]
    yield from group.params


def section(name: str) -> str:
    """What the reference says about a command."""
    found = re.search(rf"^### `{name}`\n(.*?)(?=^##)", REFERENCE.read_text() + "\n##", re.MULTILINE | re.DOTALL)
    assert found is not None, f"{name} is not in {REFERENCE.name}"
    return found[1]


def test_every_command_that_was_promised_is_there() -> None:
    assert set(NAMES) >= WANTED


@pytest.mark.parametrize("name", NAMES)
def test_help_is_complete(anywhere: Run, name: str) -> None:
    text = anywhere(*name.split(), "--help", **WIDE).stdout
    assert anywhere(*name.split(), "-h", **WIDE).stdout == text
    assert re.search(rf"Examples?:\s+.*memoranda {name}\b", text, re.DOTALL)
    for parameter in parameters(name):
        for option in parameter.opts if parameter.param_type_name == "option" else ():
            assert option in text
        assert getattr(parameter, "help", None), f"{name}: {parameter.name} says nothing about itself"


def test_help_of_a_command_is_about_the_command(anywhere: Run) -> None:
    text = anywhere("ls", "--help", **WIDE).stdout
    assert "Global options" not in text and "Whose memory" not in text
    assert "Global options" in anywhere("--help", **WIDE).stdout
    assert re.search("Also --store, --namespace/-n/--scope, .*: see `memoranda --help`", text)


def test_help_of_the_program_names_the_commands_the_store_and_the_exit_codes(anywhere: Run) -> None:
    text = anywhere("--help", **WIDE).stdout
    assert anywhere(**WIDE).stdout.strip() == text.strip()
    for name in NAMES:
        assert re.search(rf"^│ {name.split()[0]} ", text, re.MULTILINE)
    assert "memory.db" in text and "Exit codes" in text and "Example" in text


@pytest.mark.parametrize("name", NAMES)
def test_the_reference_names_every_option(name: str) -> None:
    shared = {parameter.name for parameter in parameters(None)}
    text = section(name)
    for parameter in parameters(name):
        if parameter.param_type_name == "option":
            if parameter.name not in shared and parameter.name != "help":
                for option in (*parameter.opts, *parameter.secondary_opts):
                    assert f"`{option}" in text, f"{option} of {name} is not in the reference"
        else:
            assert (parameter.metavar or parameter.name.upper()) in text
    assert f"memoranda {name}" in text


def test_the_reference_names_nothing_else() -> None:
    text = REFERENCE.read_text()
    assert re.findall(r"^### `(.*)`$", text, re.MULTILINE) == NAMES
    every = [each for name in (None, *NAMES) for each in parameters(name)]
    known = {option for each in every for option in (*each.opts, *each.secondary_opts)} | {"--help"}
    for option in re.findall(r"`(--[a-z-]+)", text):
        assert option in known, option


def test_the_reference_names_the_global_options_and_exit_codes() -> None:
    from memoranda.cli import failures

    text = REFERENCE.read_text()
    for parameter in parameters(None):
        for option in parameter.opts:
            assert f"`{option}" in text
    for name in ("OK", "NO", "USAGE", "NOT_FOUND", "CONFLICT", "UNAVAILABLE", "INTERNAL", "STOPPED", "PIPE_CLOSED"):
        assert f"| {getattr(failures, name)} |" in text


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from memoranda.cli.app import program\n"
        "try: program()(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'apsw', 'psycopg', 'langgraph', 'langchain_core', 'orjson', 'zstandard', 'numpy', 'wcmatch'}\n"
        "print('LOADED', sorted(heavy & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment(), check=True, text=True)
    assert done.stdout.splitlines()[-1] == "LOADED []"
