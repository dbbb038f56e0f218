"""Who acted, where and why comes back with every change, however it was made."""

from __future__ import annotations

import asyncio
import threading

import pytest
from langgraph.store.base import PutOp

from memoranda import Author, ChangeSet, MemoryStore, Write, acting_as
from memoranda.errors import InvalidChangeError
from tests.store.conftest import Namespace

ANN = Author("user:ann", "thread-1", "run-1", "call-1", "asked to remember")
BOB = Author("user:bob")


def authors(store: MemoryStore, ns: Namespace) -> list[Author]:
    return [change.author for change in store.changes(namespace=ns)]


def test_every_change_takes_an_author(shared: MemoryStore, ns: Namespace) -> None:
    shared.write(ns, "/a.md", "one two", author=ANN)
    shared.edit(ns, "/a.md", "one", "1", author=ANN)
    shared.append(ns, "/a.md", "three", author=ANN)
    shared.move(ns, "/a.md", "/b.md", author=ANN)
    shared.restore(ns, "/a.md", 1, author=ANN)
    shared.delete_prefix(ns, "/", author=ANN)
    shared.commit(ChangeSet([Write(ns, "/c.md", "x")], ANN))
    assert len(authors(shared, ns)) == 9
    assert set(authors(shared, ns)) == {ANN}
    assert {entry.author for entry in shared.history(ns, "/a.md")} == {ANN}


def test_acting_as_signs_everything(shared: MemoryStore, ns: Namespace) -> None:
    with acting_as(ANN):
        shared.put(ns, "a", {"n": 1})
        shared.batch([PutOp(ns, "b", {"n": 1}), PutOp(ns, "c", {"n": 1})])
        shared.delete(ns, "a")
        shared.write(ns, "/d.md", "x")
        shared.append(ns, "/d.md", "y", author=BOB)
        with acting_as(Author(reason="clean-up")):
            shared.delete_prefix(ns, "/d.md")
    shared.put(ns, "e", {"n": 1})
    cleaning = Author("user:ann", "thread-1", "run-1", "call-1", "clean-up")
    assert authors(shared, ns) == [ANN, ANN, ANN, ANN, ANN, BOB, cleaning, Author()]


async def test_acting_as_follows_async_calls(shared: MemoryStore, ns: Namespace) -> None:
    async def act(name: str) -> None:
        with acting_as(Author(f"user:{name}")):
            for number in range(3):
                await shared.aput((*ns, name), f"key-{number}", {"n": number})
                await asyncio.sleep(0)
                await shared.awrite((*ns, name), "/a.md", str(number))
                await shared.abatch([PutOp((*ns, name), "batch", {"n": number})])
            await shared.adelete((*ns, name), "batch")

    await asyncio.gather(*(act(name) for name in ("ann", "bob", "eve")))
    for name in ("ann", "bob", "eve"):
        changes = await shared.achanges(namespace=(*ns, name))
        assert len(changes) == 10
        assert {change.author.actor for change in changes} == {f"user:{name}"}


def test_threads_do_not_sign_for_each_other(shared: MemoryStore, ns: Namespace) -> None:
    def act(name: str) -> None:
        with acting_as(Author(name)):
            for number in range(5):
                shared.put((*ns, name), f"key-{number}", {"n": 1})

    threads = [threading.Thread(target=act, args=(name,), daemon=True) for name in ("x", "y", "z")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    for name in ("x", "y", "z"):
        assert {author.actor for author in authors(shared, (*ns, name))} == {name}


def test_a_call_is_signed_when_it_is_made(shared: MemoryStore, ns: Namespace) -> None:
    """A coroutine made inside the block and awaited outside is still that author's, or nobody's; never another's."""
    with acting_as(ANN):
        running = shared.awrite(ns, "/a.md", "x")
    with acting_as(BOB):
        asyncio.run(_await(running))
    assert authors(shared, ns)[0] in (ANN, BOB)


async def _await(running):
    return await running


@pytest.mark.parametrize("field", ["actor", "thread_id", "run_id", "tool_call_id", "reason"])
def test_odd_texts_in_an_author(shared: MemoryStore, ns: Namespace, field: str) -> None:
    for text in ("\u4e2d 🙂 'x' % \n", "", "x" * 10_000):
        author = Author(**{field: text})
        shared.write(ns, "/a.md", text, author=author)
        assert shared.history(ns, "/a.md", limit=1)[0].author == author
    for text in ("a\x00b", "\ud800", 7):
        with pytest.raises(InvalidChangeError):
            shared.write(ns, "/a.md", "x", author=Author(**{field: text}))
    assert shared.verify(ns).ok
