"""`ApprovalMiddleware`: the run pauses until a person has decided on the changes that the guard held back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any, cast

from langchain.agents.middleware.types import hook_config
from langchain_core.messages import BaseMessage, ToolMessage
from langgraph.runtime import Runtime
from langgraph.types import Command

from memoranda.agents.adopting import BackendLike, adopted
from memoranda.agents.middleware.approval_decisions import Decision, action_of, ask
from memoranda.agents.middleware.approval_requests import PendingApproval, with_base
from memoranda.agents.middleware.signing import signed_by
from memoranda.agents.middleware.tool_calls import ToolCallMiddleware, ToolCallState, seen_of, seen_since
from memoranda.backends import steps as stepping
from memoranda.backends.base import Backend
from memoranda.backends.guarded import approved
from memoranda.backends.places import place_of
from memoranda.backends.protocol import (
    AppendFile,
    ApprovalRequest,
    DeleteFile,
    EditFile,
    FileChange,
    FilesCommitResult,
    MoveFile,
    WriteFile,
)
from memoranda.backends.runtime import ToolCall, current_config, inside_tool_call
from memoranda.backends.steps import Steps, aperform, perform
from memoranda.errors import MemorandaError

_SAME_CONTEXT = "Resume it with the same context as the run that asked."


class ApprovalContextError(MemorandaError, LookupError):
    """What waits for a person in a thread belongs to another user, or to nobody, in the run that goes on with it."""


class ApprovalMiddleware(ToolCallMiddleware):
    """Ask a person before a change to a sensitive path lands.

    A tool whose change meets a rule of the mode `interrupt` tells the model that it waits; before the model is called
    again the run pauses with one LangGraph interrupt for all changes that wait, in the form of LangChain's
    `HumanInTheLoopMiddleware`. Each request carries the path, the state of the file it was made from, and the diff.
    Resume with `Command(resume={"decisions": [...]})`: `{"type": "approve"}`,
    `{"type": "edit", "edited_action": {"name": …, "args": {…}}}`, or `{"type": "reject", "message": "…"}`.

    An approval is good for the state that the person saw. If the file was changed meanwhile, the change is worked out
    anew, merged where that is possible, and asked about again. What waits is part of the thread's checkpoint, so
    another process can go on with it. Without a checkpointer the run ends with the interrupt and nothing lands.

    Args:
        backend: The guarded backend that the agent's files go through, or a function of the runtime that gives it.
            An approved change is applied through it, also by another process than the one that asked.
        within: What surrounds the work on the backend, as the other middleware of the agent surrounds tools.

    Example:
        >>> from langchain.agents import create_agent
        >>> from langgraph.checkpoint.memory import InMemorySaver
        >>> from langgraph.types import Command
        >>> from memoranda import open_store
        >>> from memoranda.agents.middleware import FilesMiddleware
        >>> from memoranda.backends import FilesystemPermission, GuardedBackend, StoreBackend
        >>> from memoranda.testing.scripted import ScriptedChatModel, call, say
        >>> rule = FilesystemPermission(["write"], ["/policy.md"], "interrupt")
        >>> thread = {"configurable": {"thread_id": "1"}}
        >>> written = call("write_file", file_path="/policy.md", content="Be kind.")
        >>> model = ScriptedChatModel(script=[written, say("OK")])
        >>> with open_store("memory://") as store:
        ...     files = GuardedBackend(StoreBackend(namespace=("acme",), store=store), [rule])
        ...     middleware = [FilesMiddleware(files), ApprovalMiddleware(files)]
        ...     agent = create_agent(model, middleware=middleware, checkpointer=InMemorySaver())
        ...     asked = agent.invoke({"messages": "Write a policy."}, thread)["__interrupt__"]
        ...     _ = agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), thread)
        ...     asked[0].value["action_requests"][0]["name"], store.get(("acme",), "/policy.md").value["content"]
        ('write_file', 'Be kind.')
    """

    def __init__(
        self, backend: BackendLike, *, within: Callable[[], AbstractContextManager[None]] = nullcontext
    ) -> None:
        super().__init__()
        self.backend: Backend = adopted(backend)
        self._within = within

    @hook_config(can_jump_to=["end"])
    def before_model(self, state: ToolCallState, runtime: Runtime[Any]) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Ask about what waits, and do what was decided."""
        with self._within():
            waiting = self._waiting(state)
            return perform(self._decided(state, runtime, waiting, ask(waiting))) if waiting else None

    @hook_config(can_jump_to=["end"])
    async def abefore_model(self, state: ToolCallState, runtime: Runtime[Any]) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """`before_model` for an event loop."""
        with self._within():
            waiting = self._waiting(state)
            return await aperform(self._decided(state, runtime, waiting, ask(waiting))) if waiting else None

    def _waiting(self, state: ToolCallState) -> list[PendingApproval]:
        """What waits. It is about the files of the run that asked, so this run has to mean the same files."""
        waiting = waiting_in(state)
        for each in waiting:
            change = each.request.change
            place = place_of(change.to if isinstance(change, MoveFile) else change.path)
            try:
                location = self.backend.location(place)
            except MemorandaError as error:
                raise ApprovalContextError(
                    f"A change of {change.path} waits for a person, and this run cannot reach that file: {error.cause}",
                    f"{_SAME_CONTEXT} {error.remedy}",
                ) from error
            if location != each.request.location:
                raise ApprovalContextError(
                    f"The change of {change.path} that waits for a person belongs to another memory than this run's.",
                    _SAME_CONTEXT,
                )
        return waiting

    def _decided(
        self,
        state: ToolCallState,
        runtime: Runtime[Any],
        waiting: Sequence[PendingApproval],
        decisions: Sequence[Decision],
    ) -> Steps[dict[str, Any] | Command[str]]:
        """Apply the decisions one after the other; returns what changes in the thread's state."""
        seen = seen_of(state)
        known, pending = dict(seen), dict[str, Any]()
        told: dict[str, list[tuple[str, bool]]] = {}
        for each, decision in zip(waiting, decisions, strict=True):
            call = ToolCall(id=each.tool_call_id, seen=known)
            with inside_tool_call(call), signed_by(each.tool_call_id, state, _reason(each, runtime)):
                outcome = yield from _carried_out(self.backend, each, decision)
            if isinstance(outcome, PendingApproval):
                pending[each.id] = outcome.to_state()
                continue
            pending[each.id] = None
            if each.message_id is not None:
                told.setdefault(each.message_id, []).append(outcome)
        update: dict[str, Any] = {"pending_approvals": pending}
        messages = [
            _with_outcomes(message, told[message.id])
            for message in cast("Sequence[BaseMessage]", state["messages"])
            if isinstance(message, ToolMessage) and message.id in told
        ]
        if messages:
            update["messages"] = messages
        if newly_seen := seen_since(seen, known):
            update["seen_revisions"] = newly_seen
        if all(request is None for request in pending.values()):
            return update
        # Back to this very hook, which asks again from the new state; the way on to the model is cut off. A jump to
        # "model" would do where another hook is the first before the model, but LangChain allows none from the first.
        return Command(update={**update, "jump_to": "end"}, goto=_own_node())


