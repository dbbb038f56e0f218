"""Landing behind guards, and outside of what is a consolidator's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memoranda import MemoryStore
from memoranda.backends import (
    CompositeBackend,
    FilesystemBackend,
    FilesystemPermission,
    GuardedBackend,
    Hold,
    Refuse,
    Replace,
    StateBackend,
    StoreBackend,
    WriteEvent,
    WrittenEvent,
    by_org,
    by_user,
)
from memoranda.backends.protocol import FilesCommitResult
from memoranda.consolidation import Task
from memoranda.errors import StoreBusyError
from memoranda.store.companions import waiting_companion
from memoranda.testing.scripted import ScriptedChatModel, call
from tests.consolidation.talking import ANN, consolidator, files_of, noting, say, text

# --- guards below --------------------------------------------------------------------------------------------------


def test_a_rule_that_denies_parks_the_run(store: MemoryStore) -> None:
    say(store, "one")
    target = GuardedBackend(files_of(store), [FilesystemPermission(["write"], ["/policies/**"], "deny")])

    def work(task: Task) -> None:
        noting()(task)
        task.files.write("/policies/a.md", "anything")

    report = consolidator(store, work, target=target).run(ANN)
    assert (report.status, report.attempts, text(store)) == ("parked", 1, None)
    assert "permission denied for write on '/policies/a.md'" in (report.error or "")
    assert consolidator(store, noting(), target=target).retry(report.run_id or "").status == "applied"


def test_a_file_that_may_not_be_read_is_not_shown(store: MemoryStore) -> None:
    store.write(ANN, "/private/diary.md", "hidden")
    say(store, "one")
    target = GuardedBackend(files_of(store), [FilesystemPermission(["read"], ["/private/**"], "deny")])
    seen: list[Any] = []

    def work(task: Task) -> None:
        seen.append((task.files.read("/private/diary.md").file_data, task.files.glob("**/*").matches))

    consolidator(store, work, target=target).run(ANN)
    assert seen == [(None, [])]


def _shorter(event: WriteEvent) -> Replace | None:
    after = event.after
    return Replace(after.replace("one", "1")) if isinstance(after, str) and "one" in after else None


def test_a_hook_may_replace_what_lands(store: MemoryStore) -> None:
    say(store, "one")
    told: list[str] = []

    class Telling:
        def after_write(self, event: WrittenEvent) -> None:
            told.append(event.path)

    target = GuardedBackend(files_of(store), hooks=[_shorter, Telling()])
    report = consolidator(store, target=target).run(ANN)
    assert (report.status, text(store), told) == ("applied", "- 1\n", ["/facts.md"])
    assert store.runs.get(report.run_id or "").changes[0].revision == 1
    assert store.runs.cursor("consolidation", ANN) == 1


def test_a_hook_may_refuse(store: MemoryStore) -> None:
    say(store, "one")
    target = GuardedBackend(files_of(store), hooks=[lambda event: Refuse("not today")])
    report = consolidator(store, target=target).run(ANN)
    assert (report.status, text(store)) == ("parked", None)
    assert "not today" in (report.error or "")


def _held(event: WriteEvent) -> Hold:
    return Hold("somebody should look")


@pytest.mark.parametrize("accepted", [True, False])
def test_a_hook_that_holds_makes_a_proposal_with_the_run(store: MemoryStore, accepted: bool) -> None:
    say(store, "one")
    report = consolidator(store, target=GuardedBackend(files_of(store), hooks=[_held])).run(ANN)
    assert (report.status, text(store), store.runs.cursor("consolidation", ANN)) == ("proposed", None, 1)
    assert store.get_proposal(report.proposal or "").reason == "somebody should look"
    if accepted:
        store.accept_proposal(report.proposal or "")
    else:
        store.reject_proposal(report.proposal or "")
    expected = ("applied", "- one\n") if accepted else ("rejected", None)
    assert (store.runs.get(report.run_id or "").status, text(store)) == expected


def test_a_rule_that_proposes_makes_a_proposal_with_the_run(store: MemoryStore) -> None:
    say(store, "one")
    target = GuardedBackend(files_of(store), [FilesystemPermission(["write"], ["/**"], "propose")])
    report = consolidator(store, target=target).run(ANN)
    assert (report.status, text(store)) == ("proposed", None)


def test_a_rule_that_asks_a_person_parks_the_run(store: MemoryStore) -> None:
    say(store, "one")
    target = GuardedBackend(files_of(store), [FilesystemPermission(["write"], ["/**"], "interrupt")])
    report = consolidator(store, target=target).run(ANN)
    assert (report.status, text(store)) == ("parked", None)
    assert "needs a person's approval" in (report.error or "")


def test_a_proposal_keeps_to_the_rules_of_a_guard(store: MemoryStore) -> None:
    say(store, "one")
    guarded = GuardedBackend(files_of(store), hooks=[_shorter])
    report = consolidator(store, target=guarded).run(ANN, mode="propose")
    assert (report.status, text(store)) == ("proposed", None)
    assert store.get_proposal(report.proposal or "").source == "consolidation"
    store.accept_proposal(report.proposal or "")
    assert text(store) == "- 1\n"
    say(store, "two", first=2)
    refusing = GuardedBackend(files_of(store), hooks=[lambda event: Refuse("not today")])
    assert consolidator(store, target=refusing).run(ANN, mode="propose").status == "parked"


@pytest.mark.parametrize("guarded", [False, True])
@pytest.mark.parametrize("mode", ["apply", "propose"])
def test_a_storage_that_fails_once_parks_nothing(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch, guarded: bool, mode: Any
) -> None:
    say(store, "one")
    failures = [StoreBusyError("Another writer held the database.", "Try again.")]
    transact = type(store.engine).transact

    def failing(engine: Any, effect: Any) -> Any:
        if failures and effect.mode == "write" and waiting_companion(store.context) is not None:
            raise failures.pop()
        return transact(engine, effect)

    monkeypatch.setattr(type(store.engine), "transact", failing)
    target = GuardedBackend(files_of(store), hooks=[_shorter]) if guarded else files_of(store)
    report = consolidator(store, target=target).run(ANN, mode=mode)
    assert (report.ok, report.attempts, failures) == (True, 2, [])


@pytest.mark.parametrize("mode", ["apply", "propose"])
def test_a_storage_that_fails_while_a_guard_looks_parks_nothing(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch, mode: Any
) -> None:
    say(store, "one")
    failures = [StoreBusyError("Another writer held the database.", "Try again.")]
    transact = type(store.engine).transact

    def failing(engine: Any, effect: Any) -> Any:
        if failures and waiting_companion(store.context) is not None:  # the first of all, which reads
            raise failures.pop()
        return transact(engine, effect)

    monkeypatch.setattr(type(store.engine), "transact", failing)
    report = consolidator(store, target=GuardedBackend(files_of(store), hooks=[_shorter])).run(ANN, mode=mode)
    assert (report.ok, report.attempts, failures) == (True, 2, [])


# --- what is not its own -------------------------------------------------------------------------------------------


def outside(store: MemoryStore, other: Any) -> CompositeBackend:
    """A target with routes that a consolidator may not write to."""
    return CompositeBackend(
        StateBackend(),
        {
            "/memories/": StoreBackend(namespace=by_user, store=store),
            "/policies/": StoreBackend(namespace=by_org, store=store),
            "/elsewhere/": other,
        },
    )


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/policies/travel.md", "read-only"),
        ("/elsewhere/a.md", "does not lie in the store"),
        ("/scratch.md", "does not lie in the store"),
    ],
)
def test_what_lies_outside_is_refused_and_parks_the_run(
    store: MemoryStore, other_store_url: str, open_here: Callable[..., MemoryStore], path: str, said: str
) -> None:
    other = open_here(other_store_url)
    say(store, "one", org="acme")
    target = outside(store, StoreBackend(namespace=("there",), store=other))

    def work(task: Task) -> None:
        noting("/memories/facts.md")(task)
        task.files.write(path, "mine")  # whether it looks at the answer or not

    tending = consolidator(store, work, target=target)
    report = tending.run(ANN)
    assert (report.status, report.attempts) == ("parked", 1)
    assert said in (report.error or "")
    assert (text(store), text(store, "/travel.md", ("acme",)), other.get(("there",), "/a.md")) == (None, None, None)
    retried = consolidator(store, noting("/memories/facts.md"), target=target).retry(report.run_id or "")
    assert (retried.status, text(store)) == ("applied", "- one\n")


def test_a_folder_of_the_disk_is_outside(store: MemoryStore, tmp_path: Any) -> None:
    say(store, "one")
    target = outside(store, FilesystemBackend(str(tmp_path)))
    report = consolidator(store, lambda task: task.files.write("/elsewhere/a.md", "mine"), target=target).run(ANN)
    assert (report.status, (tmp_path / "a.md").exists()) == ("parked", False)


def test_a_model_that_writes_outside_is_told_and_its_run_is_parked(store: MemoryStore) -> None:
    say(store, "one", org="acme")
    told: list[str] = []

    def last(messages: Any) -> Any:
        told.append(messages[-1].text)
        return call("finish", summary="Done.")

    model = ScriptedChatModel(script=[call("write_file", path="/policies/a.md", content="x\n", turns=["t1"]), last])
    report = consolidator(store, model, target=outside(store, StateBackend())).run(ANN)
    assert (report.status, text(store, "/a.md", ("acme",))) == ("parked", None)
    assert "read-only" in told[0]


@pytest.mark.parametrize("path", ["/", "/policies"])
def test_a_folder_takes_nothing_along_that_is_not_its_own(store: MemoryStore, path: str) -> None:
    store.write(("acme",), "/travel.md", "By train.")
    store.write(ANN, "/facts.md", "mine")
    say(store, "one", org="acme")
    target = CompositeBackend(
        StoreBackend(namespace=by_user, store=store), {"/policies/": StoreBackend(namespace=by_org, store=store)}
    )
    report = consolidator(store, lambda task: [task.files.delete(path)], target=target).run(ANN)
    assert (report.status, text(store), text(store, "/travel.md", ("acme",))) == ("parked", "mine", "By train.")
    moving = consolidator(store, lambda task: task.files.move(path, "/else"), target=target, name="moving")
    assert moving.run(ANN).status == "parked"
    assert text(store, "/travel.md", ("acme",)) == "By train."


@pytest.mark.parametrize("in_loop", [False, True])
def test_work_cannot_land_by_itself(store: MemoryStore, in_loop: bool) -> None:
    say(store, "one")
    answers: list[FilesCommitResult] = []

    async def work(task: Task) -> None:
        noting()(task)
        if in_loop:
            answers.extend([await task.files.acommit_staged(), await task.files.apropose_staged()])
        else:
            answers.extend([task.files.commit_staged(), task.files.propose_staged()])
        raise OSError("later")

    assert consolidator(store, work, attempts=1).run(ANN).status == "parked"
    assert all("lands by itself" in (answer.error or "") for answer in answers)
    assert (text(store), store.proposals()) == (None, [])


def test_what_lies_outside_may_be_read(store: MemoryStore) -> None:
    store.write(("acme",), "/travel.md", "By train.")
    say(store, "one", org="acme")
    seen: list[Any] = []

    def work(task: Task) -> None:
        seen.append(task.files.read("/policies/travel.md").file_data)

    report = consolidator(store, work, target=outside(store, StateBackend())).run(ANN)
    assert (report.status, seen[0]["content"]) == ("unchanged", "By train.")


def test_nobody_to_act_for_parks_the_run(store: MemoryStore) -> None:
    say(store, "one", user=None)
    target = StoreBackend(namespace=by_user, store=store)
    report = consolidator(store, lambda task: task.files.write("/a.md", "x"), target=target).run(ANN)
    assert report.status == "parked"
    assert "No user is known" in (report.error or "")
