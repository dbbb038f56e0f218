"""What a person is asked about changes of files, and what they may answer, in the form of LangChain's middleware."""

from __future__ import annotations

import base64
import binascii
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Final, Literal, NamedTuple, NotRequired, cast

from langgraph.types import interrupt
from pydantic import BeforeValidator, SkipValidation, ValidationError
from typing_extensions import TypedDict

from memoranda.agents.middleware.approval_requests import PendingApproval
from memoranda.backends.protocol import AppendFile, DeleteFile, EditFile, FileChange, MoveFile, WriteFile
from memoranda.errors import InvalidPathError, MemorandaError
from memoranda.files.path import canonical_path

ALLOWED: Final = ("approve", "edit", "reject")
_HELP = 'Resume with Command(resume={"decisions": [{"type": "approve"}, …]}), one decision for each request in order.'


class InvalidDecisionError(MemorandaError, ValueError):
    """An answer to requests for approval that does not decide on them; they can be answered again."""


class EditedAction(TypedDict):
    """The change that a person wants instead."""

    name: str
    args: dict[str, Any]


class FileDecision(TypedDict):
    """What a person decides about one change."""

    type: Literal["approve", "edit", "reject"]
    edited_action: NotRequired[EditedAction]
    message: NotRequired[str]


class FileDecisions(TypedDict):
    """The answer to all requests, one decision for each in order."""

    decisions: list[FileDecision]


class Decision(NamedTuple):
    """A decision that was checked.

    Args:
        approved: Whether a change lands.
        change: The change: as it was asked for, or the person's own.
        edited: Whether it is the person's own.
        message: What the person said to a rejection.
    """

    approved: bool
    change: FileChange
    edited: bool = False
    message: str = ""


def ask(waiting: Sequence[PendingApproval]) -> list[Decision]:
    """Pause the run until a person has decided on all of these.

    Returns:
        A decision for each, in order.

    Raises:
        InvalidDecisionError: The answer decides nothing; nothing of it is kept, so the run can be resumed again.
    """
    question = {
        "action_requests": [
            {"name": name, "args": args, "description": description(each)}
            for each in waiting
            for name, args in [action_of(each.request.change)]
        ],
        "review_configs": [
            {"action_name": action_of(each.request.change)[0], "allowed_decisions": list(ALLOWED)} for each in waiting
        ],
    }

    def check(answer: object) -> object:
        decisions_in(answer, waiting)
        return answer

    if "response_schema" in inspect.signature(interrupt).parameters:
        # LangGraph keeps an answer once `interrupt` has returned it, so it has to be refused before that.
        schema: Any = Annotated[SkipValidation[FileDecisions], BeforeValidator(check)]
        try:
            return decisions_in(interrupt(question, response_schema=schema), waiting)
        except ValidationError as error:
            (first, *_) = error.errors(include_url=False)
            cause = first.get("ctx", {}).get("error")
            raise (cause if isinstance(cause, InvalidDecisionError) else InvalidDecisionError(str(error))) from None
    return ask_until_valid(question, waiting, interrupt)


def ask_until_valid(
    question: dict[str, Any], waiting: Sequence[PendingApproval], interrupt: Callable[[Any], Any]
) -> list[Decision]:
    """The same for releases of LangGraph that keep every answer: a wrong one is asked about again, with the error."""
    answer = interrupt(question)
    while True:
        try:
            return decisions_in(answer, waiting)
        except InvalidDecisionError as error:
            answer = interrupt({**question, "error": str(error)})


def description(pending: PendingApproval) -> str:
    """A change in words, with the state it was made from and its diff."""
    request = pending.request
    change = request.change
    verb = {WriteFile: "Write", EditFile: "Edit", AppendFile: "Append to", DeleteFile: "Delete", MoveFile: "Move"}
    target = f" to {change.to}" if isinstance(change, MoveFile) else ""
    made_from = f"made from revision {request.base}" if request.base else "a new file"
    lines = [f"{verb[type(change)]} {change.path}{target} ({made_from})."]
    if pending.stale:
        lines.append("The file was changed after you were asked. This is what the change would do now.")
    if pending.problem:
        lines.append(f"It was approved before, but could not be made: {pending.problem}")
    return "\n".join([*lines, "", request.diff])


