"""Rules: which one decides, what a pattern means, and what cannot be meant."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from memoranda import MemoryStore, open_store
from memoranda.backends import CompositeBackend, FilesystemPermission, GuardedBackend, StoreBackend
from memoranda.backends.permissions import InvalidPermissionError, Rules, permissions_of

P = FilesystemPermission


@pytest.fixture
def files() -> Any:
    with open_store("memory://") as store:
        backend = StoreBackend(namespace=("ann",), store=store)
        for path in ("/a/one.md", "/a/.two", "/a/b/three.md", "/four.md"):
            backend.write(path, f"text of {path}\n")
        yield backend


def mode(rules: list[FilesystemPermission], operation: Any, path: str) -> str:
    return Rules(rules).mode(operation, path)


@pytest.mark.parametrize(
    ("pattern", "inside", "outside"),
    [
        ("/**", ["/", "/a", "/.a", "/a/.b/c"], []),
        ("/a/**", ["/a", "/a/b", "/a/.b", "/a/b/.c/d"], ["/", "/ab", "/b/a"]),
        ("/a/", ["/a", "/a/b", "/a/.b/c"], ["/ab"]),
        ("//a//./b/", ["/a/b", "/a/b/c"], ["/a"]),
        ("/a/*", ["/a/b", "/a/.b"], ["/a", "/a/b/c"]),
        ("/**/.env", ["/.env", "/a/.env", "/a/.b/.env"], ["/env", "/a/.env/x"]),
        ("/{a,b}/*.md", ["/a/x.md", "/b/.x.md"], ["/c/x.md"]),
        ("/a/caf\u00e9", ["/a/caf\u00e9"], ["/a/cafe"]),
        ("/a/cafe\u0301", ["/a/caf\u00e9"], []),
        ("/a/b", ["/a/b"], ["/a/b/c", "/A/b"]),
        ("/a/[xy]?", ["/a/x1", "/a/y2"], ["/a/z1", "/a/x"]),
    ],
)
def test_what_a_pattern_means(pattern: str, inside: list[str], outside: list[str]) -> None:
    rules = [P(["read", "write"], [pattern], "deny")]
    assert [path for path in inside if mode(rules, "read", path) != "deny"] == []
    assert [path for path in outside if mode(rules, "write", path) != "allow"] == []


def test_the_first_rule_that_matches_decides() -> None:
    rules = [
        P(["write"], ["/a/public/**"], "allow"),
        P(["write"], ["/a/**"], "deny"),
        P(["read", "write"], ["/a/**", "/b/**"], "deny"),
        P(["write"], ["/b/**"], "propose"),
    ]
    assert mode(rules, "write", "/a/public/x") == "allow"
    assert mode(rules, "read", "/a/public/x") == "deny"
    assert mode(rules, "write", "/a/x") == "deny"
    assert mode(rules, "write", "/b/x") == "deny"
    assert mode(rules, "write", "/c") == mode([], "read", "/c") == "allow"


@pytest.mark.parametrize(
    "given",
    [
        {"operations": ["write"], "paths": ["a/**"]},
        {"operations": ["write"], "paths": ["*.md"]},
        {"operations": ["write"], "paths": ["/a/../b"]},
        {"operations": ["write"], "paths": ["/~/b"]},
        {"operations": ["write"], "paths": ["~/b"]},
        {"operations": ["write"], "paths": [""]},
        {"operations": ["write"], "paths": [7]},
        {"operations": ["write"], "paths": []},
        {"operations": ["write"], "paths": "/a/**"},
        {"operations": "write", "paths": ["/a/**"]},
        {"operations": [], "paths": ["/a/**"]},
        {"operations": ["execute"], "paths": ["/a/**"]},
        {"operations": ["write"], "paths": ["/a/**"], "mode": "ask"},
        {"operations": ["read"], "paths": ["/a/**"], "mode": "interrupt"},
        {"operations": ["read", "write"], "paths": ["/a/**"], "mode": "propose"},
        {"operations": ["write"], "paths": ["/{" + ",".join(str(n) for n in range(5000)) + "}"]},
    ],
)
def test_what_cannot_be_meant_is_refused_at_once(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidPermissionError) as raised:
        FilesystemPermission(**given)
    assert raised.value.remedy
    assert isinstance(raised.value, ValueError)


def test_rules_in_the_forms_of_others() -> None:
    from deepagents import FilesystemPermission as Theirs

    theirs = Theirs(operations=["write"], paths=["/policies/**"], mode="deny")
    like = SimpleNamespace(operations=["read"], paths=["/x"], mode="allow")
    rules = permissions_of([theirs, like, {"operations": ["write"], "paths": ["/y"]}])
    assert rules == (
        P(["write"], ["/policies/**"], "deny"),
        P(["read"], ["/x"], "allow"),
        P(["write"], ["/y"]),
    )
    for wrong in ("deny", object(), {"paths": ["/x"]}, {"operations": ["read"], "paths": ["/x"], "when": 1}):
        with pytest.raises(InvalidPermissionError):
            permissions_of([wrong])


def test_denied_entries_vanish_and_the_rest_stays(files: Any) -> None:
    guard = GuardedBackend(files, [P(["read"], ["/a/.two", "/a/b/**"], "deny")])
    assert [entry["path"] for entry in guard.ls("/a").entries or ()] == ["/a/one.md"]
    assert [match["path"] for match in guard.grep("text").matches or ()] == ["/four.md", "/a/one.md"]
    assert {match["path"] for match in guard.glob("**/*").matches or ()} == {"/four.md", "/a/one.md"}
    assert "permission denied for read on '/a/b'" in (guard.ls("/a/b").error or "")
    assert guard.ls("/a/c").entries == []


def test_caps_count_what_may_be_seen(files: Any) -> None:
    for number in range(40):
        files.write(f"/hidden/{number:02}.md", "needle\n" * 3)
    files.write("/z/1.md", "needle\nneedle\n")
    files.write("/z/2.md", "needle\n")
    guard = GuardedBackend(files, [P(["read"], ["/hidden/**"], "deny")])
    one = guard.grep("needle", max_count=1)
    assert [match["path"] for match in one.matches or ()] == ["/z/1.md"]
    assert one.truncated
    three = guard.grep("needle", max_count=3)
    assert len(three.matches or ()) == 3
    assert not three.truncated
    none = guard.grep("needle", max_count=0)
    assert none.matches == []
    assert none.truncated
    assert not guard.grep("nothing", max_count=0).truncated


def test_a_folder_from_which_everything_is_denied_is_just_empty(files: Any) -> None:
    guard = GuardedBackend(files, [P(["read"], ["/a/*", "/a/*/**"], "deny")])
    assert guard.ls("/a").entries == []
    assert guard.ls("/a").error is None


def test_reading_where_writing_is_denied(files: Any) -> None:
    guard = GuardedBackend(files, [P(["write"], ["/a/**"], "deny")])
    assert guard.read("/a/one.md").error is None
    result = guard.edit("/a/one.md", "text", "word")
    assert result.error == (
        "Error: permission denied for write on '/a/one.md'. A rule of this agent forbids it; use another path, or go "
        "on without it."
    )
    assert guard.upload_files([("/a/one.md", b"x"), ("/b", b"x")])[0].error == "permission_denied"
    assert files.read("/b").error is None


def test_moving_out_needs_reading(files: Any) -> None:
    guard = GuardedBackend(files, [P(["read"], ["/a/**"], "deny")])
    assert "permission denied for read on '/a/one.md'" in (guard.move("/a/one.md", "/out.md").error or "")
    assert "permission denied for read on '/a/one.md'" in (guard.restore("/a/one.md", 1).error or "")
    assert guard.write("/a/one.md", "blindly").error is None


def test_deleting_and_moving_a_folder_checks_every_file(files: Any) -> None:
    guard = GuardedBackend(files, [P(["write"], ["/a/.two"], "deny")])
    assert "files that must stay" in (guard.delete("/a").error or "")
    assert "files that must stay" in (guard.move("/a", "/c").error or "")
    assert "/a/.two" not in (guard.delete("/a").error or "")
    deleted = guard.delete("/a/b")
    assert deleted.paths == ("/a/b/three.md",)
    assert files.read("/a/.two").error is None
    moved = GuardedBackend(files, [P(["write"], ["/none"], "deny")]).move("/a", "/c/d")
    assert sorted(moved.paths) == ["/c/d/.two", "/c/d/one.md"]
    assert files.ls("/a").entries == []


def test_a_move_into_itself_is_refused(files: Any) -> None:
    guard = GuardedBackend(files, [P(["write"], ["/none"], "deny")])
    assert "lies below it" in (guard.move("/a", "/a/c").error or "")
    assert files.read("/a/one.md").error is None


def test_a_commit_lands_whole_or_not_at_all(files: Any) -> None:
    from memoranda.backends.protocol import EditFile, WriteFile

    guard = GuardedBackend(files, [P(["write"], ["/a/**"], "deny")])
    result = guard.commit([WriteFile("/new.md", "new"), EditFile("/a/one.md", "text", "word")])
    assert "permission denied for write on '/a/one.md'" in (result.error or "")
    assert files.read("/new.md").error is not None


def test_guards_narrow_each_other(files: Any) -> None:
    parent = GuardedBackend(files, [P(["write"], ["/a/**"], "deny")])
    child = GuardedBackend(parent, [P(["read", "write"], ["/**"], "allow")])
    assert "permission denied" in (child.write("/a/one.md", "x").error or "")
    assert child.write("/four.md", "x").error is None
    grandchild = GuardedBackend(child, [P(["read"], ["/a/b/**"], "deny"), P(["write"], ["/four.md"], "interrupt")])
    assert "permission denied" in (grandchild.read("/a/b/three.md").error or "")
    assert grandchild.write("/four.md", "y").approval is not None
    assert "permission denied" in (grandchild.write("/a/one.md", "x").error or "")
    assert child.write("/four.md", "y").error is None


def test_a_guard_behind_a_route_still_guards(store: MemoryStore) -> None:
    inner = StoreBackend(namespace=("ann",), store=store)
    inner.write("/policy.md", "rule\n")
    inner.write("/free.md", "free\n")
    guarded = GuardedBackend(inner, [P(["write"], ["/policy.md"], "deny"), P(["read"], ["/hidden.md"], "deny")])
    inner.write("/hidden.md", "CANARY\n")
    tree = CompositeBackend(StoreBackend(namespace=("front",), store=store), {"/m/": guarded})
    outer = GuardedBackend(tree, [P(["write"], ["/m/free.md"], "deny")])
    from memoranda.backends.protocol import DeleteFile, MoveFile, WriteFile

    for files in (tree, outer):
        assert "'/m/policy.md'" in (files.write("/m/policy.md", "x").error or "")
        assert files.grep("CANARY").matches == []
        assert "permission denied" in (files.read("/m/hidden.md").error or "")
        for changes in (
            [WriteFile("/m/policy.md", "x"), WriteFile("/f.md", "x")],
            [WriteFile("/f.md", "x"), DeleteFile("/m/policy.md")],
            [MoveFile("/m/policy.md", "/f.md")],
            [MoveFile("/m/hidden.md", "/f.md")],
        ):
            assert files.commit(changes).error is not None, changes
        assert files.move("/m", "/n").error is not None
        assert files.delete("/m").error is not None or inner.read("/policy.md").error is None
        assert inner.read("/policy.md").error is None
        assert inner.read("/hidden.md").error is None
    assert "permission denied" in (outer.write("/m/free.md", "x").error or "")


@pytest.mark.parametrize(
    "settings",
    [{}, {"permissions": [P(["write"], ["/none"], "deny")]}, {"hooks": [lambda event: None]}],
)
def test_other_mounts_are_not_emptied_in_passing(store: MemoryStore, settings: Any) -> None:
    memory = StoreBackend(namespace=("ann",), store=store)
    tree = CompositeBackend(StoreBackend(namespace=("front",), store=store), {"/x/m/": memory})
    for path in ("/x/m/a.md", "/x/b.md"):
        tree.write(path, "text")
    guard = GuardedBackend(tree, **settings)
    for result in (guard.delete("/"), guard.delete("/x"), guard.move("/x", "/y")):
        assert "holds other mounts: /x/m/" in (result.error or "")
    assert tree.read("/x/m/a.md").error is None
    assert tree.read("/x/b.md").error is None
    assert guard.delete("/x/m/a.md").error is None
    assert guard.delete("/x").error is None


def test_a_guard_says_nothing_wrong_about_itself(files: Any) -> None:
    guard = GuardedBackend(files, [P(["write"], ["/a/**"], "deny")])
    assert hash(guard) == hash(guard)
    assert guard.scope_key() == files.scope_key()
    assert GuardedBackend(guard).permissions == guard.permissions
    assert guard.artifacts_root == "/"
    with pytest.raises(InvalidPermissionError):
        GuardedBackend(files, hooks=["no hook"])
    with pytest.raises(Exception, match="no backend"):
        GuardedBackend(7)


def test_what_lands_past_the_guard_is_only_what_it_would_let_through(files: Any) -> None:
    from memoranda.backends.places import placed
    from memoranda.backends.protocol import DeleteFile, WriteFile

    guard = GuardedBackend(files, [P(["write"], ["/a/**"], "propose")])
    assert guard.store_changes([placed(WriteFile("/x", "y"))]) is not None
    assert guard.store_changes([placed(WriteFile("/x", "y")), placed(DeleteFile("/a/one.md"))]) is None
    assert GuardedBackend(files, hooks=[lambda event: None]).store_changes([placed(WriteFile("/x", "y"))]) is None
