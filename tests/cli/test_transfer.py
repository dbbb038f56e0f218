"""import and export."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from langgraph.store.postgres import PostgresStore
from langgraph.store.sqlite import SqliteStore

from memoranda import open_store
from tests.cli.conftest import Run, RunJson
from tests.cli.support import memoranda
from tests.cli.terminal import on_terminal


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of files whose names carry the prefix of their mount."""
    source = tmp_path / "source"
    for name, content in (("AGENTS.md", b"Be kind."), ("deep/er.md", b"tea"), ("logo.png", b"\xff\x00")):
        path = source / "memories" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return source


def keys(run_json: RunJson, *options: str) -> list[str]:
    return sorted(entry["key"] for entry in run_json("ls", "-R", *options)["entries"])


def test_a_folder_comes_in_with_its_author(run: Run, run_json: RunJson, folder: Path) -> None:
    done = run_json("import", folder / "memories", "--to", "/docs", "--actor", "user:ann", "--reason", "moving house")
    assert (done["items"], done["namespaces"], done["dry_run"]) == (3, [["ann"]], False)
    assert keys(run_json) == ["/docs/AGENTS.md", "/docs/deep/er.md", "/docs/logo.png"]
    assert run("cat", "/docs/logo.png").stdout_bytes == b"\xff\x00"
    (entry,) = run_json("log", "/docs/AGENTS.md")["revisions"]
    assert (entry["author"]["actor"], entry["author"]["reason"]) == ("user:ann", "moving house")
    assert run_json("import", folder / "memories", "--to", "/docs")["items"] == 0


def test_what_is_taken_from_a_folder(run: Run, run_json: RunJson, folder: Path) -> None:
    run("import", folder / "memories", "--include", "*.md")
    assert keys(run_json) == ["/AGENTS.md", "/deep/er.md"]
    run("write", "/AGENTS.md", "mine")
    run("import", folder / "memories", "--keep")
    assert run("cat", "/AGENTS.md").stdout == "mine"
    run("import", folder / "memories")
    assert run("cat", "/AGENTS.md").stdout == "Be kind."


def test_a_dry_run_does_nothing(run: Run, run_json: RunJson, folder: Path, engine: str, store_url: str) -> None:
    if engine == "postgres":
        run("migrate")
    assert run_json("import", folder, "--dry-run")["items"] == 3
    assert "Would import 3 items" in run("import", folder, "--dry-run").stdout
    if engine == "sqlite":
        assert not Path(store_url.removeprefix("sqlite:///")).exists()
    run("write", "/x", "x")
    assert keys(run_json) == ["/x"]


def test_a_prefix_kept_by_mistake_is_noticed(run: Run, run_json: RunJson, folder: Path) -> None:
    told = run("import", folder)
    assert "/memories/" in told.stderr and "--strip-prefix /memories/" in told.stderr
    assert "/memories/AGENTS.md" in keys(run_json)
    found = run_json("import", folder, "--dry-run", "-n", "bob")["prefixed"]
    assert [(each["prefix"], len(each["keys"])) for each in found] == [("/memories/", 3)]
    run("import", folder, "-n", "bob", "--strip-prefix", "/memories/")
    assert keys(run_json, "-n", "bob") == ["/AGENTS.md", "/deep/er.md", "/logo.png"]


@pytest.mark.parametrize(("answer", "key"), [("y", "/AGENTS.md"), ("n", "/memories/AGENTS.md")])
def test_on_a_terminal_it_is_asked(folder: Path, tmp_path: Path, answer: str, key: str) -> None:
    settings = {"MEMORANDA_STORE": f"sqlite:///{tmp_path / 'memory.db'}"}
    shown = on_terminal("import", folder, "-n", "ann", keys=[("[Y/n]", f"{answer}\n")], **settings)
    assert shown.code == 0 and "Take /memories/ off?" in shown.screen
    assert memoranda("cat", key, settings=settings).stdout == b"Be kind."


def test_a_bundle_carries_everything(notes: Run, run_json: RunJson, other_store_url: str, tmp_path: Path) -> None:
    notes("write", "-n", "bob", "/x", "x")
    notes("rm", "profile")
    before = run_json("verify", MEMORANDA_NAMESPACE="")
    bundle = tmp_path / "all.mbundle"
    exported = run_json("export", bundle, MEMORANDA_NAMESPACE="")
    assert exported["target"] == str(bundle) and exported["namespaces"] == [["ann"], ["bob"]]
    there = {"MEMORANDA_STORE": other_store_url, "MEMORANDA_NAMESPACE": ""}
    assert "Imported" in notes("import", bundle, **there).stdout
    assert run_json("verify", **there) == before
    refused = run_json("import", bundle, **there, code=4)
    assert refused["error"] == "BundleConflictError" and "--skip-existing" in refused["remedy"]
    assert run_json("import", bundle, "--skip-existing", **there)["items"] == 0


