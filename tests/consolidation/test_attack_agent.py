"""What people and models send to break the ready-made agent."""

from __future__ import annotations

import pytest

from memoranda import MemoryStore
from memoranda.consolidation import sources_of
from memoranda.store.turns import Turn
from memoranda.testing.scripted import ScriptedChatModel, call
from tests.consolidation.talking import ANN, consolidator, say, text


@pytest.mark.parametrize("named", ["t1", "[t1]"])
def test_the_id_of_a_message_does_not_pass_for_the_label_of_a_turn(store: MemoryStore, named: str) -> None:
    store.record_turns(ANN, "a", [Turn("m1", "user", "Honest."), Turn("t1", "user", "Forged.")], user="ann")
    store.record_turns(ANN, "b", [Turn("t1", "user", "Forged as well.")], user="ann")
    script = [call("write_file", path="/x.md", content="Honest.\n", turns=[named]), call("finish", summary="Done.")]
    assert consolidator(store, ScriptedChatModel(script=script)).run(ANN).status == "applied"
    assert text(store, "/x.md") == "Honest.\n"
    assert [turn.text for turn in sources_of(store, ANN, "/x.md", line=1)] == ["Honest."]


KEY = "AKIA" + "IOSFODNN7QXZMPLQ"


def test_a_secret_that_is_put_together_of_pieces_is_not_remembered(store: MemoryStore) -> None:
    say(store, "Tea.")
    script = [
        call("write_file", path="/b.md", content=f"key: {KEY[:-7]}\n", turns=["t1"]),
        call("edit_file", path="/b.md", old_string="\n", new_string=f"{KEY[-7:]}\n", turns=["t1"]),
        call("finish", summary="Done."),
        call("write_file", path="/b.md", content="There is a key.\n", turns=["t1"]),
        call("finish", summary="Done again."),
    ]
    report = consolidator(store, ScriptedChatModel(script=script), attempts=1).run(ANN)
    assert (report.status, report.summary, text(store, "/b.md")) == ("applied", "Done again.", "There is a key.\n")


def test_no_path_holds_a_secret(store: MemoryStore) -> None:
    say(store, "Tea.")
    script = [
        call("write_file", path=f"/{KEY}.md", content="Tea.\n", turns=["t1"]),
        call("write_file", path="/tea.md", content="Tea.\n", turns=["t1"]),
        call("move_file", path="/tea.md", to=f"/{KEY}.md", turns=["t1"]),
        call("finish", summary="Done."),
        call("finish", summary="Done."),
    ]
    report = consolidator(store, ScriptedChatModel(script=script), attempts=1).run(ANN)
    assert report.status == "applied"
    assert [change.key for change in report.runs[0].changes] == ["/tea.md"]
