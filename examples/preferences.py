"""Preferences across threads: what a person says in one conversation is known in every later one.

The agent's memory is one file in the person's own namespace. It stands in the prompt of every model call as it is at
that moment, and each change to it is a revision that says which conversation made it.
"""

from __future__ import annotations

from dataclasses import dataclass

from _shared import Kit, run
from langgraph.checkpoint.memory import InMemorySaver

from memoranda import create_deep_agent
from memoranda.backends import CompositeBackend, StateBackend, StoreBackend, by_user
from memoranda.testing.scripted import call, say

MEMORY = "/memories/preferences.md"
FIRST = "- Short answers, as bullet points.\n- Metric units.\n"
SCRIPT = [
    call("write_file", file_path=MEMORY, content="# Preferences\n\n" + FIRST),
    say("Noted: short answers, bullet points, metric units."),
    say("- 42.195 km"),
    call("edit_file", file_path=MEMORY, old_string="- Metric units.", new_string="- Metric units.\n- Vegetarian."),
    say("- Noted, vegetarian from now on."),
]


@dataclass
class Context:
    """Who runs the agent."""

    user_id: str


def example(kit: Kit) -> None:
    agent = create_deep_agent(
        kit.model(SCRIPT),
        system_prompt="You are a helpful assistant. Follow the person's preferences, and keep them up to date.",
        memory=[MEMORY],
        backend=CompositeBackend(StateBackend(), {"/memories/": StoreBackend(namespace=by_user)}),
        context_schema=Context,
        checkpointer=InMemorySaver(),
        store=kit.store,
        name="assistant",
    )
    ann = Context(user_id="ann@example.org")
    kit.title("Monday")
    kit.turn(agent, "Please keep answers short, in bullet points, and use metric units.", thread="monday", context=ann)
    kit.title("Tuesday, another conversation")
    kit.turn(agent, "How long is a marathon?", thread="tuesday", context=ann)
    kit.turn(agent, "By the way, I am a vegetarian now.", thread="tuesday", context=ann)
    kit.show(("ann@example.org",))


if __name__ == "__main__":
    run(example)
