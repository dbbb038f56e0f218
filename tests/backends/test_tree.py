"""Trees in memory answer as files in the store do, and changes of parallel branches are joined."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memoranda import MemoryStore, open_store
from memoranda.backends.plain import PlainFiles
from memoranda.backends.plans import Plan, applied
from memoranda.backends.protocol import AppendFile, DeleteFile, EditFile, MoveFile, WriteFile
from memoranda.backends.state import StateBackend, _StateFiles
from memoranda.backends.steps import Steps, done
from memoranda.backends.tree import changed_files, digest_of, merge_file_states, revision_of
from memoranda.backends.unversioned import UnversionedFiles
from memoranda.backends.versioned import VersionedFiles
from memoranda.files.format import FileData, create_file_data
from memoranda.store.changes import Namespace

NS: Namespace = ("tree",)


class TreeFiles(StateBackend):
    """The rules for files without revisions, over a dict instead of a graph's state."""

    def __init__(self) -> None:
        super().__init__()
        self.held: dict[str, FileData] = {}

    def _files(self) -> Any:
        return _StateFiles(dict(self.held), set(), {}, False)

    def change_steps(self, alone: Any, planner: Any, below: Any = ()) -> Steps[Plan[Any]]:
        plan = planner(dict(self.held))
        self.held = applied(self.held, plan.updates)
        return done(plan)


names = st.sampled_from(["a", "b.md", "c-d", ".e", "ü", "a!"])
file_paths = st.lists(names, min_size=1, max_size=3).map(lambda parts: "/" + "/".join(parts))
texts = st.sampled_from(["", "x", "green\nblack\n", "x\r\ny", "a\n\nx", "\n", "xx\nx", "ü x"])
contents = st.one_of(texts.map(str.encode), st.just(b"\xff\x00"))
patterns = st.sampled_from(
    ["*", "**", "*.md", "a/*", "a/**", "/a*", "**/x", ".*", "**/.e/**", "{a,.e}/*", "[ab]*", "../x"]
)
changes = st.one_of(
    st.builds(WriteFile, file_paths, texts),
    st.builds(EditFile, file_paths, st.sampled_from(["x", "green", "", "\n"]), texts, st.booleans()),
    st.builds(AppendFile, file_paths, texts),
    st.builds(DeleteFile, file_paths),
    st.builds(MoveFile, file_paths, file_paths, st.booleans()),
)


def plain(result: Any) -> Any:
    """A result without what is bound to differ: revisions and times."""
    if isinstance(result, list):
        return [plain(part) for part in result]
    kept = {
        name: value
        for name, value in vars(result).items()
        if name not in ("revision", "revisions", "merged", "unchanged")
    }
    for name in ("entries", "matches"):
        if kept.get(name):
            kept[name] = [{k: v for k, v in e.items() if k not in ("revision", "modified_at")} for e in kept[name]]
    if kept.get("matches") and "line" not in kept["matches"][0]:
        kept["matches"].sort(key=lambda entry: entry["path"])  # two clocks order what was written at once
    if kept.get("file_data"):
        kept["file_data"] = {k: kept["file_data"][k] for k in ("content", "encoding")}
    if kept.get("conflicts") or kept.get("conflict"):
        kept.pop("conflicts", None)
        kept.pop("conflict", None)
    kept.pop("conflicts", None)
    return kept


@pytest.fixture(scope="module")
def versioned() -> Any:
    with open_store("memory://") as store:
        yield store


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(file_paths, contents, max_size=7),
    st.lists(changes, max_size=4),
    st.one_of(file_paths, st.just("/")),
    patterns,
    st.sampled_from(["x", "green", "\n", "ü"]),
    st.one_of(st.none(), st.integers(0, 3)),
)
def test_a_tree_answers_as_files_in_the_store_do(
    versioned: MemoryStore,
    files: dict[str, bytes],
    changing: list[Any],
    folder: str,
    pattern: str,
    needle: str,
    most: int | None,
) -> None:
    versioned.delete_prefix(NS, "/")
    stored, tree = VersionedFiles(versioned, NS), TreeFiles()
    uploads = list(files.items())
    assert plain(stored.upload_files(uploads)) == plain(tree.upload_files(uploads))
    for change in changing:
        match change:
            case WriteFile(path, content):
                answers = [backend.write(path, content) for backend in (stored, tree)]
            case EditFile(path, old, new, replace_all):
                answers = [backend.edit(path, old, new, replace_all) for backend in (stored, tree)]
            case AppendFile(path, text):
                answers = [backend.append(path, text) for backend in (stored, tree)]
            case DeleteFile(path):
                answers = [backend.delete(path) for backend in (stored, tree)]
            case MoveFile(path, to, overwrite):
                answers = [backend.move(path, to, overwrite=overwrite) for backend in (stored, tree)]
        assert plain(answers[0]) == plain(answers[1]), change
    reads = [
        lambda backend: backend.ls(folder),
        lambda backend: backend.glob(pattern, folder),
        lambda backend: backend.grep(needle, folder, max_count=most),
        lambda backend: backend.grep(needle.strip() or "x", "/", pattern),
        lambda backend: backend.download_files([*files, folder if folder != "/" else "/none"]),
        *[lambda backend, path=path: backend.read(path, 1, 1) for path in files],
    ]
    for read in reads:
        assert plain(read(stored)) == plain(read(tree))


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(file_paths, texts, max_size=5), st.lists(changes, min_size=1, max_size=4))
def test_a_commit_lands_alike_or_not_at_all(versioned: MemoryStore, files: dict[str, str], changing: list[Any]) -> None:
    versioned.delete_prefix(NS, "/")
    stored, tree = VersionedFiles(versioned, NS), TreeFiles()
    for backend in (stored, tree):
        backend.upload_files([(path, text.encode()) for path, text in files.items()])
    one, other = stored.commit(changing), tree.commit(changing)
    assert (one.error is None) == (other.error is None), (one, other)
    assert plain(stored.download_files(sorted({*files, "/a", "/b.md"}))) == plain(
        tree.download_files(sorted({*files, "/a", "/b.md"}))
    )


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(file_paths, contents, max_size=6), st.lists(changes, max_size=4), file_paths, patterns)
def test_a_foreign_store_answers_as_a_tree_does(
    files: dict[str, bytes], changing: list[Any], folder: str, pattern: str
) -> None:
    from langgraph.store.memory import InMemoryStore

    foreign, tree = PlainFiles(InMemoryStore(), NS), TreeFiles()
    for backend in (foreign, tree):
        backend.upload_files(list(files.items()))
        for change in changing:
            backend.commit([change])
    assert plain(foreign.ls(folder)) == plain(tree.ls(folder))
    assert plain(foreign.glob(pattern, folder)) == plain(tree.glob(pattern, folder))
    assert plain(foreign.grep("x")) == plain(tree.grep("x"))
    assert plain(foreign.delete(folder)) == plain(tree.delete(folder))


