"""An agent that improves its own AGENTS.md: corrections from people change how it works for everybody.

Its instructions are a file that all its conversations share. It edits them when it is corrected; each version is kept
with who asked for it, and one that proves wrong is taken back.
"""

from __future__ import annotations

from _shared import Kit, run
from langgraph.checkpoint.memory import InMemorySaver

from memoranda import Author, create_deep_agent
from memoranda.backends import CompositeBackend, StateBackend, StoreBackend, by_assistant
from memoranda.testing.scripted import call, say

AGENT = "reviewer"
RULES = "# How I review\n\n- Read the whole change before commenting.\n- One comment per finding.\n"
SCRIPT = [
    call(
        "edit_file",
        file_path="/memories/AGENTS.md",
        old_string="- One comment per finding.",
        new_string="- One comment per finding, the most severe first.",
    ),
    say("From now on the most severe finding comes first."),
    call(
        "edit_file",
        file_path="/memories/AGENTS.md",
        old_string="- Read the whole change before commenting.",
        new_string="- Read the tests before the code.",
    ),
    say("I will start with the tests."),
    say("I begin with the tests, and list the most severe finding first."),
]


def example(kit: Kit) -> None:
    kit.store.write((AGENT,), "/AGENTS.md", RULES, author=Author("user:lead", reason="first instructions"))
    agent = create_deep_agent(
        kit.model(SCRIPT),
        system_prompt="You review code. When you are corrected, change your instructions in /memories/AGENTS.md.",
        memory=["/memories/AGENTS.md"],
        backend=CompositeBackend(StateBackend(), {"/memories/": StoreBackend(namespace=by_assistant)}),
        checkpointer=InMemorySaver(),
        store=kit.store,
        name=AGENT,
    )
    kit.title("Ann corrects it")
    kit.turn(agent, "Please put the most severe finding first, always.", thread="ann-1")
    kit.title("So does Ben")
    kit.turn(agent, "Read the tests before you read the code.", thread="ben-1")
    kit.title("Somebody else's conversation")
    kit.turn(agent, "How will you review my change?", thread="eve-1")

    kit.title("What the lead sees")
    kit.show_diff(kit.store.diff((AGENT,), "/AGENTS.md", 1))
    before_last = kit.store.history((AGENT,), "/AGENTS.md", limit=2)[-1].revision
    lead = Author("user:lead", reason="the whole change comes first")
    kit.store.restore((AGENT,), "/AGENTS.md", before_last, author=lead)
    kit.show((AGENT,))


if __name__ == "__main__":
    run(example)
