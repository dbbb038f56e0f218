"""Companions: what lands with a change set or a proposal, both or neither."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from memoranda import Append, Author, ChangeSet, ConflictError, CursorMove, MemoryStore, Move, Write
from memoranda.store.companions import Companion, Landed, accompanied
from memoranda.store.effects import Body, Sql, query
from memoranda.store.operations.context import Context
from memoranda.store.operations.jobs import insert_job

ANN = ("ann",)


class Noted:
    """A companion that queues a job, and keeps what it was told."""

    def __init__(self, *advance: CursorMove, fails: BaseException | None = None, times: int = 1) -> None:
        self.told: list[Landed] = []
        self.fails = fails
        self.times = times
        self.companion = Companion(self.body, advance)

    def body(self, context: Context, landed: Landed) -> Body[list[Sql]]:
        self.told.append(landed)
        yield from query("job_by_number", tenant=context.tenant, number=1)
        if self.fails is not None and len(self.told) <= self.times:
            raise self.fails
        return [insert_job(context, "q", origin="companion")]


def write(store: MemoryStore, text: str = "green", **how: int) -> None:
    store.commit(ChangeSet([Write(ANN, "/tea.md", text, **how)], Author("user:ann")))


def test_it_lands_with_the_next_commit_once(store: MemoryStore) -> None:
    write(store, "old")
    noted = Noted(CursorMove("q", ANN, 0, 3))
    with accompanied(noted.companion) as companion:
        assert not companion.taken
        write(store)
        assert companion.taken
        write(store, "black")
    write(store, "white")
    assert [job.origin for job in store.jobs.list()] == ["companion"]
    assert store.runs.cursor("q", ANN) == 3
    landed = noted.told[-1]
    assert [(done.key, done.revision) for done in landed.committed] == [("/tea.md", 2)]
    assert landed.before == {(ANN, "/tea.md"): 1}
    assert landed.proposal is None


def test_it_lands_without_any_change_too(store: MemoryStore) -> None:
    noted = Noted(CursorMove("q", ANN, 0, 3))
    with accompanied(noted.companion):
        store.commit(ChangeSet())
    assert noted.companion.taken
    assert (len(store.jobs.list()), store.runs.cursor("q", ANN)) == (1, 3)
    told = len(noted.told)
    store.commit(ChangeSet())
    assert len(noted.told) == told


def test_plain_writes_of_foreign_code_take_it_along(store: MemoryStore) -> None:
    noted = Noted()
    with accompanied(noted.companion):
        store.put(ANN, "profile", {"likes": "tea"})
    assert noted.companion.taken


def test_it_lands_with_a_proposal(store: MemoryStore) -> None:
    write(store)
    noted = Noted(CursorMove("q", ANN, 0, 3))
    with accompanied(noted.companion):
        proposal = store.propose(ChangeSet([Write(ANN, "/tea.md", "black")]))
    assert noted.companion.taken
    assert (noted.told[-1].proposal, noted.told[-1].committed) == (proposal.id, ())
    assert noted.told[-1].before == {(ANN, "/tea.md"): 1}
    assert (len(store.jobs.list()), store.runs.cursor("q", ANN)) == (1, 3)


def test_the_innermost_is_taken(store: MemoryStore) -> None:
    outer, inner = Noted(), Noted()
    with accompanied(outer.companion):
        with accompanied(inner.companion):
            write(store)
            write(store, "black")
        assert (inner.companion.taken, outer.companion.taken) == (True, False)
        write(store, "white")
    assert outer.companion.taken


@pytest.mark.parametrize("propose", [False, True])
def test_what_it_raises_undoes_everything(store: MemoryStore, propose: bool) -> None:
    noted = Noted(CursorMove("q", ANN, 0, 3), fails=ArithmeticError("injected"), times=9)
    change = ChangeSet([Write(ANN, "/tea.md", "green"), Append(("bob",), "/log.md", "x")])
    with accompanied(noted.companion):
        with pytest.raises(ArithmeticError):
            store.propose(change) if propose else store.commit(change)
        assert not noted.companion.taken
    assert store.get(ANN, "/tea.md") is None
    assert store.list_namespaces() == []
    assert store.proposals() == []
    assert store.jobs.list() == []
    assert store.runs.cursor("q", ANN) == 0
    noted.fails = None
    with accompanied(noted.companion):
        store.commit(change)
    assert len(store.jobs.list()) == 1


@pytest.mark.parametrize("propose", [False, True])
def test_a_conflict_of_either_undoes_both(store: MemoryStore, propose: bool) -> None:
    store.commit(ChangeSet(advance=[CursorMove("q", ANN, 0, 2)]))
    noted = Noted(CursorMove("q", ANN, 0, 3))
    with accompanied(noted.companion):
        with pytest.raises(ConflictError) as caught:
            change = ChangeSet([Write(ANN, "/tea.md", "green")])
            store.propose(change) if propose else store.commit(change)
        assert caught.value.conflicts[0].reason == "cursor"
        assert not noted.companion.taken
    assert store.get(ANN, "/tea.md") is None
    assert (store.jobs.list(), store.proposals()) == ([], [])

    write(store, "one\ntwo\n")
    write(store, "one\n2\n")
    noted = Noted(CursorMove("q", ANN, 2, 3))
    with accompanied(noted.companion):
        with pytest.raises(ConflictError):
            write(store, "one\nzwei\n", base=1)
        assert store.commit(ChangeSet([Write(ANN, "/tea.md", "x", base=1)]), on_conflict="return").conflicts
    assert not noted.companion.taken
    assert (store.jobs.list(), store.runs.cursor("q", ANN)) == ([], 2)


def test_a_statement_that_fails_undoes_both(store: MemoryStore) -> None:
    def body(_: Context, __: Landed) -> Body[list[Sql]]:
        return [Sql("insert_job", {"tenant": None, "queue": "q", "labels": "", "origin": "x", "due_at": 0,
                                   "payload": "{}", "now": 0, "state": "waiting", "ended_at": None})]  # fmt: skip
        yield  # pragma: no cover - makes this a generator

    companion = Companion(body)
    with accompanied(companion), pytest.raises(Exception, match=r"(?i)null"):
        write(store)
    assert not companion.taken
    assert store.get(ANN, "/tea.md") is None


def test_a_move_tells_what_was_at_both_ends(store: MemoryStore) -> None:
    write(store)
    store.write(ANN, "/gone.md", "x")
    store.delete(ANN, "/gone.md")
    noted = Noted()
    with accompanied(noted.companion):
        store.commit(ChangeSet([Move(ANN, "/tea.md", "/gone.md")]))
    assert noted.told[-1].before == {(ANN, "/tea.md"): 1, (ANN, "/gone.md"): 0}


def test_another_store_leaves_it_alone(
    store: MemoryStore, other_store_url: str, open_here: Callable[..., MemoryStore]
) -> None:
    mine = Noted()
    companion = Companion(mine.body, store=store.context)
    with accompanied(companion):
        write(open_here(other_store_url))
        assert not companion.taken
        write(store)
    assert companion.taken
    assert len(mine.told) == 1


def test_it_comes_along_from_an_event_loop(store: MemoryStore) -> None:
    async def both() -> tuple[bool, bool]:
        mine, other = Noted(), Noted()
        with accompanied(mine.companion):
            await asyncio.gather(store.aput(ANN, "profile", {"x": 1}))
        with accompanied(other.companion):
            await store.apropose(ChangeSet([Write(ANN, "/tea.md", "black")]))
        return mine.companion.taken, other.companion.taken

    assert asyncio.run(both()) == (True, True)


def test_two_tasks_do_not_share_theirs(store_url: str, open_here: Callable[..., MemoryStore]) -> None:
    store = open_here(store_url)

    async def one(number: int) -> bool:
        noted = Noted(CursorMove(f"q{number}", ANN, 0, number))
        with accompanied(noted.companion):
            await store.awrite(ANN, f"/{number}.md", "x")
        return noted.companion.taken and await store.runs.acursor(f"q{number}", ANN) == number

    async def many() -> list[bool]:
        return await asyncio.gather(*(one(number) for number in range(1, 9)))

    assert asyncio.run(many()) == [True] * 8
