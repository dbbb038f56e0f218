"""The tools of the ready-made agent: the staged files, each change with the turns that it comes from."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

from langchain_core.tools import BaseTool, StructuredTool, ToolException
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictStr, ValidationError
from pydantic.v1 import ValidationError as OldValidationError

from memoranda.agents.reading import shown_read, shows_whole
from memoranda.backends.base import Backend
from memoranda.backends.hooks.secrets import Secret, find_secrets
from memoranda.backends.protocol import SEEN, ChangeResult
from memoranda.backends.steps import Steps, aperform, ask, perform
from memoranda.consolidation.agent.accepted import objection, strange_character
from memoranda.consolidation.agent.current import current
from memoranda.consolidation.errors import UnknownTurnError
from memoranda.errors import InvalidPathError
from memoranda.files.format import FileData
from memoranda.files.path import canonical_path

if TYPE_CHECKING:
    from memoranda.consolidation.task import Task
    from memoranda.store.turns import RecordedTurn

TOKEN_LIMIT: Final = 8_000
"""How many tokens a tool's answer may have."""

READ_LIMIT: Final = 500
CHANGING_TOOLS: Final = ("write_file", "edit_file", "delete_file", "move_file")

_MOST_FOUND: Final = 20
_MOST_NAMED: Final = 12
_MOST_LINES: Final = 10_000_000


