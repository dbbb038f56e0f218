"""The file tools of an agent, over one backend; names and arguments are Deep Agents'."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, NamedTuple, TypeAlias

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, InjectedToolCallId, StructuredTool, ToolException
from pydantic import BaseModel, Field

from memoranda.agents.budget import beginning
from memoranda.agents.errors import UnknownToolError
from memoranda.agents.reading import shown_read, shows_whole
from memoranda.backends.base import Backend
from memoranda.backends.protocol import SEEN, ChangeResult
from memoranda.backends.runtime import unnoticed
from memoranda.backends.steps import Steps, aperform, ask, perform

TOKEN_LIMIT: Final = 20_000
"""How many tokens a tool's result may have."""

READ_LIMIT: Final = 1_000
"""How many lines `read_file` shows unless told otherwise."""

_GREP_LINES = 1_000

Answer: TypeAlias = str | ToolMessage
OutputMode: TypeAlias = Literal["files_with_matches", "content", "count"]


@dataclass(frozen=True, slots=True)
class _Files:
    """The operations behind the tools; each gives what the model is told."""

    backend: Backend
    token_limit: int

    def ls(self, path: str = "/") -> Steps[Answer]:
        result = yield from ask(self.backend.ls, path)
        _check(result.error)
        lines = [entry["path"] for entry in result.entries or ()]
        return self._listed(lines, result.warnings, f"Nothing is in {path}.", "List a folder below, or use glob.")

    def read_file(
        self, file_path: str, offset: int = 0, limit: int = READ_LIMIT, tool_call_id: str = ""
    ) -> Steps[Answer]:
        with unnoticed() as notes:
            result = yield from ask(self.backend.read, file_path, offset, limit)
        _check(result.error)
        answer = shown_read(result, file_path, limit, tool_call_id, self.token_limit)
        if shows_whole(result, self.token_limit):
            notes.keep()
        return answer

    def write_file(self, file_path: str, content: str) -> Steps[Answer]:
        result = yield from ask(self.backend.write, file_path, content, base=SEEN)
        return _changed(result, f"Wrote {result.path}")

    def edit_file(self, file_path: str, old_string: str, new_string: str, replace_all: bool = False) -> Steps[Answer]:
        result = yield from ask(self.backend.edit, file_path, old_string, new_string, replace_all)
        places = "1 place" if result.occurrences == 1 else f"{result.occurrences} places"
        return _changed(result, f"Changed {places} in {result.path}")

    def delete(self, file_path: str) -> Steps[Answer]:
        result = yield from ask(self.backend.delete, file_path)
        more = f" ({len(result.paths)} files)" if len(result.paths) > 1 else ""
        return _changed(result, f"Deleted {result.path}{more}", with_revision=False)

    def move(self, file_path: str, to: str, overwrite: bool = False) -> Steps[Answer]:
        result = yield from ask(self.backend.move, file_path, to, overwrite=overwrite)
        more = f" ({len(result.paths)} files)" if len(result.paths) > 1 else ""
        return _changed(result, f"Moved {file_path} to {result.path}{more}", with_revision=False)

    def glob(self, pattern: str, path: str | None = None) -> Steps[Answer]:
        result = yield from ask(self.backend.glob, pattern, path)
        _check(result.error)
        lines = [entry["path"] for entry in result.matches or ()]
        warnings = (*result.warnings, *(("Some files may be missing from this list.",) if result.truncated else ()))
        return self._listed(lines, warnings, "No file matches.", "Narrow the pattern, or pass path.")

    def grep(
        self,
        pattern: str,
        path: str | None = None,
        glob: str | None = None,
        output_mode: OutputMode = "files_with_matches",
        max_count: int | None = None,
    ) -> Steps[Answer]:
        result = yield from ask(self.backend.grep, pattern, path, glob, max_count=max_count or _GREP_LINES)
        _check(result.error)
        matches = result.matches or []
        counts: dict[str, int] = {}
        for match in matches:
            counts[match["path"]] = counts.get(match["path"], 0) + 1
        if output_mode == "content":
            lines = [f"{match['path']}:{match['line']}: {match['text']}" for match in matches]
        elif output_mode == "count":
            lines = [f"{file}: {count}" for file, count in counts.items()]
        else:
            lines = list(counts)
        warnings = result.warnings
        if result.truncated:
            warnings = (*warnings, f"Only the first {len(matches):,} matching lines were looked at; there are more.")
        return self._listed(lines, warnings, "No line matches.", "Narrow it with path, glob or max_count.")

    def _listed(self, lines: list[str], warnings: Iterable[str], empty: str, remedy: str) -> str:
        """Lines within the budget, with what is wrong with them below."""
        text = "\n".join(lines) or empty
        fitting = beginning(text, self.token_limit)
        notes = [*warnings]
        if not fitting.is_whole:
            text = fitting.text.rstrip("\n")
            notes.append(f"{len(lines) - fitting.lines:,} more lines do not fit. {remedy}")
        return "\n".join([text, *(f"[{note}]" for note in notes)])


def _check(error: str | None) -> None:
    """Answer with an error, if there is one.

    Raises:
        ToolException: With the error; the tool makes a message of it.
    """
    if error is not None:
        raise ToolException(error if error.startswith("Error") else f"Error: {error}")


def _changed(result: ChangeResult, done: str, *, with_revision: bool = True) -> str:
    if result.error is not None and (result.approval is not None or result.proposal is not None):
        return result.error  # it waits, which is no mistake of the model's
    _check(result.error)
    if result.unchanged:
        at = f" (revision {result.revision})" if isinstance(result.revision, int) else ""
        return f"{result.path} already holds this{at}; nothing was changed."
    if result.merged:
        return (
            f"{done}, merged with what others had changed there meanwhile (now revision {result.revision}). "
            "Read it again before you rely on its whole text."
        )
    return f"{done} (revision {result.revision})." if with_revision and isinstance(result.revision, int) else f"{done}."


