"""Research notes over several days: each finding once, corrections known as such, an overview that writes itself.

The agent saves what it finds as it reads. What it finds a second time adds nothing; a newer figure takes the place of
the old one, which stays known with the time during which it was held true; what proves wrong is taken away. Worked
examples show the agent how a finding is put. After each day a plain function, without a model, brings the overview up
to date: a consolidator need not be an agent.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from _kit import Kit, run, show_report
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel, Field

from memoranda import create_deep_agent
from memoranda.backends import StoreBackend
from memoranda.consolidation import Consolidator, Task
from memoranda.knowledge import Collection, Examples, memory_tools
from memoranda.testing.scripted import call, calls, say

ANN = ("ann",)
PROJECT = ("ann", "heat-pumps")
OVERVIEW = "/overview.md"


class Finding(BaseModel):
    """One thing that was found out."""

    subject: str = Field(description="What it is about, in one or two words, such as `noise`.")
    claim: str = Field(description="What was found, in one sentence with its figures.")
    source: str = Field(description="Where it says so.")


@dataclass
class Context:
    """Who runs the agent."""

    user_id: str


DAYS = [
    (
        "The datasheet of 2024 gives 41 dB at one metre, and a tank of 300 litres. A forum says it needs no tank.",
        calls(
            ("save_memory", {"subject": "noise", "claim": "41 dB at 1 m.", "source": "datasheet 2024"}),
            ("save_memory", {"subject": "tank", "claim": "A buffer tank of 300 l.", "source": "datasheet 2024"}),
            ("save_memory", {"subject": "tank on a forum", "claim": "None is needed.", "source": "a forum"}),
        ),
    ),
    (
        "I read the datasheet again: 41 dB at one metre. And the forum post was about another model, forget it.",
        calls(
            ("save_memory", {"subject": "noise", "claim": "41 dB at 1 m.", "source": "datasheet 2024"}),
            ("search_memory", {"query": "tank forum"}),
        ),
    ),
    (
        "The datasheet of 2026 says 38 dB at one metre. The price is 9,400 euros.",
        calls(
            ("save_memory", {"subject": "noise", "claim": "38 dB at 1 m.", "source": "datasheet 2026"}),
            ("save_memory", {"subject": "price", "claim": "9,400 euros.", "source": "datasheet 2026"}),
        ),
    ),
]


def forget_the_forum(messages: list[BaseMessage]) -> AIMessage:
    """Forget what the search before found; its id stands in the answer."""
    found = re.search(r"\bm[0-9a-f]+-\w+", messages[-1].text)
    return call("forget_memory", id=found[0]) if found else say("I did not find it.")


SCRIPT = [
    DAYS[0][1],
    say("Saved three findings."),
    DAYS[1][1],
    forget_the_forum,
    say("The noise was known; the forum's claim is forgotten."),
    DAYS[2][1],
    say("38 dB is the newer figure; I noted the price."),
]


def example(kit: Kit) -> None:
    findings = Collection(Finding, kit.store, (*PROJECT, "findings"), identity=["subject"])
    worked = Examples(kit.store, (*PROJECT, "examples"))
    worked.add("It weighs 120 kg, says the manual.", "subject: weight; claim: 120 kg.; source: manual")
    worked.add("COP of 4.1 at 7 °C, says a test of 2025.", "subject: COP; claim: 4.1 at 7 °C.; source: test of 2025")
    shots = "\n".join(message.text for message in worked.as_messages("The datasheet says 41 dB.", k=2))
    agent = create_deep_agent(
        kit.model(SCRIPT),
        tools=memory_tools(findings),
        system_prompt=f"You research heat pumps. Save each finding by itself, forget what proves wrong.\n\n{shots}",
        episodes=True,
        context_schema=Context,
        checkpointer=InMemorySaver(),
        store=kit.store,
        name="researcher",
    )

    def overview(task: Task) -> str:
        """Write the overview from what holds now."""
        current = sorted(findings.all(), key=lambda memory: memory.value.subject)
        lines = [f"- {memory.value.subject}: {memory.value.claim} ({memory.value.source})" for memory in current]
        task.files.write(OVERVIEW, "\n".join(["# Heat pumps", "", *lines, ""]))
        return f"{len(lines)} findings."

    consolidator = Consolidator(
        overview, store=kit.store, target=StoreBackend(namespace=PROJECT, store=kit.store), name="overview"
    )
    for number, (asked, _) in enumerate(DAYS, 1):
        kit.title(f"Day {number}")
        kit.turn(agent, asked, thread=f"day-{number}", context=Context("ann"))
        show_report(kit, consolidator.run(ANN))
    kit.title("What was held true, and until when")
    for finding in findings.all():
        for memory in findings.history(finding.id):
            until = f"until {memory.valid_to:%H:%M:%S}" if memory.valid_to else "until now"
            kit.console.print(f"{memory.value.subject}: {memory.value.claim} {until}", markup=False, soft_wrap=True)
    kit.show(PROJECT)


if __name__ == "__main__":
    run(example)
