"""Files that were put into the store by hand, with nothing but their content."""

from __future__ import annotations

import pytest

from memoranda import MemoryStore
from memoranda.backends import GuardedBackend, StoreBackend
from memoranda.backends.hooks import size_limit
from memoranda.backends.protocol import AppendFile, EditFile

ANN = ("ann",)


@pytest.fixture(params=[False, True], ids=["bare", "guarded"])
def files(request: pytest.FixtureRequest, store: MemoryStore) -> StoreBackend | GuardedBackend:
    backend = StoreBackend(namespace=ANN, store=store)
    store.put(ANN, "/AGENTS.md", {"content": 'Tea: "green"\nTone: short\n'})
    return GuardedBackend(backend, hooks=[size_limit(max_bytes=1000)]) if request.param else backend


def _text(store: MemoryStore) -> str:
    item = store.get(ANN, "/AGENTS.md")
    assert item is not None
    return item.value["content"]


def test_an_edit_over_lines(files: StoreBackend, store: MemoryStore) -> None:
    assert files.edit("/AGENTS.md", 'Tea: "green"\nTone', "Tea: black\nTone").occurrences == 1
    assert _text(store) == "Tea: black\nTone: short\n"
    assert files.edit("/AGENTS.md", "black", "white").error is None


def test_an_append(files: StoreBackend, store: MemoryStore) -> None:
    assert files.append("/AGENTS.md", "Milk: no").error is None
    assert _text(store) == 'Tea: "green"\nTone: short\nMilk: no'


def test_an_edit_that_fits_nowhere(files: StoreBackend, store: MemoryStore) -> None:
    assert "not found" in (files.edit("/AGENTS.md", "coffee\nTone", "x").error or "")
    assert _text(store) == 'Tea: "green"\nTone: short\n'
    assert len(store.history(ANN, "/AGENTS.md")) == 1


def test_several_changes_at_once(files: StoreBackend, store: MemoryStore) -> None:
    """What a batch changes of it is what one change would; the JSON around the text is not meant."""
    changes = [
        EditFile("/AGENTS.md", '"green"', '"black"'),
        AppendFile("/AGENTS.md", "Milk: content"),
        EditFile("/AGENTS.md", "content", "no"),
    ]
    assert files.commit(changes).error is None
    assert _text(store) == 'Tea: "black"\nTone: short\nMilk: no'


def test_what_has_more_than_a_file(store: MemoryStore) -> None:
    """Its text is changed as text, the rest as the document that it is."""
    store.put(ANN, "/fact", {"content": "tea", "type": "fact"})
    store.edit(ANN, "/fact", '"type": "fact"', '"type": "guess"')
    assert store.get(ANN, "/fact").value == {"content": "tea", "type": "guess"}  # type: ignore[union-attr]
    store.edit(ANN, "/fact", "tea", 'the "tea"')
    value = store.get(ANN, "/fact").value  # type: ignore[union-attr]
    assert (value["content"], value["type"], value["encoding"]) == ('the "tea"', "guess", "utf-8")


def test_lines_without_times(store: MemoryStore) -> None:
    store.put(ANN, "/lines", {"content": ["tea", "milk"]})
    assert StoreBackend(namespace=ANN, store=store).edit("/lines", "tea\nmilk", "tea").error is None
    assert store.get(ANN, "/lines").value["content"] == "tea"  # type: ignore[union-attr]


def test_a_search(files: StoreBackend, store: MemoryStore) -> None:
    """What is shown as text is found in its lines as they are shown."""
    text = '# Tea\n\nGreen, and "hot".\n\n# Tone\n\nShort, as if marmots were whistling.\n'
    store.put(ANN, "/AGENTS.md", {"content": text})
    store.put(ANN, "/document", {"about": "marmots", "content": 7})
    found = files.search("whistling").matches or []
    assert [(match.path, match.heading) for match in found[:1]] == [("/AGENTS.md", "Tone")]
    assert found[0].text == "\n".join(text.splitlines()[found[0].first_line - 1 : found[0].last_line])
    assert {match.path for match in files.search("marmots").matches or ()} == {"/AGENTS.md", "/document"}
