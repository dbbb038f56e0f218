"""The part of the demo that tends memory: conversations become files, and each line leads back to where it was said."""

from __future__ import annotations

import re
from collections.abc import Callable

from langchain_core.messages import AIMessage, BaseMessage
from rich.console import Console
from rich.markup import escape
from rich.syntax import Syntax

from memoranda import MemoryStore
from memoranda.backends import StoreBackend, by_user
from memoranda.consolidation import Consolidator, sources_of
from memoranda.testing.scripted import ScriptedChatModel, call, calls

PATH = "/mei.md"
FACTS = (
    ("Comfort Grey", "- The kitchen is painted in Comfort Grey."),
    ("对虾过敏", "- 妈妈对虾过敏。"),
)
"""What the scripted model looks for in the conversations, and what it makes of it."""


def tend(store: MemoryStore, person: tuple[str, ...], console: Console) -> None:
    """Let what somebody said become memory; a second time there is nothing left to do."""
    console.print(f"\n[bold]Tended in the background[/bold]  what {person[0]} said becomes a file; model: scripted")
    target = StoreBackend(namespace=by_user, store=store)
    consolidator = Consolidator(ScriptedChatModel(script=script()), store=store, target=target, zone="Europe/Berlin")
    report = consolidator.run(person)
    console.print(f"Run {report.run_id}: {report.status}, {report.turns} turns read", markup=False)
    console.print(Syntax(report.diff, "diff", theme="ansi_dark", word_wrap=True))
    if report.status == "applied":
        show_sources(store, person, console)
    console.print(
        f"Once more: {consolidator.run(person).status} is new. [dim]memoranda worker does it by itself.[/dim]"
    )


def show_sources(store: MemoryStore, person: tuple[str, ...], console: Console) -> None:
    """Each line with the turn that it came from."""
    for number, (_, line) in enumerate(FACTS, 1):
        for turn in sources_of(store, person, PATH, number):
            said = " ".join(turn.text.split())[:70]
            console.print(f"{escape(line)}  [cyan]{turn.at:%Y-%m-%d} {escape(turn.thread_id)}[/cyan]  {escape(said)}")


def script() -> list[Callable[[list[BaseMessage]], AIMessage] | AIMessage]:
    """A model that finds what it looks for in the conversations, writes it down, and says from which turns."""

    def write(messages: list[BaseMessage]) -> AIMessage:
        found = [turn_of(messages[-1].text, words) for words, _ in FACTS]
        lines = [line for _, line in FACTS]
        steps = [("write_file", {"path": PATH, "content": f"{lines[0]}\n", "turns": found[:1]})]
        for number, line in enumerate(lines[1:], 1):
            old, new = f"{lines[number - 1]}\n", f"{lines[number - 1]}\n{line}\n"
            steps.append(("edit_file", {"path": PATH, "old_string": old, "new_string": new, "turns": [found[number]]}))
        return calls(*steps)

    return [write, call("finish", summary="What Mei decided, and what her mother cannot eat.")]


def turn_of(text: str, words: str) -> str:
    """The label of the first turn with some words."""
    before = text[: text.index(words)]
    return re.findall(r"^\[(t\d+)\]", before, re.MULTILINE)[-1]
