"""What the examples share: choosing the model and the store, holding a conversation, showing what is stored.

Every example runs on its own:

    python examples/preferences.py [--model provider:name] [--store URL]

Without `--model` the replies come from a script, so that nothing is needed but this package; the tool calls in it
are real, and so is everything that they leave in the store. `--store` defaults to a store in memory.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage, ToolMessage
from langgraph.types import Command, Interrupt
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.syntax import Syntax
from rich.text import Text

from memoranda import MemorandaError, MemoryStore, open_store
from memoranda.agents.models import chat_model
from memoranda.testing.scripted import ScriptedChatModel


@dataclass
class Kit:
    """What an example works with.

    Args:
        store: The store.
        model_name: The real model's name; None: scripted.
        console: Where to print.
        prompts: The system prompts that were sent to the model, by thread and in order.
    """

    store: MemoryStore
    model_name: str | None = None
    console: Console = field(default_factory=lambda: Console(highlight=False))
    prompts: dict[str, list[str]] = field(default_factory=dict[str, "list[str]"])
    _printed: set[str | None] = field(default_factory=set["str | None"])

    @property
    def is_scripted(self) -> bool:
        """Whether no real model is at work."""
        return self.model_name is None

    def model(self, script: Sequence[Any]) -> BaseChatModel:
        """The real model that was asked for, or else one that replies from the script."""
        return ScriptedChatModel(script=script) if self.model_name is None else chat_model(self.model_name)

    def title(self, text: str) -> None:
        """Print what comes now."""
        self.console.print(f"\n[bold]{escape(text)}[/bold]")

    def turn(self, agent: Any, says: str | Command[Any], *, thread: str, context: Any = None) -> list[Interrupt]:
        """One turn of a conversation, printed as it goes.

        Args:
            agent: The agent.
            says: What the person says; or the `Command` that resumes an interrupted run.
            thread: Which conversation.
            context: Who runs, as the agent's `context_schema` has it.

        Returns:
            What the run waits for; nothing, if it came to its end.
        """
        config = {"configurable": {"thread_id": thread}, "callbacks": [_Listening(self.prompts.setdefault(thread, []))]}
        if isinstance(says, str):
            self.console.print(f"[cyan]person[/cyan]  {escape(says)}")
        given = {"messages": [{"role": "user", "content": says}]} if isinstance(says, str) else says
        waiting: list[Interrupt] = []
        for mode, event in agent.stream(given, config, context=context, stream_mode=["updates", "custom"]):
            if mode == "custom":
                self._print_event(event)
            elif "__interrupt__" in event:
                waiting.extend(event["__interrupt__"])
            else:
                for update in event.values():
                    self._print_messages(update)
        return waiting

    def _print_event(self, event: Any) -> None:
        if isinstance(event, dict) and event.get("type") == "memory_written":
            self._print_below(f"memory written: {event['path']}", "green")

    def _print_messages(self, update: Any) -> None:
        messages: Any = update.get("messages", []) if isinstance(update, dict) else []
        for message in getattr(messages, "value", messages):
            # Middleware that shortens a conversation reports again what it keeps.
            if message.id in self._printed:
                continue
            self._printed.add(message.id)
            if isinstance(message, AIMessage):
                for tool_call in message.tool_calls:
                    self._print_below(_called(tool_call), "dim")
                if message.text:
                    self.console.print(f"[magenta]agent[/magenta]   {escape(message.text)}")
            elif isinstance(message, ToolMessage) and message.text.startswith("Error"):
                self._print_below(message.text, "yellow")

    def _print_below(self, text: str, style: str) -> None:
        self.console.print(Padding(Text(_one_line(text), style), (0, 0, 0, 8)))

    def show(self, namespace: tuple[str, ...]) -> None:
        """Print what one namespace of the store holds, and the history of each file."""
        self.console.print(f"\n[bold]In the store, under {escape(' / '.join(namespace))}[/bold]")
        entries = self.store.list_keys(namespace, recursive=True)
        if not entries:
            self.console.print("  (nothing)")
        for entry in entries:
            item = self.store.get(namespace, entry.key)
            text = "" if item is None else str(item.value.get("content", item.value))
            self.console.print(f"  [blue]{escape(entry.key)}[/blue]")
            for line in text.splitlines():
                self.console.print(f"    {escape(line)}")
            for made in reversed(self.store.history(namespace, entry.key)):
                thread = f" in thread {made.author.thread_id}" if made.author.thread_id else ""
                who = escape((made.author.actor or "code outside an agent") + thread)
                self.console.print(f"    [dim]revision {made.revision}: {made.operation} by {who}[/dim]")

    def show_diff(self, diff: str) -> None:
        """Print a unified diff."""
        self.console.print(Syntax(diff, "diff", theme="ansi_dark", background_color="default", word_wrap=True))


def said_of(model_name: str | None) -> str:
    """How the model is named on the screen."""
    return f"model {model_name}" if model_name else "model: scripted (the replies are written in the example)"


def run(example: Callable[[Kit], None]) -> None:
    """Run an example from the command line, and exit."""
    module = sys.modules[example.__module__]
    title, _, rest = (module.__doc__ or "").strip().partition("\n")
    parser = argparse.ArgumentParser(description=f"{title}\n{rest}", formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--model", metavar="PROVIDER:NAME", help="a real model (default: replies from a script)")
    parser.add_argument("--store", metavar="URL", default="memory://", help="the store (default: memory://)")
    options = parser.parse_args()
    console = Console(highlight=False)
    console.print(f"[bold]{escape(title)}[/bold]")
    console.print(f"[dim]{escape(said_of(options.model))}; store {escape(options.store)}[/dim]")
    printing = _Printing(console)
    logging.getLogger("memoranda").addHandler(printing)
    try:
        with open_store(options.store) as store:
            example(Kit(store, options.model, console))
    except MemorandaError as error:
        console.print(f"[red]{escape(str(error))}[/red]")
        sys.exit(2)
    finally:
        logging.getLogger("memoranda").removeHandler(printing)


class _Printing(logging.Handler):
    """Prints warnings between the lines of a conversation."""

    def __init__(self, console: Console) -> None:
        super().__init__(logging.WARNING)
        self.console = console

    def emit(self, record: logging.LogRecord) -> None:
        self.console.print(Padding(Text(f"warning: {record.getMessage()}", "yellow"), (0, 0, 0, 8)))


class _Listening(BaseCallbackHandler):
    """Notes the system prompt of every request to the model."""

    def __init__(self, prompts: list[str]) -> None:
        self.prompts = prompts

    def on_chat_model_start(
        self, serialized: dict[str, Any], messages: list[list[BaseMessage]], *, run_id: UUID, **kwargs: Any
    ) -> None:
        for request in messages:
            self.prompts.extend(message.text for message in request[:1] if isinstance(message, SystemMessage))


def _called(tool_call: Any) -> str:
    arguments = ", ".join(f"{name}={value!r}" for name, value in tool_call["args"].items())
    return f"{tool_call['name']}({arguments})"


def _one_line(text: str, most: int = 160) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"
