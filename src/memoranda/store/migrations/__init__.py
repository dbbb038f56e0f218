"""Numbered migrations: `0001_name.sql` and so on, each applied in one transaction, written once for both engines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from memoranda.errors import SchemaError, SchemaTooNewError
from memoranda.store.statements import Dialect

VERSION_TABLE = "memoranda_schema"


@dataclass(frozen=True, slots=True)
class Migration:
    """One step of the schema.

    Args:
        number: 1, 2, 3 …
        name: What it is about.
        template: Its SQL, with tokens for the engines' differences.
    """

    number: int
    name: str
    template: str

    def statements(self, dialect: Dialect) -> Iterator[str]:
        """Its statements as an engine takes them."""
        bare = "\n".join(line.partition("--")[0] for line in self.template.splitlines())
        for statement in dialect.render(bare).split(";"):
            if statement.strip():
                yield statement.strip()


@cache
def migrations() -> tuple[Migration, ...]:
    """All migrations of this version, in order."""
    found: list[Migration] = []
    for resource in files(__name__).iterdir():
        if resource.name.endswith(".sql"):
            number, _, name = resource.name.removesuffix(".sql").partition("_")
            found.append(Migration(int(number), name, resource.read_text("utf-8")))
    return tuple(sorted(found, key=lambda migration: migration.number))


def pending(applied: int, known: tuple[Migration, ...]) -> tuple[Migration, ...]:
    """The migrations still to apply.

    Raises:
        SchemaTooNewError: The database is ahead of this version.
    """
    newest = known[-1].number
    if applied > newest:
        raise SchemaTooNewError(
            f"The database has schema {applied}, but this version of Memoranda knows only up to {newest}.",
            "Upgrade with `pip install --upgrade memoranda`, or open a backup made before the upgrade.",
        )
    return tuple(migration for migration in known if migration.number > applied)


def unknown_schema(place: str) -> SchemaError:
    """The error for a database whose tables are somebody else's."""
    return SchemaError(
        f"{place} holds tables that are not Memoranda's.",
        "Choose another database; a LangGraph store is brought over with `memoranda import`.",
    )
