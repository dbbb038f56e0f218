"""The program: its commands, its global options, and one place where errors end."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any, cast

import typer
from typer.core import TyperGroup

from memoranda.cli.command import CONSOLIDATION, EPISODES, REVIEW, Command
from memoranda.cli.commands import (
    bench,
    consolidate,
    consolidate_runs,
    consolidate_schedules,
    editing,
    episode_import,
    episodes,
    forget,
    history,
    indexing,
    listing,
    proposals,
    reading,
    recalling,
    searching,
    transfer,
    upkeep,
    worker,
    writing,
)
from memoranda.cli.failures import PipeClosedError, StoppedError, guarded
from memoranda.cli.settings import Settings, default_file, option_parameters

COMMANDS: tuple[Command, ...] = (
    listing.ls,
    listing.tree,
    reading.cat,
    searching.grep,
    searching.glob,
    recalling.search,
    recalling.recall,
    writing.write,
    editing.edit,
    writing.rm,
    writing.mv,
    history.log,
    history.diff,
    history.blame,
    history.restore,
    history.changes,
    proposals.list_,
    proposals.show,
    proposals.accept,
    proposals.reject,
    episodes.ls,
    episodes.show,
    episodes.search,
    episode_import.import_,
    consolidate.run,
    consolidate_runs.status,
    consolidate_schedules.schedule,
    consolidate_runs.runs,
    consolidate_runs.show,
    consolidate.undo,
    consolidate.retry,
    worker.worker,
    transfer.import_,
    transfer.export,
    forget.forget,
    upkeep.verify,
    upkeep.stats,
    indexing.reindex,
    upkeep.migrate,
    bench.bench,
)

_HELP = {"help_option_names": ["-h", "--help"]}
GROUPS = {
    "proposals": ("Look at the changes that wait for a person, and decide on them.", REVIEW),
    "episodes": ("Look at past conversations, search them, and bring them in.", EPISODES),
    "consolidate": ("Turn what was said into memory, by hand or by schedule, and take it back.", CONSOLIDATION),
}
"""The commands of two words: what the first word is about, and where it stands in the list of commands."""


class Program(TyperGroup):
    """The group of all commands. However it is run, no traceback leaves it."""

    def main(self, args: Sequence[str] | None = None, *rest: Any, standalone_mode: bool = True, **extra: Any) -> Any:
        """Run a command line; standalone it ends with an exit code."""
        arguments = list(sys.argv[1:] if args is None else args)
        run = super().main
        if not standalone_mode:
            return run(arguments, *rest, standalone_mode=False, **extra)
        sys.exit(guarded(lambda: run(arguments, *rest, standalone_mode=False, **extra), arguments))

    def invoke(self, ctx: Any) -> Any:
        """Run the command, keeping Typer from ending the process in its own ways."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise PipeClosedError from error
        except KeyboardInterrupt as error:
            # A second Ctrl-C while the first one is cleaned up after takes nothing from what is said.
            first = error.__context__
            raise StoppedError(*(first.args if isinstance(first, StoppedError) else ())) from error


def _show_version(wanted: bool) -> None:
    if wanted:
        from memoranda import __version__

        typer.echo(f"memoranda {__version__}")
        raise typer.Exit


def _root() -> Any:
    """The function behind the program's own options."""
    shared = option_parameters()

    def root(context: typer.Context, **arguments: Any) -> None:
        del arguments["version"]
        context.obj = Settings(**arguments)
        if context.invoked_subcommand is None:
            typer.echo(context.get_help(), nl=False)

    keyword = inspect.Parameter.KEYWORD_ONLY
    version = Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ]
    parameters = [
        inspect.Parameter("context", keyword, annotation=typer.Context),
        inspect.Parameter("version", keyword, default=False, annotation=version),
        *shared,
    ]
    cast("Any", root).__signature__ = inspect.Signature(parameters)
    root.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return root


@cache
def program() -> typer.Typer:
    """The program with everything in it; call it to run it."""
    app = typer.Typer(
        name="memoranda",
        cls=Program,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings=_HELP,
    )
    where = f"sqlite:///{default_file()}".replace("[", r"\[")
    app.callback(
        invoke_without_command=True,
        help="A memory that lasts for AI agents: look at it, change it, and see how it came to be.",
        epilog="[bold]Example:[/bold]\n\nmemoranda write -n ann /notes/tea.md 'Likes green tea.'\n\n"
        f"Without --store and $MEMORANDA_STORE the store is:\n\n{where}\n\n"
        "Exit codes: 0 done, 1 no match or problems found, 2 usage, 3 not found, 4 conflict, 5 store or file "
        "unavailable, 130 stopped with Ctrl-C.",
    )(_root())
    groups: dict[str, typer.Typer] = {}
    for each in COMMANDS:
        *group, _ = each.name.split()
        if not group:
            each.add_to(app)
            continue
        if group[0] not in groups:
            about, panel = GROUPS[group[0]]
            groups[group[0]] = typer.Typer(rich_markup_mode="rich", context_settings=_HELP)
            groups[group[0]].callback(invoke_without_command=True, help=about)(_say_what_there_is)
            app.add_typer(groups[group[0]], name=group[0], rich_help_panel=panel)
        each.add_to(groups[group[0]])
    return app


def _say_what_there_is(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), nl=False)
