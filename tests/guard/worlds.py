"""The kinds of backends that the permission matrix runs over."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from langgraph.store.memory import InMemoryStore

from memoranda import MemoryStore
from memoranda.backends import Backend, CompositeBackend, StateBackend, StoreBackend
from memoranda.backends.base import Backend as Base
from memoranda.files.format import create_file_data
from tests.guard.support import HIDDEN, PUBLIC, World, store_snapshot

EVERYTHING = {**HIDDEN, **PUBLIC}


def fill(backend: Backend, files: dict[str, str], prefix: str = "") -> None:
    """Write files that lie below a prefix, with the prefix taken off."""
    for path, text in files.items():
        if path.startswith(prefix):
            written = backend.write(path[len(prefix) :] if prefix else path, text)
            assert written.error is None, written.error


def state_world(store: Any, tmp_path: Path) -> World:
    files = {path: create_file_data(text) for path, text in EVERYTHING.items()}
    world = World("state", StateBackend(), dict, inside_graph=dict(files))
    world.snapshot = lambda: {path: data["content"].encode() for path, data in (world.inside_graph or {}).items()}
    return world


def store_world(store: MemoryStore, tmp_path: Path) -> World:
    backend = StoreBackend(namespace=("ann",), store=store)
    fill(backend, EVERYTHING)
    return World("store", backend, store_snapshot(store), has_history=True)


def plain_world(store: Any, tmp_path: Path) -> World:
    plain = InMemoryStore()
    backend = StoreBackend(namespace=("ann",), store=plain)
    fill(backend, EVERYTHING)
    return World("plain", backend, store_snapshot(plain))


def raw_keys_world(store: MemoryStore, tmp_path: Path) -> World:
    """A store that somebody filled with keys that are not canonical."""
    plain = InMemoryStore()
    backend = StoreBackend(namespace=("ann",), store=plain)
    fill(backend, EVERYTHING)
    for key, text in HIDDEN.items():
        for odd in (key.lstrip("/"), key.replace("/secrets/", "/secrets//"), key.replace("/secrets/", "/./secrets/")):
            plain.put(("ann",), odd, dict(create_file_data(text)))
    return World("raw keys", backend, store_snapshot(plain))


def routed_world(store: MemoryStore, tmp_path: Path) -> World:
    behind = StoreBackend(namespace=("hidden",), store=store)
    front = StoreBackend(namespace=("front",), store=store)
    fill(behind, HIDDEN, "/secrets")
    fill(front, PUBLIC)
    backend = CompositeBackend(front, {"/secrets/": behind})
    return World("routed", backend, store_snapshot(store), has_history=True)


def crossing_world(store: MemoryStore, tmp_path: Path) -> World:
    """Hidden and public files in different stores, so that nothing can land together."""
    plain = InMemoryStore()
    behind = StoreBackend(namespace=("hidden",), store=store)
    front = StoreBackend(namespace=("front",), store=plain)
    fill(behind, HIDDEN, "/secrets")
    fill(front, PUBLIC)
    backend = CompositeBackend(front, {"/secrets/": behind})
    return World("crossing", backend, store_snapshot(store, plain))


def nested_world(store: MemoryStore, tmp_path: Path) -> World:
    behind = StoreBackend(namespace=("hidden",), store=store)
    front = StoreBackend(namespace=("front",), store=store)
    fill(behind, HIDDEN, "/secrets/deep")
    fill(front, {path: text for path, text in EVERYTHING.items() if not path.startswith("/secrets/deep")}, "")
    inner = CompositeBackend(StoreBackend(namespace=("middle",), store=store), {"/deep": behind})
    for path, text in HIDDEN.items():
        if not path.startswith("/secrets/deep"):
            assert inner.write(path.removeprefix("/secrets"), text).error is None
    return World("nested", CompositeBackend(front, {"/secrets/": inner}), store_snapshot(store), has_history=True)


def twin_world(store: MemoryStore, tmp_path: Path) -> World:
    """Hidden files that are also reached under another route on the same namespace."""
    front = StoreBackend(namespace=("front",), store=store)
    fill(front, PUBLIC)
    fill(StoreBackend(namespace=("hidden",), store=store), HIDDEN, "/secrets")
    twins = [StoreBackend(namespace=("hidden",), store=store) for _ in range(2)]
    backend = CompositeBackend(front, {"/secrets/": twins[0], "/pub/twin/": twins[1]})
    hidden = [*HIDDEN, *(path.replace("/secrets", "/pub/twin", 1) for path in HIDDEN)]
    return World("twins", backend, store_snapshot(store), hidden=hidden, has_history=True)


def seeded_world(store: MemoryStore, tmp_path: Path) -> World:
    """Hidden files that were put with the route's prefix in their keys."""
    front = StoreBackend(namespace=("front",), store=store)
    fill(front, PUBLIC)
    for path, text in HIDDEN.items():
        store.put(("hidden",), path, dict(create_file_data(text)))
    backend = CompositeBackend(front, {"/secrets/": StoreBackend(namespace=("hidden",), store=store)})
    hidden = [*HIDDEN, *("/secrets" + path for path in HIDDEN)]
    return World("seeded", backend, store_snapshot(store), hidden=hidden)