@dataclass(slots=True)
class Work:
    """What a run has done so far.

    Args:
        task: The task.
        whole: The files that the model was shown in whole.
        summary: What the accepted `finish` said; None: not finished.
        turn: Whose turn it is among the calls of one message.
        aturn: The same on an event loop.
    """

    task: Task
    whole: set[str] = field(default_factory=set[str])
    summary: str | None = None
    turn: Lock = field(default_factory=Lock)
    aturn: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def files(self) -> Backend:
        """The staged files."""
        return self.task.files

    @property
    def log(self) -> frozenset[str]:
        """The folders that agents note events in: what is noted is marked, and not rewritten."""
        return frozenset(event.path.rpartition("/")[0] + "/" for event in self.task.events)

    @property
    def turns_there(self) -> str:
        """How the turns of the task are called, for the model."""
        labels = [*self.task.labels]
        if not labels:
            return "there is none: pass []"
        few = labels if len(labels) <= _MOST_NAMED else [*labels[:2], "…", labels[-1]]
        there = f"there are {', '.join(few)}" if len(labels) > 1 else f"there is {labels[0]}"
        return f"{there}; what comes from a note alone names none: pass []" if self.task.events else there

    # --- reading --------------------------------------------------------------------------------------------

    def ls(self, path: str = "/") -> Steps[str]:
        """List a folder."""
        result = yield from ask(self.files.ls, path)
        _check(result.error)
        return "\n".join(entry["path"] for entry in result.entries or ()) or f"Nothing is in {path}."

    def read_file(self, path: str, offset: int = 0, limit: int = READ_LIMIT) -> Steps[str]:
        """Read a window of a file, and note whether that was all of it."""
        result = yield from ask(self.files.read, path, offset, limit)
        _check(result.error)
        if result.file_data is not None and result.file_data["encoding"] != "utf-8":
            raise ToolException(f"Error: {path} is a binary file, which cannot be read here.")
        if offset == 0 and result.next_offset is None and shows_whole(result, TOKEN_LIMIT):
            self.whole.add(path)
        return str(shown_read(result, path, limit, "", TOKEN_LIMIT))

    def search_files(self, query: str) -> Steps[str]:
        """Find passages."""
        result = yield from ask(self.files.search, query, None, k=_MOST_FOUND)
        _check(result.error)
        found = [f"{match.place}: {match.text.strip()}" for match in result.matches or ()]
        return "\n".join(found) or "Nothing answers that."

    # --- changing -------------------------------------------------------------------------------------------

    def write_file(self, path: str, content: str, turns: list[str]) -> Steps[str]:
        """Set a file that is new, or that the model has seen in whole."""
        self._accept(path, content)
        sources = self._sources(turns, path)
        if path not in self.whole:
            there = yield from ask(self.files.read, path, 0, 1)
            if there.error is None:
                raise ToolException(
                    f"Error: {path} exists, and you have not seen all of it. Read it first, or use edit_file."
                )
        with self.task.because(*sources):
            result = yield from ask(self.files.write, path, content, base=SEEN)
        said = _changed(result, f"Wrote {path}.")
        self.whole.add(path)
        return said

    def edit_file(
        self, path: str, old_string: str, new_string: str, turns: list[str], replace_all: bool = False
    ) -> Steps[str]:
        """Change a part of a file."""
        self._accept(path, new_string, is_whole=False)
        sources = self._sources(turns, path)
        with self.task.because(*sources):
            result = yield from ask(self.files.edit, path, old_string, new_string, replace_all)
        return _changed(result, f"Changed {path}.")

    def delete_file(self, path: str, turns: list[str]) -> Steps[str]:
        """Delete one file."""
        sources = self._sources(turns, path)
        # A folder's path deletes everything below it: an agent that tends memory names each file.
        there = yield from ask(self.files.read, path, 0, 1)
        _check(there.error)
        with self.task.because(*sources):
            result = yield from ask(self.files.delete, path)
        self.whole.discard(path)
        return _changed(result, f"Deleted {path}.")

    def move_file(self, path: str, to: str, turns: list[str]) -> Steps[str]:
        """Move one file."""
        sources = self._sources(turns, path, to)
        with self.task.because(*sources):
            result = yield from ask(self.files.move, path, to)
        said = _changed(result, f"Moved {path} to {to}.")
        if path in self.whole:
            self.whole.discard(path)
            self.whole.add(to)
        return said

    # --- the end --------------------------------------------------------------------------------------------

    def finish(self, summary: str) -> Steps[str]:
        """Take the summary; whether the run is finished shows once its sibling calls have been answered."""
        text = " ".join(summary.split())
        if not text:
            raise ToolException("Error: say in one sentence what changed, or that nothing had to.")
        self._accept("/summary.txt", text)
        for file in self.task.files.pending().files:  # what was put together of pieces is seen as a whole here alone
            if len(found := _secrets_in(file.after)) > len(_secrets_in(file.before)):
                raise ToolException(
                    f"Error: line {found[-1].line} of {file.place.shown} holds a secret ({found[-1].name}) by now. "
                    "Take it out: no secret is remembered."
                )
        return text
        yield  # pragma: no cover - makes this a generator

    # --- what is checked ------------------------------------------------------------------------------------

    def _accept(self, path: str, text: str, *, is_whole: bool = True) -> None:
        if (wrong := objection(path, text, is_whole=is_whole)) is not None:
            raise ToolException(f"Error: {wrong}")

    def _sources(self, turns: list[str], *paths: str) -> list[RecordedTurn]:
        """The turns that a change of some files comes from."""
        for path in paths:
            if in_folders(path, self.log):
                raise ToolException(f"Error: {path} is in the log of events, which stays as it is. Keep other files.")
            if strange := strange_character(path):
                raise ToolException(f"Error: the path holds {strange}. Write a plain one.")
            if secrets := find_secrets(path):
                raise ToolException(f"Error: the path holds a secret ({secrets[0].name}). Write another one.")
        if not turns and self.task.labels and not self.task.events:
            raise ToolException(f"Error: the change names no turn. Pass those that it comes from; {self.turns_there}.")
        try:
            # The model knows labels alone; an id, which may come from anywhere, must not pass for one.
            return [self.task.labels.get(turn.strip("[] ")) or self.task.turn(turn) for turn in turns]
        except UnknownTurnError as error:
            raise ToolException(f"Error: {error}") from error


def _secrets_in(data: FileData | None) -> list[Secret]:
    return [] if data is None or data["encoding"] != "utf-8" else find_secrets(data["content"])


def in_folders(path: str, folders: frozenset[str]) -> bool:
    """Whether a path, however it is written, lies below one of some folders."""
    try:
        return bool(folders) and canonical_path(path).startswith(tuple(folders))
    except InvalidPathError:  # which the backend refuses
        return False


