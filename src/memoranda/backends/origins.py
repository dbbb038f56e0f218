"""What a thread came across since a person last spoke: tools, untrusted files, and what was written in that time.

Messages alone do not tell: they are trimmed and summarised, tools put some in, and a subagent's are never seen. So
the middleware around tool calls keeps this record in the thread's private state, and every quarantine judges it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, cast

TOOLS_LIMIT: Final = 100
"""How many names of tools a record holds; beyond that everything counts as untrusted until a person speaks."""

FILES_LIMIT: Final = 200
"""How many names of untrusted files that were read a record holds."""

WRITTEN_LIMIT: Final = 500
"""How many names of files that were written in an untrusted context a record holds; beyond that every file counts."""

PEOPLE_LIMIT: Final = 100
"""Of how many messages of people it is remembered that they are not new: the first and the latest."""

ANY_FILE: Final = "*"
"""In the place of a file's name: every file."""

SOURCE_KEY: Final = "lc_source"
"""Where a message of the form of a person's says that none wrote it; LangChain's summaries have it too."""

OriginState: TypeAlias = dict[str, Any]


@dataclass
class Origins:
    """The record of a thread, or of a tool call that goes on from it; changed in place.

    Args:
        tools: The names of all tools that ended since a person last spoke, those of subagents included.
        files: The names of files that some quarantine calls untrusted and that were read since then.
        overflow: Whether there were too many to remember.
        written: Files that were written in an untrusted context, whenever: of each the tools and files behind it;
            None for one that was written anew since.
    """

    tools: set[str] = field(default_factory=set[str])
    files: set[str] = field(default_factory=set[str])
    overflow: bool = False
    written: dict[str, list[list[str]] | None] = field(default_factory=dict[str, "list[list[str]] | None"])

    @classmethod
    def of(cls, state: Mapping[str, Any] | None) -> Origins:
        """The record of a state."""
        known = state or {}
        return cls(
            set(known.get("tools", ())),
            set(known.get("files", ())),
            bool(known.get("overflow")),
            dict(known.get("written", {})),
        )

    def copy(self) -> Origins:
        """A record of its own that begins with what this one holds."""
        return Origins(set(self.tools), set(self.files), self.overflow, dict(self.written))

    def add(self, other: Origins) -> None:
        """Take over what another record holds: that of a call which this one goes on from, or which was part of it."""
        self.tools.update(set(other.tools))
        self.files.update(set(other.files))
        self.overflow = self.overflow or other.overflow
        self.written.update(dict(other.written))

    def read(self, names: Iterable[str]) -> None:
        """Note that a file was read: whatever was behind its text is behind what follows."""
        for name in (ANY_FILE, *names):
            for tools, files in filter(None, [self.written.get(name)]):
                self.tools.update(tools)
                self.files.update(files)

    def write(self, names: Iterable[str], *, untrusted: bool, whole: bool) -> None:
        """Note that a file was written.

        Args:
            names: Every name of the file.
            untrusted: Whether what led to it is.
            whole: Whether nothing of its former text is left.
        """
        for name in names:
            if untrusted:
                before = (None if whole else self.written.get(name)) or [[], []]
                self.written[name] = [sorted({*before[0], *self.tools}), sorted({*before[1], *self.files})]
            elif whole and self.written.get(name) is not None:
                self.written[name] = None

    def since(self, before: Origins) -> OriginState:
        """What is new here: the update of the state; empty if nothing is."""
        found: OriginState = {
            "tools": sorted(self.tools - before.tools),
            "files": sorted(self.files - before.files),
            "overflow": self.overflow and not before.overflow,
            "written": {name: entry for name, entry in self.written.items() if before.written.get(name) != entry},
        }
        return {key: value for key, value in found.items() if value}


def keep_origins(known: OriginState | None, update: OriginState | None) -> OriginState:
    """Merge records: the reducer of the state key.

    An update with another `turn`, or with a `person` that is not among the `people`, begins anew; `goes_on` forbids
    that. What was written stays.
    """
    old, new = known or {}, update or {}
    turn, people = new.get("turn", old.get("turn")), list(old.get("people", ()))
    spoke = turn != old.get("turn") or ("person" in new and new["person"] not in people)
    begins = spoke and not new.get("goes_on")
    people += [each for each in new.get("people", ()) if each not in people]
    if len(people) > PEOPLE_LIMIT:
        people = [people[0], *people[1 - PEOPLE_LIMIT :]]
    tools = {*(() if begins else old.get("tools", ())), *new.get("tools", ())}
    files = {*(() if begins else old.get("files", ())), *new.get("files", ())}
    overflow = bool((old.get("overflow") and not begins) or new.get("overflow"))
    if len(tools) > TOOLS_LIMIT or len(files) > FILES_LIMIT:
        tools, files, overflow = set(sorted(tools)[:TOOLS_LIMIT]), set(sorted(files)[:FILES_LIMIT]), True
    written = {name: entry for name, entry in {**old.get("written", {}), **new.get("written", {})}.items() if entry}
    if len(written) > WRITTEN_LIMIT:
        written = {ANY_FILE: [sorted({each for entry in written.values() for each in entry[at]}) for at in (0, 1)]}
    return {
        "tools": sorted(tools),
        "files": sorted(files),
        "overflow": overflow,
        "written": written,
        **({} if turn is None else {"turn": turn}),
        **({"people": people} if people else {}),
    }


def is_person(message: Any) -> bool:
    """Whether a person wrote a message, rather than a tool, or a middleware that summarises or reminds."""
    more: Any = field_of(message, "additional_kwargs")
    return kind_of(message) == "human" and not (isinstance(more, Mapping) and SOURCE_KEY in more)


def kind_of(message: Any) -> str | None:
    """What kind of message it is, in LangChain's words; None if it does not say."""
    kind = field_of(message, "type") or field_of(message, "role")
    return {"user": "human", "assistant": "ai"}.get(str(kind), str(kind)) if kind else None


def field_of(message: Any, name: str) -> Any:
    """A field of a message, which may be a dictionary."""
    if isinstance(message, Mapping):
        return cast("Mapping[str, Any]", message).get(name)
    return getattr(message, name, None)
