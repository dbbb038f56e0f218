"""Files in a `MemoryStore`, on both engines: operations, histories, and what a thread has seen."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pytest

from memoranda import Author, InvalidNamespaceError, MemoryStore, acting_as
from memoranda.backends import SEEN, StoreBackend, by_org, by_user
from memoranda.backends import runtime as runtime_module
from memoranda.backends.places import Place, PlacedChange
from memoranda.backends.protocol import (
    AppendFile,
    DeleteFile,
    EditFile,
    MoveFile,
    WriteFile,
)
from memoranda.backends.runtime import ToolCall, inside_tool_call
from memoranda.backends.steps import perform
from memoranda.backends.versioned import VersionedFiles

ANN = ("ann@example.com",)
Run = Callable[..., Any]


def paths(entries: Any) -> list[str]:
    return [entry["path"] for entry in entries or []]


def text(result: Any) -> str:
    assert result.error is None, result.error
    return result.file_data["content"]


@pytest.fixture
def files(store: MemoryStore) -> StoreBackend:
    return StoreBackend(namespace=ANN, store=store)


@pytest.fixture
def thread() -> str:
    return uuid.uuid4().hex


def test_every_operation_under_an_e_mail_address(files: StoreBackend, store: MemoryStore) -> None:
    assert files.write("/notes/tea.md", "green\nblack").revision == 1
    assert files.edit("/notes/tea.md", "green", "white").occurrences == 1
    assert files.append("/notes/tea.md", "oolong").revision == 3
    assert text(files.read("/notes/tea.md")) == "white\nblack\noolong"
    assert [answer.error for answer in files.upload_files([("/pic.bin", b"\xff\x00"), ("/a.md", b"a")])] == [None, None]
    assert files.download_files(["/pic.bin"])[0].content == b"\xff\x00"
    assert paths(files.ls("/").entries) == ["/a.md", "/notes/", "/pic.bin"]
    assert set(paths(files.glob("*.md").matches)) == {"/a.md", "/notes/tea.md"}
    assert files.grep("oolong").matches == [{"path": "/notes/tea.md", "line": 3, "text": "oolong"}]
    assert [revision.operation for revision in files.history("/notes/tea.md").revisions or []] == [
        "append",
        "edit",
        "write",
    ]
    assert "-green" in (files.diff("/notes/tea.md", 1, 2).diff or "")
    assert [line.revision.revision for line in files.blame("/notes/tea.md").lines or []] == [2, 1, 3]
    assert text(files.at("/notes/tea.md", 1)) == "green\nblack"
    assert files.restore("/notes/tea.md", 1).revision == 4
    assert files.move("/notes", "/old").paths == ("/old/tea.md",)
    assert files.delete("/old").paths == ("/old/tea.md",)
    assert files.commit([WriteFile("/b.md", "b"), DeleteFile("/a.md")]).paths == ("/b.md", "/a.md")
    assert paths(files.ls("/").entries) == ["/b.md", "/pic.bin"]
    assert store.get(ANN, "/b.md") is not None


async def test_every_operation_from_async_code(files: StoreBackend) -> None:
    assert (await files.awrite("/notes/tea.md", "green\nblack")).revision == 1
    assert (await files.aedit("/notes/tea.md", "green", "white")).occurrences == 1
    assert (await files.aappend("/notes/tea.md", "oolong")).revision == 3
    assert text(await files.aread("/notes/tea.md")) == "white\nblack\noolong"
    assert (await files.aupload_files([("/a.md", b"a")]))[0].error is None
    assert (await files.adownload_files(["/a.md"]))[0].content == b"a"
    assert paths((await files.als("/")).entries) == ["/a.md", "/notes/"]
    assert len((await files.aglob("*.md")).matches or []) == 2
    assert len((await files.agrep("oolong")).matches or []) == 1
    assert len((await files.ahistory("/notes/tea.md")).revisions or []) == 3
    assert (await files.adiff("/notes/tea.md")).diff
    assert (await files.ablame("/notes/tea.md")).lines
    assert text(await files.aat("/notes/tea.md", 1)) == "green\nblack"
    assert (await files.arestore("/notes/tea.md", 1)).revision == 4
    assert (await files.amove("/notes", "/old")).error is None
    assert (await files.adelete("/old")).error is None
    assert (await files.acommit([WriteFile("/b.md", "b")])).error is None


def test_each_operation_is_one_call_to_the_store(files: StoreBackend) -> None:
    files.upload_files([("/a.md", b"a"), ("/d/x.md", b"x"), ("/d/y.md", b"y"), ("/m.md", b"m")])
    place = Place("/a.md", "/a.md")
    operations = [
        files.ls_steps(Place("/", "/")),
        files.read_steps(place, 0, 10),
        files.glob_steps(Place("/", "/"), "*.md"),
        files.grep_steps(Place("/", "/"), "x", None, None),
        files.write_steps(place, "new", None, True),
        files.edit_steps(place, "new", "newer", False, None),
        files.append_steps(place, "more", None),
        files.download_steps([place, Place("/d/x.md", "/d/x.md")]),
        files.upload_steps([(place, b"1"), (Place("/u.md", "/u.md"), b"2")]),
        files.move_steps(Place("/m.md", "/m.md"), Place("/n.md", "/n.md"), False),
        files.delete_steps(Place("/d", "/d"), None),
        files.commit_steps([PlacedChange(place, WriteFile("/a.md", "x"))]),
        files.history_steps(place, None),
    ]
    for steps in operations:
        answer, count = None, 0
        try:
            step = next(steps)
            while True:
                count += 1
                answer = step.method(*step.args, **step.kwargs)  # type: ignore[union-attr]
                step = steps.send(answer)
        except StopIteration:
            pass
        assert count == 1, steps


def test_errors_name_the_path_that_the_agent_knows(files: StoreBackend, store: MemoryStore) -> None:
    files.upload_files([("/a.md", b"a\na\n"), ("/b.md", b"b"), ("/d/x.md", b"x"), ("/e/x.md", b"x"), ("/bin", b"\xff")])
    store.put(ANN, "/doc", {"likes": "tea"})

    def place(path: str) -> Place:
        return Place(path, "/mem" + path)

    def said(steps: Any) -> str:
        error = perform(steps).error
        assert error is not None
        return error

    errors = [
        said(files.read_steps(place("/none.md"), 0, 10)),
        said(files.edit_steps(place("/none.md"), "a", "b", False, None)),
        said(files.edit_steps(place("/a.md"), "/a.md", "b", False, None)),
        said(files.edit_steps(place("/a.md"), "a", "b", False, None)),
        said(files.edit_steps(place("/bin"), "a", "b", False, None)),
        said(files.edit_steps(place("/a.md"), "a", "b", True, 7)),
        said(files.append_steps(place("/bin"), "a", None)),
        said(files.append_steps(place("/a.md"), "a", 0)),
        said(files.append_steps(place("/doc"), "a", None)),
        said(files.write_steps(place("/a.md"), "x", 0, True)),
        said(files.write_steps(place("/a.md"), "x", 7, True)),
        said(files.write_steps(place("/a.md"), "x", "sha256:0", True)),
        said(files.delete_steps(place("/none.md"), None)),
        said(files.delete_steps(place("/a.md"), 0)),
        said(files.delete_steps(place("/none.md"), 3)),
        said(files.move_steps(place("/none.md"), place("/n.md"), False)),
        said(files.move_steps(place("/a.md"), place("/b.md"), False)),
        said(files.move_steps(place("/d"), place("/e"), False)),
        said(files.move_steps(place("/d"), place("/d/inner"), False)),
        said(files.move_steps(place("/a.md"), place("/a.md"), False)),
        said(files.move_steps(place("/a.md"), place("/" + "n" * 1_100), False)),
        said(files.write_steps(place("/" + "n" * 1_100), "x", None, True)),
        said(files.diff_steps(place("/a.md"), 1, 9)),
        said(files.blame_steps(place("/none.md"))),
        said(files.restore_steps(place("/a.md"), 9)),
        said(files.at_steps(place("/a.md"), 9)),
        said(files.commit_steps([PlacedChange(place("/a.md"), EditFile("/a.md", "none", "x"))])),
        said(files.commit_steps([PlacedChange(place("/none.md"), DeleteFile("/none.md"))])),
        said(files.commit_steps([PlacedChange(place("/d/x.md"), MoveFile("/d/x.md", "/b.md"), place("/b.md"))])),
        said(files.commit_steps([PlacedChange(place("/a.md"), AppendFile("/a.md", "x", 9))])),
    ]
    for error in errors:
        assert "/mem/" in error, error
        assert "/mem/" not in error.replace("/mem/", "", 1).split("\n")[0] or "lies below" in error, error
        head = error.split("The current text is")[0].replace("/mem/", "")
        assert not any(f" /{name}" in head or f"'/{name}'" in head for name in ("none.md", "b.md", "bin", "doc", "d"))
    quoted = errors[2]  # the text looked for is quoted as it is
    assert "'/a.md'" in quoted and "in file /mem/a.md" in quoted


def test_an_upload_of_several_tells_each_file_its_own_obstacle(
    files: StoreBackend, store: MemoryStore, in_thread: Run, thread: str
) -> None:
    files.upload_files([("/a.md", b"one"), ("/b.md", b"two")])
    in_thread(thread, lambda: [files.read("/a.md"), files.read("/b.md")])
    files.write("/a.md", "changed by another")
    answers = in_thread(thread, lambda: files.upload_files([("/b.md", b"mine b"), ("/a.md", b"mine a")]))
    assert answers[0].error == "Error: nothing was written, because /a.md changed meanwhile. Try this file again."
    assert answers[1].error.endswith("The current text is:\nchanged by another")
    # The thread has seen the new text of the one, and of the other what it had read.
    retried = in_thread(thread, lambda: files.upload_files([("/b.md", b"mine b"), ("/a.md", b"mine a")]))
    assert [answer.error for answer in retried] == [None, None]
    twice = in_thread(thread, lambda: files.upload_files([("/b.md", b"x"), ("/b.md", b"y")]))
    assert [answer.error for answer in twice] == [None, None]
    assert text(files.read("/b.md")) == "y"


def test_a_path_that_no_store_keeps_does_not_blind_the_others(files: StoreBackend) -> None:
    files.write("/a.md", "a")
    answers = files.download_files(["/" + "n" * 2_000, "/a.md", "../x"])
    assert [answer.error for answer in answers] == ["file_not_found", None, "invalid_path"]
    uploads = files.upload_files([("/" + "n" * 2_000, b"x"), ("/b.md", b"b")])
    assert uploads[0].error is not None and uploads[1].error is None


# --- what a thread has seen -------------------------------------------------------------------------------------


def test_a_stale_write_is_merged_or_refused(files: StoreBackend, in_thread: Run, thread: str) -> None:
    files.write("/a.md", "1\n2\n3\n")
    in_thread(thread, lambda: files.read("/a.md"))
    files.edit("/a.md", "3", "three")
    merged = in_thread(thread, lambda: files.write("/a.md", "one\n2\n3\n"))
    assert merged.merged and text(files.read("/a.md")) == "one\n2\nthree\n"
    in_thread(thread, lambda: files.read("/a.md"))
    files.edit("/a.md", "one", "uno")
    refused = in_thread(thread, lambda: files.write("/a.md", "eins\n2\nthree\n"))
    assert refused.conflict and refused.error.endswith("The current text is:\nuno\n2\nthree\n")
    # Having been shown the text, the thread may write on it.
    assert in_thread(thread, lambda: files.write("/a.md", "eins\n2\nthree\n")).error is None


async def test_a_stale_write_is_refused_in_async_graphs(files: StoreBackend, ain_thread: Run, thread: str) -> None:
    await files.awrite("/a.md", "old")
    await ain_thread(thread, lambda: files.aread("/a.md"))
    await files.awrite("/a.md", "new")
    refused = await ain_thread(thread, lambda: files.awrite("/a.md", "mine"))
    assert refused.conflict and text(await files.aread("/a.md")) == "new"


def test_another_thread_has_seen_nothing(files: StoreBackend, in_thread: Run, thread: str) -> None:
    files.write("/a.md", "old")
    in_thread(thread, lambda: files.read("/a.md"))
    refused = in_thread(thread + "x", lambda: files.write("/a.md", "mine", base=SEEN))
    assert refused.conflict and "exists already and you have not read it" in refused.error
    assert in_thread(thread + "x", lambda: files.write("/a.md", "mine", base=SEEN)).error is None


def test_a_file_that_is_gone_since_is_not_made_again_by_accident(
    files: StoreBackend, in_thread: Run, thread: str
) -> None:
    files.write("/a.md", "old")
    in_thread(thread, lambda: files.read("/a.md"))
    files.delete("/a.md")
    refused = in_thread(thread, lambda: files.write("/a.md", "mine"))
    assert refused.conflict and "was deleted" in refused.error
    assert in_thread(thread, lambda: files.write("/a.md", "mine")).error is None


def test_what_was_seen_survives_a_restart_of_the_process(files: StoreBackend, in_thread: Run, thread: str) -> None:
    files.write("/a.md", "old")
    call = ToolCall("1")

    def read() -> None:
        with inside_tool_call(call):
            files.read("/a.md")

    def write() -> Any:
        with inside_tool_call(ToolCall("2", seen=dict(call.seen))):
            return files.write("/a.md", "mine", base=SEEN)

    in_thread(thread, read)
    files.write("/a.md", "new")
    runtime_module._process.clear()  # what a new process begins with
    refused = in_thread(thread, write)
    assert refused.conflict and refused.error.endswith("new")


def test_a_commit_counts_as_seen(files: StoreBackend, in_thread: Run, thread: str) -> None:
    files.upload_files([("/a.md", b"1\n2\n"), ("/b.md", b"b"), ("/c.md", b"c")])
    in_thread(thread, lambda: [files.read(path) for path in ("/a.md", "/b.md", "/c.md")])
    changes = [WriteFile("/a.md", "one\n2\n"), EditFile("/b.md", "b", "B"), MoveFile("/c.md", "/d.md")]
    assert in_thread(thread, lambda: files.commit(changes)).error is None
    for path in ("/a.md", "/b.md", "/d.md"):
        result = in_thread(thread, lambda path=path: files.write(path, "on top of it", base=SEEN))
        assert result.error is None and not result.merged
    assert in_thread(thread, lambda: files.write("/c.md", "anew", base=SEEN)).error is None


def test_a_store_that_went_back_does_not_leave_a_thread_stuck(
    files: StoreBackend, store: MemoryStore, in_thread: Run, thread: str
) -> None:
    files.write("/a.md", "from the backup")
    seen = {VersionedFiles(store, ANN)._file(Place("/a.md", "/a.md")): [9, 1e12]}

    def work(act: Callable[[], Any]) -> Any:
        with inside_tool_call(ToolCall("1", seen=seen)):  # type: ignore[arg-type]
            return act()

    refused = in_thread(thread, lambda: work(lambda: files.write("/a.md", "mine")))
    assert refused.conflict and refused.error.endswith("from the backup")
    seen[VersionedFiles(store, ANN)._file(Place("/a.md", "/a.md"))] = [9, 1e12]
    uploaded = in_thread(thread, lambda: work(lambda: files.upload_files([("/a.md", b"mine")])))
    assert "Read it again" in uploaded[0].error
    assert in_thread(thread, lambda: work(lambda: files.write("/a.md", "mine"))).error is None


def test_outside_a_graph_a_write_overwrites(files: StoreBackend) -> None:
    files.write("/a.md", "old")
    files.read("/a.md")
    files.write("/a.md", "new")
    assert files.write("/a.md", "mine").error is None
    assert files.write("/a.md", "other", base=1).conflict


def test_two_stores_in_memory_are_two_stores(open_here: Any, in_thread: Run, thread: str) -> None:
    one = StoreBackend(namespace=ANN, store=open_here("memory://"))
    other = StoreBackend(namespace=ANN, store=open_here("memory://"))
    assert one.scope_key() == one.scope_key() != other.scope_key()
    for number in range(3):
        in_thread(thread, lambda number=number: one.write("/a.md", f"{number}"))
    assert in_thread(thread, lambda: other.write("/a.md", "x", base=SEEN)).error is None


# --- who, and who may -------------------------------------------------------------------------------------------


def test_changes_are_signed_by_whoever_runs(files: StoreBackend, in_thread: Run, thread: str) -> None:
    def work() -> None:
        with inside_tool_call(ToolCall("call-1")):
            files.write("/a.md", "x")

    in_thread(thread, work)
    (revision,) = files.history("/a.md").revisions or []
    assert (revision.author.actor, revision.author.thread_id, revision.author.tool_call_id) == (
        "agent:agent",
        thread,
        "call-1",
    )
    with acting_as(Author("user:ann", reason="by hand")):
        files.write("/a.md", "y")
    assert (files.history("/a.md").revisions or [])[0].author.actor == "user:ann"


def test_what_an_organisation_shares_is_read_only_for_a_model(store: MemoryStore, in_thread: Run, thread: str) -> None:
    org = StoreBackend(namespace=by_org, store=store)
    code = StoreBackend(namespace=("acme",), store=store)
    assert code.write("/policy.md", "be kind").error is None

    def changes() -> list[Any]:
        return [
            org.write("/policy.md", "x"),
            org.edit("/policy.md", "kind", "x"),
            org.append("/policy.md", "x"),
            org.delete("/policy.md"),
            org.move("/policy.md", "/x.md"),
            org.restore("/policy.md", 1),
            org.commit([WriteFile("/policy.md", "x")]),
            *org.upload_files([("/policy.md", b"x")]),
        ]

    context = {"org_id": "acme"}
    for result in in_thread(thread, changes, context=context):
        assert result.error is not None and "permission" in result.error
    assert in_thread(thread, lambda: text(org.read("/policy.md")), context=context) == "be kind"
    assert org.is_read_only(Place("/", "/"))
    open_org = StoreBackend(namespace=by_org(read_only=False), store=store)
    assert in_thread(thread, lambda: open_org.write("/policy.md", "be kinder"), context=context).error is None
    assert in_thread(thread, lambda: org.commit([]), context=context).error is None


def test_without_a_store_or_a_user_the_error_says_what_to_pass(store: MemoryStore, in_thread: Run, thread: str) -> None:
    assert "Pass store=open_store(…)" in (StoreBackend(namespace=ANN).read("/a.md").error or "")
    assert 'context={"user_id": "…"}' in (StoreBackend(namespace=by_user, store=store).read("/a.md").error or "")
    uploaded = StoreBackend(namespace=by_user, store=store).upload_files([("/a.md", b"x")])
    assert "user_id" in (uploaded[0].error or "")
    inside = StoreBackend(namespace=ANN)
    assert in_thread(thread, lambda: inside.write("/a.md", "x"), store=store).error is None
    assert store.get(ANN, "/a.md") is not None


def test_backends_are_hashable_and_say_what_they_are(files: StoreBackend) -> None:
    assert {files: 1}[files] == 1
    assert "ann@example.com" in repr(files)


def test_documents_and_plain_keys_are_left_in_their_form(files: StoreBackend, store: MemoryStore) -> None:
    store.put(ANN, "/profile", {"likes": "tea"})
    store.put(ANN, "opaque", {"x": 1})
    assert paths(files.ls("/").entries) == ["/profile"]
    assert '"likes": "tea"' in text(files.read("/profile"))
    assert files.edit("/profile", '"tea"', '"coffee"').error is None
    assert store.get(ANN, "/profile").value == {"likes": "coffee"}  # type: ignore[union-attr]


def test_a_namespace_that_nothing_can_be_written_to_is_told_at_once() -> None:
    with pytest.raises(InvalidNamespaceError, match="reserved by LangGraph"):
        StoreBackend(namespace=("langgraph",))


@pytest.mark.parametrize("before", [[], [WriteFile("/a", "new"), DeleteFile("/a")]])
def test_a_file_moves_once_and_no_folder_in_its_place(store: MemoryStore, before: list[Any]) -> None:
    """In one commit; the store would take the folder of that name for what is meant."""
    files = StoreBackend(namespace=("ann",), store=store)
    files.write("/a", "file")
    files.write("/a/inner", "folder")
    moves = before or [MoveFile("/a", "/b")]
    result = files.commit([*moves, MoveFile("/a", "/c")])
    assert result.error == "Error: File '/a' not found"
    assert files.read("/a/inner").error is None and files.read("/a").error is None