def _own_node() -> str:
    return str((current_config() or {}).get("metadata", {})["langgraph_node"])


def waiting_in(state: Any) -> list[PendingApproval]:
    """The changes of a thread that wait for a person, the oldest first."""
    found: Any = cast("Mapping[str, Any]", state).get("pending_approvals") or {}
    return [PendingApproval.from_state(value) for value in found.values()]


def _carried_out(
    backend: Backend, pending: PendingApproval, decision: Decision
) -> Steps[PendingApproval | tuple[str, bool]]:
    """Do what was decided.

    Returns:
        What the model is told and whether it is good news; or the request as it has to be asked again.
    """
    change, request = decision.change, pending.request
    if not decision.approved:
        said = f' with the words: "{decision.message}"' if decision.message else ""
        return (
            f"A person rejected this {_noun(change)} of {change.path}{said}. Nothing was changed. "
            "Do not try it again unless you are asked to.",
            False,
        )
    # A whole file that is based on an older state is merged; any other change applies to whatever there is.
    is_whole = isinstance(change, WriteFile)
    based = replace(change, base=request.base, merge=True) if is_whole else with_base(change, None)
    with approved(replace(request, change=based)):
        result = yield from stepping.ask(backend.commit, [based])
    if result.error is None:
        return _good_news(change, result, edited=decision.edited), True
    if (yield from _landed_before(backend, pending, change)):
        return _good_news(change, FilesCommitResult(), edited=decision.edited), True
    if result.conflicts and not result.approvals and isinstance(change, WriteFile):
        # It cannot be merged, so the person decides again, on what it would replace now.
        (now,) = yield from stepping.ask(backend.download_files, [change.path])
        result = yield from stepping.ask(backend.commit, [with_base(change, now.revision or 0)])
        if result.error is None:  # by now the rules let it through
            return _good_news(change, result, edited=decision.edited), True
    if result.approvals:
        again = result.approvals[0]
        if not again.diff:
            return f"{change.path} is already as this change would have it.", True
        return _anew(pending, again)
    if result.failed:
        return replace(pending, problem=result.error)
    return f"A person approved this {_noun(change)} of {change.path}, but it cannot be made now. {result.error}", False


