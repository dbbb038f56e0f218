"""Stores worth moving, and ways to compare two of them."""

from __future__ import annotations

import base64
import random
from typing import Any

from memoranda import Author, ChangeSet, Delete, Edit, MemoryStore, Move, Write
from memoranda.store.changes import Namespace

HARD_LABELS = [
    "acme",
    "acme-corp",
    "john_doe",
    "john-doe",
    "100%",
    "a.b@example.com",
    "a:b",
    "back\\slash",
    "*[x]?",
    "'quote\"s",
    "🦊👩‍👩‍👧",
    "记忆",
    "e\u0301",
    "é",
    "..",
    ".",
    "a,b",
    "\x01\x02",
    " spaces ",
    "con",
    ".git",
    "x" * 200,
    "漢" * 200,
]

HARD_KEYS = [
    "profile",
    "a-memory",
    "/AGENTS.md",
    "/../x",
    "../../y",
    "/a/../../../z",
    "..",
    ".",
    "/",
    "//",
    "/a/",
    "/a//b",
    "/100%.md",
    "/%2E%2E/x",
    "/with space.md",
    "/trailing ",
    "/trailing.",
    "/🦊/👩‍👩‍👧.md",
    "/记忆/笔记.md",
    "/e\u0301.md",
    "/é.md",
    "/E\u0301.md",
    "C:\\Windows\\x",
    "/back\\slash",
    "/con/aux.txt",
    "/.git/hooks/post-checkout",
    "/.GIT/config",
    "~/.ssh/authorized_keys",
    "\x01\x02\x7f",
    "/line\nbreak",
    "/" + "k" * 200,
    "/" + "漢" * 300,
]


def fill(store: MemoryStore) -> None:
    """Histories of every kind."""
    ann, team = ("ann",), ("acme", "team")
    by = Author("user:ann", "thread-1", "run-1", "call-1", "asked to remember")
    store.write(ann, "/notes.md", "one\ntwo\nthree\n", author=by)
    store.edit(ann, "/notes.md", "two", "2", author=Author("agent:a"))
    store.write(ann, "/notes.md", "ONE\ntwo\nthree\n", base=1)
    store.append(ann, "/notes.md", "four")
    store.restore(ann, "/notes.md", 1)
    store.write(ann, "/old.md", "to be moved", author=by)
    store.move(ann, "/old.md", "/new.md")
    store.move(ann, "/new.md", "/shared.md", to_namespace=team)
    store.write(ann, "/gone.md", "to be deleted")
    store.commit(ChangeSet([Delete(ann, "/gone.md")], Author("user:bob", reason="clean-up")))
    store.write(ann, "/back.md", "deleted")
    store.commit(ChangeSet([Delete(ann, "/back.md")]))
    store.write(ann, "/back.md", "and written again")
    store.write(ann, "/image.bin", bytes(range(256)) * 3)
    store.write(ann, "/image.bin", bytes(range(255, -1, -1)) * 3)
    store.put(ann, "profile", {"name": "Ann", "likes": ["green tea"], "n": 1.5, "none": None})
    store.put(ann, "profile", {"name": "Ann", "likes": ["green tea", "walks"], "n": 2**60})
    store.put(ann, "/v1.md", {"content": ["a", "b", ""], "created_at": "2025-01-01T00:00:00+00:00"})
    store.put(ann, "/v1.md", {"content": ["a", "c"], "created_at": "2025-01-01T00:00:00+00:00", "extra": {"x": 1}})
    raw = base64.b64encode(b"\x00\xff" * 40).decode()
    store.put(ann, "/v2.bin", {"content": raw, "encoding": "base64", "modified_at": "2025-01-01T00:00:00+00:00"})
    store.put(ann, "odd", {"content": "no file", "encoding": "latin-1"})
    store.put(ann, "soon", {"x": 1}, ttl=60)
    store.put(ann, "soon", {"x": 2}, ttl=90.5)
    store.put(ann, "was-soon", {"x": 1}, ttl=60)
    store.delete(ann, "was-soon")
    store.write(team, "/empty.md", "")
    text = "".join(f"line {number}\n" for number in range(300))
    store.write(team, "/long.md", text)
    shuffled = random.Random(7)
    for number in range(150):  # more than two keyframes
        line = shuffled.randrange(300)
        store.edit(team, "/long.md", f"line {line}\n", f"line {line}\nmore {number}\n")
    for label in HARD_LABELS:
        store.put((label,), "k", {"label": label})
        store.put(("deep", label, "x"), "k", {"label": label})
    for key in HARD_KEYS:
        store.put(("keys",), key, {"content": f"at {key}", "encoding": "utf-8"})
    store.commit(
        ChangeSet(
            [
                Write(("many",), "/a.md", "a"),
                Write(("many",), "/b.md", "b"),
                Edit(("many",), "/a.md", "a", "aa"),
                Move(("many",), "/b.md", "/c.md"),
            ]
        )
    )


def digests(store: MemoryStore) -> dict[Namespace, tuple[str, int, int]]:
    """Each namespace's digest, after proving that every revision stands as it was written."""
    found = store.verify()
    assert found.problems == ()
    return {entry.namespace: (entry.digest, entry.items, entry.revisions) for entry in found.namespaces}


def feed(store: MemoryStore, namespace: Namespace) -> list[tuple[Any, ...]]:
    """The history of a namespace in its order, with all that a reader sees of it."""
    return [
        (
            *(change.key, change.revision, change.operation, change.author),
            *(change.at, change.size, change.digest, change.origin),
        )
        for change in store.changes(namespace=namespace, limit=100_000)
    ]


def values(store: MemoryStore) -> dict[tuple[Namespace, str], tuple[Any, ...]]:
    """Every live item as it is read."""
    return {
        (item.namespace, item.key): (item.value, item.created_at, item.updated_at, item.revision)
        for item in store.search((), limit=100_000, refresh_ttl=False)
    }
