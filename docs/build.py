"""Write the reference pages from the docstrings: `python docs/build.py`; `--check` only compares."""

from __future__ import annotations

import argparse
import inspect
import pkgutil
import re
import subprocess
import sys
import textwrap
from collections.abc import Collection
from importlib import import_module
from pathlib import Path
from typing import Any

import memoranda
import memoranda.agents
import memoranda.agents.middleware
import memoranda.backends
import memoranda.backends.hooks
import memoranda.backends.protocol
import memoranda.consolidation
import memoranda.episodes
import memoranda.errors
import memoranda.knowledge
import memoranda.store.companions
import memoranda.store.faces
import memoranda.store.forgetting
import memoranda.store.runs
import memoranda.testing.scripted
import memoranda.transfer
from memoranda.backends.base import PAIRS, Backend

REFERENCE = Path(__file__).resolve().parent / "reference"
_SECTION = re.compile(r"^(Args|Returns|Raises|Example|Attributes):$")
_ENTRY = re.compile(r"^(\*{0,2}[\w.]+): (.*)$")
_GROUPS = {
    "Opening": ["open_store", "aopen_store", "MemoryStore"],
    "Changes": [
        "ChangeSet",
        "Write",
        "Edit",
        "Append",
        "Delete",
        "Move",
        "Restore",
        "CursorMove",
        "Author",
        "acting_as",
    ],
    "What comes of them": ["CommitResult", "Committed", "Conflict", "ConflictError"],
    "What reading gives back": [
        "StoredItem",
        "StoredSearchItem",
        "KeyEntry",
        "GrepResult",
        "GrepMatch",
        "Revision",
        "FeedChange",
        "BlameLine",
        "Proposal",
        "Verification",
        "StoreStats",
    ],
    "What asking gives back": ["Recall", "Hit", "ScoreParts", "IndexStatus", "EmbedderIndex"],
    "Conversations": ["Turn"],
    "Work that is done later": ["Job", "Schedule", "Run", "RunChange", "Unread"],
    "Forgetting": ["Receipt"],
    "Files": ["FileData", "create_file_data"],
}
_EPISODES = {
    "Recording": ["EpisodeRecorder", "Keeping", "mask_secrets", "backfill", "abackfill", "Backfilled"],
    "Searching": ["search_past_conversations"],
    "Conversations": [
        "Turn",
        "RecordedTurns",
        "RecordedTurn",
        "ThreadSummary",
        "FoundEpisodes",
        "Episode",
        "EpisodeHit",
    ],
}


_BACKENDS = {
    "Backends": [
        "StateBackend",
        "StoreBackend",
        "FilesystemBackend",
        "CompositeBackend",
        "GuardedBackend",
        "StagedBackend",
        "BackendOfRuntime",
        "as_backend",
        "Backend",
    ],
    "Whose files": ["by_user", "by_assistant", "by_org", "Scope", "acting_for"],
    "Rules and approval": ["FilesystemPermission", "approved", "SEEN"],
}
_HOOKS = {
    "What a hook is told and answers": [
        "WriteEvent",
        "Allow",
        "Refuse",
        "Replace",
        "Hold",
        "WrittenEvent",
        "Decision",
        "Hook",
        "Observer",
    ],
    "Ready hooks": ["secrets", "size_limit", "write_rate", "quarantine", "on_written"],
}
_CHANGES = ["WriteFile", "EditFile", "AppendFile", "DeleteFile", "MoveFile", "ApprovalRequest"]
_TYPES = {
    "Decision": "`Allow`, `Refuse`, `Replace` or `Hold`.",
    "Hook": "A function of a `WriteEvent` that gives a `Decision`, or None to allow; it may be a coroutine function.",
    "SEEN": "As a base: the state in which this thread last saw the file; a file that it never saw must not exist yet.",
    "by_user": "The `Scope` of the user's own memory: `(user_id,)`.",
    "by_assistant": "The `Scope` of what all users of one agent share: `(assistant_id,)`.",
    "by_org": "The `Scope` of what an organisation shares: `(org_id,)`; read-only for a model unless "
    "`by_org(read_only=False)`.",
}
"""What is said of names that have no docstring of their own at run time."""

_FACES = {"jobs": "Jobs", "schedules": "Schedules", "runs": "Runs"}
"""The parts of a store that have methods of their own."""

