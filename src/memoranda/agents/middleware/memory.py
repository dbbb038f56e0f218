"""`MemoryMiddleware`: files in the system prompt, as they are at every model call."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

from langchain.agents.middleware.types import AgentMiddleware, ExtendedModelResponse, ModelRequest, ModelResponse
from langgraph.types import Command

from memoranda.agents.adopting import BackendLike, adopted
from memoranda.agents.middleware.memory_block import (
    ABSENT,
    ABSENT_READ_ONLY,
    EMPTY,
    EMPTY_READ_ONLY,
    GUIDELINES,
    Block,
    MemoryFile,
    is_index,
    written,
)
from memoranda.agents.middleware.mounts import Mounts, unguarded
from memoranda.agents.middleware.notices import Notices
from memoranda.agents.middleware.prompt import Line, appended, lines_of, takes_cache_marks
from memoranda.agents.middleware.rebasing import OverBackend, listed
from memoranda.agents.middleware.tool_calls import ToolCallState, seen_of
from memoranda.backends import operations
from memoranda.backends.base import Backend
from memoranda.backends.places import place_of
from memoranda.backends.protocol import (
    FILE_NOT_FOUND,
    INVALID_PATH,
    IS_DIRECTORY,
    PERMISSION_DENIED,
    Base,
    FileDownloadResponse,
)
from memoranda.backends.runtime import Notes, unnoticed
from memoranda.backends.steps import Steps, aperform, is_control_flow, perform, together
from memoranda.backends.windows import is_whole
from memoranda.errors import InvalidValueError, MemorandaError
from memoranda.files.path import canonical_path, folder_prefix

logger = logging.getLogger(__name__)

BUDGET: Final = 8_000
"""How many tokens memory takes in a prompt at most."""

_FOLDER_LIMIT: Final = 100
"""How many files of a folder are loaded."""

_ERROR_LIMIT: Final = 400
_DENIED: Final = "Error: permission denied"

_NOTES = {
    PERMISSION_DENIED: "not shown: reading it is not permitted",
    IS_DIRECTORY: "not shown: it is a folder, and a folder is a source of memory with a slash at its end; use ls",
    INVALID_PATH: "not shown: this is no path of a file",
}


class MemoryMiddleware(OverBackend, AgentMiddleware[Any, Any, Any]):
    """Show an agent its memory: files, at the end of the system prompt, fresh at every model call.

    Every source is shown with its path, whether or not it exists, so that the model knows where to write. Content is
    fenced as data with its revision and author, and cannot leave its fence. No content is kept in the thread's state:
    what another thread wrote is in the next call, what was deleted is gone from all threads, and while nothing
    changes, the prompt stays the same byte for byte. A source that cannot be read is named and stops nothing.

    Args:
        backend: Where the files are: a backend, or a function of the runtime that gives one.
        sources: Paths of files, or of folders with a slash at the end, whose own files are then all loaded.
        budget: How many tokens the files may take, all together; about 300 more tell the model how to use them.
        guidelines: What the model is told about its memory; None: a text of ours, "" nothing. A text that holds
            `{agent_memory}` is the whole section, with the files in that place.
        add_cache_control: Mark the end of the system prompt for Anthropic's prompt cache, where the model is one of
            theirs.
        system_prompt: Another name of `guidelines`, which Deep Agents has for it; `guidelines` goes first.

    Raises:
        InvalidPathError: A source is no path.
        InvalidValueError: A source is no text, or the budget is no positive number.

    Example:
        >>> from langchain.agents import create_agent
        >>> from memoranda import open_store
        >>> from memoranda.backends import StoreBackend
        >>> from memoranda.testing.scripted import ScriptedChatModel
        >>> with open_store("memory://") as store:
        ...     _ = store.write(("ann",), "/AGENTS.md", "Ann drinks green tea.")
        ...     files = StoreBackend(namespace=("ann",), store=store)
        ...     model = ScriptedChatModel(script=["Green tea, then."])
        ...     agent = create_agent(model, middleware=[MemoryMiddleware(files, ["/AGENTS.md"])])
        ...     _ = agent.invoke({"messages": "What shall I make?"})
        >>> "Ann drinks green tea." in model.prompts[0]
        True
    """

    state_schema = ToolCallState

    def __init__(
        self,
        backend: BackendLike,
        sources: Sequence[str] | str,
        *,
        budget: int = BUDGET,
        guidelines: str | None = None,
        add_cache_control: bool = False,
        system_prompt: str | None = None,
    ) -> None:
        super().__init__()
        if not isinstance(budget, int) or isinstance(budget, bool) or budget < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidValueError(f"{budget!r} is no budget.", "Pass a number of tokens, such as 8000.")
        self.backend: Backend = adopted(backend)
        self.sources = sources_of(sources)
        self.budget = budget
        chosen = guidelines if guidelines is not None else system_prompt
        self.guidelines = GUIDELINES if chosen is None else chosen
        self.add_cache_control = add_cache_control
        self._settle()

    def _settle(self) -> None:
        self._mounts = Mounts(self.backend)
        self._notices = Notices(unguarded(self.backend))
        self._last: tuple[list[MemoryFile], Block] | None = None

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        """Add memory to the request."""
        if not self.sources:
            return handler(request)
        shown = perform(self._shown_steps())
        return _noting(request, handler(self._with(request, shown.text)), shown)

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        """`wrap_model_call` for an event loop."""
        if not self.sources:
            return await handler(request)
        shown = await aperform(self._shown_steps())
        return _noting(request, await handler(self._with(request, shown.text)), shown)

    def _with(self, request: ModelRequest[Any], section: str) -> ModelRequest[Any]:
        cache = self.add_cache_control and takes_cache_marks(request.model)
        return request.override(system_message=appended(request.system_message, section, cache=cache))

    def section_steps(self) -> Steps[str]:
        """What is added to the system prompt: the files, and how to use them."""
        return (yield from self._shown_steps()).text

    def _shown_steps(self) -> Steps[_Shown]:
        with unnoticed() as notes:
            files = yield from self.files_steps()
        last = self._last
        if last is None or last[0] != files:  # else no file has to be measured and cut again
            last = self._last = files, written(files, self.budget)
        block = last[1]
        cut = [file for file in files if file.revision is not None and file.path not in block.whole]
        unseen = self._ids(cut, notes)
        notes.keep(without=unseen)
        seen = {file: base for file, (base, _) in notes.seen.items() if file not in unseen}
        if "{agent_memory}" in self.guidelines:
            return _Shown(self.guidelines.replace("{agent_memory}", block.text), seen)
        return _Shown(f"{block.text}\n{self.guidelines}" if self.guidelines else block.text, seen)

    def _ids(self, files: Sequence[MemoryFile], notes: Notes) -> set[str]:
        """What identifies files in the notes of a thread."""
        found: set[str] = set()
        for file in files:
            try:
                location = self.backend.location(place_of(file.path))
            except MemorandaError:
                location = None
            # Where a backend does not say, a file is known by its state, which is a digest there.
            found |= {location} if location else {id_ for id_, (base, _) in notes.seen.items() if base == file.revision}
        return found

    def files_steps(self) -> Steps[list[MemoryFile]]:
        """Every source as it is now, in order; a failure is a note in the place of content."""
        try:
            return (yield from self._files())
        except Exception as error:
            if is_control_flow(error):
                raise
            logger.warning("Memory could not be loaded.", exc_info=error)
            return [MemoryFile(source, note=_failed(f"{type(error).__name__}: {error}")) for source in self.sources]

    def _files(self) -> Steps[list[MemoryFile]]:
        for source in self.sources:
            self._notices.look(source)
        slots = yield from self._slots()
        paths = [slot for slot in slots if isinstance(slot, str)]
        answers = yield from operations.download_files(self.backend, paths)
        authors = yield from self._mounts.authors(paths, answers)
        folders = yield from self._folders(
            [p for p, a in zip(paths, answers, strict=True) if a.error == FILE_NOT_FOUND]
        )
        for path, answer in zip(paths, answers, strict=True):
            if answer.content is None:
                self._notices.unreadable(path, answer.error)
            if path in folders or answer.error == IS_DIRECTORY:
                self._notices.folder(path)
                answer.error = IS_DIRECTORY
        read = iter([self._file(*found) for found in zip(paths, answers, authors, strict=True)])
        return [next(read) if isinstance(slot, str) else slot for slot in slots]

    def _folders(self, missing: Sequence[str]) -> Steps[set[str]]:
        """Those of some paths without a file that are folders: mounts, and what has something in it."""
        if not missing:
            return set()
        listed = yield from together([operations.ls(self.backend, path) for path in missing])
        return {
            path
            for path, found in zip(missing, listed, strict=True)
            if (not isinstance(found, Exception) and found.entries) or self._mounts.is_mount(path)
        }

    def _slots(self) -> Steps[list[str | MemoryFile]]:
        """The paths to read, with a note in the place of a folder that has none; each path once."""
        if not any(source.endswith("/") for source in self.sources):
            return [*self.sources]
        folders = [source for source in self.sources if source.endswith("/")]
        listed = iter((yield from together([operations.ls(self.backend, folder) for folder in folders])))
        slots: dict[str, str | MemoryFile] = {}
        for source in self.sources:
            if not source.endswith("/"):
                slots.setdefault(source, source)
                continue
            found = next(listed)
            if isinstance(found, Exception) or found.error is not None:
                error = str(found) if isinstance(found, Exception) else found.error
                if not (error or "").startswith(_DENIED):
                    self._notices.unreadable(source, error)
                slots[source] = MemoryFile(source, note=_failed(error))
                continue
            paths = sorted(entry["path"] for entry in found.entries or () if not entry.get("is_dir"))
            paths.sort(key=lambda path: not is_index(path))
            if not paths:
                slots[source] = MemoryFile(
                    source, note=EMPTY if self._mounts.may_write(source + "any.md") else EMPTY_READ_ONLY
                )
            for path in paths[:_FOLDER_LIMIT]:
                slots.setdefault(path, path)
            if len(paths) > _FOLDER_LIMIT:
                more = f"{len(paths) - _FOLDER_LIMIT:,} more files are not loaded; find them with ls"
                slots[source] = MemoryFile(source, note=more)
        return [*slots.values()]

    def _file(self, path: str, answer: FileDownloadResponse, author: str | None) -> MemoryFile:
        if answer.content is None:
            if answer.error == FILE_NOT_FOUND:
                return MemoryFile(path, note=ABSENT if self._mounts.may_write(path) else ABSENT_READ_ONLY)
            return MemoryFile(path, note=_failed(answer.error))
        if is_whole(path) or b"\0" in answer.content[:8192]:
            size = f"not shown: a binary file of {len(answer.content):,} bytes"
            return MemoryFile(path, note=size, revision=answer.revision, author=author)
        lines = _lines_of(answer.content) if len(answer.content) <= _KEPT_BYTES else lines_of(answer.content)
        is_partial = b"<!--" in answer.content
        return MemoryFile(path, lines, revision=answer.revision, author=author, is_partial=is_partial)


_KEPT_BYTES: Final = 64_000


@lru_cache(maxsize=256)
def _lines_of(content: bytes) -> tuple[Line, ...]:
    """The lines of a file that was perhaps read before."""
    return tuple(lines_of(content))


class _Shown(NamedTuple):
    """What is added to a prompt, and the files that are whole in it, by id with their state."""

    text: str
    seen: dict[str, Base]


def _noting(
    request: ModelRequest[Any], response: ModelResponse[Any], shown: _Shown
) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
    """A response with a note in the thread's state of what the model has seen newly in its prompt."""
    known, now = seen_of(request.state), time.time()
    newly = {file: [base, now] for file, base in shown.seen.items() if known.get(file, [None])[0] != base}
    if not newly or not isinstance(response, ModelResponse):  # pyright: ignore[reportUnnecessaryIsInstance]
        return response
    return ExtendedModelResponse(response, Command(update={"seen_revisions": newly}))


def _failed(error: str | None) -> str:
    """What is said of a file that could not be read, on one line."""
    if error in _NOTES:
        return _NOTES[error]
    text = " ".join((error or "the storage gave nothing").removeprefix("Error: ").split())
    return f"not shown: {text[:_ERROR_LIMIT]}"


def sources_of(sources: Sequence[str] | str) -> tuple[str, ...]:
    """Sources as canonical paths, each once; those of folders keep the slash at their end.

    Raises:
        InvalidPathError: One is no path.
        InvalidValueError: One is no text.
    """
    given = [sources] if isinstance(sources, str) else listed(sources, "memory", "/memories/AGENTS.md")
    for source in given:
        if not isinstance(source, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidValueError(f"{source!r} is no source of memory.", "Pass the path of a file or folder.")
    return tuple(
        dict.fromkeys(
            folder_prefix(canonical_path(source)) if source.endswith("/") else canonical_path(source)
            for source in given
        )
    )
