"""Undoing a run: all of it, in one call, and nothing that others wrote since."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from memoranda import Author, MemoryStore, acting_as
from memoranda.backends import CompositeBackend, StoreBackend
from memoranda.consolidation import Task, UndoConflictError, undo
from memoranda.errors import ProposalDecidedError, RunNotFoundError, RunSettledError
from tests.consolidation.talking import ANN, consolidator, files_of, noting, say, text

BEFORE = "# Facts\n- lives in Berlin\n- drinks coffee\n"


def ran(store: MemoryStore, work: Any = None, **settings: Any) -> str:
    """Run a consolidator, and return the id of the run."""
    say(store, "one")
    report = consolidator(store, work, **settings).run(ANN)
    assert report.run_id is not None
    assert report.status in ("applied", "proposed", "unchanged", "parked"), report
    return report.run_id


def everything(task: Task) -> None:
    """Change a file, create one, delete one, and move one."""
    files = task.files
    files.edit("/changed.md", "coffee", "tea")
    files.write("/new.md", "new\n")
    files.delete("/gone.md")
    files.move("/here.md", "/there.md")
    files.append("/there.md", "more\n")


def prepare(store: MemoryStore) -> dict[str, str | None]:
    for path, content in (("/changed.md", BEFORE), ("/gone.md", "gone\n"), ("/here.md", "moved\n")):
        store.write(ANN, path, content)
    return state(store)


def state(store: MemoryStore) -> dict[str, str | None]:
    paths = ("/changed.md", "/new.md", "/gone.md", "/here.md", "/there.md")
    return {path: text(store, path) for path in paths}


def test_everything_goes_back_at_once(store: MemoryStore) -> None:
    before = prepare(store)
    run_id = ran(store, everything)
    assert state(store) == {
        "/changed.md": BEFORE.replace("coffee", "tea"),
        "/new.md": "new\n",
        "/gone.md": None,
        "/here.md": None,
        "/there.md": "moved\nmore\n",
    }
    with acting_as(Author("user:ann")):
        report = undo(store, run_id)
    assert (report.status, state(store)) == ("undone", before)
    run = store.runs.get(run_id)
    assert (run.status, run.undone_by) == ("undone", "user:ann")
    author = store.history(ANN, "/changed.md")[0].author
    assert (author.actor, author.reason) == ("user:ann", f"undo of {run_id}")
    assert store.verify().ok
    assert consolidator(store).run(ANN).status == "nothing"  # what was read stays read


def test_binary_files_and_documents_go_back_too(store: MemoryStore) -> None:
    store.write(ANN, "/photo.png", b"\x89PNG\x00old")
    store.write(ANN, "/text.md", "old")

    def work(task: Task) -> None:
        task.files.upload_files([("/photo.png", b"\x89PNG\x00new"), ("/text.md", b"\xff\xfe binary now")])

    run_id = ran(store, work)
    undo(store, run_id)
    files = files_of(store)
    assert [found.content for found in files.download_files(["/photo.png", "/text.md"])] == [b"\x89PNG\x00old", b"old"]


@pytest.mark.parametrize("edited", [False, True])
def test_a_file_that_went_to_another_route_comes_back(store: MemoryStore, edited: bool) -> None:
    target = CompositeBackend(files_of(store), {"/shared/": StoreBackend(namespace=("shared",), store=store)})
    store.write(ANN, "/a.md", "mine\n")

    def work(task: Task) -> None:
        if edited:
            task.files.append("/a.md", "more\n")
        task.files.move("/a.md", "/shared/a.md")

    run_id = ran(store, work, target=target)
    assert (text(store, "/a.md"), text(store, "/a.md", ("shared",))) == (None, "mine\nmore\n" if edited else "mine\n")
    undo(store, run_id)
    assert (text(store, "/a.md"), text(store, "/a.md", ("shared",))) == ("mine\n", None)


def test_later_edits_stay(store: MemoryStore) -> None:
    store.write(ANN, "/changed.md", BEFORE)
    run_id = ran(store, lambda task: task.files.edit("/changed.md", "coffee", "tea"))
    store.edit(ANN, "/changed.md", "# Facts", "# What is known")
    store.append(ANN, "/changed.md", "- has a dog")
    undo(store, run_id)
    assert text(store, "/changed.md") == "# What is known\n- lives in Berlin\n- drinks coffee\n- has a dog"


def test_what_was_appended_to_a_new_file_stays_without_what_the_run_wrote(store: MemoryStore) -> None:
    run_id = ran(store, lambda task: task.files.write("/new.md", "- from the run"))  # no end of line
    store.append(ANN, "/new.md", "- by hand")
    undo(store, run_id)
    assert text(store, "/new.md") == "- by hand"


def test_the_first_of_two_runs_is_undone_and_then_the_second(store: MemoryStore) -> None:
    say(store, "one", "two")
    first, second = consolidator(store, max_turns=1).run(ANN).runs
    undo(store, first.id)
    assert text(store) == "- two\n"
    undo(store, second.id)
    assert text(store) == ""


def test_a_conflict_says_which_file_and_changes_nothing(store: MemoryStore) -> None:
    before = prepare(store)
    run_id = ran(store, everything)
    store.edit(ANN, "/changed.md", "drinks tea", "drinks green tea")
    after = state(store)
    with pytest.raises(UndoConflictError, match=r"/changed\.md in ann was changed since in the same place") as raised:
        undo(store, run_id)
    assert "by hand" in raised.value.remedy
    assert (state(store), store.runs.get(run_id).status) == (after, "applied")
    store.edit(ANN, "/changed.md", "drinks green tea", "drinks tea")
    undo(store, run_id)
    assert state(store) == before


@pytest.mark.parametrize("path", ["/gone.md", "/changed.md", "/there.md"])
def test_a_file_that_is_another_by_now_is_a_conflict(store: MemoryStore, path: str) -> None:
    prepare(store)
    run_id = ran(store, everything)
    if path == "/gone.md":
        store.write(ANN, path, "made again")
    else:
        store.delete(ANN, path)
    with pytest.raises(UndoConflictError, match=path):
        undo(store, run_id)


def test_a_new_file_that_is_gone_already_is_none(store: MemoryStore) -> None:
    run_id = ran(store, lambda task: task.files.write("/new.md", "new"))
    store.delete(ANN, "/new.md")
    assert undo(store, run_id).status == "undone"


def test_a_place_that_is_taken_meanwhile_is_a_conflict(store: MemoryStore) -> None:
    prepare(store)
    run_id = ran(store, everything)
    store.write(ANN, "/here.md", "another")
    with pytest.raises(UndoConflictError, match=r"/here\.md"):
        undo(store, run_id)
    assert text(store, "/there.md") == "moved\nmore\n"


# --- what cannot be undone --------------------------------------------------------------------------------------


def test_undoing_twice_says_who_did_it(store: MemoryStore) -> None:
    run_id = ran(store)
    undo(store, run_id, author=Author("user:ann"))
    with pytest.raises(RunSettledError, match="undone already by user:ann"):
        undo(store, run_id)
    assert text(store) is None


def test_of_two_that_undo_at_once_one_does(store: MemoryStore) -> None:
    run_id = ran(store)
    outcomes: list[str] = []

    def undoing(number: int) -> None:
        try:
            outcomes.append(undo(store, run_id, author=Author(f"user:{number}")).status)
        except (RunSettledError, UndoConflictError):
            outcomes.append("refused")

    threads = [threading.Thread(target=undoing, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["refused", "refused", "refused", "undone"]
    assert [revision.operation for revision in store.history(ANN, "/facts.md")] == ["delete", "append"]


def test_there_is_nothing_to_undo_of_a_run_that_changed_nothing(store: MemoryStore) -> None:
    unchanged = ran(store, lambda task: None)
    with pytest.raises(RunSettledError, match="changed nothing"):
        undo(store, unchanged)
    with pytest.raises(RunNotFoundError):
        undo(store, "r-nothing")


def test_there_is_nothing_to_undo_of_a_parked_run(store: MemoryStore) -> None:
    parked = ran(store, lambda task: 1 / 0, attempts=1)
    with pytest.raises(RunSettledError, match="nothing of it landed"):
        undo(store, parked)


# --- in the other modes -----------------------------------------------------------------------------------------


def test_a_proposed_run_is_rejected(store: MemoryStore) -> None:
    run_id = ran(store, mode="propose")
    report = undo(store, run_id, author=Author("user:ann"))
    assert (report.status, store.runs.get(run_id).status, text(store)) == ("rejected", "rejected", None)
    (proposal,) = store.proposals(status=None)
    assert (proposal.status, proposal.decided_by, proposal.note) == ("rejected", "user:ann", f"undo of {run_id}")
    with pytest.raises(RunSettledError, match="rejected"):
        undo(store, run_id)
    with pytest.raises(ProposalDecidedError):
        store.accept_proposal(proposal.id)


def test_an_accepted_run_is_undone(store: MemoryStore) -> None:
    store.write(ANN, "/facts.md", "- zero\n")
    run_id = ran(store, mode="propose")
    store.append(ANN, "/facts.md", "- by hand\n")
    store.accept_proposal(store.runs.get(run_id).proposal or "", author=Author("user:ann"))
    assert text(store) == "- zero\n- by hand\n- one\n"
    undo(store, run_id)
    assert text(store) == "- zero\n- by hand\n"


def test_a_retried_run_is_undone(store: MemoryStore) -> None:
    parked = ran(store, lambda task: 1 / 0, attempts=1)
    consolidator(store, noting()).retry(parked)
    undo(store, parked)
    assert (text(store), store.runs.get(parked).status) == (None, "undone")