def _anew(pending: PendingApproval, request: ApprovalRequest) -> PendingApproval:
    """What waits, worked out anew from the file as it is now."""
    return replace(pending, request=request, stale=True, problem=None)


def _landed_before(backend: Backend, pending: PendingApproval, change: FileChange) -> Steps[bool]:
    """Whether this very approval was carried out by a process that died before it could say so."""
    path = change.to if isinstance(change, MoveFile) else change.path
    history = yield from stepping.ask(backend.history, path, limit=20)
    return any(_mark(pending) in (each.author.reason or "") for each in history.revisions or ())


def _mark(pending: PendingApproval) -> str:
    return f"approval {pending.id[:12]}"


def _reason(pending: PendingApproval, runtime: Any) -> str:
    """Why the change lands, for its history."""
    person = getattr(getattr(getattr(runtime, "server_info", None), "user", None), "identity", None)
    return f"approved by {person or 'a person'} ({_mark(pending)})"


def _good_news(change: FileChange, result: FilesCommitResult, *, edited: bool) -> str:
    target = f" to {change.to}" if isinstance(change, MoveFile) else ""
    revision = next((each for each in result.revisions if isinstance(each, int) and each), None)
    at = "" if revision is None or isinstance(change, (DeleteFile, MoveFile)) else f" (revision {revision})"
    how = ", after changing it" if edited else ""
    text = f"A person approved this{how}. {_done(change)} {change.path}{target}{at}."
    if edited:
        name, args = action_of(change)
        shown = ", ".join(f"{key}={value!r}" for key, value in args.items() if key != "file_path")
        text += f" What landed is {name}({shown})."
    return text


def _noun(change: FileChange) -> str:
    match change:
        case WriteFile():
            return "write"
        case DeleteFile():
            return "deletion"
        case MoveFile():
            return "move"
        case EditFile() | AppendFile():
            return "change"


def _done(change: FileChange) -> str:
    match change:
        case WriteFile():
            return "Wrote"
        case DeleteFile():
            return "Deleted"
        case MoveFile():
            return "Moved"
        case EditFile() | AppendFile():
            return "Changed"


def _with_outcomes(message: ToolMessage, outcomes: Sequence[tuple[str, bool]]) -> ToolMessage:
    """The tool's message with what came of its changes, in place of the refusal, or after what else it says."""
    text = "\n".join(text for text, _ in outcomes)
    waiting = isinstance(message.content, str) and message.content.startswith("Error:")
    if not waiting:
        return message.model_copy(update={"content": _appended(message.content, text)})
    status = "success" if all(good for _, good in outcomes) else "error"
    return message.model_copy(update={"content": text, "status": status})


def _appended(content: str | list[Any], text: str) -> str | list[Any]:
    return f"{content}\n{text}" if isinstance(content, str) else [*content, {"type": "text", "text": text}]
