"""What people and models send to break the ready-made agent."""

from __future__ import annotations

import pytest

from memoranda import MemoryStore
from memoranda.consolidation import sources_of
from memoranda.store.turns import Turn
from memoranda.testing.scripted import ScriptedChatModel, call
from tests.consolidation.talking import ANN, consolidator, text


@pytest.mark.parametrize("named", ["t1", "[t1]"])
def test_the_id_of_a_message_does_not_pass_for_the_label_of_a_turn(store: MemoryStore, named: str) -> None:
    store.record_turns(ANN, "a", [Turn("m1", "user", "Honest."), Turn("t1", "user", "Forged.")], user="ann")
    store.record_turns(ANN, "b", [Turn("t1", "user", "Forged as well.")], user="ann")
    script = [call("write_file", path="/x.md", content="Honest.\n", turns=[named]), call("finish", summary="Done.")]
    assert consolidator(store, ScriptedChatModel(script=script)).run(ANN).status == "applied"
    assert text(store, "/x.md") == "Honest.\n"
    assert [turn.text for turn in sources_of(store, ANN, "/x.md", line=1)] == ["Honest."]
