"""`SKILL.md` files, by the Agent Skills specification (agentskills.io): what their first lines say. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, cast

from memoranda.errors import MemorandaError

MAX_BYTES: Final = 1_000_000
"""A larger file is no skill."""

_MAX_HEADER = 16_000  # at which the slowest YAML is read in a fraction of a second
_MAX_NAME = 64
_MAX_DESCRIPTION = 1_024
_MAX_COMPATIBILITY = 500
_MAX_OTHER = 200
_MAX_TOOLS = 50


class BrokenSkillError(MemorandaError, ValueError):
    """A `SKILL.md` that does not follow the specification."""


@dataclass(frozen=True, slots=True)
class Skill:
    """What a skill says of itself.

    Args:
        name: Also the name of its folder.
        description: What it does, and when to use it.
        license: Its licence.
        compatibility: What it needs.
        allowed_tools: The tools that it may use.
        metadata: Whatever else its author noted.
    """

    name: str
    description: str
    license: str = ""
    compatibility: str = ""
    allowed_tools: tuple[str, ...] = ()
    metadata: Mapping[str, str] | None = None


def read_skill(folder: str, content: bytes) -> Skill | str:
    r"""Read a `SKILL.md`.

    Args:
        folder: The name of the folder that it lies in.
        content: The file.

    Returns:
        The skill, or a sentence that says what is wrong with the file.

    Example:
        >>> read_skill("tea", b"---\nname: tea\ndescription: Makes tea.\n---").description
        'Makes tea.'
        >>> read_skill("tea", b"---\nname: Tea\ndescription: Makes tea.\n---\n")
        "The name 'Tea' is not made of lowercase letters, digits and single hyphens."
    """
    if len(content) > MAX_BYTES:
        return too_large(len(content))
    header = _header(content)
    if header is None:
        return "It does not begin with YAML between two lines of three hyphens."
    if len(header) > _MAX_HEADER:
        return f"What stands between its lines of three hyphens is longer than {_MAX_HEADER:,} characters."
    return _skill(folder, header)


def too_large(size: int) -> str:
    """What is said of a file that is too large to be a skill."""
    return f"It has {size:,} bytes; a SKILL.md has at most {MAX_BYTES:,}. Move parts of it into files beside it."


def _header(content: bytes) -> str | None:
    lines = content.decode("utf-8-sig", "replace").splitlines()
    if not lines or lines[0].rstrip() != "---":
        return None
    for number, line in enumerate(lines[1:], 1):
        if line.rstrip() == "---":
            return "\n".join(lines[1:number])
    return None


@lru_cache(maxsize=2048)
def _skill(folder: str, header: str) -> Skill | str:
    try:
        said: Any = _load(header)
        if not isinstance(said, dict):
            raise BrokenSkillError("Its first lines are no YAML mapping with a name and a description.")
        return _checked(folder, cast("dict[Any, Any]", said))
    except BrokenSkillError as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 - whatever YAML makes of what anybody wrote
        problem, mark = getattr(error, "problem", None), getattr(error, "problem_mark", None)
        where = "" if mark is None else f" in line {mark.line + 2}"
        return f"Its YAML cannot be read{where}: {problem or type(error).__name__}."


def _load(header: str) -> Any:
    import yaml

    class Loader(yaml.SafeLoader):
        """Without aliases, a few of which could stand for more than fits into memory."""

        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):  # pyright: ignore[reportUnknownMemberType]
                raise BrokenSkillError("Its YAML uses an alias (*), which is not supported.")
            return super().compose_node(parent, index)  # pyright: ignore[reportUnknownMemberType]

    return yaml.load(header, Loader)  # a SafeLoader


def _checked(folder: str, said: dict[Any, Any]) -> Skill:
    name = _text(said.get("name"))
    description = " ".join(_text(said.get("description")).split())
    if not name:
        raise BrokenSkillError("It has no name.")
    if len(name) > _MAX_NAME:
        raise BrokenSkillError(f"Its name has {len(name):,} characters; {_MAX_NAME} are the most.")
    if not _is_name(name):
        raise BrokenSkillError(f"The name {name!r} is not made of lowercase letters, digits and single hyphens.")
    if name != folder:
        raise BrokenSkillError(f"Its name {name!r} is not that of its folder, {folder!r}.")
    if not description:
        raise BrokenSkillError("It has no description.")
    other: Any = said.get("metadata")
    metadata = cast("dict[Any, Any]", other).items() if isinstance(other, dict) else ()
    return Skill(
        name,
        _shortened(description, _MAX_DESCRIPTION),
        _shortened(" ".join(_text(said.get("license")).split()), _MAX_OTHER),
        _shortened(" ".join(_text(said.get("compatibility")).split()), _MAX_COMPATIBILITY),
        _tools(said.get("allowed-tools")),
        {_text(key): _text(value) for key, value in metadata},
    )


def _is_name(name: str) -> bool:
    return name == name.lower() and all(part.isalnum() for part in name.split("-"))


def _text(value: Any) -> str:
    return "" if value is None else str(value).strip()


def _shortened(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _tools(value: Any) -> tuple[str, ...]:
    """The names in a text or a list; a space or comma inside brackets, as in `Bash(git add:*)`, is part of one."""
    if isinstance(value, list):
        return tuple(_shortened(_text(each), _MAX_OTHER) for each in cast("list[Any]", value)[:_MAX_TOOLS])
    names = [""]
    depth = 0
    for character in _text(value):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth <= 0 and (character == "," or character.isspace()):
            names.append("")
        else:
            names[-1] += character
    return tuple(_shortened(name, _MAX_OTHER) for name in names if name)[:_MAX_TOOLS]
