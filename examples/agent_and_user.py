"""Agent-wide and user memory together: what the agent learned about its work, and what it knows of one person.

Two routes lead to two namespaces: `/memories/agent/` to what all users of the agent share, `/memories/user/` to the
person's own. Both stand in the prompt; the agent decides by the path where something belongs.
"""

from __future__ import annotations

from _shared import Kit, run
from langgraph.checkpoint.memory import InMemorySaver

from memoranda import create_deep_agent
from memoranda.backends import CompositeBackend, StateBackend, StoreBackend, by_assistant, by_user
from memoranda.testing.scripted import calls, say

SHARED, OWN = "/memories/agent/AGENTS.md", "/memories/user/profile.md"
SCRIPT = [
    calls(
        ("write_file", {"file_path": SHARED, "content": "- Check the time zone before proposing a time.\n"}),
        ("write_file", {"file_path": OWN, "content": "Ann lives in Lisbon.\n"}),
    ),
    say("Lisbon it is; I will check time zones from now on."),
    say("In which time zone are you?"),
]


def example(kit: Kit) -> None:
    agent = create_deep_agent(
        kit.model(SCRIPT),
        system_prompt=(
            f"You plan meetings. What would help with anybody's meetings goes into {SHARED}, without names; what "
            f"concerns this person goes into {OWN}."
        ),
        memory=[SHARED, OWN],
        backend=CompositeBackend(
            StateBackend(),
            {
                "/memories/agent/": StoreBackend(namespace=by_assistant),
                "/memories/user/": StoreBackend(namespace=by_assistant + by_user),
            },
        ),
        context_schema=dict,
        checkpointer=InMemorySaver(),
        store=kit.store,
        name="planner",
    )
    kit.title("Ann")
    kit.turn(
        agent, "You had the wrong hour, I live in Lisbon. Ask next time!", thread="ann-1", context={"user_id": "ann"}
    )
    kit.title("Ben, for whom the lesson holds too")
    kit.turn(agent, "Find me an hour tomorrow.", thread="ben-1", context={"user_id": "ben"})
    kit.show(("planner",))
    kit.show(("planner", "ann"))
    kit.show(("planner", "ben"))


if __name__ == "__main__":
    run(example)
