"""Hostile input: a sentence of cause, one with the way out, the right exit code, and never a traceback."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import apsw
import psycopg
import pytest

from memoranda import errors, open_store
from memoranda.cli.failures import described, exit_code
from tests.cli.conftest import Run, RunJson
from tests.cli.support import PROGRAM, environment, memoranda


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port that nobody listens on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


def check(error: dict[str, str], name: str) -> None:
    """An error names its class, a cause and a remedy."""
    assert error["error"] == name
    assert error["cause"].endswith(".") and error["remedy"].endswith(".")


@pytest.mark.parametrize(
    ("url", "name", "code"),
    [
        ("foo://bar", "StoreUrlError", 2),
        ("memory.db", "StoreUrlError", 2),
        ("sqlite:///", "StoreUrlError", 2),
        ("sqlite://memory.db", "StoreUrlError", 2),
        ("sqlite:///x.db?mode=ro", "StoreUrlError", 2),
        ("sqlite:////no/such/folder/memory.db", "StoreUnavailableError", 5),
        ("postgresql://nobody@127.0.0.1:{port}/nothing", "StoreUnavailableError", 5),
    ],
)
@pytest.mark.parametrize("command", [["ls"], ["write", "-n", "ann", "/x", "x"], ["migrate"]])
def test_urls(anywhere: Run, closed_port: int, url: str, name: str, code: int, command: list[str]) -> None:
    url = url.format(port=closed_port)
    result = anywhere("--store", url, "--timeout", 2, "--json", *command, code=code)
    check(json.loads(result.stderr), name)
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("memory.db", "sqlite:///memory.db"),
        ("notes/my memory", "sqlite:///notes/my%20memory"),
        ("/var/lib/m.db", "sqlite:////var/lib/m.db"),
        ("sqlite:/var/m.db", "sqlite:////var/m.db"),
        ("sqlite:m.db", "sqlite:///m.db"),
        ("~/m.db", "sqlite:///{home}/m.db"),
        ("sqlite:~/m.db", "sqlite:///{home}/m.db"),
        ("sqlite://~/m.db", "sqlite:///{home}/m.db"),
        ("~", "sqlite:///{home}/memory.db"),
        (".", "sqlite:///memory.db"),
        ("postgres:ann@db/memory", "postgresql://ann@db/memory"),
    ],
)
def test_what_is_nearly_a_url(anywhere: Run, tmp_path: Path, typed: str, meant: str) -> None:
    for command in (["ls"], ["write", "-n", "ann", "/x", "x"], ["migrate"]):
        text = anywhere("--store", typed, *command, code=2, HOME=str(tmp_path)).stderr
        assert f"Write {meant.format(home=tmp_path)}." in text
    if typed.startswith("sqlite"):
        assert meant.format(home=tmp_path) in anywhere("import", typed, code=2, HOME=str(tmp_path)).stderr


def test_a_password_is_not_shown(anywhere: Run, closed_port: int) -> None:
    url = f"postgresql://ann:s3cret@127.0.0.1:{closed_port}/x"
    assert "s3cret" not in anywhere("--store", url, "--timeout", 2, "ls", code=5).output


@pytest.mark.parametrize("command", [["ls"], ["write", "/x", "x"], ["verify"], ["migrate"]])
def test_a_file_that_is_no_database(run_json: RunJson, tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "bad.db").write_bytes(os.urandom(8192))
    error = run_json(*command, MEMORANDA_STORE=f"sqlite:///{tmp_path / 'bad.db'}", code=5)
    check(error, "StoreCorruptError")


def test_a_store_with_a_hole(tmp_path: Path) -> None:
    file = tmp_path / "memory.db"
    settings = {"MEMORANDA_STORE": f"sqlite:///{file}", "MEMORANDA_NAMESPACE": "ann"}
    with open_store(settings["MEMORANDA_STORE"]) as store:
        for number in range(30):
            store.write(("ann",), f"/{number}.md", os.urandom(3000).hex())
    whole = bytearray(file.read_bytes())
    whole[8192:-4096] = b"\xa5" * (len(whole) - 8192 - 4096)
    file.write_bytes(whole)
    for command in (["ls"], ["verify"], ["cat", "/3.md"], ["write", "/3.md", "x"]):
        done = memoranda(*command, "--json", settings=settings)
        assert done.returncode in (1, 5) and b"Traceback" not in done.stderr, (command, done)


_AS_SOMEBODY_ELSE = """
import os, sys
from memoranda.cli.app import program

