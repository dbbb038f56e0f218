"""The SQL behind every operation: named statements in `sql/*.sql`, written once for both engines.

The few words in which SQLite and PostgreSQL differ are `{tokens}`, filled in from the engine's `Dialect`.
Parameters are written `:name`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)
_PARAMETER = re.compile(r":(\w+)\b")


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one engine spells what differs.

    Args:
        name: The engine's name, as in messages.
        tokens: What replaces each `{token}` of a statement or migration.
        pyformat: Whether parameters are written `%(name)s` instead of `:name`.
    """

    name: str
    tokens: dict[str, str] = field(hash=False)
    pyformat: bool = False

    def render(self, template: str) -> str:
        """Fill in the tokens; anything else in braces stays."""
        return re.sub(r"\{(\w+)\}", lambda match: self.tokens.get(match[1], match[0]), template)

    def statements(self) -> dict[str, str]:
        """All named statements as this engine takes them."""
        rendered = {name: self.render(text) for name, text in _templates().items()}
        if self.pyformat:
            return {name: _PARAMETER.sub(r"%(\1)s", text.replace("%", "%%")) for name, text in rendered.items()}
        return rendered


@cache
def _templates() -> dict[str, str]:
    """Every named statement as it stands in the files."""
    templates: dict[str, str] = {}
    for resource in sorted(files("memoranda.store").joinpath("sql").iterdir(), key=lambda entry: entry.name):
        if not resource.name.endswith(".sql"):
            continue
        _, *parts = _NAME.split(resource.read_text("utf-8"))
        for name, text in zip(parts[::2], parts[1::2], strict=True):
            templates[name] = "\n".join(
                line for line in text.strip().rstrip(";").splitlines() if not line.startswith("--")
            )
    return templates
