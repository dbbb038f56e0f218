"""Custom state with `ToolRuntime` and `Command`: tools that read and change the thread's own state, and the store.

The state has keys of its own beside the messages. A tool reads them through its `ToolRuntime`, answers with a
`Command` that updates them, and puts what should last into the store, where it gets a history like any other change.
"""

from __future__ import annotations

from typing import Annotated, Any, NotRequired

from _shared import Kit, run
from langchain.agents import AgentState
from langchain.tools import ToolRuntime
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from memoranda import MemoryStore, create_deep_agent
from memoranda.backends import StoreBackend, by_user
from memoranda.testing.scripted import call, calls, say


def joined(known: list[str] | None, more: list[str] | None) -> list[str]:
    """Both lists, so that two calls at once lose nothing; None empties the cart."""
    return [] if more is None else [*(known or []), *more]


class CartState(AgentState[Any]):
    """The state of a shopping conversation."""

    cart: NotRequired[Annotated[list[str] | None, joined]]


@tool
def add_to_cart(item: str, runtime: ToolRuntime[Any, CartState]) -> Command[Any]:
    """Put something into the cart of this conversation.

    Args:
        item: What.
        runtime: The run.
    """
    answer = ToolMessage(f"{item} is in the cart.", tool_call_id=runtime.tool_call_id)
    return Command(update={"cart": [item], "messages": [answer]})


@tool
def order(runtime: ToolRuntime[Any, CartState]) -> Command[Any]:
    """Order what is in the cart.

    Args:
        runtime: The run.
    """
    items = ", ".join(runtime.state.get("cart") or [])
    assert isinstance(runtime.store, MemoryStore)
    # No author is given: the change is signed with the agent, the thread and the tool call that make it.
    runtime.store.append((runtime.context["user_id"],), "/orders.md", f"- {items}\n")
    answer = ToolMessage(f"Ordered: {items}.", tool_call_id=runtime.tool_call_id)
    return Command(update={"cart": None, "messages": [answer]})


SCRIPT = [
    calls(("add_to_cart", {"item": "tea"}), ("add_to_cart", {"item": "oats"})),
    say("Both are in the cart."),
    call("order"),
    say("Ordered."),
    call("read_file", file_path="/orders.md"),
    say("Tea and oats."),
]


def example(kit: Kit) -> None:
    agent = create_deep_agent(
        kit.model(SCRIPT),
        [add_to_cart, order],
        system_prompt="You run a shop. What a person ordered before is in /orders.md.",
        backend=StoreBackend(namespace=by_user),
        state_schema=CartState,
        context_schema=dict,
        checkpointer=InMemorySaver(),
        store=kit.store,
        name="shop",
    )
    ann = {"user_id": "ann"}
    kit.title("Monday")
    kit.turn(agent, "Tea and oats, please.", thread="monday", context=ann)
    show_cart(kit, agent, "monday")
    kit.turn(agent, "That is all, order it.", thread="monday", context=ann)
    show_cart(kit, agent, "monday")
    kit.title("Tuesday, another conversation")
    kit.turn(agent, "What did I order last time?", thread="tuesday", context=ann)
    kit.show(("ann",))


def show_cart(kit: Kit, agent: Any, thread: str) -> None:
    cart = agent.get_state({"configurable": {"thread_id": thread}}).values.get("cart")
    kit.console.print(f"        the cart of this conversation: {', '.join(cart or []) or '(empty)'}")


if __name__ == "__main__":
    run(example)
