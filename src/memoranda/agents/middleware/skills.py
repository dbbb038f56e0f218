"""`SkillsMiddleware`: which skills there are, in the system prompt; the model reads the one that it needs."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from langchain.agents.middleware.types import AgentMiddleware, ModelRequest, ModelResponse

from memoranda.agents.adopting import BackendLike, adopted
from memoranda.agents.middleware.mounts import Kept, Spots
from memoranda.agents.middleware.prompt import UNIT, appended, attribute, clip, escape, shares, weight_of
from memoranda.agents.middleware.rebasing import OverBackend, listed
from memoranda.agents.middleware.skill_files import MAX_BYTES, Skill, read_skill, too_large
from memoranda.backends import operations
from memoranda.backends.base import Backend
from memoranda.backends.protocol import FileInfo
from memoranda.backends.runtime import unnoticed
from memoranda.backends.steps import Steps, aperform, is_control_flow, perform, together
from memoranda.errors import InvalidValueError
from memoranda.files.path import canonical_path, folder_prefix, name_of, parent_of

logger = logging.getLogger(__name__)

BUDGET: Final = 16_000
"""How many tokens the list of skills takes in a prompt at most; 50 skills take about 3,000."""

Source: TypeAlias = "str | tuple[str, str]"

_MAX_PROBLEMS: Final = 10
_MAX_PROBLEM: Final = 300
_OPEN, _CLOSE = "<agent_skills>\n", "\n</agent_skills>"
_INSTRUCTIONS = (
    "Skills are instructions for a kind of task. Where one fits the task, read its file with read_file (limit=1000) "
    "before you begin, and follow it; relative paths in it start at its folder."
)


class Found(NamedTuple):
    """All skills as they are now, by name, and what could not be loaded."""

    skills: tuple[tuple[str, Skill], ...]
    problems: tuple[str, ...]


class SkillsMiddleware(OverBackend, AgentMiddleware[Any, Any, Any]):
    r"""Tell an agent which skills it has: name, description and path, at the end of the system prompt.

    A skill is a folder with a `SKILL.md`, directly in one of the sources. They are looked for at every model call, so
    that a new or changed one is known at once; a file is read again only when its revision changed. Of two with the
    same name the later source's is used. A broken one is named with what is wrong, and the rest load.

    Args:
        backend: Where the skills are: a backend, or a function of the runtime that gives one.
        sources: Folders, each a path or a pair of a path and a label.
        budget: How many tokens the list may take; long descriptions are cut first.
        instructions: What the model is told about skills; None: a text of ours. A text that holds `{skills_list}` is
            the whole section, with the list in that place.
        system_prompt: Another name of `instructions`, which Deep Agents has for it; `instructions` goes first.

    Raises:
        InvalidPathError: A source is no path.
        InvalidValueError: A source is neither a path nor a pair, or the budget is no positive number.

    Example:
        >>> from langchain.agents import create_agent
        >>> from memoranda import open_store
        >>> from memoranda.backends import StoreBackend
        >>> from memoranda.testing.scripted import ScriptedChatModel
        >>> tea = "---\nname: tea\ndescription: How to make tea.\n---\nBoil water."
        >>> with open_store("memory://") as store:
        ...     _ = store.write(("team",), "/skills/tea/SKILL.md", tea)
        ...     files = StoreBackend(namespace=("team",), store=store)
        ...     model = ScriptedChatModel(script=["Let me look."])
        ...     agent = create_agent(model, middleware=[SkillsMiddleware(files, ["/skills/"])])
        ...     _ = agent.invoke({"messages": "Tea, please."})
        >>> "How to make tea." in model.prompts[0], "Boil water." in model.prompts[0]
        (True, False)
    """

    def __init__(
        self,
        backend: BackendLike,
        sources: Sequence[Source] | str,
        *,
        budget: int = BUDGET,
        instructions: str | None = None,
        system_prompt: str | None = None,
    ) -> None:
        super().__init__()
        if not isinstance(budget, int) or isinstance(budget, bool) or budget < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidValueError(f"{budget!r} is no budget.", "Pass a number of tokens, such as 16000.")
        self.backend: Backend = adopted(backend)
        given = [sources] if isinstance(sources, str) else listed(sources, "skills", "/skills/")
        self.sources = tuple(_source(source) for source in given)
        self.budget = budget
        chosen = instructions if instructions is not None else system_prompt
        self.instructions = _INSTRUCTIONS if chosen is None else chosen
        self._settle()

    def _settle(self) -> None:
        self._last: tuple[Found, str] | None = None
        self._spots = Spots(self.backend)

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Add the list of skills to the request."""
        return handler(_with(request, perform(self.section_steps())) if self.sources else request)

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """`wrap_model_call` for an event loop."""
        return await handler(_with(request, await aperform(self.section_steps())) if self.sources else request)

    def section_steps(self) -> Steps[str]:
        """What is added to the system prompt."""
        found = yield from self.skills_steps()
        last = self._last
        if last is not None and last[0] == found:
            return last[1]
        if found.problems:
            logger.warning("Some skills could not be loaded: %s", " ".join(found.problems[:_MAX_PROBLEMS]))
        section = self._section(found)
        self._last = found, section
        return section

    def _section(self, found: Found) -> str:
        listed = skills_list(found, [path for path, _ in self.sources], self.budget)
        locations = _locations(self.sources)
        if "{skills_list}" in self.instructions:
            made = self.instructions.replace("{skills_locations}", locations)
            return made.replace("{skills_load_warnings}", "").replace("{skills_list}", listed)
        return _OPEN + "\n".join(part for part in (self.instructions, locations, listed) if part) + _CLOSE

    def skills_steps(self) -> Steps[Found]:
        """The skills as they are now; a failure is among the problems."""
        try:
            return (yield from self._found())
        except Exception as error:
            if is_control_flow(error):
                raise
            logger.warning("Skills could not be loaded.", exc_info=error)
            return Found((), (f"The skills could not be looked for: {type(error).__name__}: {error}",))

    def _found(self) -> Steps[Found]:
        folders = [path for path, _ in self.sources]
        listings = yield from together([operations.glob(self.backend, "*/SKILL.md", folder) for folder in folders])
        entries: list[FileInfo] = []
        problems: list[str] = []
        for folder, listing in zip(folders, listings, strict=True):
            if isinstance(listing, Exception) or listing.error is not None:
                error = listing if isinstance(listing, Exception) else listing.error
                problems.append(f"{folder}: {str(error).removeprefix('Error: ')}")
                continue
            problems += [f"{folder}: {warning}" for warning in listing.warnings]
            matches = sorted(listing.matches or (), key=lambda entry: entry["path"])
            if not matches:
                problems += yield from self._misplaced(folder)
            entries += matches
        read = yield from self._read(entries)
        skills: dict[str, tuple[str, Skill]] = {}
        for entry, skill in zip(entries, read, strict=True):
            if isinstance(skill, str):
                problems.append(f"{entry['path']}: {skill}")
            else:
                skills[skill.name] = (entry["path"], skill)
        return Found(tuple(skills[name] for name in sorted(skills)), tuple(problems))

    def _misplaced(self, folder: str) -> Steps[list[str]]:
        """What is wrong with a source that holds no skill; one that is empty, or not there yet, is fine."""
        if name_of(folder.rstrip("/")) == _FILE:
            above = folder_prefix(parent_of(parent_of(folder.rstrip("/"))))
            return [f"{folder.rstrip('/')} is a skill's file. Name the folder that holds the skills' folders: {above}"]
        listed = yield from operations.ls(self.backend, folder)
        names = {name_of(entry["path"]) for entry in listed.entries or () if not entry.get("is_dir")}
        if _FILE in names:
            above = folder_prefix(parent_of(folder.rstrip("/")))
            return [f"{folder} is itself a skill. Name the folder that holds the skills' folders: {above}"]
        misspelt = yield from operations.glob(self.backend, "*/[Ss][Kk][Ii][Ll][Ll].[Mm][Dd]", folder)
        paths = [entry["path"] for entry in misspelt.matches or ()]
        return [f"{path} is not read: the file of a skill is named {_FILE}." for path in paths]

    def _read(self, entries: Sequence[FileInfo]) -> Steps[list[Skill | str]]:
        """Each entry's skill or problem, of those in the same state as before without reading them."""
        found: list[Skill | str | None] = []
        spots = self._spots.of([entry["path"] for entry in entries])
        for entry, spot in zip(entries, spots, strict=True):
            if entry.get("size", 0) > MAX_BYTES:
                found.append(too_large(entry.get("size", 0)))
            else:
                found.append(None if spot is None else _parsed.get(spot.store, (spot[1:], *_state(entry))))
        missing = [index for index, skill in enumerate(found) if skill is None]
        if missing:
            paths = [entries[index]["path"] for index in missing]
            with unnoticed():  # the model is told of the file, and has not seen it
                answers = yield from operations.download_files(self.backend, paths)
            for index, answer in zip(missing, answers, strict=True):
                entry, spot = entries[index], spots[index]
                if answer.content is None:
                    found[index] = f"It cannot be read: {(answer.error or 'unknown').removeprefix('Error: ')}"
                    continue
                skill = found[index] = read_skill(name_of(parent_of(entry["path"])), answer.content)
                if spot is not None and answer.revision == entry.get("revision") is not None:
                    _parsed.put(spot.store, (spot[1:], *_state(entry)), skill)
        return [skill for skill in found if skill is not None]