def action_of(change: FileChange) -> tuple[str, dict[str, Any]]:
    """A change as a tool call: the tool's name and its arguments."""
    match change:
        case WriteFile(path, content):
            if isinstance(content, str):
                return "write_file", {"file_path": path, "content": content}
            encoded = base64.b64encode(content).decode()
            return "write_file", {"file_path": path, "content": encoded, "encoding": "base64"}
        case EditFile(path, old, new, replace_all):
            return "edit_file", {"file_path": path, "old_string": old, "new_string": new, "replace_all": replace_all}
        case AppendFile(path, text):
            return "append_file", {"file_path": path, "text": text}
        case DeleteFile(path):
            return "delete", {"file_path": path}
        case MoveFile(path, to, overwrite):
            return "move", {"file_path": path, "to": to, "overwrite": overwrite}


def decisions_in(answer: object, waiting: Sequence[PendingApproval]) -> list[Decision]:
    """The decisions that an answer holds.

    Raises:
        InvalidDecisionError: It holds something else.
    """
    given = _field(answer, "decisions")
    if not isinstance(given, list):
        raise InvalidDecisionError(f"{_short(answer)} is no answer to a request for approval.", _HELP)
    decisions = cast("list[Any]", given)
    if len(decisions) != len(waiting):
        raise InvalidDecisionError(
            f"There are {len(waiting)} changes to decide on and {len(decisions)} decisions.", _HELP
        )
    return [_decision(each, pending.request.change) for each, pending in zip(decisions, waiting, strict=True)]


def _decision(given: Any, change: FileChange) -> Decision:
    kind = _field(given, "type")
    if kind not in ALLOWED:
        raise InvalidDecisionError(f"{_short(given)} is no decision.", 'Its type is "approve", "edit" or "reject".')
    if kind == "approve":
        return Decision(True, change)
    if kind == "reject":
        message = _field(given, "message")
        if message is not None and not isinstance(message, str):
            raise InvalidDecisionError(f"The message {_short(message)} is no text.", "Leave it out, or pass a string.")
        return Decision(False, change, message=message or "")
    return Decision(True, _edited(_field(given, "edited_action"), change), edited=True)


def _edited(action: Any, change: FileChange) -> FileChange:
    name, known = action_of(change)
    given = _field(action, "args")
    if not isinstance(given, Mapping):
        raise InvalidDecisionError(
            f"{_short(action)} is no edited action.", f'Pass {{"name": "{name}", "args": {{…}}}} with other arguments.'
        )
    wanted = _field(action, "name") or name
    args = dict(cast("Mapping[str, Any]", given))
    if wanted == name:
        args = {**known, **args}
    try:
        edited = _change(wanted, args)
        same = canonical_path(edited.path) == canonical_path(change.path)
    except (KeyError, TypeError, AttributeError, binascii.Error, InvalidPathError) as error:
        raise InvalidDecisionError(
            f"{_short(action)} is no change of a file ({error}).", f"Its tool here is {name}, with {', '.join(known)}."
        ) from None
    if not same:
        raise InvalidDecisionError(
            f"The request is about {change.path}, and the edited change about {edited.path}.",
            "Keep the path, or reject the change and say where it belongs.",
        )
    return edited


def _change(name: str, args: dict[str, Any]) -> FileChange:
    path = _text(args, "file_path")
    match name:
        case "write_file":
            content = _text(args, "content")
            if args.get("encoding") == "base64":
                return WriteFile(path, base64.b64decode(content, validate=True))
            return WriteFile(path, content)
        case "edit_file":
            return EditFile(path, _text(args, "old_string"), _text(args, "new_string"), bool(args.get("replace_all")))
        case "append_file":
            return AppendFile(path, _text(args, "text"))
        case "delete":
            return DeleteFile(path)
        case "move":
            return MoveFile(path, _text(args, "to"), bool(args.get("overwrite")))
        case _:
            raise KeyError(f"no tool {name}")


def _field(holder: object, name: str) -> Any:
    return cast("Mapping[str, Any]", holder).get(name) if isinstance(holder, Mapping) else None


def _text(args: dict[str, Any], name: str) -> str:
    value = args[name]
    if not isinstance(value, str):
        raise TypeError(f"{name} is no text")
    return value


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}…"