def staged_world(store: MemoryStore, tmp_path: Path) -> World:
    from memoranda.backends.staged import StagedBackend

    inner = StoreBackend(namespace=("ann",), store=store)
    fill(inner, EVERYTHING)
    staged = StagedBackend(inner)

    def snapshot() -> dict[str, bytes]:
        found = store_snapshot(store)()
        for path in (*EVERYTHING, "/pub/out", "/pub/out.md"):
            (answer,) = staged.download_files([path])
            found["staged|" + path] = answer.content or b""
        return found

    return World("staged", staged, snapshot)


def filesystem_world(store: Any, tmp_path: Path) -> World:
    from memoranda.backends.filesystem import FilesystemBackend

    root = tmp_path / "root"
    for path, text in EVERYTHING.items():
        file = root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (root / "pub/link").symlink_to(root / "secrets", target_is_directory=True)
    (root / "pub/relative").symlink_to("../secrets/deep", target_is_directory=True)
    (root / "pub/env").symlink_to(root / "secrets/.env")
    (root / "pub/again").symlink_to("link/plan.md")

    def snapshot() -> dict[str, bytes]:
        return {
            str(file.relative_to(root)): file.read_bytes()
            for file in sorted(root.rglob("*"))
            if file.is_file() and not file.is_symlink()
        }

    hidden = [
        *HIDDEN,
        *(path.replace("/secrets", "/pub/link", 1) for path in HIDDEN),
        "/pub/relative/café/.hidden/note.md",
        "/pub/env",
        "/pub/again",
    ]
    return World("filesystem", FilesystemBackend(root), snapshot, hidden=hidden)


def routed_filesystem_world(store: MemoryStore, tmp_path: Path) -> World:
    """A disk behind a route, with links that lead through it."""
    world = filesystem_world(store, tmp_path)
    front = StoreBackend(namespace=("front",), store=store)
    fill(front, PUBLIC)
    on_disk = world.snapshot

    def snapshot() -> dict[str, bytes]:
        return {**on_disk(), **store_snapshot(store)()}

    hidden = ["/disk" + path for path in world.hidden]
    backend = CompositeBackend(front, {"/disk/": world.backend})
    return World("routed filesystem", backend, snapshot, hidden=hidden, denied=["/disk/secrets/**"])


class Overriding(StoreBackend):
    """A class of a user that overrides public methods."""

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> Any:
        return super().read(file_path, offset, limit)

    def write(self, file_path: str, content: str, **kwargs: Any) -> Any:
        return super().write(file_path, content, **kwargs)


def overriding_world(store: MemoryStore, tmp_path: Path) -> World:
    backend = Overriding(namespace=("ann",), store=store)
    fill(StoreBackend(namespace=("ann",), store=store), EVERYTHING)
    return World("overriding", backend, store_snapshot(store))


def foreign_world(store: Any, tmp_path: Path) -> World:
    from deepagents.backends import StoreBackend as TheirStoreBackend

    plain = InMemoryStore()
    fill(StoreBackend(namespace=("ann",), store=plain), EVERYTHING)
    backend: Any = TheirStoreBackend(store=plain, namespace=lambda runtime: ("ann",))
    return World("foreign", backend, store_snapshot(plain))


WORLDS: dict[str, Callable[[Any, Path], World]] = {
    "state": state_world,
    "store": store_world,
    "plain": plain_world,
    "raw_keys": raw_keys_world,
    "routed": routed_world,
    "crossing": crossing_world,
    "nested": nested_world,
    "twins": twin_world,
    "seeded": seeded_world,
    "staged": staged_world,
    "filesystem": filesystem_world,
    "routed_filesystem": routed_filesystem_world,
    "overriding": overriding_world,
    "foreign": foreign_world,
}

# Those without a MemoryStore in them need to run only once, whatever the engine.
WITHOUT_STORE = {"state", "plain", "raw_keys", "filesystem", "foreign"}

__all__ = ["EVERYTHING", "WITHOUT_STORE", "WORLDS", "Base", "fill"]