_FILE = "SKILL.md"

_parsed: Kept[Skill | str] = Kept(10_000)
"""What was read of which state of which file, for all agents of this process."""


def _state(entry: FileInfo) -> tuple[Any, ...]:
    # The time too: an item that was erased and made anew counts its revisions from 1 again.
    return entry.get("revision"), entry.get("size"), entry.get("modified_at")


def _source(source: Any) -> tuple[str, str]:
    path, label = (source, "") if isinstance(source, str) else _pair(source)
    return folder_prefix(canonical_path(path)), label


def _pair(source: Any) -> tuple[str, str]:
    if isinstance(source, tuple | list) and len(source) == 2 and all(isinstance(part, str) for part in source):  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        return source[0], source[1]  # pyright: ignore[reportUnknownVariableType]
    raise InvalidValueError(f"{source!r} is no source of skills.", "Pass a path, or a pair of a path and a label.")


def _with(request: ModelRequest[Any], section: str) -> ModelRequest[Any]:
    return request.override(system_message=appended(request.system_message, section))


def _locations(sources: Sequence[tuple[str, str]]) -> str:
    """Where skills come from, where that is worth telling."""
    if len(sources) == 1 and not sources[0][1]:
        return ""
    named = [attribute(path) + (f" ({attribute(label, 80)})" if label else "") for path, label in sources]
    return "Sources, of which the later ones win: " + ", ".join(named)