def test_a_bundle_of_one_namespace_can_get_another_name(notes: Run, run_json: RunJson, tmp_path: Path) -> None:
    notes("write", "-n", "bob", "/x", "x")
    notes("export", tmp_path / "ann.mbundle")
    run_json("import", tmp_path / "ann.mbundle", "-n", "copy")
    assert keys(run_json, "-n", "copy") == keys(run_json)
    notes("export", tmp_path / "all.mbundle", MEMORANDA_NAMESPACE="")
    assert "3 namespaces" in run_json("import", tmp_path / "all.mbundle", "-n", "copy", code=2)["cause"]


def test_another_store_comes_in_with_its_history(notes: Run, run_json: RunJson, other_store_url: str, store_url: str):
    before = run_json("verify")
    there = {"MEMORANDA_STORE": other_store_url, "MEMORANDA_NAMESPACE": ""}
    notes("import", store_url, **there)
    assert run_json("verify", **there) == before


def test_export_to_a_folder(notes: Run, run_json: RunJson, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run_json("export", out)["items"] == 4
    assert (out / "ann/notes/tea.md").read_text() == "green\nBLACK\nwhite\n"
    assert (out / "ann/logo.png").read_bytes() == b"\x89PNG\xff\x00"
    notes("edit", "/notes/tea.md", "green", "GREEN")
    refused = run_json("export", out, code=5)
    assert refused["error"] == "TargetError" and "--force" in refused["remedy"]
    notes("export", out, "--force")
    assert (out / "ann/notes/tea.md").read_text().startswith("GREEN")
    notes("export", tmp_path / "odd.name", "--bundle")
    assert (tmp_path / "odd.name").is_file()
    notes("export", tmp_path / "x.mbundle", "--folder")
    assert (tmp_path / "x.mbundle").is_dir()
    whole = (tmp_path / "odd.name").read_bytes()
    refused = run_json("export", tmp_path / "odd.name", "--bundle", code=5)
    assert refused["error"] == "TargetError" and "--force" in refused["remedy"]
    assert (tmp_path / "odd.name").read_bytes() == whole
    notes("export", tmp_path / "odd.name", "--bundle", "--force")
    notes("export", f"{tmp_path}/v1.2/")
    assert (tmp_path / "v1.2" / "ann").is_dir()
    notes("export", tmp_path / "backup.memoranda")
    assert (tmp_path / "backup.memoranda").is_file()


def test_a_mistyped_namespace_touches_nothing(notes: Run, run_json: RunJson, tmp_path: Path) -> None:
    backup = tmp_path / "keep.mbundle"
    notes("export", backup)
    before = backup.read_bytes()
    for options in ([backup, "--force"], [tmp_path / "new.mbundle"], [tmp_path / "folder"]):
        error = run_json("export", *options, "-n", "anm", code=3)
        assert error["error"] == "SourceError" and "anm" in error["cause"] and "-n" in error["remedy"]
    assert backup.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir() if not each.name.startswith("memory.db")] == [backup.name]
    assert "anm" in notes("verify", "-n", "anm", code=3).stderr


@pytest.mark.parametrize(("answer", "code"), [("y", 0), ("n", 130)])
def test_on_a_terminal_it_is_asked_before_a_bundle_is_replaced(tmp_path: Path, answer: str, code: int) -> None:
    settings = {"MEMORANDA_STORE": f"sqlite:///{tmp_path / 'memory.db'}", "MEMORANDA_NAMESPACE": "ann"}
    memoranda("write", "/a.md", "a", settings=settings)
    memoranda("export", tmp_path / "b.mbundle", settings=settings)
    before = (tmp_path / "b.mbundle").read_bytes()
    memoranda("write", "/b.md", "b", settings=settings)
    shown = on_terminal("export", tmp_path / "b.mbundle", keys=[("[y/N]", f"{answer}\n")], **settings)
    assert shown.code == code and "Replace the bundle" in shown.screen
    assert ((tmp_path / "b.mbundle").read_bytes() == before) == (answer == "n")


def test_one_key_is_one(run: Run, tmp_path: Path) -> None:
    (tmp_path / "source" / "memories").mkdir(parents=True)
    (tmp_path / "source" / "memories" / "a.md").write_text("a")
    told = run("import", tmp_path / "source").stderr
    assert "1 key in ann starts with /memories/" in told and "It keeps it now" in told
    run("mv", "--contents", "/memories/", "/")
    assert run("cat", "/a.md").stdout == "a"


