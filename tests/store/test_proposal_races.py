"""Many reviewers, threads and processes: exactly one decides, and a decision that dies leaves nothing half done."""

from __future__ import annotations

import threading
from multiprocessing.connection import Connection

import pytest

from memoranda import Append, Author, ChangeSet, ConflictError, MemoryStore, Write, open_store
from memoranda.errors import ProposalDecidedError
from tests.faults.killing import fresh as processes
from tests.faults.killing import wait_for_backends
from tests.faults.sabotage import AtStatement
from tests.store.conftest import Namespace

REVIEWERS = 8


def decide(store: MemoryStore, id: str, name: str) -> str:
    reviewer = Author(name)
    try:
        if name.endswith("accepts"):
            store.accept_proposal(id, author=reviewer)
        else:
            store.reject_proposal(id, author=reviewer)
    except ProposalDecidedError:
        return ""
    return name


def decide_elsewhere(url: str, ids: list[str], name: str, answer: Connection) -> None:
    with open_store(url) as store:
        answer.send("ready")
        answer.recv()
        answer.send([decide(store, id, name) for id in ids])


def test_of_many_threads_one_decides(durable: MemoryStore, ns: Namespace) -> None:
    for round_ in range(20):
        proposal = durable.propose(ChangeSet([Append(ns, f"/{round_}.md", "x")], Author("agent")))
        barrier = threading.Barrier(REVIEWERS)
        winners: list[str] = []

        def review(number: int, id: str, gate: threading.Barrier, winners: list[str]) -> None:
            name = f"user:{number} {'accepts' if number % 2 else 'rejects'}"
            gate.wait()
            winners.append(decide(durable, id, name))

        threads = [
            threading.Thread(target=review, args=(number, proposal.id, barrier, winners), daemon=True)
            for number in range(REVIEWERS)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        (winner,) = filter(None, winners)
        decided = durable.get_proposal(proposal.id)
        assert decided.decided_by == winner
        accepted = decided.status == "accepted"
        assert accepted == winner.endswith("accepts")
        assert len(durable.history(ns, f"/{round_}.md")) == (1 if accepted else 0)
    assert durable.verify(ns).ok


def test_of_two_processes_one_decides(durable: MemoryStore, durable_url: str, ns: Namespace) -> None:
    ids = [durable.propose(ChangeSet([Append(ns, f"/{n}.md", "x")], Author("agent"))).id for n in range(40)]
    pipes = [processes.Pipe() for _ in range(2)]
    names = ("user:one accepts", "user:two accepts")
    workers = [
        processes.Process(target=decide_elsewhere, args=(durable_url, ids, name, there), daemon=True)
        for name, (_, there) in zip(names, pipes, strict=True)
    ]
    for worker in workers:
        worker.start()
    for here, _ in pipes:
        assert here.poll(30) and here.recv() == "ready"
    for here, _ in pipes:
        here.send("go")
    answers = [here.recv() for here, _ in pipes if here.poll(60)]
    for worker in workers:
        worker.join(30)
    assert len(answers) == 2
    for number, (id, one, two) in enumerate(zip(ids, *answers, strict=True)):
        assert bool(one) != bool(two)
        assert durable.get_proposal(id).decided_by == one or two
        assert len(durable.history(ns, f"/{number}.md")) == 1


def test_accepting_beside_writers_loses_nothing(durable: MemoryStore, ns: Namespace) -> None:
    durable.write(ns, "/log.md", "start")
    ids = [durable.propose(ChangeSet([Append(ns, "/log.md", f"proposed {n}")])).id for n in range(20)]

    def write() -> None:
        for number in range(20):
            durable.append(ns, "/log.md", f"written {number}")

    writers = [threading.Thread(target=write, daemon=True) for _ in range(3)]
    for writer in writers:
        writer.start()
    for id in ids:
        durable.accept_proposal(id)
    for writer in writers:
        writer.join()
    lines = durable.get(ns, "/log.md").value["content"].split("\n")
    assert len(lines) == 1 + 20 + 60
    assert {line for line in lines if line.startswith("proposed")} == {f"proposed {n}" for n in range(20)}
    assert durable.verify(ns).ok


def test_two_proposals_of_one_place(durable: MemoryStore, ns: Namespace) -> None:
    durable.write(ns, "/a.md", "one\n")
    first, second = (durable.propose(ChangeSet([Write(ns, "/a.md", text)])) for text in ("two\n", "three\n"))
    durable.accept_proposal(first.id)
    with pytest.raises(ConflictError):
        durable.accept_proposal(second.id)
    assert durable.get_proposal(second.id).status == "pending"
    durable.reject_proposal(second.id)


def accept_and_die(url: str, id: str, number: int) -> None:
    with open_store(url) as store:
        AtStatement(number)(store)
        store.accept_proposal(id, author=Author("user:ann"))


def test_killed_at_every_statement_it_is_pending_or_landed(
    durable: MemoryStore, durable_url: str, ns: Namespace
) -> None:
    number, survived, pending = 0, False, 0
    while not survived:
        number += 1
        changes = [Write(ns, f"/{number}.md", "x"), Append(ns, "/log.md", f"{number}")]
        proposal = durable.propose(ChangeSet(changes, Author("agent")))
        process = processes.Process(target=accept_and_die, args=(durable_url, proposal.id, number), daemon=True)
        process.start()
        process.join(20)
        survived = process.exitcode == 0
        assert survived or process.exitcode == -9
        wait_for_backends(durable_url)
        decided = durable.get_proposal(proposal.id)
        landed = durable.get(ns, f"/{number}.md") is not None
        assert landed == (decided.status == "accepted")
        pending += not landed
        if not landed:
            durable.accept_proposal(proposal.id)
    assert pending >= 3
    assert durable.get(ns, "/log.md").value["content"].split("\n") == [f"{n}" for n in range(1, number + 1)]
    assert durable.verify(ns).ok
