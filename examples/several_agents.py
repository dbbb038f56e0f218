"""Multi-agent isolation: two agents serve the same person on one store, each with a memory of its own.

`by_assistant + by_user` puts the agent before the person. What both are meant to know lies under a third route that
names the person only.
"""

from __future__ import annotations

from typing import Any

from _shared import Kit, run
from langgraph.checkpoint.memory import InMemorySaver

from memoranda import create_deep_agent
from memoranda.backends import CompositeBackend, StateBackend, StoreBackend, by_assistant, by_user
from memoranda.testing.scripted import call, calls, say

COACH = [
    calls(
        ("write_file", {"file_path": "/memories/notes.md", "content": "Runs twice a week.\n"}),
        ("write_file", {"file_path": "/shared/profile.md", "content": "Ann, 34.\n"}),
    ),
    say("Twice a week, good."),
]
TUTOR = [
    call("write_file", file_path="/memories/notes.md", content="Reached chapter 4 of the grammar.\n"),
    call("read_file", file_path="/shared/profile.md"),
    call("grep", pattern="Runs"),
    say("Chapter 4, well done."),
]


def built(kit: Kit, name: str, script: list[Any]) -> Any:
    return create_deep_agent(
        kit.model(script),
        system_prompt=(
            f"You are the person's {name}. Keep what concerns your work in /memories/notes.md, and what any of the "
            "person's agents should know in /shared/profile.md."
        ),
        memory=["/memories/notes.md", "/shared/profile.md"],
        backend=CompositeBackend(
            StateBackend(),
            {
                "/memories/": StoreBackend(namespace=by_assistant + by_user),
                "/shared/": StoreBackend(namespace=by_user),
            },
        ),
        context_schema=dict,
        checkpointer=InMemorySaver(),
        store=kit.store,
        name=name,
    )


def example(kit: Kit) -> None:
    ann = {"user_id": "ann"}
    kit.title("With the coach")
    kit.turn(built(kit, "coach", COACH), "I am Ann, 34, and run twice a week.", thread="coach-1", context=ann)
    kit.title("With the tutor")
    kit.turn(built(kit, "tutor", TUTOR), "I finished chapter 4 of the grammar.", thread="tutor-1", context=ann)
    kit.show(("coach", "ann"))
    kit.show(("tutor", "ann"))
    kit.show(("ann",))


if __name__ == "__main__":
    run(example)
