"""What hooks are told, and what they may answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

from memoranda.backends.origins import Origins
from memoranda.backends.protocol import Base
from memoranda.store.changes import Author

ChangeOperation: TypeAlias = Literal["write", "edit", "append", "delete", "move", "restore", "upload"]


@dataclass(frozen=True, slots=True)
class WriteEvent:
    """A change of one file that is about to land, exactly as it would.

    Args:
        path: The file, in the tree of the guard.
        operation: What is done. A move is two events: `after=None` at its old path, the content at its new one.
        before: The file's content as it is: text, or bytes that are no text; None: it does not exist.
        after: Its content afterwards; None: it would be gone.
        base: The state that `before` is; 0: it does not exist.
        author: Who makes the change.
        runtime: LangGraph's runtime; None outside a graph.
        untrusted: Whether the tool call at hand was handed on from an untrusted context (a subagent's task).
        messages: The messages of the running graph; empty outside one.
        shown: The path as the agent knows it.
        names: Every path under which the file is known in the tree of the guard, `path` first.
        tool_call_id: The tool call that makes the change.
        origins: What the thread came across since a person last spoke; None where nobody keeps it.
        repeated: Whether a hook is asked again about the same change, because the file or the text changed meanwhile.
    """

    path: str
    operation: ChangeOperation
    before: str | bytes | None
    after: str | bytes | None
    base: Base | None = None
    author: Author = field(default_factory=Author)
    runtime: Any = None
    untrusted: bool = False
    messages: Sequence[Any] = ()
    shown: str = ""
    names: tuple[str, ...] = ()
    tool_call_id: str | None = None
    origins: Origins | None = None
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class WrittenEvent:
    """A change that landed on files that outlive the thread.

    Args:
        path: The file, as the agent knows it.
        operation: What was done.
        revision: The file's state now; 0 or None: it is gone.
        merged: Whether the change was merged with what others wrote meanwhile.
        author: Who made it.
        thread_id: In which thread; None outside one.
        namespace: Where in the store; None where there is no `MemoryStore`.
        runtime: LangGraph's runtime; None outside a graph.
    """

    path: str
    operation: ChangeOperation
    revision: Base | None
    merged: bool
    author: Author
    thread_id: str | None
    namespace: tuple[str, ...] | None
    runtime: Any = None


@dataclass(frozen=True, slots=True)
class Allow:
    """The change may land; returning None says the same."""


@dataclass(frozen=True, slots=True)
class Refuse:
    """The change must not land; the model is told the reason."""

    reason: str


@dataclass(frozen=True, slots=True)
class Replace:
    """Something else is to land; every hook is asked about it anew."""

    content: str | bytes


@dataclass(frozen=True, slots=True)
class Hold:
    """The change becomes a proposal that a reviewer decides on.

    Args:
        reason: Why, for the model and for the reviewer.
        source: What the proposal names as its source; None: `hook:` and the hook's name.
    """

    reason: str
    source: str | None = None


Decision: TypeAlias = Allow | Refuse | Replace | Hold
Hook: TypeAlias = Callable[[WriteEvent], "Decision | Awaitable[Decision | None] | None"]


@runtime_checkable
class Observer(Protocol):
    """A hook that is told of changes that landed; one that is also callable decides as well."""

    def after_write(self, event: WrittenEvent) -> Any:
        """Take note; may be a coroutine function."""


def hook_name(hook: Any) -> str:
    """What a hook is called in messages and proposals."""
    name = getattr(hook, "name", None) or getattr(hook, "__name__", None) or type(hook).__name__
    return str(name)