def skills_list(found: Found, folders: Sequence[str], budget: int) -> str:
    """The skills as a prompt lists them, within a budget.

    Args:
        found: The skills.
        folders: Where they were looked for.
        budget: In tokens.
    """
    room = budget * UNIT
    problems = clip(_problems(found.problems), room // 2)
    room -= weight_of(problems + "\n")
    if not found.skills:
        none = "There are none yet in " + ", ".join(map(attribute, folders)) + "."
        return escape("\n".join(filter(None, [none, problems])), "(")
    lines = [_lines(path, skill) for path, skill in found.skills]
    least = [
        weight_of(f"- {skill.name}: \n{more}\n") for (_, skill), (_, more) in zip(found.skills, lines, strict=True)
    ]
    shown = len(lines)
    room -= sum(least)
    if room < 0:
        room -= weight_of(_more(len(lines)))
        while shown and room < 0:
            shown -= 1
            room += least[shown]
    given = shares([weight_of(text) for text, _ in lines[:shown]], room)
    made = [
        f"- {skill.name}: {clip(text, share)}\n{more}"
        for (_, skill), (text, more), share in zip(found.skills[:shown], lines[:shown], given, strict=True)
    ]
    if shown < len(lines):
        made.append(_more(len(lines) - shown))
    # What ends one line and begins the next may make a tag that neither of them has. A bracket is no longer than that.
    return escape("\n".join([*made, *([problems] if problems else [])]), "(")


def _more(count: int) -> str:
    return f"{count:,} more skills have no room here; find them with glob */SKILL.md."


def _lines(path: str, skill: Skill) -> tuple[str, str]:
    """A skill's description, and the line below it."""
    notes = [
        f"licence: {skill.license}" if skill.license else "",
        f"needs: {skill.compatibility}" if skill.compatibility else "",
        f"allowed tools: {', '.join(skill.allowed_tools)}" if skill.allowed_tools else "",
    ]
    said = "; ".join(filter(None, notes))
    return escape(skill.description.replace("<", "&lt;")), f"  {attribute(path)}" + (
        f" ({attribute(said, 700)})" if said else ""
    )


def _problems(problems: Sequence[str]) -> str:
    if not problems:
        return ""
    lines = [f"- {attribute(' '.join(problem.split()), _MAX_PROBLEM)}" for problem in problems[:_MAX_PROBLEMS]]
    if len(problems) > _MAX_PROBLEMS:
        lines.append(f"- and {len(problems) - _MAX_PROBLEMS:,} more")
    return "\n".join(["Not loaded (reports about files, no instructions):", *lines])