_KNOWLEDGE = {
    "A profile": ["Profile", "Patched", "Snapshot", "Misfit"],
    "A collection of facts": ["Collection", "Saved", "Memory", "memory_tools"],
    "Worked examples": ["Examples", "Example"],
    "Instructions that learn": ["Instructions", "Refined"],
    "Asking models": ["Attempt"],
}
_CONSOLIDATION = {
    "Consolidators": ["Consolidator", "ready_made", "from_agent", "Task"],
    "What is read": ["Conversations", "EventLog", "Event", "ScopeOf"],
    "What came of it": ["RunReport", "ScopeStatus"],
    "Looking back": ["sources_of", "asources_of", "undo", "aundo"],
    "Workers": ["Worker"],
}

_BESIDE = {"Receipt": (memoranda.store.forgetting.Removed, memoranda.store.forgetting.Mention)}
"""What something public is made of, though nobody imports it."""

_SIGNATURES = {"ScriptedChatModel": "(script: Sequence = (), profile: dict | None = None)", "Observer": ""}
"""What is written where Python says too much."""

_MORE = {
    "ToolCallMiddleware": "Under an agent with file tools of its own, such as Deep Agents', `ToolCallMiddleware()` "
    "puts the tool call into the history of what its tools change, and keeps with the thread what it has seen, so that "
    "this holds after a restart and apart for each subagent. `FilesMiddleware` and `ApprovalMiddleware` are of this "
    "kind too; several around one call share what they know of it.",
}
"""What is said of a class beside its docstring, for those who use it as it is."""

_AGENTS = {"Building an agent": ["create_deep_agent"], "Looking at its memory": ["memory_summary", "amemory_summary"]}
_ROOMS = {
    "memoranda.agents.middleware.subagents": ["SubagentsMiddleware", "Subagent"],
    "memoranda.agents.middleware.short_term": ["summarization", "trim_messages_before_model", "delete_old_messages"],
}
_TESTING = ["ScriptedChatModel", "say", "call", "calls"]


_WITH_METHODS = (
    *("MemoryStore", "Backend", "StagedBackend", "StoreBackend", "Scope"),
    *("Jobs", "Schedules", "Runs"),
    *("Profile", "Collection", "Examples", "Instructions"),
    *("Consolidator", "Task", "Worker"),
)


class Incomplete(Exception):  # noqa: N818 - nobody catches it
    """A public name has no place on its page."""


