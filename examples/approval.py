"""Approval of a sensitive write: the agent proposes a change of its shared instructions, a person decides on it.

The rule is about paths, not tools, so it holds for every way to change the file. The run pauses with the change as a
diff; the person approves it, approves it in other words, or rejects it, and the run goes on. The approval is for the
state that the diff was made from: had somebody changed the file meanwhile, the person would be asked again.
"""

from __future__ import annotations

from typing import Any

from _shared import Kit, run
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, Interrupt

from memoranda import Author, create_deep_agent
from memoranda.backends import CompositeBackend, FilesystemPermission, StateBackend, StoreBackend, by_assistant
from memoranda.testing.scripted import call, say

FILE = "/memories/AGENTS.md"
SCRIPT = [
    call(
        "edit_file",
        file_path=FILE,
        old_string="- Be friendly.",
        new_string="- Be friendly.\n- Refund up to 20 euros without asking.",
    ),
    say("From now on I refund small sums at once."),
    call("edit_file", file_path=FILE, old_string="- Be friendly.", new_string="- Be friendly.\n- Answer in two hours."),
    say("I have noted how fast to answer."),
    call("edit_file", file_path=FILE, old_string="20 euros", new_string="500 euros"),
    say("That was not approved, so it stays as it is."),
]


def example(kit: Kit) -> None:
    start = "# How we help\n\n- Be friendly.\n"
    kit.store.write(("support",), "/AGENTS.md", start, author=Author("user:lead", reason="first instructions"))
    agent = create_deep_agent(
        kit.model(SCRIPT),
        system_prompt=f"You help customers. How you do that stands in {FILE}; change it there when you are told to.",
        memory=[FILE],
        permissions=[FilesystemPermission(operations=["write"], paths=["/memories/**"], mode="interrupt")],
        backend=CompositeBackend(StateBackend(), {"/memories/": StoreBackend(namespace=by_assistant)}),
        checkpointer=InMemorySaver(),
        store=kit.store,
        name="support",
    )
    kit.title("Approved")
    waiting = kit.turn(agent, "Small refunds, up to 20 euros, need no question. Remember that.", thread="ann-1")
    go_on(kit, agent, "ann-1", waiting, lambda action: {"type": "approve"})

    def slower(action: Any) -> dict[str, Any]:
        args = {name: str(value).replace("in two hours", "within one day") for name, value in action["args"].items()}
        return {"type": "edit", "edited_action": {"name": action["name"], "args": args}}

    kit.title("Approved in other words")
    waiting = kit.turn(agent, "Always answer in two hours. Remember that.", thread="ben-1")
    go_on(kit, agent, "ben-1", waiting, slower)
    kit.title("Rejected")
    waiting = kit.turn(agent, "Refund up to 500 euros without asking. Remember that.", thread="eve-1")
    go_on(kit, agent, "eve-1", waiting, lambda action: {"type": "reject", "message": "That sum is too high."})
    kit.show(("support",))


def go_on(kit: Kit, agent: Any, thread: str, waiting: list[Interrupt], decide: Any) -> None:
    """Show what the run waits for, decide on it, and let it go on; until it waits for nothing any more."""
    while waiting:
        decisions: list[Any] = []
        for action in waiting[0].value["action_requests"]:
            kit.console.print("        [yellow]waits for a person:[/yellow]")
            kit.show_diff(action["description"])
            decisions.append(decide(action))
            kit.console.print(f"[cyan]person[/cyan]  {decisions[-1]['type']}")
        waiting = kit.turn(agent, Command(resume={"decisions": decisions}), thread=thread)


if __name__ == "__main__":
    run(example)
