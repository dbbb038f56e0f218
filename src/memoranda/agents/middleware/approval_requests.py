"""Changes that wait for a person, as plain values that every checkpointer keeps and every client can show."""

from __future__ import annotations

import base64
from dataclasses import dataclass, replace
from typing import Any

from memoranda.backends.protocol import (
    AppendFile,
    ApprovalRequest,
    Base,
    DeleteFile,
    EditFile,
    FileChange,
    MoveFile,
    WriteFile,
)


@dataclass(frozen=True, slots=True)
class PendingApproval:
    """A change that waits for a person, and the tool call that asked for it.

    Args:
        id: Unique within the thread.
        tool_call_id: The tool call.
        tool: The tool's name.
        message_id: The tool's message, which the outcome replaces.
        request: The change, what it was made from, and the diff.
        stale: Whether the file changed after a person had been asked before.
        problem: Why it could not be made although a person had approved it.
    """

    id: str
    tool_call_id: str
    tool: str
    message_id: str | None
    request: ApprovalRequest
    stale: bool = False
    problem: str | None = None

    def to_state(self) -> dict[str, Any]:
        """The request as a JSON value."""
        return {
            "id": self.id,
            "tool_call_id": self.tool_call_id,
            "tool": self.tool,
            "message_id": self.message_id,
            "change": change_to_state(self.request.change),
            "base": self.request.base,
            "diff": self.request.diff,
            "location": self.request.location,
            "replaces": self.request.replaces,
            "stale": self.stale,
            "problem": self.problem,
        }

    @classmethod
    def from_state(cls, value: dict[str, Any]) -> PendingApproval:
        """The request behind a JSON value of `to_state`."""
        change = change_from_state(value["change"])
        request = ApprovalRequest(
            change, value["base"], value["diff"], location=value.get("location"), replaces=value.get("replaces")
        )
        call = (value["id"], value["tool_call_id"], value["tool"], value["message_id"])
        return cls(*call, request, value.get("stale", False), value.get("problem"))


def change_to_state(change: FileChange) -> dict[str, Any]:
    """A change as a JSON value."""
    match change:
        case WriteFile(path, content, base, merge):
            return {"type": "write", "path": path, "base": base, "merge": merge, **_content_to_state(content)}
        case EditFile(path, old, new, replace_all, base):
            return {"type": "edit", "path": path, "old": old, "new": new, "replace_all": replace_all, "base": base}
        case AppendFile(path, text, base):
            return {"type": "append", "path": path, "text": text, "base": base}
        case DeleteFile(path, base):
            return {"type": "delete", "path": path, "base": base}
        case MoveFile(path, to, overwrite):
            return {"type": "move", "path": path, "to": to, "overwrite": overwrite}


def change_from_state(value: dict[str, Any]) -> FileChange:
    """The change behind a JSON value of `change_to_state`."""
    kind, path, base = value["type"], value["path"], value.get("base")
    match kind:
        case "write":
            return WriteFile(path, _content_from_state(value), base, value["merge"])
        case "edit":
            return EditFile(path, value["old"], value["new"], value["replace_all"], base)
        case "append":
            return AppendFile(path, value["text"], base)
        case "delete":
            return DeleteFile(path, base)
        case "move":
            return MoveFile(path, value["to"], value["overwrite"])
        case _:
            raise ValueError(f"{kind!r} is no change of a file.")


def with_base(change: FileChange, base: Base | None) -> FileChange:
    """The same change on another base; a move has none."""
    return change if isinstance(change, MoveFile) else replace(change, base=base)


def _content_to_state(content: str | bytes) -> dict[str, Any]:
    if isinstance(content, str):
        return {"content": content}
    return {"content": base64.b64encode(content).decode(), "encoding": "base64"}


def _content_from_state(value: dict[str, Any]) -> str | bytes:
    return base64.b64decode(value["content"]) if value.get("encoding") == "base64" else value["content"]
