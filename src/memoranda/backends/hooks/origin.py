"""Quarantine: what an agent writes after it has read something untrusted waits for a person.

A model paraphrases, so the text of a change says nothing about where it comes from. What counts is the context: if a
tool result of untrusted origin is in it, changes wait until the next word of a person. The context is judged by the
messages and by the record that the middleware around tool calls keeps; either taints.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, cast

from memoranda.backends.hooks.events import Hold, WriteEvent
from memoranda.backends.origins import Origins, field_of, is_person, kind_of
from memoranda.backends.permissions import InvalidPermissionError, compiled_rule, rule_matches
from memoranda.errors import InvalidPathError
from memoranda.files.globbing import Glob
from memoranda.files.path import canonical_path, folder_prefix

FILE_TOOLS: Final = frozenset(
    ["ls", "read_file", "write_file", "edit_file", "glob", "grep", "delete", "move", "write_todos"]
)
"""The tools of the product itself, which bring in nothing from outside."""

OFFLOADED: Final = ("/**/large_tool_results/**", "/**/conversation_history/**")
"""Where agents keep results and messages that were too long for the context; they stay what they were."""


@dataclass(frozen=True)
class Quarantine:
    """Turns changes into proposals while the context is untrusted; see `quarantine`."""

    paths: tuple[Glob, ...]
    untrusted_tools: frozenset[str] | None
    trusted_tools: frozenset[str]
    untrusted_paths: tuple[Glob, ...]
    name: str = "quarantine"

    def __call__(self, event: WriteEvent) -> Hold | None:
        """Hold a change of a quarantined file that an untrusted context led to."""
        names = event.names or (event.path,)
        if not any(rule_matches(glob, name) for glob in self.paths for name in names):
            return None
        if not (
            event.untrusted
            or (event.origins is not None and self.is_tainted(event.origins))
            or self.is_untrusted(event.messages, event.tool_call_id)
        ):
            return None
        return Hold(
            "what led to this change includes a tool result of untrusted origin, so a person has to agree",
            source="quarantine",
        )

    def is_untrusted(self, messages: Sequence[Any], tool_call_id: str | None = None) -> bool:
        """Whether something untrusted is in the context that led to a tool call.

        Args:
            messages: The messages of the thread.
            tool_call_id: The call; only what came before the message that made it counts. None: all of them count.

        Returns:
            True if a result of an untrusted tool, or the summary of messages that may have held one, came after the
            last message of a person; in doubt too.
        """
        context = _context(messages, tool_call_id)
        if context is None:
            return False
        calls: dict[str, _Call] = {}
        unanswered: dict[str, _Call] = {}
        for message in context:
            kind = kind_of(message)
            if kind == "human":  # not a person's, or the context would start after it
                return True
            if kind == "ai":
                # Ids may recur, so a call's result is the next one with its id. What was never answered was cut out
                # of the context, and has been read all the same.
                made = _calls_of(message)
                if any(self._is_untrusted_call(*unanswered[call]) for call in made.keys() & unanswered.keys()):
                    return True
                calls.update(made)
                unanswered.update(made)
            elif kind == "tool":
                call = str(field_of(message, "tool_call_id"))
                unanswered.pop(call, None)
                if self._is_untrusted_result(message, calls.get(call)):
                    return True
        running = _running(messages, tool_call_id)
        return any(self._is_untrusted_call(*made) for call, made in unanswered.items() if call not in running)

    def is_tainted(self, origins: Origins) -> bool:
        """Whether a record names an untrusted tool or file, or had no room for all of them."""
        return (
            origins.overflow
            or any(map(self._is_untrusted_tool, origins.tools))
            or any(map(self._is_untrusted_path, origins.files))
        )

    def is_untrusted_file(self, names: Iterable[str]) -> bool:
        """Whether a file's content is untrusted.

        Args:
            names: The names by which it is known.
        """
        return any(map(self._is_untrusted_path, names))

    def _is_untrusted_result(self, message: Any, known: _Call | None) -> bool:
        names = {str(name) for name in (field_of(message, "name"), known and known.name) if name}
        if not names or any(map(self._is_untrusted_tool, names)):
            return True
        if "grep" in names and self._shows_untrusted(str(field_of(message, "content") or "")):
            return True
        return "read_file" in names and (known is None or self._is_untrusted_call("read_file", known.arguments))

    def _is_untrusted_call(self, name: str, arguments: Mapping[str, Any]) -> bool:
        if self._is_untrusted_tool(name):
            return True
        if name == "read_file":
            return self._is_untrusted_path(arguments.get("file_path", arguments.get("path")))
        if name == "grep":
            return self._may_hold_untrusted(arguments.get("path") or "/")
        return False

    def _is_untrusted_tool(self, name: str) -> bool:
        if self.untrusted_tools is not None:
            return name in self.untrusted_tools
        return name not in FILE_TOOLS and name not in self.trusted_tools

    def _is_untrusted_path(self, path: Any) -> bool:
        try:
            canonical = canonical_path(str(path))
        except InvalidPathError:
            return False  # nothing was read
        return any(rule_matches(glob, canonical) for glob in self.untrusted_paths)

    def _may_hold_untrusted(self, path: Any) -> bool:
        """Whether a search below a path may have come across an untrusted file; in doubt yes."""
        try:
            folder = folder_prefix(canonical_path(str(path)))
        except InvalidPathError:
            return False
        starts = ["/" + glob.literal_prefix for glob in self.untrusted_paths]
        return any(start.startswith(folder) or folder.startswith(start) for start in starts)

    def _shows_untrusted(self, result: str) -> bool:
        """Whether the result of a search names an untrusted file."""
        marks = ["/" + glob.literal_prefix for glob in self.untrusted_paths if glob.pattern not in OFFLOADED]
        return any(mark in result for mark in (*marks, *(pattern[3:-2] for pattern in OFFLOADED)))


def _context(messages: Sequence[Any], tool_call_id: str | None) -> list[Any] | None:
    """What came after the last word of a person and before the message that made a call; None where nothing did."""
    end = len(messages)
    if tool_call_id is not None:
        for at in range(len(messages) - 1, -1, -1):
            if kind_of(messages[at]) == "ai" and tool_call_id in _calls_of(messages[at]):
                end = at
                break
    for at in range(end - 1, -1, -1):
        if is_person(messages[at]):
            return list(messages[at + 1 : end])
    return list(messages[:end]) if end else None


def _running(messages: Sequence[Any], tool_call_id: str | None) -> set[str]:
    """The calls of the last message that made some: what has no result yet was not read."""
    if tool_call_id is not None:
        return set()
    return next((set(_calls_of(message)) for message in reversed(messages) if kind_of(message) == "ai"), set[str]())


class _Call(NamedTuple):
    """What a model asked for."""

    name: str
    arguments: Mapping[str, Any]


def _calls_of(message: Any) -> dict[str, _Call]:
    found: Any = field_of(message, "tool_calls") or ()
    return {
        str(call.get("id")): _Call(str(call.get("name")), cast("Mapping[str, Any]", call.get("args") or {}))
        for call in found
    }


def _folder_globs(name: str, paths: Iterable[str]) -> tuple[Glob, ...]:
    """Patterns of paths; a plain path is the file or the folder with everything below it."""
    if isinstance(paths, str):
        raise InvalidPermissionError(f"{name}={paths!r} is no list.", 'Pass for example ["/memories/**"].')
    found: list[Glob] = []
    for path in paths:
        found.append(compiled_rule(path))
        if not set(path) & set("*?[{") and not path.endswith("/"):
            found.append(compiled_rule(path + "/"))
    return tuple(found)


def quarantine(
    paths: Iterable[str],
    untrusted_tools: Iterable[str] | None = None,
    trusted_tools: Iterable[str] = (),
    untrusted_paths: Iterable[str] = (),
) -> Quarantine:
    """A hook for mounts that nothing untrusted may reach unseen.

    Once the result of an untrusted tool is in the context, every change of these files becomes a proposal, until the
    next message of a person. A subagent that was started in such a context is in it as well.

    Args:
        paths: The files: patterns such as `/memories/**`, or folders.
        untrusted_tools: Exactly these tools are untrusted; None: all but the file tools and `trusted_tools`.
        trusted_tools: Tools whose results may be trusted.
        untrusted_paths: Files whose content is untrusted when it is read or found, such as downloads. What agents move
            out of a context that grew too long is untrusted anyway.

    Raises:
        InvalidPermissionError: A path is no absolute path or pattern.

    Example:
        >>> hook = quarantine(["/memories/"], trusted_tools=["calculator"])
        >>> messages = [{"role": "user"}, {"role": "tool", "name": "web_search", "tool_call_id": "1"}]
        >>> hook.is_untrusted(messages), hook.is_untrusted([*messages, {"role": "user"}])
        (True, False)
    """
    return Quarantine(
        _folder_globs("paths", paths),
        None if untrusted_tools is None else frozenset(untrusted_tools),
        frozenset(trusted_tools),
        (*_folder_globs("untrusted_paths", untrusted_paths), *map(compiled_rule, OFFLOADED)),
    )
