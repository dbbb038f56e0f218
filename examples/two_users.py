"""Two users isolated: the same agent, and neither sees, finds or changes what it knows of the other.

The namespace comes from who runs the agent, never from what the model says, so a path cannot lead to somebody else.
"""

from __future__ import annotations

from _shared import Kit, run
from langgraph.checkpoint.memory import InMemorySaver

from memoranda import create_deep_agent
from memoranda.backends import StoreBackend, by_user
from memoranda.testing.scripted import call, calls, say

SCRIPT = [
    call("write_file", file_path="/profile.md", content="Ann has two cats.\n"),
    say("Two cats, noted."),
    call("write_file", file_path="/profile.md", content="Ben is allergic to cats.\n"),
    say("Allergic to cats, noted."),
    calls(
        ("grep", {"pattern": "cats", "output_mode": "content"}),
        ("read_file", {"file_path": "/../ann@example.org/profile.md"}),
        ("ls", {"path": "/"}),
    ),
    say("I know of your allergy and of nobody else's cats."),
]


def example(kit: Kit) -> None:
    agent = create_deep_agent(
        kit.model(SCRIPT),
        system_prompt="You are a personal assistant. Keep what you learn about the person in /profile.md.",
        memory=["/profile.md"],
        backend=StoreBackend(namespace=by_user),
        context_schema=dict,
        checkpointer=InMemorySaver(),
        store=kit.store,
        name="assistant",
    )
    ann, ben = {"user_id": "ann@example.org"}, {"user_id": "ben@example.org"}
    kit.title("Ann")
    kit.turn(agent, "I have two cats.", thread="ann-1", context=ann)
    kit.title("Ben")
    kit.turn(agent, "I am allergic to cats.", thread="ben-1", context=ben)
    kit.turn(agent, "Whom do you know that has cats? Look everywhere.", thread="ben-2", context=ben)
    kit.show(("ann@example.org",))
    kit.show(("ben@example.org",))


if __name__ == "__main__":
    run(example)
