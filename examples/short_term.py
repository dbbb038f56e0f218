"""Trim, delete, summarise: three ways to keep a long conversation short, none of which touches what lasts.

Each conversation begins with a fact that the agent saves in its memory, and goes on until the message that told it is
out of the thread. What is in the store stands in the prompt still.
"""

from __future__ import annotations

from typing import Any

from _shared import Kit, run
from langchain_core.messages import AnyMessage
from langgraph.checkpoint.memory import InMemorySaver

from memoranda import create_deep_agent
from memoranda.agents.middleware.short_term import delete_old_messages, summarization, trim_messages_before_model
from memoranda.backends import StoreBackend, by_user
from memoranda.testing.scripted import call, say

SMALL_TALK = ["It rains again.", "I read a book about bees.", "Supper was late.", "Good night!"]


def script(name: str) -> list[Any]:
    fact = call("write_file", file_path="/profile.md", content=f"{name} plays the cello.\n")
    return [fact, say("The cello, noted."), *(say("I see.") for _ in SMALL_TALK), say(f"You play the cello, {name}.")]


def example(kit: Kit) -> None:
    ways: dict[str, Any] = {
        "trim": trim_messages_before_model(max_messages=4, keep_first=False),
        "delete": delete_old_messages(keep=4),
        "summarise": summarization(
            kit.model([say("They talked about everyday things.")]), trigger=("messages", 8), keep=("messages", 4)
        ),
    }
    for (way, middleware), name in zip(ways.items(), ["Ann", "Ben", "Cyd"], strict=True):
        agent = create_deep_agent(
            kit.model(script(name)),
            system_prompt="You are good company. Keep facts about the person in /profile.md.",
            middleware=[middleware],
            memory=["/profile.md"],
            backend=StoreBackend(namespace=by_user),
            context_schema=dict,
            checkpointer=InMemorySaver(),
            store=kit.store,
            name="companion",
        )
        user = {"user_id": name.lower()}
        kit.title(f"{way}, with {name}")
        for says in ["I play the cello.", *SMALL_TALK, "Which instrument do I play?"]:
            kit.turn(agent, says, thread=way, context=user)
        kept: list[AnyMessage] = agent.get_state({"configurable": {"thread_id": way}}).values["messages"]
        told = any("I play the cello." in message.text for message in kept)
        kit.console.print(f"  {len(kept)} messages are left in the thread; the one about the cello: {told}")
        kit.show((name.lower(),))


if __name__ == "__main__":
    run(example)