def _check(error: str | None) -> None:
    """Answer with an error, if there is one.

    Raises:
        ToolException: With the error; the tool makes a message of it.
    """
    if error is not None:
        raise ToolException(error if error.startswith("Error") else f"Error: {error}")


def _changed(result: ChangeResult, done: str) -> str:
    _check(result.error)
    return "The file holds this already; nothing was changed." if result.unchanged else done


# --- what a model is told about the tools ---------------------------------------------------------------------


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid")


_Path = Annotated[StrictStr, Field(description="Absolute path of the file, such as /people/ann.md.")]
_Turns = Annotated[
    list[StrictStr], Field(description='The ids of the turns that this comes from, such as ["t3", "t5"]; at least one.')
]


class _Ls(_Arguments):
    path: StrictStr = Field("/", description="Absolute path of the folder.")


class _ReadFile(_Arguments):
    path: _Path
    offset: int = Field(0, ge=0, le=_MOST_LINES, description="How many lines to skip.")
    limit: int = Field(READ_LIMIT, gt=0, le=_MOST_LINES, description="At most so many lines.")


class _SearchFiles(_Arguments):
    query: StrictStr = Field(min_length=1, description="Words, or a question.")


class _WriteFile(_Arguments):
    path: _Path
    content: StrictStr = Field(description="The whole text of the file.")
    turns: _Turns


class _EditFile(_Arguments):
    path: _Path
    old_string: StrictStr = Field(min_length=1, description="The exact text to replace; unique unless replace_all.")
    new_string: StrictStr = Field(description="The text to put there; empty: the old one goes.")
    turns: _Turns
    replace_all: StrictBool = Field(False, description="Replace every occurrence.")


class _DeleteFile(_Arguments):
    path: _Path
    turns: _Turns


class _MoveFile(_Arguments):
    path: _Path
    to: StrictStr = Field(description="Its new absolute path; nothing may be there.")
    turns: _Turns


class _Finish(_Arguments):
    summary: StrictStr = Field(max_length=2_000, description="One sentence: what changed, or that nothing had to.")


class _Offer(NamedTuple):
    """What a tool is to a model."""

    schema: type[BaseModel]
    description: str


_OFFERS: Final[dict[str, _Offer]] = {
    "ls": _Offer(_Ls, "List the files and folders directly in a folder; folders end with a slash."),
    "read_file": _Offer(_ReadFile, "Read a file, or a window of a long one."),
    "search_files": _Offer(_SearchFiles, "Find passages in the files by their words, and their meaning if possible."),
    "write_file": _Offer(_WriteFile, "Create a file, or replace the whole text of one that was shown to you in whole."),
    "edit_file": _Offer(_EditFile, "Replace an exact text in a file. Fails if the text is not there."),
    "delete_file": _Offer(_DeleteFile, "Delete a file that is outdated as a whole."),
    "move_file": _Offer(_MoveFile, "Give a file another path."),
    "finish": _Offer(_Finish, "End the work. Nothing that you changed is kept without it."),
}

TOOLS: Final = tuple(_OFFERS)
"""The names of the agent's tools."""


def work_tools() -> list[BaseTool]:
    """The tools over whichever run calls them; calls of one message are made one after the other, in its order."""
    return [_tool(name) for name in TOOLS]


def _tool(name: str) -> BaseTool:
    def run(**arguments: Any) -> str:
        work = current().work
        with work.turn:
            return perform(getattr(work, name)(**arguments))

    async def arun(**arguments: Any) -> str:
        work = current().work
        async with work.aturn:
            return await aperform(getattr(work, name)(**arguments))

    offer = _OFFERS[name]
    return StructuredTool.from_function(
        func=run,
        coroutine=arun,
        name=name,
        description=offer.description,
        args_schema=offer.schema,
        infer_schema=False,
        handle_tool_error=True,
        handle_validation_error=_wrong_arguments,
    )


def _wrong_arguments(error: ValidationError | OldValidationError) -> str:
    wrong = "; ".join(
        f"{'.'.join(str(part) for part in found['loc']) or 'arguments'}: {found['msg']}" for found in error.errors()[:5]
    )
    return f"Error: the arguments do not fit. {wrong}. Call the tool again with the right ones."
