"""Links that are swapped while an operation is under way, and files that have two names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from memoranda.backends import (
    CompositeBackend,
    FilesystemBackend,
    FilesystemPermission,
    GuardedBackend,
    StoreBackend,
    approved,
)
from memoranda.backends.places import Place
from memoranda.backends.protocol import AppendFile, EditFile, MoveFile, WriteFile
from memoranda.files.format import create_file_data
from tests.guard.support import CANARY, said

DENIED = [FilesystemPermission(["read", "write"], ["/secret/**"], "deny")]


class Swapping(FilesystemBackend):
    """A disk whose link is swapped just before, or just after, the rules are asked about names."""

    before: Callable[[], None] = staticmethod(lambda: None)
    after: Callable[[], None] = staticmethod(lambda: None)

    def names_steps(self, places: Sequence[Place]) -> Any:
        self.before()
        names = yield from super().names_steps(places)
        self.after()
        return names


@pytest.fixture
def disk(tmp_path: Path) -> Swapping:
    root = tmp_path / "root"
    for name, text in (("secret/k", CANARY), ("pub/r", "public"), ("pub/sub/k", "public")):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (root / "pub/l").symlink_to("r")
    (root / "pub/d").symlink_to("sub")
    return Swapping(root)


def pointing(disk: Swapping, file: str, folder: str) -> Callable[[], None]:
    def swap() -> None:
        for name, target in (("l", file), ("d", folder)):
            link, new = disk.cwd / "pub" / name, disk.cwd / "pub" / ".new"
            new.symlink_to(target)
            new.replace(link)

    return swap


OPERATIONS: list[tuple[str, tuple[Any, ...]]] = [
    *[("read", (path,)) for path in ("/pub/l", "/pub/d/k")],
    *[("download_files", ([path],)) for path in ("/pub/l", "/pub/d/k")],
    *[("at", (path, 1)) for path in ("/pub/l", "/pub/d/k")],
    *[("grep", ("CANARY", path)) for path in ("/pub/l", "/pub/d", "/pub", "/")],
    *[("search", ("CANARY", path)) for path in ("/pub/l", "/pub/d", "/pub", "/")],
    *[("write", (path, "over")) for path in ("/pub/l", "/pub/d/k", "/pub/d/new")],
    *[("edit", (path, "CANARY", "over")) for path in ("/pub/l", "/pub/d/k")],
    *[("append", (path, "over")) for path in ("/pub/l", "/pub/d/k")],
    *[("upload_files", ([(path, b"over")],)) for path in ("/pub/l", "/pub/d/k")],
    *[("delete", (path,)) for path in ("/pub/d/k", "/pub/d")],
    *[("move", (path, "/pub/moved")) for path in ("/pub/l", "/pub/d/k")],
    *[("move", ("/pub/r", path)) for path in ("/pub/d/k", "/pub/d/new")],
    *[("commit", ([WriteFile(path, "over")],)) for path in ("/pub/l", "/pub/d/k", "/pub/d/new")],
    ("commit", ([EditFile("/pub/l", "CANARY", "over"), AppendFile("/pub/d/k", "over")],)),
    ("commit", ([MoveFile("/pub/d/k", "/pub/moved")],)),
]


@pytest.mark.parametrize("hooked", [False, True])
@pytest.mark.parametrize("routed", [False, True])
@pytest.mark.parametrize("when", ["after", "before"])
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: f"{one[0]}-{one[1][0]}"[:40])
def test_a_link_swapped_meanwhile_reaches_nothing_denied(
    disk: Swapping, operation: Any, when: str, routed: bool, hooked: bool
) -> None:
    public, secret = pointing(disk, "r", "sub"), pointing(disk, "../secret/k", "../secret")
    # After the names were asked, the link leads to the secret; or until then, and to the public file from then on.
    disk.before, disk.after = (public, secret) if when == "after" else (public, lambda: None)
    (secret if when == "before" else public)()
    backend: Any = disk
    if routed:
        backend = CompositeBackend(FilesystemBackend(disk.cwd / "elsewhere"), {"/disk/": disk})
        backend = GuardedBackend(backend, [FilesystemPermission(["read", "write"], ["/disk/secret/**"], "deny")])
    guard: Any = GuardedBackend(backend, [] if routed else DENIED, [lambda event: None] if hooked else [])
    method, args = operation
    if routed:
        backend = CompositeBackend(guard, {})
        args = _below_disk(args) if method not in ("grep", "search") else (args[0], "/disk" + args[1].rstrip("/"))
    try:
        result = getattr(guard, method)(*args)
        assert CANARY not in said(result)
    finally:
        assert [path.name for path in sorted((disk.cwd / "secret").iterdir())] == ["k"]
        assert (disk.cwd / "secret/k").read_text() == CANARY


def _below_disk(given: Any) -> Any:
    from dataclasses import fields, replace

    match given:
        case str():
            return "/disk" + given if given.startswith("/") else given
        case list() | tuple():
            return type(given)(_below_disk(one) for one in given)
        case WriteFile() | EditFile() | AppendFile() | MoveFile():
            return replace(given, **{f.name: _below_disk(getattr(given, f.name)) for f in fields(given)})
        case _:
            return given


@pytest.mark.parametrize("guarded", [False, True])
def test_two_names_of_one_file_in_one_commit_lose_nothing(disk: Swapping, guarded: bool) -> None:
    files: Any = GuardedBackend(disk, DENIED, [lambda event: None]) if guarded else disk
    result = files.commit([AppendFile("/pub/r", "first"), AppendFile("/pub/l", "second")])
    assert "/pub/r and /pub/l are one file" in (result.error or "")
    assert (disk.cwd / "pub/r").read_text() == "public"
    assert files.commit([AppendFile("/pub/l", "first"), AppendFile("/pub/l", "second")]).error is None
    assert (disk.cwd / "pub/r").read_text() == "public\nfirst\nsecond"


def test_an_approval_does_not_follow_a_link(disk: Swapping) -> None:
    (disk.cwd / "pub/other").write_text("public")
    guard = GuardedBackend(disk, [FilesystemPermission(["write"], ["/**"], "interrupt")])
    request = guard.write("/pub/r", "new").approval
    assert request is not None
    (disk.cwd / "pub/r").unlink()
    (disk.cwd / "pub/r").symlink_to("other")
    with approved(request):
        assert guard.commit([request.change]).error is not None
    assert (disk.cwd / "pub/other").read_text() == "public"


def test_warnings_name_nothing_denied(disk: Swapping) -> None:
    (disk.cwd / "secret/broken-NAME").symlink_to("nothing")
    open_eyes = FilesystemBackend(disk.cwd)
    guard = GuardedBackend(open_eyes, DENIED)
    for ask in (("glob", "**/*"), ("grep", "public"), ("grep", "alone", "/"), ("search", "public")):
        assert "broken-NAME" in said(getattr(open_eyes, ask[0])(*ask[1:]))
        result = getattr(guard, ask[0])(*ask[1:])
        assert "NAME" not in said(result)
        assert result.warnings == ("Some entries could not be looked at.",)


def test_a_rule_on_the_key_of_a_seed_holds_at_once(store: Any) -> None:
    """Even where it was believed a moment ago that there are no seeds."""
    behind = StoreBackend(namespace=("hidden",), store=store)
    tree = CompositeBackend(StoreBackend(namespace=("front",), store=store), {"/secrets/": behind})
    guard = GuardedBackend(tree, [FilesystemPermission(["read"], ["/secrets/secrets/**"], "deny")])
    assert guard.read("/secrets/k").error is not None
    store.put(("hidden",), "/secrets/k", dict(create_file_data(CANARY)))
    assert CANARY not in said(guard.read("/secrets/k"))
    assert CANARY not in said(guard.download_files(["/secrets/k"]))
    assert CANARY not in said(guard.search(CANARY))