@pytest.mark.parametrize("size", [100, 400, 800])
def test_a_bundle_that_was_cut_off_is_called_one(notes: Run, run_json: RunJson, tmp_path: Path, size: int) -> None:
    notes("export", tmp_path / "b.mbundle")
    (tmp_path / "b.mbundle").write_bytes((tmp_path / "b.mbundle").read_bytes()[:size])
    error = run_json("import", tmp_path / "b.mbundle", "-n", "copy", code=5)
    assert error["error"] == "BundleTruncatedError" and "was cut off" in error["cause"]


def test_a_langgraph_store_comes_in(
    run: Run, run_json: RunJson, engine: str, other_postgres_url: str, tmp_path: Path
) -> None:
    source = other_postgres_url if engine == "postgres" else str(tmp_path / "theirs.sqlite")
    opened = PostgresStore.from_conn_string(source) if engine == "postgres" else SqliteStore.from_conn_string(source)
    with opened as theirs:
        theirs.setup()
        theirs.put(("ann", "memories"), "/memories/a.md", {"content": "tea", "encoding": "utf-8"})
        theirs.put(("ann", "memories"), "profile", {"name": "Ann"})
        theirs.put(("bob",), "profile", {"name": "Bob"})
    everywhere = {"MEMORANDA_NAMESPACE": ""}
    assert "nope" in run_json("import", source, "-n", "nope", code=3)["cause"]
    assert "an" in run_json("import", source, "-n", "an", code=3)["cause"]
    assert run_json("import", source, "-n", "ann", "--strip-prefix", "/memories/")["items"] == 2
    assert keys(run_json, "-n", "ann/memories") == ["/a.md", "profile"]
    assert run_json("import", source, "--strip-prefix", "/memories/", **everywhere)["namespaces"] == [["bob"]]


@pytest.mark.parametrize("option", ["--to=/x", "--include=*.md", "--keep"])
def test_options_of_folders_are_for_folders(notes: Run, tmp_path: Path, option: str) -> None:
    notes("export", tmp_path / "b.mbundle")
    assert option.partition("=")[0] in notes("import", tmp_path / "b.mbundle", option, code=2).stderr
    notes("import", tmp_path, "--skip-existing", code=2)


def test_sources_that_cannot_be(notes: Run, run_json: RunJson, tmp_path: Path) -> None:
    assert run_json("import", tmp_path / "nothing", code=3)["error"] == "SourceError"
    (tmp_path / "text").write_text("no bundle")
    assert run_json("import", tmp_path / "text", code=3)["remedy"]
    notes("write", "/big", input=random.Random(1).randbytes(400_000))
    notes("export", tmp_path / "b.mbundle")
    whole = (tmp_path / "b.mbundle").read_bytes()
    (tmp_path / "b.mbundle").write_bytes(whole[: len(whole) * 3 // 4])
    broken = run_json("import", tmp_path / "b.mbundle", "-n", "copy", code=None)
    assert broken["error"] in ("BundleTruncatedError", "BundleCorruptError") and broken["remedy"]
    assert "no namespace copy" in run_json("ls", "-R", "-n", "copy", code=3)["cause"]


def test_ctrl_c_leaves_whole_files_and_a_second_run_completes(store_url: str, tmp_path: Path) -> None:
    source, count = tmp_path / "many", 2_000
    source.mkdir()
    for number in range(count):
        (source / f"{number:05}.md").write_text(f"{number}\n" * 50)
    settings = {"MEMORANDA_STORE": store_url, "MEMORANDA_NAMESPACE": "ann"}
    shown = on_terminal("import", source, keys=[("Importing", "^C")], **settings)
    assert shown.code == 130, shown
    assert "Stopped" in shown.screen and "half-written" in shown.screen and "Traceback" not in shown.screen
    assert memoranda("verify", settings={"MEMORANDA_STORE": store_url}).returncode == 0
    with open_store(store_url) as store:
        landed = store.list_keys(("ann",), "/")
    assert len(landed) < count
    assert all(entry.size == len(f"{int(entry.key[1:-3])}\n" * 50) for entry in landed)
    assert memoranda("import", source, settings=settings).returncode == 0
    with open_store(store_url) as store:
        assert len(store.list_keys(("ann",), "/")) == count


def test_progress_is_shown_on_import_and_export(tmp_path: Path, folder: Path) -> None:
    settings = {"MEMORANDA_STORE": f"sqlite:///{tmp_path / 'memory.db'}", "MEMORANDA_NAMESPACE": "ann"}
    assert "Importing" in on_terminal("import", folder / "memories", **settings).screen
    assert "Exporting" in on_terminal("export", tmp_path / "all.mbundle", **settings).screen
    assert "Migrating" in on_terminal("migrate", MEMORANDA_STORE=f"sqlite:///{tmp_path / 'new.db'}").screen
    quiet = memoranda("export", tmp_path / "all.mbundle", "--force", settings=settings)
    assert quiet.stderr == b""
