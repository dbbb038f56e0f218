"""Every public method, over every kind of backend, blocking and async: no denied byte read, no denied byte changed."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from memoranda.backends import Backend, FilesystemPermission, GuardedBackend, Replace, as_backend
from memoranda.backends.protocol import AppendFile, DeleteFile, EditFile, MoveFile, WriteFile
from tests.guard.support import CANARY, HIDDEN, Scenario, World, forms, said

Ask = tuple[str, tuple[Any, ...], dict[str, Any]]


def deny(world: World, *operations: Any) -> list[FilesystemPermission]:
    return [FilesystemPermission(operations or ("read", "write"), world.denied, "deny")]


def parents(path: str) -> list[str]:
    pieces = path.split("/")
    return ["/".join(pieces[:count]) or "/" for count in range(1, len(pieces))]


def readings(path: str) -> list[Ask]:
    asks: list[Ask] = [
        ("ls", (path,), {}),
        ("read", (path,), {}),
        ("read", (path, 1, 1), {}),
        ("grep", (CANARY, path), {}),
        ("grep", (CANARY, path), {"max_count": 1}),
        ("glob", ("**/*", path), {}),
        ("search", (CANARY, path), {}),
        ("search", (f"key {CANARY} first second", path), {"k": 1}),
        ("download_files", ([path, "/pub/a.md"],), {}),
        ("history", (path,), {}),
        ("diff", (path,), {}),
        ("blame", (path,), {}),
        ("at", (path, 1), {}),
    ]
    return asks


def searches(path: str) -> list[Ask]:
    relative = path.lstrip("/")
    return [
        ("grep", (CANARY,), {}),
        ("grep", (CANARY,), {"max_count": 1}),
        ("grep", (CANARY, "/"), {"glob": "*"}),
        ("grep", (CANARY, "/"), {"glob": "**/.*"}),
        ("grep", (CANARY, "/"), {"glob": relative}),
        ("grep", (CANARY, "/"), {"glob": "/" + relative}),
        ("grep", ("e",), {}),
        ("glob", (relative,), {}),
        ("glob", ("/" + relative,), {}),
        ("glob", ("{**/*,**/.*,**/.*/*,**/.*/**/*}",), {}),
        ("search", (CANARY,), {}),
        ("search", (f"{CANARY} alpha beta plan env café",), {"k": 1}),
        ("search", (path,), {"k": 1000}),
        *[("ls", (parent,), {}) for parent in parents(path)],
        *[("search", (CANARY, parent), {"k": 2}) for parent in parents(path)],
        *[("glob", ("*", parent), {}) for parent in parents(path)],
        *[("grep", (CANARY, parent), {"max_count": 2}) for parent in parents(path)],
    ]


def changings(path: str) -> list[Ask]:
    asks: list[Ask] = [
        ("write", (path, "gone"), {}),
        ("write", (path, "gone"), {"base": 0}),
        ("write", (path, "gone"), {"base": 1}),
        ("write", (path, "gone"), {"base": "seen"}),
        ("edit", (path, "CANARY", "gone"), {}),
        ("edit", (path, "CANARY", "gone", True), {}),
        ("append", (path, "more"), {}),
        ("move", (path, "/pub/out.md"), {}),
        ("move", (path, "/pub/a.md"), {"overwrite": True}),
        ("move", ("/pub/a.md", path), {}),
        ("move", ("/pub/a.md", path), {"overwrite": True}),
        ("move", ("/pub", path), {}),
        ("upload_files", ([(path, b"gone"), (path, b"\xff\x00")],), {}),
        ("restore", (path, 1), {}),
        ("commit", ([WriteFile(path, "gone")],), {}),
        ("commit", ([WriteFile("/pub/new.md", "new"), WriteFile(path, "gone", merge=False)],), {}),
        ("commit", ([EditFile(path, "CANARY", "gone", True)],), {}),
        ("commit", ([AppendFile(path, "more")],), {}),
        ("commit", ([DeleteFile(path)],), {}),
        ("commit", ([MoveFile(path, "/pub/out.md")],), {}),
        ("commit", ([MoveFile("/pub/a.md", path, True)],), {}),
        ("delete", (path,), {}),
        ("delete", (path,), {"base": 1}),
    ]
    return asks


def folder_changings(path: str) -> list[Ask]:
    """Changes of the folders around a file; a public file of the scenario may go with them, a hidden one never."""
    return [
        ask
        for parent in parents(path)
        if parent != "/"
        for ask in (
            ("move", (parent, "/pub/out"), {}),
            ("commit", ([MoveFile(parent, "/pub/out")],), {}),
            ("commit", ([DeleteFile(parent)],), {}),
            ("delete", (parent,), {}),
        )
    ]


def spread(path: str, asks: Callable[[str], list[Ask]]) -> Iterator[Ask]:
    """Everything about the path itself, and of each other form of it a third, in turn."""
    yield from asks(path)
    for number, form in enumerate(forms(path)[1:]):
        yield from asks(form)[number % 3 :: 3]


def test_the_matrix_covers_every_public_method() -> None:
    tried = {method for method, _, _ in [*readings("/a"), *searches("/a"), *changings("/a")]}
    public = {
        name
        for name, _ in inspect.getmembers(Backend, callable)
        if not name.startswith("_") and not name.endswith("_steps") and "a" + name in dir(Backend)
    }
    # What backends tell each other; none of it reads or changes a file.
    asked = {"scope_key", "is_lasting", "is_read_only", "location", "store_changes"}
    others = {name for name, _ in inspect.getmembers(Backend, callable) if not name.startswith("_")} - asked
    assert {name for name in others if not name.endswith("_steps")} == public | {"a" + name for name in public}
    assert tried == public


def hidden_part(world: World) -> dict[str, bytes]:
    return {key: content for key, content in world.snapshot().items() if CANARY.encode() in content}


def test_the_worlds_show_what_is_hidden_without_a_guard(world: World) -> None:
    """Or the tests below would prove nothing."""

    def scenario() -> Scenario:
        for path in world.hidden:
            (answer,) = yield "download_files", ([path],), {}
            assert CANARY.encode() in (answer.content or b""), (path, answer)
        found = yield "grep", (CANARY,), {}
        assert CANARY in said(found.matches)
        found = yield "search", (CANARY,), {}
        assert CANARY in said(found.matches), found

    world.run(as_backend(world.backend), scenario, is_async=False)


def test_nothing_denied_is_read(world: World, is_async: bool) -> None:
    guard = GuardedBackend(world.backend, deny(world))

    def scenario() -> Scenario:
        for path in world.hidden:
            for ask in searches(path):
                result = yield ask
                assert CANARY not in said(result), (ask, result)
            for ask in spread(path, readings):
                result = yield ask
                assert CANARY not in said(result), (ask, result)
                assert "key=" not in said(result), (ask, result)
        kept = yield "download_files", (["/pub/a.md"],), {}
        assert kept[0].content == b"alpha\nbeta\n" or "/disk/secrets/**" in world.denied

    world.run(guard, scenario, is_async=is_async)


def test_nothing_denied_is_changed(world: World, is_async: bool) -> None:
    guard = GuardedBackend(world.backend, deny(world))
    before = hidden_part(world)
    assert before

    def scenario() -> Scenario:
        for path in world.hidden:
            for ask in spread(path, changings):
                result = yield ask
                assert CANARY not in said(result), (ask, result)
            for ask in folder_changings(path):
                result = yield ask
                assert CANARY not in said(result), (ask, result)
        yield "delete", ("/",), {}

    world.run(guard, scenario, is_async=is_async)
    assert hidden_part(world) == before


def test_what_may_only_be_read_is_not_changed(world: World, is_async: bool) -> None:
    guard = GuardedBackend(world.backend, deny(world, "write"))
    before = hidden_part(world)

    def scenario() -> Scenario:
        for path in world.hidden:
            (answer,) = yield "download_files", ([path],), {}
            assert CANARY.encode() in (answer.content or b"")
            for ask in [*changings(path), *folder_changings(path)]:
                result = yield ask
                assert result is not None, ask
        yield "delete", ("/",), {}

    world.run(guard, scenario, is_async=is_async)
    assert hidden_part(world) == before


def test_deny_everything_denies_everything(world: World, is_async: bool) -> None:
    guard = GuardedBackend(world.backend, [FilesystemPermission(["read", "write"], ["/**"], "deny")])
    before = world.snapshot()

    def scenario() -> Scenario:
        for path in [*world.hidden, "/pub/a.md", "/pub/.dot", "/top.md", "/pub/sub/b.md", "/new.md"]:
            for ask in [*readings(path), *searches(path), *changings(path), *folder_changings(path)]:
                if ask[0] in ("download_files", "upload_files"):
                    for answer in (yield ask):
                        assert answer.error == "permission_denied", (ask, answer)
                        assert getattr(answer, "content", None) is None
                    continue
                result = yield ask
                assert result.error is not None, (ask, result)
                assert "permission denied" in result.error or ".." in result.error, (ask, result)
        root = yield "ls", ("/",), {}
        assert "permission denied for read on '/'" in root.error
        gone = yield "delete", ("/",), {}
        assert "permission denied for write on '/'" in gone.error

    world.run(guard, scenario, is_async=is_async)
    assert world.snapshot() == before


def test_hooks_see_every_change_of_every_file(world: World, is_async: bool) -> None:
    """A hook that refuses everything leaves everything as it is, by whatever method and path."""
    from memoranda.backends import Refuse

    guard = GuardedBackend(world.backend, hooks=[lambda event: Refuse("no")])
    before = world.snapshot()

    def scenario() -> Scenario:
        for path in [*world.hidden, "/pub/a.md", "/pub/.dot", "/new.md"]:
            for ask in [*changings(path), *changings(path + "/"), *folder_changings(path)]:
                result = yield ask
                for answer in result if isinstance(result, list) else [result]:
                    assert answer.error is not None, (ask, answer)
        result = yield "delete", ("/",), {}
        assert result.error is not None

    world.run(guard, scenario, is_async=is_async)
    assert world.snapshot() == before


@pytest.mark.parametrize("mode", ["interrupt", "propose"])
def test_what_has_to_wait_does_not_land(world: World, is_async: bool, mode: Any) -> None:
    guard = GuardedBackend(world.backend, [FilesystemPermission(["write"], ["/**"], mode)])
    before = world.snapshot()

    def scenario() -> Scenario:
        for path in [*world.hidden, "/pub/a.md", "/new.md"]:
            for ask in [*changings(path), *folder_changings(path)]:
                result = yield ask
                for answer in result if isinstance(result, list) else [result]:
                    assert answer.error is not None, (ask, answer)
        result = yield "delete", ("/",), {}
        assert result.error is not None

    world.run(guard, scenario, is_async=is_async)
    assert world.snapshot() == before


def blind_changings(path: str) -> list[Ask]:
    """Changes of a file that may not be read: first those that are refused, then those that may land."""
    near = CANARY[:-1] + "X"
    return [
        ("write", (path, "gone"), {"base": 0}),
        ("write", (path, "gone"), {"base": "seen"}),
        ("write", (path, "gone"), {"base": 1}),
        ("write", (path, "gone"), {"base": "sha256:0123456789abcdef"}),
        ("edit", (path, "CANARY", "CANARY"), {}),
        ("edit", (path, near, "gone"), {}),
        ("edit", (path, "CANARY", "gone"), {"base": 1}),
        ("edit", (path, "nothing like it", "gone", True), {}),
        ("append", (path, "more"), {"base": 0}),
        ("append", (path, "more"), {"base": 1}),
        ("append", (path, "more"), {"base": "seen"}),
        ("move", (path, "/pub/out.md"), {}),
        ("move", ("/pub/a.md", path), {}),
        ("restore", (path, 1), {}),
        ("diff", (path,), {}),
        ("delete", (path,), {"base": "sha256:0123456789abcdef"}),
        ("delete", (path,), {"base": 7}),
        ("commit", ([WriteFile(path, "gone", 0)],), {}),
        ("commit", ([WriteFile(path, "gone", 1), WriteFile("/pub/new.md", "new")],), {}),
        ("commit", ([WriteFile(path, "gone", "seen", merge=False)],), {}),
        ("commit", ([EditFile(path, near, "gone")],), {}),
        ("commit", ([AppendFile(path, "more", 1)],), {}),
        ("commit", ([AppendFile(path, "one"), WriteFile(path, "two", 1)],), {}),
        ("commit", ([AppendFile(path, "one"), EditFile(path, near, "gone")],), {}),
        ("commit", ([MoveFile(path, "/pub/out.md")],), {}),
        ("append", (path, "more"), {}),
        ("commit", ([AppendFile(path, "one"), AppendFile(path, "two")],), {}),
        ("upload_files", ([(path, b"gone"), (path, b"\xff\x00")],), {}),
        ("commit", ([DeleteFile(path)],), {}),
        ("write", (path, "gone"), {}),
        ("delete", (path,), {}),
    ]


def notes_all(event: Any) -> None:
    """A hook that allows everything."""


def marks_all(event: Any) -> Replace | None:
    """A hook that puts a mark at the end of every text."""
    text = event.after
    return Replace(text + "!") if isinstance(text, str) and not text.endswith("!") else None


@pytest.mark.parametrize("how", ["plainly", "hook", "replacing", "interrupt", "propose"])
def test_no_answer_to_a_change_tells_what_may_not_be_read(world: World, is_async: bool, how: str) -> None:
    if world.has_history:  # so that there is a base which is past
        for path in HIDDEN:
            world.backend.write(path, f"{CANARY} of the second revision\n")
    hooks: list[Any] = [notes_all] if how == "hook" else []
    if how == "replacing":
        hooks = [marks_all]
    rules = deny(world, "read")
    if how in ("interrupt", "propose"):
        rules.append(FilesystemPermission(["write"], ["/**"], how))
    if how == "replacing":
        rules.append(FilesystemPermission(["write"], ["/**"], "interrupt"))
    guard = GuardedBackend(world.backend, rules, hooks)
    assert hidden_part(world)

    def scenario() -> Scenario:
        for path in world.hidden:
            for ask in blind_changings(path):
                result = yield ask
                assert CANARY not in said(result), (ask, result)

    world.run(guard, scenario, is_async=is_async)
