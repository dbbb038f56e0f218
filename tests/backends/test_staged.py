"""Changes that are held back: seen on top of what lies below, and landing together."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memoranda import Author, MemoryStore
from memoranda.backends import (
    SEEN,
    Backend,
    CompositeBackend,
    FilesystemPermission,
    GuardedBackend,
    StagedBackend,
    StoreBackend,
)
from memoranda.backends.places import place_of
from memoranda.backends.protocol import AppendFile, DeleteFile, EditFile, MoveFile, WriteFile


@pytest.fixture
def files(store: MemoryStore) -> StoreBackend:
    return StoreBackend(namespace=("ann",), store=store)


@pytest.fixture
def staged(files: StoreBackend) -> StagedBackend:
    for path, text in {"/a.md": "one\ntwo\n", "/b.md": "tea\n", "/d/x.md": "tea x", "/d/.y.md": "tea y"}.items():
        files.write(path, text)
    files.upload_files([("/c.bin", b"\xff")])
    return StagedBackend(files)


def text(backend: Backend, path: str) -> str | None:
    found = backend.read(path)
    return None if found.file_data is None else found.file_data["content"]


def paths(result: Any) -> list[str]:
    assert result.error is None, result.error
    return [entry["path"] for entry in (result.entries if hasattr(result, "entries") else result.matches)]


def kinds(staged: StagedBackend) -> list[str]:
    return [type(change).__name__ for change in staged.changes]


# --- seen above, not below -------------------------------------------------------------------------------------


def test_nothing_lands_before_the_commit(staged: StagedBackend, files: StoreBackend, store: MemoryStore) -> None:
    before = list(store.changes(namespace=("ann",)))
    staged.write("/new.md", "tea, new")
    staged.edit("/a.md", "two", "two teas")
    staged.append("/b.md", "more")
    staged.delete("/d/x.md")
    staged.move("/d/.y.md", "/moved/y.md")
    staged.upload_files([("/up.bin", b"\xfe")])
    assert list(store.changes(namespace=("ann",))) == before
    assert text(staged, "/new.md") == "tea, new" and text(files, "/new.md") is None
    assert text(staged, "/a.md") == "one\ntwo teas\n" and text(files, "/a.md") == "one\ntwo\n"
    assert paths(staged.ls("/")) == ["/a.md", "/b.md", "/c.bin", "/moved/", "/new.md", "/up.bin"]
    assert paths(staged.ls("/d")) == [] and paths(staged.ls("/moved")) == ["/moved/y.md"]
    assert set(paths(staged.glob("**/*.md"))) == {"/a.md", "/b.md", "/new.md", "/moved/y.md"}
    assert paths(staged.grep("tea")) == ["/a.md", "/b.md", "/new.md", "/moved/y.md"]
    capped = staged.grep("tea", max_count=2)
    assert paths(capped) == ["/a.md", "/b.md"] and capped.truncated
    assert not staged.grep("tea", max_count=4).truncated
    assert staged.read("/d/x.md").error == "File '/d/x.md' not found"
    down = staged.download_files(["/up.bin", "/c.bin", "/d/.y.md", "/moved/y.md"])
    assert [answer.content for answer in down] == [b"\xfe", b"\xff", None, b"tea y"]
    assert down[2].error == "file_not_found"


def test_all_land_as_one_commit(staged: StagedBackend, files: StoreBackend, store: MemoryStore) -> None:
    staged.write("/new.md", "new")
    staged.edit("/a.md", "two", "three")
    staged.append("/b.md", "more")
    staged.delete("/d/x.md")
    staged.move("/d/.y.md", "/moved.md")
    assert kinds(staged) == ["EditFile", "AppendFile", "DeleteFile", "MoveFile", "WriteFile"]
    landed = staged.commit_staged(author=Author("job:consolidation", reason="tidy"))
    assert landed.error is None, landed.error
    assert set(landed.paths) == {"/a.md", "/b.md", "/d/x.md", "/moved.md", "/new.md"}
    assert staged.changes == () and staged.staged_diff().diff == ""
    assert text(files, "/a.md") == "one\nthree\n" and text(files, "/moved.md") == "tea y"
    for path in ("/a.md", "/new.md", "/moved.md", "/d/x.md"):
        (last, *_) = files.history(path).revisions
        assert (last.author.actor, last.author.reason) == ("job:consolidation", "tidy")
    assert store.history(("ann",), "/moved.md", follow=True)[-1].operation == "write"


def test_a_conflict_lets_nothing_land_and_keeps_all(staged: StagedBackend, files: StoreBackend) -> None:
    staged.write("/new.md", "new")
    staged.edit("/b.md", "tea", "coffee")
    files.write("/b.md", "nothing of it")
    refused = staged.commit_staged()
    assert "/b.md" in refused.error and refused.conflicts
    assert text(files, "/new.md") is None and text(staged, "/new.md") == "new"
    staged.discard()
    assert staged.changes == () and text(staged, "/b.md") == "nothing of it"


def test_edits_apply_to_what_the_file_is_by_then(staged: StagedBackend, files: StoreBackend) -> None:
    staged.edit("/a.md", "one", "1")
    staged.append("/b.md", "mine")
    staged.append("/log.md", "mine")
    files.edit("/a.md", "two", "2")
    files.append("/b.md", "theirs")
    files.append("/log.md", "theirs")
    assert staged.commit_staged().error is None
    assert text(files, "/a.md") == "1\n2\n"
    assert text(files, "/b.md") == "tea\ntheirs\nmine" and text(files, "/log.md") == "theirs\nmine"


def test_whole_texts_are_merged_or_refused(staged: StagedBackend, files: StoreBackend) -> None:
    staged.write("/a.md", "ONE\ntwo\n")
    files.edit("/a.md", "two", "TWO")
    assert staged.commit_staged().error is None and text(files, "/a.md") == "ONE\nTWO\n"
    staged.write("/a.md", "mine\n")
    files.write("/a.md", "theirs\n")
    assert staged.commit_staged().conflicts and text(files, "/a.md") == "theirs\n"
    staged.discard()
    staged.write("/n.md", "mine")
    files.write("/n.md", "theirs")
    assert staged.commit_staged().conflicts and text(files, "/n.md") == "theirs"
    staged.discard()
    staged.delete("/b.md")
    files.append("/b.md", "fresh")
    assert staged.commit_staged().conflicts and text(files, "/b.md") == "tea\nfresh"


# --- bases while staging ---------------------------------------------------------------------------------------


def test_bases_are_those_that_were_read(staged: StagedBackend, files: StoreBackend) -> None:
    read = staged.read("/a.md")
    files.edit("/a.md", "two", "TWO")
    made = staged.write("/a.md", "ONE\ntwo\n", base=read.revision)
    assert made.merged and text(staged, "/a.md") == "ONE\nTWO\n"
    staged.discard()
    staged.read("/a.md")
    files.write("/a.md", "other")
    refused = staged.write("/a.md", "mine")
    assert refused.conflict and "other" in refused.error and text(staged, "/a.md") == "other"
    assert staged.write("/a.md", "mine").error is None  # the current text was shown
    assert staged.commit_staged().error is None and text(files, "/a.md") == "mine"


def test_what_was_not_read_is_not_overwritten_with_seen(staged: StagedBackend) -> None:
    refused = staged.write("/a.md", "x", base=SEEN)
    assert refused.conflict and "you have not read it" in refused.error
    assert staged.write("/fresh.md", "x", base=SEEN).error is None
    assert staged.write("/fresh2.md", "x", base=0).error is None
    assert staged.write("/fresh2.md", "y", base=0).conflict


def test_staged_states_are_bases_too(staged: StagedBackend) -> None:
    first = staged.edit("/a.md", "one", "1").revision
    assert staged.read("/a.md").revision == first and str(first).startswith("sha256:")
    second = staged.write("/a.md", "all new", base=first).revision
    assert staged.write("/a.md", "stale", base=first).conflict
    assert staged.edit("/a.md", "new", "old", base=first).conflict
    assert staged.append("/a.md", "x", base=first).conflict and staged.delete("/a.md", base=first).conflict
    assert staged.delete("/a.md", base=second).error is None
    assert text(staged, "/a.md") is None


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda s: s.edit("/none.md", "a", "b"), "Error: File '/none.md' not found"),
        (lambda s: s.edit("/a.md", "nowhere", "b"), "not found in file /a.md"),
        (lambda s: s.edit("/a.md", "", "b"), "cannot be empty"),
        (lambda s: s.edit("/c.bin", "a", "b"), "binary"),
        (lambda s: s.append("/c.bin", "b"), "no text file"),
        (lambda s: s.delete("/none.md"), "not found"),
        (lambda s: s.move("/none.md", "/x.md"), "not found"),
        (lambda s: s.move("/a.md", "/b.md"), "/b.md exists already"),
        (lambda s: s.move("/d", "/d/e"), "lies below it"),
        (lambda s: s.restore("/a.md", 9), "9"),
        (lambda s: s.write("/../x", "a"), "climbs"),
        (lambda s: s.commit([WriteFile("/q.md", "1"), EditFile("/none.md", "a", "b")]), "/none.md"),
    ],
)
def test_what_cannot_be_staged(staged: StagedBackend, change: Callable[[StagedBackend], Any], told: str) -> None:
    assert told in change(staged).error
    assert staged.changes == ()


# --- the fewest changes ----------------------------------------------------------------------------------------


def test_changes_of_one_file_become_one(staged: StagedBackend, files: StoreBackend) -> None:
    staged.write("/new.md", "1")
    staged.edit("/new.md", "1", "2")
    staged.append("/new.md", "3")
    assert staged.changes == (WriteFile("/new.md", "2\n3", 0),)
    staged.delete("/new.md")
    assert staged.changes == ()
    staged.edit("/a.md", "one", "1")
    staged.edit("/a.md", "two", "2")
    assert kinds(staged) == ["EditFile", "EditFile"]
    staged.write("/a.md", "whole")
    assert staged.changes == (WriteFile("/a.md", "whole", 1),)
    staged.delete("/a.md")
    assert staged.changes == (DeleteFile("/a.md", 1),)
    staged.write("/a.md", "again")
    assert staged.changes == (WriteFile("/a.md", "again", 1),)
    assert staged.commit_staged().error is None and text(files, "/a.md") == "again"


def test_moves_and_their_like(staged: StagedBackend, files: StoreBackend) -> None:
    staged.move("/a.md", "/m.md")
    staged.edit("/m.md", "one", "1")
    assert staged.changes == (EditFile("/a.md", "one", "1"), MoveFile("/a.md", "/m.md"))
    staged.move("/m.md", "/n.md")
    assert staged.changes[-1] == MoveFile("/a.md", "/n.md")
    staged.write("/a.md", "in its old place")
    assert staged.changes[-1] == WriteFile("/a.md", "in its old place", 0)
    assert staged.commit_staged().error is None
    assert text(files, "/n.md") == "1\ntwo\n" and text(files, "/a.md") == "in its old place"


def test_files_change_places(staged: StagedBackend, files: StoreBackend) -> None:
    staged.move("/a.md", "/t.md")
    staged.move("/b.md", "/a.md")
    staged.move("/t.md", "/b.md")
    assert staged.commit_staged().error is None
    assert text(files, "/a.md") == "tea\n" and text(files, "/b.md") == "one\ntwo\n" and text(files, "/t.md") is None


def test_a_chain_of_moves_and_one_over_another(staged: StagedBackend, files: StoreBackend) -> None:
    staged.move("/b.md", "/z.md")
    staged.move("/a.md", "/b.md")
    staged.move("/c.bin", "/d/x.md", overwrite=True)
    assert staged.commit_staged().error is None
    assert text(files, "/b.md") == "one\ntwo\n" and text(files, "/z.md") == "tea\n"
    assert files.download_files(["/d/x.md"])[0].content == b"\xff"


def test_a_moved_and_rewritten_file_overwrites_nobody(staged: StagedBackend, files: StoreBackend) -> None:
    staged.move("/a.md", "/m.md")
    staged.write("/m.md", "whole new")
    files.append("/a.md", "theirs")
    assert staged.commit_staged().conflicts and text(files, "/m.md") is None
    staged.discard()
    staged.move("/a.md", "/m.md")
    staged.write("/m.md", "whole new")
    assert staged.commit_staged().error is None and text(files, "/m.md") == "whole new" and text(files, "/a.md") is None


def test_folders(staged: StagedBackend, files: StoreBackend) -> None:
    staged.write("/d/z.md", "z")
    assert set(staged.move("/d", "/e").paths) == {"/e/x.md", "/e/.y.md", "/e/z.md"}
    assert set(staged.delete("/e").paths) == {"/e/x.md", "/e/.y.md", "/e/z.md"}
    assert {change.path for change in staged.changes} == {"/d/x.md", "/d/.y.md"}
    assert staged.commit_staged().error is None and paths(files.ls("/d")) == []


# --- several at once, restoring, history -----------------------------------------------------------------------


def test_several_are_staged_together_or_not_at_all(staged: StagedBackend) -> None:
    done = staged.commit([WriteFile("/q.md", "1"), EditFile("/q.md", "1", "2"), MoveFile("/a.md", "/r.md")])
    assert done.error is None and done.paths == ("/q.md", "/q.md", "/r.md")
    assert text(staged, "/q.md") == "2" and text(staged, "/r.md") == "one\ntwo\n"
    failed = staged.commit([DeleteFile("/q.md"), AppendFile("/c.bin", "x")])
    assert failed.error is not None and text(staged, "/q.md") == "2"


def test_history_shows_what_is_staged_first(staged: StagedBackend, files: StoreBackend) -> None:
    files.edit("/a.md", "two", "2")
    staged.edit("/a.md", "one", "1")
    first, *rest = staged.history("/a.md").revisions
    assert (first.revision, first.operation, first.key) == (0, "staged", "/a.md") and len(rest) == 2
    assert staged.history("/a.md", limit=1).revisions == [first]
    assert "-one\n+1" in staged.diff("/a.md").diff and "+2" not in staged.diff("/a.md").diff
    assert "-two" in staged.diff("/a.md", 1).diff and "+2" in staged.diff("/a.md", 1, 2).diff
    assert [line.revision.revision for line in staged.blame("/a.md").lines] == [0, 2]
    assert staged.at("/a.md", 1).file_data["content"] == "one\ntwo\n"
    assert staged.restore("/a.md", 1).error is None and text(staged, "/a.md") == "one\ntwo\n"
    staged.write("/new.md", "x")
    assert [entry.operation for entry in staged.history("/new.md").revisions] == ["staged"]


def test_a_staged_append_is_not_blamed_for_the_line_before_it(staged: StagedBackend, files: StoreBackend) -> None:
    files.write("/windows.md", "one\r\ntwo\r\nthree")
    staged.append("/windows.md", "four")
    lines = staged.blame("/windows.md").lines or []
    assert [(line.text, line.revision.revision) for line in lines] == [
        ("one", 1),
        ("two", 1),
        ("three", 1),
        ("four", 0),
    ]


def test_one_diff_of_everything(staged: StagedBackend) -> None:
    staged.write("/new.md", "new\n")
    staged.edit("/a.md", "two", "2")
    staged.delete("/b.md")
    staged.move("/d/x.md", "/y.md")
    staged.upload_files([("/c.bin", b"\xfe")])
    shown = staged.staged_diff().diff
    for part in [
        "--- /dev/null\n+++ /new.md\n@@ -0,0 +1 @@\n+new\n",
        "--- /a.md\n+++ /a.md\n",
        "-two\n+2\n",
        "--- /b.md\n+++ /dev/null\n",
        "--- /d/x.md\n+++ /y.md\n",
        "Binary files /c.bin and /c.bin differ\n",
    ]:
        assert part in shown


# --- over and under other backends -----------------------------------------------------------------------------


def test_over_a_composite_the_commit_is_one(store: MemoryStore) -> None:
    tree = CompositeBackend(
        StoreBackend(namespace=("a",), store=store), {"/m/": StoreBackend(namespace=("b",), store=store)}
    )
    tree.write("/m/x.md", "tea")
    staged = StagedBackend(tree)
    staged.write("/y.md", "1")
    staged.edit("/m/x.md", "tea", "coffee")
    staged.move("/m/x.md", "/x.md")
    assert paths(staged.ls("/m")) == [] and paths(staged.ls("/")) == ["/m/", "/x.md", "/y.md"]
    tree.edit("/m/x.md", "tea", "green tea")
    assert staged.commit_staged().error is None and text(tree, "/x.md") == "green coffee"
    staged.edit("/x.md", "nowhere", "x")
    staged.edit("/x.md", "coffee", "cocoa")
    tree.write("/x.md", "gone")
    staged.write("/z.md", "1")
    assert staged.commit_staged().error is not None and text(tree, "/z.md") is None


def test_a_guard_below_checks_at_the_commit_and_one_above_while_staging(files: StoreBackend) -> None:
    rules = [FilesystemPermission(["write"], ["/policy.md"], "deny")]
    below = StagedBackend(GuardedBackend(files, rules))
    assert below.write("/policy.md", "x").error is None and below.write("/fine.md", "x").error is None
    assert "permission denied" in below.commit_staged().error and text(files, "/fine.md") is None
    staged = StagedBackend(files)
    above = GuardedBackend(staged, rules)
    assert "permission denied" in above.write("/policy.md", "x").error and above.write("/fine.md", "x").error is None
    assert [change.path for change in staged.changes] == ["/fine.md"]


def test_as_a_route(store: MemoryStore) -> None:
    staged = StagedBackend(StoreBackend(namespace=("b",), store=store))
    tree = CompositeBackend(StoreBackend(namespace=("a",), store=store), {"/m/": staged})
    assert tree.write("/m/x.md", "tea").path == "/m/x.md"
    assert paths(tree.glob("*.md")) == ["/m/x.md"] and store.get(("b",), "/x.md") is None
    assert tree.commit([WriteFile("/y.md", "1"), EditFile("/m/x.md", "tea", "x")]).error is not None
    assert staged.commit_staged().error is None and store.get(("b",), "/x.md") is not None


def test_proposing_everything(staged: StagedBackend, files: StoreBackend, store: MemoryStore) -> None:
    staged.edit("/a.md", "one", "1")
    staged.write("/new.md", "new")
    staged.delete("/b.md")
    made = staged.propose_staged(author=Author("job:x"), reason="nightly", source="consolidation")
    assert made.error is None and made.proposal is not None and staged.changes == ()
    (waiting,) = store.proposals()
    assert (waiting.id, waiting.reason, waiting.author.actor) == (made.proposal, "nightly", "job:x")
    assert text(files, "/new.md") is None
    files.edit("/a.md", "two", "2")
    store.accept_proposal(made.proposal)
    assert text(files, "/a.md") == "1\n2\n" and text(files, "/new.md") == "new" and text(files, "/b.md") is None
    assert "nothing is staged" in staged.propose_staged().error


def test_on_a_disk(tmp_path: Path) -> None:
    from memoranda.backends import FilesystemBackend

    (tmp_path / "a.md").write_text("one\ntwo\n")
    disk = FilesystemBackend(tmp_path)
    staged = StagedBackend(disk)
    staged.edit("/a.md", "one", "1")
    staged.write("/b/c.md", "new")
    assert (tmp_path / "a.md").read_text() == "one\ntwo\n" and paths(staged.ls("/")) == ["/a.md", "/b/"]
    assert "do not all lie in one Memoranda store" in staged.propose_staged().error
    assert staged.commit_staged().error is None
    assert (tmp_path / "a.md").read_text() == "1\ntwo\n" and (tmp_path / "b/c.md").read_text() == "new"
    staged.write("/a.md", "mine")
    (tmp_path / "a.md").write_text("theirs")
    assert "theirs" in staged.commit_staged().error and (tmp_path / "a.md").read_text() == "theirs"


async def test_the_async_form(staged: StagedBackend, files: StoreBackend) -> None:
    await staged.awrite("/new.md", "1")
    await staged.aedit("/a.md", "one", "1")
    assert "+++ /new.md" in (await staged.astaged_diff()).diff
    assert (await staged.acommit_staged(author=Author("user:ann"))).error is None
    assert text(files, "/a.md") == "1\ntwo\n" and files.history("/a.md").revisions[0].author.actor == "user:ann"
    await staged.awrite("/p.md", "1")
    assert (await staged.apropose_staged(reason="why")).proposal is not None


def test_every_method_of_a_backend_is_staged(staged: StagedBackend) -> None:
    brought = [name for name in vars(Backend) if name.endswith("_steps")]
    assert brought and all(name in vars(StagedBackend) for name in brought)


def test_a_file_lies_where_the_backend_below_has_it(staged: StagedBackend, files: StoreBackend) -> None:
    assert staged.location(place_of("/a.md")) == files.location(place_of("/a.md")) is not None


def test_a_file_that_ends_below_its_old_place(store: MemoryStore) -> None:
    files = StoreBackend(namespace=("ann",), store=store)
    files.write("/a", "A")
    files.write("/d/x", "X")
    staged = StagedBackend(files)
    for path, to in (("/d", "/a"), ("/a", "/d/x"), ("/a", "/d/x")):
        staged.move(path, to)
    shown = sorted(found["path"] for found in staged.glob("**").matches or ())
    assert staged.commit_staged().error is None
    assert sorted(found["path"] for found in files.glob("**").matches or ()) == shown
