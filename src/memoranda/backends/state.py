"""`StateBackend`: files that live in the state of one thread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, cast

from memoranda.backends.finding.in_memory import findable_files
from memoranda.backends.finding.parts import Findable, Question
from memoranda.backends.places import Place
from memoranda.backends.plans import Plan, Planner, R, Unreadable
from memoranda.backends.protocol import GlobResult, GrepResult, LsResult
from memoranda.backends.runtime import current_config
from memoranda.backends.steps import Steps, done
from memoranda.backends.tree import Search, glob_files, grep_files, list_folder
from memoranda.backends.unversioned import UnversionedFiles
from memoranda.errors import InvalidPathError, InvalidValueError, MemorandaError
from memoranda.files.format import FileData, read_file_data
from memoranda.files.path import canonical_path

_CHANNEL = "files"
_READ, _SEND = "__pregel_read", "__pregel_send"
"""Where LangGraph gives a task its view of the state, and takes the task's writes."""


class OutsideGraphError(MemorandaError, RuntimeError):
    """A `StateBackend` was used where no graph runs, or in one without a state channel for files."""


class StateBackend(UnversionedFiles):
    """Files of one thread, in its state under the key `files`; gone for every other thread.

    They come and go with the checkpoints of the thread. Outside a graph there is no state, so every method answers
    with an error; give files to a run with `invoke({"messages": […], "files": {…}})`.

    Where the reducer of the channel can merge (ours can, see `merge_file_states`), two branches that change one file
    side by side both land; under Deep Agents' own reducer the later one wins.

    Args:
        runtime: In the older style, the runtime that a backend factory was called with.

    Example:
        >>> StateBackend().read("/notes.md").error
        'Error: A StateBackend works inside a running graph only. Pass files to invoke({"files": {…}}) to begin with.'
    """

    keeps_seen_with_state = True

    def __init__(self, runtime: Any = None) -> None:
        self._runtime = runtime

    def __repr__(self) -> str:
        return "StateBackend()"

    def is_lasting(self, place: Place) -> bool:
        return False

    def scope_key(self) -> str:
        return "state"

    def file_id(self, path: str) -> str:
        # A subgraph has a state of its own; the last part of its name is the step that runs in it.
        config = current_config()
        configurable: Mapping[str, Any] = {} if config is None else config.get("configurable", {})
        graph = str(configurable.get("checkpoint_ns") or "").rpartition("|")[0]
        return f"state|{graph}|{path}"

    # --- reading --------------------------------------------------------------------------------------------

    def ls_steps(self, place: Place) -> Steps[LsResult]:
        return done(LsResult(entries=list_folder(self._files().known, place)))

    def glob_steps(self, place: Place, pattern: str) -> Steps[GlobResult]:
        return done(GlobResult(matches=glob_files(self._files().known, place, pattern)))

    def grep_steps(self, place: Place, pattern: str, glob: str | None, max_count: int | None) -> Steps[GrepResult]:
        return done(grep_files(self._files().known, Search(place, pattern, glob, max_count)))

    def search_steps(self, place: Place, question: Question) -> Steps[Findable]:
        return findable_files(self._files().known, place, question)

    def load_steps(self, places: Sequence[Place]) -> Steps[list[FileData | Unreadable | None]]:
        files = self._files()
        return done([_broken(place) if place.path in files.broken else files.known.get(place.path) for place in places])

    # --- changing -------------------------------------------------------------------------------------------

    def change_steps(self, alone: Sequence[Place], planner: Planner[R], below: Sequence[Place] = ()) -> Steps[Plan[R]]:
        files = self._files()
        plan = planner(files.known)
        if plan.updates:
            merges = files.merges
            update: dict[str, Any] = {}
            for path, data in plan.updates.items():
                entry: dict[str, Any] | None = None if data is None else {**data}
                if entry is not None and merges and path not in plan.overwrites:
                    entry["base"] = files.known.get(path)
                update[files.keys.get(path, path)] = entry
            _configurable(self._runtime)[_SEND]([(_CHANNEL, update)])
        return done(plan)

    def _files(self) -> _StateFiles:
        read = _configurable(self._runtime)[_READ]
        try:
            held: Mapping[str, Any] | None = read(_CHANNEL, True)  # True: with what this task has written already
        except KeyError:
            raise OutsideGraphError(
                "This graph keeps no files in its state.",
                "Add FilesMiddleware to the agent, or a state key `files` with a reducer that merges dicts.",
            ) from None
        return _state_files(held or {}, _merges(read))


class _StateFiles(NamedTuple):
    """The files of a state by their canonical paths."""

    known: dict[str, FileData]
    broken: set[str]
    keys: dict[str, str]
    merges: bool


def _state_files(held: Mapping[str, Any], merges: bool) -> _StateFiles:
    files = _StateFiles({}, set(), {}, merges)
    for key, value in held.items():
        try:
            path = canonical_path(key)
        except InvalidPathError:
            continue
        if path != key:  # whoever passed files to `invoke` may have left out the slash
            if path in held:
                continue
            files.keys[path] = key
        try:
            files.known[path] = read_file_data({"content": value} if isinstance(value, str) else value, lenient=True)
        except (InvalidValueError, AttributeError):
            files.broken.add(path)
    return files


def _broken(place: Place) -> Unreadable:
    return Unreadable(f"Error: what the state holds at {place.shown} is no file. Write it anew.")


def _configurable(runtime: Any) -> Mapping[str, Any]:
    for config in (current_config(), getattr(runtime, "config", None)):
        configurable: Any = (config or {}).get("configurable") or {}
        if _READ in configurable and _SEND in configurable:
            return cast("Mapping[str, Any]", configurable)
    raise OutsideGraphError(
        "A StateBackend works inside a running graph only.",
        'Pass files to invoke({"files": {…}}) to begin with.',
    )


def _merges(read: Any) -> bool:
    """Whether the channel's reducer takes a file with its `base`; where that cannot be told, it gets plain files."""
    for held in getattr(read, "args", ()):
        channel: Any = cast("Mapping[str, Any]", held).get(_CHANNEL) if isinstance(held, Mapping) else None
        if channel is None:
            continue
        batches = hasattr(channel, "reducer")
        reducer = getattr(channel, "reducer", None) or getattr(channel, "operator", None)
        return reducer is not None and _takes_base(reducer, batches)
    return False


@lru_cache(maxsize=64)
def _takes_base(reducer: Any, batches: bool) -> bool:
    probe = {"/a": {"content": "", "encoding": "utf-8", "base": None}}
    try:
        found = reducer({}, [probe] if batches else probe)
        return "base" not in found["/a"]
    except Exception:  # noqa: BLE001 - a reducer for something else altogether
        return False