def main() -> int:
    """Write or check the pages; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; exit with 1 if a page is out of step")
    check = parser.parse_args().check
    stale = [name for name, text in pages().items() if not _same(REFERENCE / name, text, write=not check)]
    if check and stale:
        print(f"Out of step: {', '.join(stale)}. Run `python docs/build.py`.", file=sys.stderr)
    return 1 if check and stale else 0


def pages() -> dict[str, str]:
    """The pages that come from docstrings, by name."""
    made = {
        "python.md": python_page(),
        "backends.md": backends_page(),
        "agents.md": agents_page(),
        "episodes.md": episodes_page(),
        "knowledge.md": knowledge_page(),
        "consolidation.md": consolidation_page(),
        "errors.md": errors_page(),
    }
    return {name: _formatted(text) for name, text in made.items()}


def _formatted(page: str) -> str:
    """A page whose examples are formatted as all code is, however they stand in their docstrings."""
    settings = REFERENCE.parents[1] / "pyproject.toml"
    asked = [sys.executable, "-m", "ruff", "format", "--config", str(settings), "--stdin-filename", "page.md", "-"]
    return subprocess.run(asked, input=page, capture_output=True, encoding="utf-8", check=True).stdout


def python_page() -> str:
    """Everything that `memoranda` exports."""
    parts = [
        "# Python reference",
        "Everything here is imported from `memoranda`. Each method of `MemoryStore` that touches the database has an "
        "async twin with an `a` in front, made from the same definition. What stands behind an agent's paths is on "
        "[backends](backends.md), agents and their middleware on [agents](agents.md), the recording of conversations "
        "on [episodes](episodes.md). What `index=` takes is in [the guide to embedders](../guides/embedders.md).",
    ]
    parts += _grouped(memoranda, _GROUPS, elsewhere=_AGENTS["Building an agent"])
    parts += [
        "## Jobs, schedules and runs",
        "The attributes `jobs`, `schedules` and `runs` of a store have methods of their own, each with its async twin. "
        "[Consolidators](consolidation.md) and workers are made of them.",
    ]
    for attribute, kind in _FACES.items():
        _, _, *rest = _described(kind, getattr(memoranda.store.faces, kind))  # nobody calls the class
        parts += [f"### `store.{attribute}`", *rest]
    parts += ["## Moving in and out", "Imported from `memoranda.transfer`; see [the guide](../guides/moving.md)."]
    for name in memoranda.transfer.__all__:
        if not name.endswith("Error") and name not in ("Progress", "SourceKind"):
            parts += _described(name, getattr(memoranda.transfer, name))
    parts += ["## Errors", "`MemorandaError` is the root of all; see [errors](errors.md)."]
    return "\n\n".join(parts) + "\n"


def backends_page() -> str:
    """Everything that `memoranda.backends` and `memoranda.backends.hooks` export."""
    parts = [
        "# Backends and hooks",
        "Imported from `memoranda.backends`. See [the guide to backends](../guides/backends.md) and "
        "[the guide to the guard](../guides/guard.md); what can be raised where a backend is set up is in "
        "[errors](errors.md).",
    ]
    hooks = set(memoranda.backends.hooks.__all__)
    parts += _grouped(memoranda.backends, _BACKENDS, elsewhere=hooks | {*_CHANGES})
    parts += ["# Hooks", "Imported from `memoranda.backends.hooks`; those of the first group from either place."]
    parts += _grouped(memoranda.backends.hooks, _HOOKS)
    protocol = memoranda.backends.protocol
    parts += ["# Changes and results", "Imported from `memoranda.backends.protocol`."]
    parts += [
        "## Changes",
        "What `Backend.commit` takes, and what a person is asked about. In `memoranda.backends` too.",
    ]
    for name in _CHANGES:
        parts += _described(name, getattr(protocol, name))
    parts += ["## Results", "Every operation answers with one of these; `error` is None where it succeeded."]
    for name, value in vars(protocol).items():
        if inspect.isclass(value) and _defined_in(value, protocol) and name not in {*_CHANGES, "Result"}:
            parts += _described(name, value)
    return "\n\n".join(parts) + "\n"


def agents_page() -> str:
    """Everything that `memoranda.agents` and its middleware export, and the scripted model."""
    middleware, scripted = memoranda.agents.middleware, memoranda.testing.scripted
    parts = [
        "# Agents",
        "Imported from `memoranda.agents`, which needs the extra `agents` (`pip install 'memoranda[agents]'`); "
        "`create_deep_agent` also from `memoranda`. See [the guide](../guides/agents.md).",
    ]
    first = {name for names in _AGENTS.values() for name in names} | {*middleware.__all__}
    rest = [name for name in memoranda.agents.__all__ if name not in first and not name.endswith("Error")]
    parts += _grouped(memoranda.agents, {**_AGENTS, "Parts": rest}, elsewhere=first)
    parts += ["# Middleware", "Imported from `memoranda.agents.middleware`; each works alone with any `create_agent`."]
    for name in middleware.__all__:
        parts += [] if name.endswith("Error") else _described(name, getattr(middleware, name))
        parts += [_MORE[name]] if name in _MORE else []
    for module, names in _ROOMS.items():
        kept = [name for name in names if name not in middleware.__all__]
        parts += [f"## From `{module}`"] if kept else []
        for name in kept:
            parts += _described(name, getattr(import_module(module), name))
    parts += ["# Testing", "Imported from `memoranda.testing.scripted`: agents in tests, without a key or a network."]
    for name in _TESTING:
        parts += _described(name, getattr(scripted, name))
    return "\n\n".join(parts) + "\n"


def episodes_page() -> str:
    """Everything that `memoranda.episodes` exports."""
    parts = [
        "# Episodes",
        "Imported from `memoranda.episodes`; see [the guide](../guides/episodes.md). The recorder and the tool need "
        "the extra `agents`. What they read and write are methods of the store: `record_turns`, `turns`, `threads`, "
        "`search_episodes` and `forget_thread`, on [Python](python.md#memorystore).",
    ]
    return "\n\n".join([*parts, *_grouped(memoranda.episodes, _EPISODES)]) + "\n"


def knowledge_page() -> str:
    """Everything that `memoranda.knowledge` exports."""
    parts = [
        "# Knowledge",
        "Imported from `memoranda.knowledge`, which needs the extra `agents`; see "
        "[the guide](../guides/knowledge.md). Each method that touches the database has an async twin with an `a` in "
        "front.",
    ]
    return "\n\n".join([*parts, *_grouped(memoranda.knowledge, _KNOWLEDGE)]) + "\n"


def consolidation_page() -> str:
    """Everything that `memoranda.consolidation` exports."""
    parts = [
        "# Consolidation",
        "Imported from `memoranda.consolidation`, which needs the extra `agents`; see "
        "[the guide](../guides/consolidation.md). Each method of `Consolidator` that touches the database has an async "
        "twin with an `a` in front. The jobs, schedules and runs behind it are on "
        "[Python](python.md#jobs-schedules-and-runs), the commands on [the command line](cli.md#consolidation).",
    ]
    return "\n\n".join([*parts, *_grouped(memoranda.consolidation, _CONSOLIDATION)]) + "\n"


def errors_page() -> str:
    """Every error that a caller can meet, with where it is imported from."""
    rows = [
        f"| `{error.__name__}` | `{_home_of(error)}` | {', '.join(f'`{base.__name__}`' for base in error.__bases__)} "
        f"| {_summary(error)} |"
        for error in _errors()
    ]
    parts = [
        "# Errors",
        "Every error raised on purpose derives from `MemorandaError` and carries two sentences: `cause`, what is "
        "wrong, and `remedy`, what to do about it. `str(error)` is both. Most are a standard class too, so that "
        "`except ValueError` or `except LookupError` works as expected. Backends raise only where they are set up; "
        "what goes wrong with a file stands in the result's `error`.",
        "\n".join(["| error | import from | is also | means |", "|---|---|---|---|", *rows]),
        "Those of `memoranda.cli` end a command with their text. `BrokenSkillError` and `ForeignFailureError` become a "
        "line of the prompt and the `error` of a result; no caller meets them.",
        "## What `store.edit` raises",
        _EDITS,
    ]
    return "\n\n".join(parts) + "\n"


_PUBLIC = (
    "memoranda",
    "memoranda.backends",
    "memoranda.agents",
    "memoranda.agents.middleware",
    "memoranda.knowledge",
    "memoranda.consolidation",
    "memoranda.transfer",
    "memoranda.integrations",
)

_EDITS = """`store.edit` raises `ItemNotFoundError` where there is no such item, and `ConflictError` for everything else
that stands in the way of the edit; `error.conflicts[0]` says what, and carries the current text:

