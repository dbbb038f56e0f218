"""The part of the demo that asks: of conversations over half a year, in two languages, and of imported documents."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.text import Text

from memoranda import MemoryStore, open_store
from memoranda.errors import SearchUnavailableError
from memoranda.store.recalled import Hit

FILE = Path(__file__).resolve().parent / "data" / "conversations.json"
PERSON = ("mei@example.org",)
"""Whose conversations they are."""
QUESTIONS = (
    "Which paint did we settle on for the kitchen?",
    "Where in the code did the zero dates cause trouble?",
    "妈妈对什么过敏？",
)
BY_MEANING = "Who is allergic to nuts?"
"""Nobody has used any of these words."""
ABOUT_DOCUMENTS = "How is a mistake documented, so that it does not happen again?"
_SHOWN = 2
_LINES = 4


def recall_conversations(store: MemoryStore, console: Console) -> None:
    """Bring conversations in, and ask for what was said in them; then for what was said in other words."""
    console.print(f"\n[bold]Past conversations[/bold]  of {PERSON[0]}, from examples/data/{FILE.name}")
    record(store)
    threads = store.threads(PERSON)
    first, last = min(thread.first_at for thread in threads), max(thread.last_at for thread in threads)
    turns = sum(thread.turns for thread in threads)
    console.print(f"{len(threads)} conversations, {turns} turns, {first:%Y-%m-%d} to {last:%Y-%m-%d}")
    for question in QUESTIONS:
        ask(store, PERSON, question, console)
    try:
        with open_store("memory://", index="local") as other:
            record(other)
            if not other.wait_for_index(60):
                console.print("[yellow]Not everything is embedded after a minute; words answer meanwhile.[/yellow]")
            console.print("\n[bold]The same conversations, found by meaning too[/bold]  with a model on this machine")
            console.print(f"By words alone, {len(store.recall(PERSON, BY_MEANING))} passages answer the next question.")
            ask(other, PERSON, BY_MEANING, console)
    except SearchUnavailableError as error:
        console.print(f"[yellow]By words alone: {escape(str(error))}[/yellow]")


def record(store: MemoryStore) -> None:
    """Record the conversations; doing it again changes nothing."""
    # Here, so that the processes that edit files later need not load what messages are made of.
    from memoranda.episodes.conversation_files import read_conversations

    for said in read_conversations(FILE.read_text("utf-8"), thread_id=FILE.stem):
        store.record_turns(PERSON, said.thread_id, said.turns, user=PERSON[0])


def ask(store: MemoryStore, scope: tuple[str, ...], question: str, console: Console) -> None:
    """Print what answers a question best, of each conversation and each text once, with its lines and date."""
    console.print(f"\n[bold cyan]?[/bold cyan] [bold]{escape(question)}[/bold]")
    best: dict[str, Hit] = {}
    for hit in store.recall(scope, question, k=20):
        best.setdefault(hit.thread_id or hit.text, hit)
    for hit in list(best.values())[:_SHOWN]:
        who = f", {hit.speaker or hit.role}" if hit.thread_id else ""
        where = f"{hit.thread_id or hit.key}:{lines_of(hit)}"
        console.print(f"  [magenta]{escape(where)}[/magenta]{escape(who)}  [dim]{hit.at:%Y-%m-%d %H:%M}[/dim]")
        shown = hit.text.splitlines()[:_LINES]
        console.print(Padding(Text("\n".join(shown)), (0, 0, 0, 4)))


def lines_of(hit: Hit) -> str:
    """The lines of a file or a message that a passage is."""
    return f"{hit.first_line}" if hit.first_line == hit.last_line else f"{hit.first_line}-{hit.last_line}"
