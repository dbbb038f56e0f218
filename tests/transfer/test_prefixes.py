"""Keys that were saved with their mount's prefix are found."""

from __future__ import annotations

import pytest

from memoranda import MemoryStore
from memoranda.errors import InvalidPathError
from memoranda.transfer import PrefixedKeys, find_prefixed

ANN, BOB = ("ann",), ("acme", "bob")


@pytest.mark.parametrize(
    ("keys", "prefixes"),
    [
        (["/memories/AGENTS.md"], ["/memories/"]),
        (["/memories/AGENTS.md", "/memories/x.md", "/notes.md"], ["/memories/"]),
        (["/memories/AGENTS.md", "/skills/tea/SKILL.md"], ["/memories/", "/skills/"]),
        (["/memories/AGENTS.md", "profile", "a-memory"], ["/memories/"]),
        (["/AGENTS.md", "/memories/x.md"], []),
        (["/AGENTS.md", "/notes/memories/x.md"], []),
        (["/memories.md", "/memoriesx/a.md", "/memories/"], []),
        (["memories/AGENTS.md"], []),
        (["profile"], []),
        ([], []),
    ],
)
def test_most_of_the_paths(store: MemoryStore, keys: list[str], prefixes: list[str]) -> None:
    for key in keys:
        store.put(ANN, key, {"content": key, "encoding": "utf-8"})
        store.put(BOB, "/x" + key.removeprefix("/"), {"content": key, "encoding": "utf-8"})
    for found in (find_prefixed(store, [ANN, BOB]), find_prefixed(store), find_prefixed({ANN: keys, BOB: ["/x.md"]})):
        assert [(entry.namespace, entry.prefix) for entry in found] == [(ANN, prefix) for prefix in prefixes]
        for entry in found:
            assert sorted(entry.keys) == sorted(key for key in keys if key.startswith(entry.prefix))


def test_a_prefix_of_ones_own(store: MemoryStore) -> None:
    store.write(ANN, "/wiki/pages/x.md", "x")
    store.write(ANN, "/a.md", "x")
    store.write(BOB, "/a.md", "x")
    expected = (PrefixedKeys(ANN, "/wiki/pages/", ("/wiki/pages/x.md",)),)
    assert find_prefixed(store, prefix="wiki/pages") == expected
    assert find_prefixed(store, [ANN], prefix="/wiki/pages/") == expected
    assert find_prefixed(store, [BOB], prefix="/wiki/pages/") == ()
    with pytest.raises(InvalidPathError):
        find_prefixed(store, prefix="/")


def test_many_namespaces(store: MemoryStore) -> None:
    for number in range(120):
        store.write((f"user-{number:03}",), "/memories/AGENTS.md" if number % 2 else "/AGENTS.md", "x")
    found = find_prefixed(store)
    assert [entry.namespace for entry in found] == [(f"user-{number:03}",) for number in range(1, 120, 2)]