| `reason` | what stood in the way |
|---|---|
| `text_not_found` | The text to replace does not occur. |
| `text_not_unique` | It occurs more than once, and `replace_all` was not asked for. |
| `not_editable` | It is empty; or the item is binary; or the edit would leave a JSON document that is none. |

`InvalidNamespaceError`, `InvalidKeyError` and `InvalidChangeError` say that the call itself cannot be meant.
`EditError` and its two kinds come from `memoranda.files.edit.replace` alone, which works on a text without a store."""


_ROOMS_IN_ORDER = (
    *("errors", "store", "files", "transfer", "backends", "agents", "knowledge", "consolidation"),
    *("integrations", "cli"),
)


def _errors() -> list[type[Exception]]:
    """Every subclass of `MemorandaError` in the package, by the room it belongs to."""
    for found in pkgutil.walk_packages(memoranda.__path__, "memoranda."):
        if not found.name.endswith("__main__"):
            import_module(found.name)

    def below(error: type[Exception]) -> list[type[Exception]]:
        return [error, *(each for child in error.__subclasses__() for each in below(child))]

    def room(error: type[Exception]) -> int:
        name = error.__module__.split(".")[1]
        return _ROOMS_IN_ORDER.index(name) if name in _ROOMS_IN_ORDER else len(_ROOMS_IN_ORDER)

    errors = dict.fromkeys(below(memoranda.MemorandaError))
    return sorted((each for each in errors if each.__module__.startswith("memoranda.")), key=room)


def _home_of(thing: Any) -> str:
    for name in _PUBLIC:
        if getattr(import_module(name), thing.__name__, None) is thing:
            return name
    return thing.__module__


def _grouped(module: Any, groups: dict[str, list[str]], elsewhere: Collection[str] = ()) -> list[str]:
    """Everything that a module exports, in groups; errors have a page of their own."""
    placed = {name for names in groups.values() for name in names} | {*elsewhere, "__version__"}
    missing = [name for name in module.__all__ if name not in placed and not name.endswith("Error")]
    if missing:
        raise Incomplete(f"{module.__name__} exports {', '.join(missing)}: put them into a group of docs/build.py.")
    parts: list[str] = []
    for group, names in groups.items():
        parts.append(f"## {group}")
        for name in names:
            if name in _TYPES:
                parts += [f"### `{name}`", _TYPES[name]]
            else:
                parts += _described(name, getattr(module, name))
            for other in _BESIDE.get(name, ()):
                parts += _described(other.__name__, other)
    return parts


def _defined_in(value: object, module: object) -> bool:
    return inspect.isclass(value) and value.__module__ == vars(module)["__name__"]


def _same(path: Path, text: str, *, write: bool) -> bool:
    if path.exists() and path.read_text("utf-8") == text:
        return True
    if write:
        path.write_text(text, "utf-8")
    return False


def _methods(kind: type[Any]) -> list[str]:
    """The public methods that a class brings itself; of the base of backends the operations."""
    parts: list[str] = []
    for name, method in vars(kind).items():
        twin = name.startswith("a") and name[1:] in vars(kind)
        if name.startswith("_") or twin or name.endswith("_steps"):
            continue
        if not (inspect.isfunction(method) or isinstance(method, classmethod)):
            continue
        if issubclass(kind, Backend) and (name in vars(Backend)) != (kind is Backend):
            continue
        if kind is Backend and name not in PAIRS:
            continue
        parts += _described(f"{kind.__name__}.{name}", getattr(kind, name), level=4)
    return parts


def _described(name: str, thing: Any, level: int = 3) -> list[str]:
    heading = f"{'#' * level} `{name}`"
    bound = "." in name  # what a method is bound to is not passed
    if inspect.isclass(thing) and issubclass(thing, dict):
        return [heading, *_markdown(thing)]
    try:
        signature = str(inspect.signature(thing)).replace("memoranda.store.changes.", "")
        signature = re.sub(r"(: |-> )'([^']*)'", r"\1\2", signature)
        signature = re.sub(r'(: |-> )"([^"]*)"', r"\1\2", signature)
        signature = re.sub(r"-> (?:Operation|Steps)\[(.*)\]$", r"-> \1", signature)  # what its caller gets
        signature = re.sub(r"<function (\S+) at 0x[0-9a-f]+>", r"\1", signature)
    except (TypeError, ValueError):
        signature = ""
    short = (
        re.sub(r"\((self|context: Context|consolidator: Consolidator|backend: \w*Backend)\b(, /)?(, )?", "(", signature)
        if bound
        else signature
    )
    short = _SIGNATURES.get(name, short)
    if inspect.isclass(thing):
        short = short.partition(" -> ")[0]
    call = f"{name.rpartition('.')[2]}{short}"
    wrapped = textwrap.fill(call, 110, subsequent_indent="    ", break_long_words=False)
    methods = _methods(thing) if name in _WITH_METHODS else []
    return [heading, f"```text\n{wrapped}\n```", *_markdown(thing), *methods]


def _summary(thing: Any) -> str:
    return " ".join((inspect.getdoc(thing) or "").partition("\n\n")[0].split())


def _markdown(thing: Any) -> list[str]:
    """A Google-style docstring as Markdown paragraphs."""
    parts: list[str] = []
    for block in (inspect.getdoc(thing) or "").split("\n\n"):
        first, _, rest = block.partition("\n")
        match = _SECTION.match(first)
        if match is None:
            parts.append(block)
        elif match[1] == "Example":
            # Doctest form, so that it is plain what is typed and what comes back.
            parts.append(f"```pycon\n{textwrap.dedent(rest)}\n```")
        elif match[1] == "Returns":
            parts.append(f"**Returns** {' '.join(textwrap.dedent(rest).split())}")
        else:
            parts.append(f"**{match[1]}**\n\n{_entries(textwrap.dedent(rest))}")
    return parts


def _entries(text: str) -> str:
    entries: list[str] = []
    for line in text.splitlines():
        match = _ENTRY.match(line)
        if match:
            entries.append(f"- `{match[1]}`: {match[2]}")
        elif entries:
            entries[-1] += " " + line.strip()
        else:
            entries.append(f"- {line.strip()}")
    return "\n".join(entries)


if __name__ == "__main__":
    sys.exit(main())
