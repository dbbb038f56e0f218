"""Past conversations: what was said in one is found in later ones, by the person who said it and by nobody else.

Every finished turn is recorded once, and the agent has a tool that searches what was said before. Nothing has to be
written to a file for that, and no model decides what is kept.
"""

from __future__ import annotations

from dataclasses import dataclass

from _shared import Kit, run
from langgraph.checkpoint.memory import InMemorySaver

from memoranda import create_deep_agent
from memoranda.testing.scripted import call, say

SCRIPT = [
    say("The timeout is in the proxy: raise its limit to 60 s, and the upload goes through."),
    call("search_past_conversations", query="upload timeout"),
    say("Last time it was the proxy's limit; check that it is still at 60 s."),
    call("search_past_conversations", query="upload timeout"),
    say("I find nothing about that in our earlier conversations."),
]


@dataclass
class Context:
    """Who runs the agent."""

    user_id: str


def example(kit: Kit) -> None:
    agent = create_deep_agent(
        kit.model(SCRIPT),
        system_prompt="You help with software. When a problem sounds familiar, look through past conversations first.",
        episodes=True,
        context_schema=Context,
        checkpointer=InMemorySaver(),
        store=kit.store,
        name="support",
    )
    ann, ben = Context(user_id="ann"), Context(user_id="ben")
    kit.title("Ann, on Monday")
    kit.turn(agent, "My upload fails with a timeout.", thread="monday", context=ann)
    kit.title("Ann, on Friday")
    kit.turn(agent, "The upload fails again. What was it last time?", thread="friday", context=ann)
    kit.title("Ben")
    kit.turn(agent, "What did we say about the upload timeout?", thread="bens", context=ben)
    kit.title("What Ann's search finds from Python, with dates")
    for episode in kit.store.search_episodes(("ann",), "upload timeout", without_thread="friday", k=1):
        for hit in episode.hits:
            for turn in (*hit.before, hit.turn, *hit.behind):
                line = f"{turn.at:%Y-%m-%d} {episode.thread.thread_id}, {turn.role}: {turn.text}"
                kit.console.print(line, markup=False, soft_wrap=True)
    kit.title("Conversations in the store")
    for user in ("ann", "ben"):
        for thread in kit.store.threads((user,)):
            kit.console.print(f"{user}: {thread.thread_id}, {thread.turns} turns, {thread.title!r}", markup=False)


if __name__ == "__main__":
    run(example)
