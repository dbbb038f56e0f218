"""A project knowledge base that grows: several people's conversations fill one tree of files.

What belongs to the project lies in the project's namespace, whoever talks to the agent. An index says what is where
and stands in the prompt; the other files are found with `grep` and read when they are needed.
"""

from __future__ import annotations

from _shared import Kit, run
from langgraph.checkpoint.memory import InMemorySaver

from memoranda import create_deep_agent
from memoranda.backends import CompositeBackend, StateBackend, StoreBackend
from memoranda.testing.scripted import call, calls, say

PROJECT = ("acme", "apollo")
INDEX = "/project/MEMORY.md"
SCRIPT = [
    calls(
        ("write_file", {"file_path": "/project/decisions/database.md", "content": "PostgreSQL 17, decided in May.\n"}),
        ("write_file", {"file_path": INDEX, "content": "# Apollo\n\n- decisions/database.md: which database\n"}),
    ),
    say("I noted the decision about the database."),
    calls(
        ("write_file", {"file_path": "/project/people.md", "content": "Ben: releases. Ann: storage.\n"}),
        (
            "edit_file",
            {
                "file_path": INDEX,
                "old_string": "# Apollo\n",
                "new_string": "# Apollo\n\n- people.md: who does what",
            },
        ),
    ),
    say("Noted who does what."),
    call("grep", pattern="PostgreSQL", path="/project", output_mode="content"),
    call("read_file", file_path="/project/people.md"),
    say("PostgreSQL 17, and Ann takes care of storage."),
]


def example(kit: Kit) -> None:
    agent = create_deep_agent(
        kit.model(SCRIPT),
        system_prompt=(
            "You keep the project's knowledge base in /project/. One file per subject; /project/MEMORY.md lists them "
            "with a few words each. Look there, and search with grep, before you answer."
        ),
        memory=[INDEX],
        backend=CompositeBackend(StateBackend(), {"/project/": StoreBackend(namespace=PROJECT)}),
        checkpointer=InMemorySaver(),
        store=kit.store,
        name="librarian",
    )
    kit.title("Ann")
    kit.turn(agent, "We decided on PostgreSQL 17 as the database, in May.", thread="ann-1")
    kit.title("Ben")
    kit.turn(agent, "I do the releases, Ann does storage.", thread="ben-1")
    kit.title("Eve, who is new")
    kit.turn(agent, "Which database is it, and whom do I ask about it?", thread="eve-1")
    kit.show(PROJECT)


if __name__ == "__main__":
    run(example)