def run(*arguments):
    try:
        program()([*arguments, "--json"])
    except SystemExit as end:
        return end.code

assert run("write", "/x", "x") == 0  # what is imported from here on is there already
os.chmod(sys.argv[1] + "/memory.db", 0o444)
os.chmod(sys.argv[1], 0o555)
if os.geteuid() == 0:
    os.setgroups([]), os.setgid(65534), os.setuid(65534)
print([run(*command.split()) for command in sys.argv[2:]])
"""


def test_a_file_that_may_only_be_read() -> None:
    folder = Path(tempfile.mkdtemp(prefix="memoranda-readonly"))
    settings = {"MEMORANDA_STORE": f"sqlite:///{folder / 'memory.db'}", "MEMORANDA_NAMESPACE": "ann"}
    commands = ["write /x y", "edit /x x y", "rm /x"]
    try:
        done = subprocess.run(
            [sys.executable, "-c", _AS_SOMEBODY_ELSE, folder, *commands],
            env=environment(**settings),
            capture_output=True,
            check=True,
            timeout=60,
        )
        assert done.stdout.splitlines()[-1] == b"[5, 5, 5]", done
        for line in done.stderr.splitlines():
            check(json.loads(line), "StoreReadOnlyError")
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


def test_a_store_that_others_hold(notes: Run, run_json: RunJson, store_url: str) -> None:
    if store_url.startswith("postgresql"):
        holder = psycopg.connect(store_url)
        holder.execute("LOCK TABLE memoranda.items, memoranda.namespaces IN ACCESS EXCLUSIVE MODE")
    else:
        holder = apsw.Connection(store_url.removeprefix("sqlite:///"))
        holder.execute("BEGIN IMMEDIATE")
    try:
        check(run_json("write", "/x", "x", "--timeout", 0.2, code=5), "StoreBusyError")
        assert "--timeout" in notes("write", "/x", "x", "--timeout", 0.2, code=5).stderr
    finally:
        holder.close()
    notes("write", "/x", "x")


def test_reading_makes_no_store(run: Run, run_json: RunJson, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'typo.db'}"
    for command in ("ls", "tree", "cat /x", "log /x", "grep x", "changes", "verify", "stats", "rm /x", "mv /x /y"):
        error = run_json(*command.split(), MEMORANDA_STORE=url, code=5)
        check(error, "StoreUnavailableError")
        assert "typo.db" in error["cause"]
    assert not (tmp_path / "typo.db").exists()


def test_the_default_store_is_made_by_writing(tmp_path: Path) -> None:
    settings = {"XDG_DATA_HOME": str(tmp_path / "data"), "HOME": str(tmp_path)}
    assert memoranda("ls", settings=settings).returncode == 5
    assert not (tmp_path / "data").exists()
    assert memoranda("write", "-n", "ann", "/x", "x", settings=settings).returncode == 0
    assert memoranda("cat", "/x", settings=settings).stdout == b"x"
    assert str(tmp_path) in memoranda("--help", settings={**settings, "COLUMNS": "300"}).stdout.decode()


@pytest.mark.parametrize("namespace", ["/", "ann/", "/ann", "a//b", "langgraph", "a\udc80"])
def test_namespaces_that_cannot_be(run_json: RunJson, namespace: str) -> None:
    error = run_json("write", "-n", namespace, "/x", "x", code=2)
    assert error["error"] in ("UsageError", "InvalidNamespaceError") and error["remedy"]


@pytest.mark.parametrize("path", ["", "/", "..", "/a/../b", "~/x", "C:/x", "/" + "x" * 2000, "/\udcff"])
def test_paths_that_cannot_be(run: Run, run_json: RunJson, path: str) -> None:
    run("write", "/there", "x")
    for command in (["write", path, "x"], ["edit", path, "a", "b"], ["log", path], ["restore", path, "1"]):
        assert run_json(*command, code=2)["remedy"], command


@pytest.mark.parametrize("pattern", ["../x", "x" * 5000, "{1..999999}"])
def test_globs_that_cannot_be(notes: Run, run_json: RunJson, pattern: str) -> None:
    check(run_json("glob", pattern, code=2), "InvalidGlobError")
    check(run_json("grep", "tea", "--glob", pattern, code=2), "InvalidGlobError")


def test_a_folder_is_no_item(notes: Run, run_json: RunJson) -> None:
    for command in ("cat", "log", "diff", "blame"):
        error = run_json(command, "/notes", code=3)
        assert error["error"] == "ItemNotFoundError" and "is a folder" in error["cause"], command
        assert "`memoranda ls -n ann /notes`" in error["remedy"]


def test_an_error_speaks_of_commands(notes: Run) -> None:
    for line in (["edit", "/never", "a", "b"], ["mv", "/never", "/x"]):
        assert "`memoranda ls -n ann /` lists what does" in notes(*line, code=3).stderr
    said = notes("cat", "/notes/tea.md", "-r", 9, code=3).stderr
    assert "`memoranda log -n ann /notes/tea.md` shows its history." in said
    assert "memory://" not in notes("ls", "--store", "memory.db", code=2).stderr


@pytest.mark.parametrize("path", ["/sub/", "sub/", "/notes/tea.md/", "/sub\\"])
def test_a_slash_at_the_end_names_no_file(notes: Run, run_json: RunJson, path: str) -> None:
    for command in (["write", path, "x"], ["write", path, "x", "--append"], ["edit", path, "a", "b"], ["edit", path]):
        error = run_json(*command, code=2, EDITOR="true")
        assert error["error"] == "UsageError" and path in error["cause"], command
    assert "/sub" not in [entry["key"] for entry in run_json("ls", "-R")["entries"]]


def test_a_name_may_end_with_a_slash(run: Run) -> None:
    run("write", "odd/", "--document", '{"a": 1}')
    run("edit", "odd/", "1", "2")
    assert '"a": 2' in run("cat", "odd/").stdout


def test_a_grep_for_nothing(notes: Run) -> None:
    notes("grep", "", code=2)


@pytest.mark.parametrize(
    "arguments",
    [
        ["frobnicate"],
        ["cat"],
        ["cat", "/x", "--frobnicate"],
        ["restore", "/x", "one"],
        ["log", "/x", "--limit", "0"],
        ["--timeout", "-1", "ls"],
    ],
)
def test_usage(anywhere: Run, arguments: list[str]) -> None:
    text = anywhere(*arguments, code=2).stderr
    assert text.startswith("Error: ") and "--help" in text
    error = json.loads(anywhere(*arguments, "--json", code=2).stderr)
    assert error["error"] == "UsageError" and error["cause"].endswith(".") and "--help" in error["remedy"]


def test_json_errors_are_one_object_and_nothing_else(notes: Run) -> None:
    result = notes("cat", "/never", "--json", code=3, MEMORANDA_NAMESPACE="")
    assert json.loads(result.stderr).keys() == {"error", "cause", "remedy"}


def test_debug_shows_the_traceback() -> None:
    done = memoranda("ls", "--debug", "--store", "foo://x")
    assert done.returncode == 2 and b"Traceback" in done.stderr and b"names no engine" in done.stderr
    assert b"Traceback" not in memoranda("ls", "--store", "foo://x").stderr


def test_what_nobody_expects_is_a_sentence_too(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("the moon is in the way")

    monkeypatch.setattr("memoranda.cli.session.open_to_read", broken)
    error = run("ls", code=70).stderr
    assert "the moon is in the way" in error and "--debug" in error


def test_every_error_of_the_library_has_an_exit_code() -> None:
    from memoranda.store.changes import Conflict, ConflictError

    expected = {
        "InvalidPathError": 2,
        "InvalidGlobError": 2,
        "InvalidValueError": 2,
        "InvalidKeyError": 2,
        "InvalidChangeError": 2,
        "StoreUrlError": 2,
        "ItemNotFoundError": 3,
        "RevisionNotFoundError": 3,
        "ItemExistsError": 4,
        "StoreUnavailableError": 5,
        "StoreBusyError": 5,
        "StoreReadOnlyError": 5,
        "StoreFullError": 5,
        "StoreCorruptError": 5,
        "SchemaError": 5,
        "SchemaTooNewError": 5,
    }
    for name, code in expected.items():
        error = getattr(errors, name)("It is so.", "Do this.")
        assert exit_code(error) == code, name
        assert described(error) == {"error": name, "cause": "It is so.", "remedy": "Do this."}
    assert exit_code(ConflictError([Conflict(0, ("a",), "/x", "overlap", "No.")])) == 4
    assert exit_code(FileNotFoundError()) == 3 and exit_code(PermissionError()) == 5


def test_the_program_is_installed() -> None:
    done = memoranda("--version")
    assert PROGRAM.exists() and done.returncode == 0 and done.stdout.startswith(b"memoranda ")
