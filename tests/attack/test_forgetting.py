"""Forgetting under races, and what it must leave alone."""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from memoranda import Author, MemoryStore
from memoranda.search.embedding import Identity
from memoranda.store.effects import Transact, transact
from memoranda.store.namespaces import encode_namespace
from memoranda.store.operations import forget_turns, rewording
from memoranda.store.operations.embedder_indexes import list_indexes, register
from memoranda.store.operations.index_filling import Filler
from memoranda.store.turns import Turn


class Conversations:
    """A checkpointer that notes what it is to delete."""

    def __init__(self) -> None:
        self.gone: list[str] = []

    def delete_thread(self, thread_id: str) -> None:
        self.gone.append(thread_id)


def test_two_forget_in_one_namespace_at_once(store: MemoryStore) -> None:
    for start in range(0, 1_500, 25):
        said = [Turn(f"m{number}", "user", f"word{number}") for number in range(start, start + 25)]
        store.record_turns(("org",), "t", said, user="ann" if start < 600 else "ben")
    place = (store.context, encode_namespace(("org",)), "thread", "t")
    seen = store.engine.run(transact("snapshot", lambda: forget_turns._look(*place)))
    store.forget(subject="ann", vacuum=False)
    store.engine.run(transact("write", partial(forget_turns._forget, *place, seen)))
    assert store.verify().ok


def test_no_name_comes_back_with_the_filling_of_an_index(store: MemoryStore) -> None:
    store.write(("zimmerfrau",), "/a.md", "tea")
    index = store.engine.run(register(store.context, Identity("e", 2, struct.pack("<2f", 1, 0), 0.0)))
    filler = Filler(store.context, index)
    filler._rest = store.engine.run(filler._next_namespaces())
    store.forget(("zimmerfrau",), vacuum=False)
    while store.engine.run(filler.fill_some()):
        pass
    (index,) = store.engine.run(list_indexes(store.context))
    assert "zimmerfrau" not in index.progress


def test_no_name_stays_where_the_words_are_half_made_anew(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.write(("zimmerfrau",), "/a.md", "tea")
    monkeypatch.setattr(rewording, "WORDS_VERSION", "another")

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.engine.run(rewording.reword(store.context, stop))
    store.forget(("zimmerfrau",), vacuum=False)
    progress = store.engine.run(transact("read", lambda: rewording._setting(store.context, "words_progress")))
    assert "zimmerfrau" not in progress


def test_no_name_comes_back_while_the_words_are_made_anew(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.write(("zimmerfrau",), "/a.md", "tea")
    monkeypatch.setattr(rewording, "WORDS_VERSION", "another")

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    reword = rewording.reword(store.context, stop)
    effect = next(reword)
    for _ in range(3):  # the version, how far it was, and which namespaces there are
        assert isinstance(effect, Transact)
        effect = reword.send(store.engine.transact(effect))
    store.forget(("zimmerfrau",), vacuum=False)
    with pytest.raises(KeyboardInterrupt):
        store.engine.resume(reword, effect)
    progress = store.engine.run(transact("read", lambda: rewording._setting(store.context, "words_progress")))
    assert "zimmerfrau" not in progress


def _group(store: MemoryStore) -> None:
    store.record_turns(("ann",), "group", [Turn("m1", "user", "tea")], user="ann")
    store.record_turns(("ben",), "group", [Turn("m2", "user", "ale")], user="ben")


def _unnamed(store: MemoryStore) -> None:
    store.record_turns(("org",), "group", [Turn("m1", "user", "tea")], user="ann")
    store.record_turns(("org",), "group", [Turn("m2", "user", "ale")])


def _written(store: MemoryStore) -> None:
    store.write(("ann",), "/a.md", "tea", author=Author(actor="user:ben", thread_id="group"))
    store.record_turns(("ben",), "group", [Turn("m1", "user", "ale")], user="ben")


def _guest(store: MemoryStore) -> None:
    store.record_turns(("ann",), "group", [Turn("m1", "user", "tea")], user="ann")
    store.record_turns(("ann",), "group", [Turn("m2", "user", "ale")], user="ben")


def _unrecorded(store: MemoryStore) -> None:
    for person in ("ann", "ben"):
        store.write(("ann",), f"/{person}.md", "tea", author=Author(actor=f"user:{person}", thread_id="group"))


@pytest.mark.parametrize("talk", [_group, _unnamed, _written, _guest, _unrecorded])
def test_checkpoints_of_a_thread_in_which_others_talk_stay(
    store: MemoryStore, talk: Callable[[MemoryStore], None]
) -> None:
    talk(store)
    conversations = Conversations()
    receipt = store.forget(subject="ann", checkpointer=conversations, vacuum=False)
    assert conversations.gone == []
    assert any("group" in sentence for sentence in receipt.unreached)


@pytest.mark.parametrize("named", [{"scope": ("ann",)}, {"scope": ("ann",), "thread": "group"}])
def test_checkpoints_of_a_thread_that_others_have_stay(store: MemoryStore, named: dict[str, Any]) -> None:
    _group(store)
    conversations = Conversations()
    receipt = store.forget(**named, checkpointer=conversations, vacuum=False)
    assert conversations.gone == []
    assert receipt.threads == ()
    assert any("group" in sentence for sentence in receipt.unreached)
    # Nobody has it any more now.
    store.forget(thread="group", checkpointer=conversations, vacuum=False)
    assert conversations.gone == ["group"]


def test_checkpoints_of_ones_own_threads_go(store: MemoryStore, store_url: str, open_here: Any) -> None:
    author = Author(actor="user:ann", thread_id="written")
    store.record_turns(("ann",), "own", [Turn("m1", "user", "tea"), Turn("m2", "assistant", "ale")])
    store.record_turns(("org",), "own", [Turn("m3", "user", "tea")], user="ann")
    store.write(("ann",), "/a.md", "tea", author=author)
    store.write(("org",), "/a.md", "tea", author=author)
    open_here(store_url, tenant="other").record_turns(("ben",), "own", [Turn("m1", "user", "tea")], user="ben")
    conversations = Conversations()
    store.forget(subject="ann", checkpointer=conversations, vacuum=False)
    assert conversations.gone == ["own", "written"]