# --- what a model is told about the tools ---------------------------------------------------------------------

_FilePath = Annotated[str, Field(description="Absolute path of the file.")]


class _Ls(BaseModel):
    path: str = Field("/", description="Absolute path of the folder.")


class _ReadFile(BaseModel):
    file_path: _FilePath
    offset: int = Field(0, description="How many lines to skip.")
    limit: int = Field(READ_LIMIT, description="At most so many lines.")
    tool_call_id: Annotated[str, InjectedToolCallId] = ""


class _WriteFile(BaseModel):
    file_path: _FilePath
    content: str = Field(description="The whole text of the file.")


class _EditFile(BaseModel):
    file_path: _FilePath
    old_string: str = Field(description="The exact text to replace, whitespace included; unique unless replace_all.")
    new_string: str = Field(description="The text to put there.")
    replace_all: bool = Field(False, description="Replace every occurrence.")


class _Delete(BaseModel):
    file_path: str = Field(description="Absolute path of the file or folder.")


class _Move(BaseModel):
    file_path: str = Field(description="Absolute path of the file or folder.")
    to: str = Field(description="Its new absolute path.")
    overwrite: bool = Field(False, description="Replace a file that is there already.")


class _Glob(BaseModel):
    pattern: str = Field(description="For example *.md, notes/**/*.md or *.{txt,md}; leading dots must be written out.")
    path: str | None = Field(None, description="The folder to look in; everything if left out.")


class _Grep(BaseModel):
    pattern: str = Field(description="The literal text to find; no regular expression.")
    path: str | None = Field(None, description="The file or folder to look in; everything if left out.")
    glob: str | None = Field(None, description="Only files that match this pattern, such as *.md.")
    output_mode: OutputMode = Field(
        "files_with_matches", description="files_with_matches: paths; content: matching lines; count: lines per file."
    )
    max_count: int | None = Field(None, gt=0, description="Stop after so many matching lines.")


class _Offer(NamedTuple):
    """What a tool is to a model."""

    schema: type[BaseModel]
    description: str


_OFFERS: dict[str, _Offer] = {
    "ls": _Offer(_Ls, "List the files and folders directly in a folder; folders end with a slash."),
    "read_file": _Offer(
        _ReadFile,
        "Read a file. Text comes verbatim below a header with the range of lines shown and the offset that reads on; "
        "pictures, sound, film and PDF come as such. An empty file is said to be empty.",
    ),
    "write_file": _Offer(
        _WriteFile,
        "Create a file, or replace its whole text. An existing file must have been read first; if somebody changed it "
        "since, both changes are merged, or yours is refused with the current text. For a part of a file, use "
        "edit_file.",
    ),
    "edit_file": _Offer(_EditFile, "Replace an exact text in a file as it is now. Fails if the text is not there."),
    "delete": _Offer(_Delete, "Delete a file, or a folder with everything in it."),
    "move": _Offer(_Move, "Give a file or a folder another path."),
    "glob": _Offer(
        _Glob,
        "Find files by name, the last changed first. A pattern without a slash matches names at any depth, one with a "
        "slash the path below `path`.",
    ),
    "grep": _Offer(_Grep, "Find a literal text in files, line by line."),
}

FILE_TOOLS: Final = tuple(_OFFERS)
"""The names of all file tools."""

CHANGING_TOOLS: Final = ("write_file", "edit_file", "delete", "move")
"""The names of those that change files."""


def file_tools(
    backend: Backend,
    names: Iterable[str] | None = None,
    *,
    token_limit: int = TOKEN_LIMIT,
    descriptions: Mapping[str, str] | None = None,
) -> list[BaseTool]:
    """The tools by which a model works with the files of a backend.

    Args:
        backend: The backend.
        names: Which tools; None: all of `FILE_TOOLS`.
        token_limit: How many tokens a result may have; longer ones are cut at a line and say how to go on.
        descriptions: What a model is told of a tool, by name, where it should be something else.

    Returns:
        The tools, in the order of `names`.

    Raises:
        UnknownToolError: A name is none of `FILE_TOOLS`.

    Example:
        >>> from memoranda import open_store
        >>> from memoranda.backends import StoreBackend
        >>> with open_store("memory://") as store:
        ...     write, read = file_tools(StoreBackend(namespace=("ann",), store=store), ["write_file", "ls"])
        ...     write.invoke({"file_path": "/tea.md", "content": "green"}), read.invoke({"path": "/"})
        ('Wrote /tea.md (revision 1).', '/tea.md')
    """
    files = _Files(backend, token_limit)
    wanted = list(FILE_TOOLS if names is None else names)
    for name in [*wanted, *(descriptions or ())]:
        if name not in _OFFERS:
            raise UnknownToolError(f"{name!r} is no file tool.", f"There are {', '.join(FILE_TOOLS)}.")
    return [_tool(name, getattr(files, name), (descriptions or {}).get(name)) for name in wanted]


def _tool(name: str, operation: Callable[..., Steps[Answer]], description: str | None) -> BaseTool:
    def run(**arguments: Any) -> Answer:
        return perform(operation(**arguments))

    async def arun(**arguments: Any) -> Answer:
        return await aperform(operation(**arguments))

    offer = _OFFERS[name]
    return StructuredTool.from_function(
        func=run,
        coroutine=arun,
        name=name,
        description=description or offer.description,
        args_schema=offer.schema,
        infer_schema=False,
        handle_tool_error=True,
    )