# --- joining branches -------------------------------------------------------------------------------------------


def file(text: str, **more: Any) -> dict[str, Any]:
    return {"content": text, "encoding": "utf-8", **more}


def test_entries_without_a_base_overwrite_and_none_deletes() -> None:
    files = merge_file_states({"/a": file("1"), "/b": file("2")}, {"/a": file("one"), "/b": None, "/c": None})
    assert files == {"/a": file("one")}
    assert merge_file_states(None, None) == {}
    assert merge_file_states(None, {"/a": {"content": ["x", "y"]}}) == {"/a": file("x\ny")}


def test_a_new_file_of_both_branches_keeps_both_texts() -> None:
    one = merge_file_states({}, {"/r.md": file("one\nsame\n", base=None)})
    both = merge_file_states(one, {"/r.md": file("other\nsame\n", base=None)})
    assert both["/r.md"]["content"] == (
        "<<<<<<< one change\none\n=======\nother\n>>>>>>> another change, made at the same time\nsame\n"
    )
    assert merge_file_states(one, {"/r.md": file("one\nsame\n", base=None)}) == one


def test_an_edit_of_a_file_that_another_branch_deleted_keeps_the_edit() -> None:
    files = merge_file_states({}, {"/a": file("edited", base=file("old"))})
    assert files == {"/a": file("edited")}


def test_a_branch_that_changed_nothing_takes_nothing_back() -> None:
    start = {"/a": file("old"), "/b": file("old")}
    one = {"/a": file("new"), "/b": file("old")}
    other = {"/a": file("old"), "/b": file("newer"), "/c": file("made")}
    files = merge_file_states(start, changed_files(start, one))
    files = merge_file_states(files, changed_files(start, other))
    assert {path: data["content"] for path, data in files.items()} == {"/a": "new", "/b": "newer", "/c": "made"}


def test_binary_files_are_never_joined() -> None:
    old, one, other = (create_file_data(bytes([255, number])) for number in range(3))
    files = merge_file_states({"/x": one}, {"/x": {**other, "base": old}})
    assert files["/x"]["content"] == other["content"] and "base" not in files["/x"]


def test_the_first_creation_time_stays() -> None:
    files = merge_file_states(
        {"/a": file("1\n2\n3\nx\n", created_at="2020")},
        {"/a": file("one\n2\n3\n", created_at="2026", base=file("1\n2\n3\n"))},
    )
    assert files["/a"] == file("one\n2\n3\nx\n", created_at="2020")


updates = st.dictionaries(
    st.sampled_from(["/a", "/b"]),
    st.one_of(
        st.none(),
        texts.map(file),
        st.builds(lambda text, base: file(text, base=base), texts, st.one_of(st.none(), texts.map(file))),
    ),
    max_size=2,
)


@given(st.lists(updates, max_size=6))
def test_no_base_is_ever_kept_and_every_text_of_an_edit_survives(sequence: list[dict[str, Any]]) -> None:
    files: dict[str, FileData] = {}
    for update in sequence:
        files = merge_file_states(files, update)
        assert all("base" not in data for data in files.values())
        for path, entry in update.items():
            if entry is not None and "base" in entry and entry["base"] is None:
                assert all(line in files[path]["content"] for line in entry["content"].split("\n"))


@given(st.lists(updates, max_size=5), st.lists(updates, max_size=5))
def test_updates_may_be_replayed_in_any_grouping(one: list[Any], other: list[Any]) -> None:
    def fold(files: Any, sequence: list[Any]) -> Any:
        for update in sequence:
            files = merge_file_states(files, update)
        return files

    assert fold(fold({}, one), other) == fold({}, one + other)


def test_states_are_digests_of_the_bytes() -> None:
    assert revision_of(create_file_data("x")) == digest_of(b"x") == revision_of(create_file_data(b"x"))
    broken: Any = {"content": "no base64!", "encoding": "base64"}
    assert revision_of(broken) == digest_of(b"no base64!")


def test_what_a_subclass_does_not_bring_is_said() -> None:
    for call in (lambda b: b.read("/a"), lambda b: b.write("/a", "x"), lambda b: b.delete("/a")):
        assert "NotImplementedError" in (call(UnversionedFiles()).error or "")
