"""What makes a function a command: the global options, an example in its help, and a session to work in."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Concatenate, ParamSpec, TypeAlias, cast

import typer
from typer.core import TyperCommand

from memoranda.cli.session import Session
from memoranda.cli.settings import PANEL, Settings, option_parameters

P = ParamSpec("P")

LOOK = "Look"
CHANGE = "Change"
HISTORY = "History"
REVIEW = "Review"
EPISODES = "Conversations"
CONSOLIDATION = "Consolidation"
WHOLE = "The whole store"

Actor: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--actor",
        "--as",
        metavar="WHO",
        help="Who makes the change. Default: $MEMORANDA_ACTOR, else cli:<your user name>.",
        show_default=False,
    ),
]
Reason: TypeAlias = Annotated[
    str | None, typer.Option("--reason", "--note", metavar="WHY", help="Why; kept in the history.", show_default=False)
]
Path: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="PATH",
        help="The file; without a leading slash first an item of that very name is looked for.",
        show_default=False,
    ),
]


@dataclass(frozen=True, slots=True)
class Command:
    """A command of the program.

    Args:
        function: What it does; its docstring is its help.
        name: What it is called; two words make it a command of a group.
        examples: Command lines that show its use.
        panel: Where it stands in the list of commands.
    """

    function: Callable[..., None]
    name: str
    examples: tuple[str, ...]
    panel: str

    def add_to(self, app: typer.Typer) -> None:
        """Make it a command of this program."""
        examples = "\n\n".join(example.replace("[", r"\[") for example in self.examples)
        title = "Example" if len(self.examples) == 1 else "Examples"
        app.command(
            self.name.split()[-1],
            cls=_Subcommand,
            help=_unwrapped(inspect.getdoc(self.function) or ""),
            epilog=f"[bold]{title}:[/bold]\n\n{examples}\n\n{_pointer()}",
            rich_help_panel=self.panel,
            context_settings={"help_option_names": ["-h", "--help"]},
        )(self._entry())

    def _entry(self) -> Callable[..., None]:
        """The function as Typer calls it, with the global options beside its own."""
        _, *own = inspect.signature(self.function, eval_str=True).parameters.values()
        shared = option_parameters()

        def entry(context: typer.Context, **arguments: Any) -> None:
            given = Settings(**{parameter.name: arguments.pop(parameter.name) for parameter in shared})
            with Session(cast("Settings", context.obj).overridden(given), self.name) as session:
                self.function(session, **arguments)

        keyword = inspect.Parameter.KEYWORD_ONLY
        first = inspect.Parameter("context", keyword, annotation=typer.Context)
        parameters = [first, *(parameter.replace(kind=keyword) for parameter in own), *shared]
        cast("Any", entry).__signature__ = inspect.Signature(parameters)
        entry.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return entry


class _Subcommand(TyperCommand):
    """A command whose help leaves the global options to the program's; it takes and completes them all the same."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        shared = [each for each in self.params if getattr(each, "rich_help_panel", None) == PANEL]
        for each in shared:
            cast("Any", each).hidden = True
        try:
            super().format_help(ctx, formatter)
        finally:
            for each in shared:
                cast("Any", each).hidden = False


def _pointer() -> str:
    """Where the global options are explained."""
    options = (each.annotation.__metadata__[0] for each in option_parameters())
    names = ("/".join((option.default, *option.param_decls)) for option in options)
    return f"[dim]Also {', '.join(names)}: see `memoranda --help`.[/dim]"


def _unwrapped(text: str) -> str:
    """The text with one line for each paragraph, to be wrapped to the terminal's width."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n")).replace("[", r"\[")


def command(name: str, *examples: str, panel: str) -> Callable[[Callable[Concatenate[Session, P], None]], Command]:
    """Make a command of a function that takes a session and what stands on the command line."""
    return lambda function: Command(function, name, examples, panel)
