"""Asking the hooks about a change; whatever goes wrong with one refuses it, and none holds up an event loop."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from memoranda.backends.guard.layers import Layers
from memoranda.backends.guard.looking import text_or_bytes
from memoranda.backends.guard.planning import Plan, Touch
from memoranda.backends.guard.tracing import note_read
from memoranda.backends.hooks.events import Allow, Hold, Refuse, Replace, WriteEvent, hook_name
from memoranda.backends.protocol import EditFile
from memoranda.backends.runtime import current_runtime, current_tool_call, read_channel, running_author
from memoranda.backends.steps import Steps, block, consult, is_control_flow
from memoranda.store.companions import unaccompanied

logger = logging.getLogger(__name__)

_LARGE = 100_000
"""From so many characters or bytes on, a hook may take long enough for an event loop to notice."""

_ROUNDS = 10
"""How often hooks may replace each other's text before they are taken to disagree."""


class RefusedError(Exception):
    """A hook refuses; the text is what the caller is told."""


@dataclass(frozen=True, slots=True)
class Consulted:
    """A change that no hook refuses.

    Args:
        plan: The change, perhaps with other content.
        holds: Why it must become a proposal, and who says so; empty: it may land.
    """

    plan: Plan
    holds: tuple[tuple[str, str], ...] = ()


@dataclass
class _Round:
    """One time that every hook is asked about a change."""

    replaced: str | bytes | None = None
    holds: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])


def consulted(layers: Layers, plan: Plan, *, repeated: bool) -> Steps[Consulted]:
    """Ask every hook about a change, and about what a hook puts in its place, until all agree.

    Args:
        layers: The hooks in force.
        plan: The change.
        repeated: Whether they were asked about it before.

    Raises:
        RefusedError: A hook refuses, fails, answers nonsense, or they do not come to agree.
    """
    if not layers.deciding:
        return Consulted(plan)
    names = yield from layers.names([touch.place for touch in plan.touches])
    # What a file brings along by a move counts as read, so that the hooks judge it.
    yield from note_read(layers, [touch.place for touch in plan.touches[:-1]])
    for number in range(_ROUNDS):
        round_ = yield from _ask_all(layers, plan, names, repeated=repeated or number > 0)
        if round_.replaced is None:
            return Consulted(plan, tuple(dict.fromkeys(round_.holds)))
        plan = plan.with_content(round_.replaced)
    raise RefusedError(
        f"Error: the hooks do not agree on what may stand in {plan.main.place.shown}. Leave it as it is."
    )


def _ask_all(layers: Layers, plan: Plan, names: Sequence[tuple[str, ...]], *, repeated: bool) -> Steps[_Round]:
    round_ = _Round()
    for touch, known in zip(plan.touches, names, strict=True):
        for after in _landing_forms(plan, touch):
            event = _event(touch, after, known, repeated=repeated)
            for hook in layers.deciding:
                decision = yield from _ask(hook, event)
                match decision:
                    case None | Allow():
                        continue
                    case Refuse(reason):
                        raise RefusedError(f"Error: {_verb(touch)} {touch.place.shown} was refused: {reason}")
                    case Hold(reason, source):
                        round_.holds.append((reason, source or f"hook:{hook_name(hook)}"))
                    case Replace(content):
                        if after is None:
                            raise RefusedError(
                                f"Error: {_verb(touch)} {touch.place.shown} was refused: the hook {hook_name(hook)} "
                                "replaces the text of a file that would be gone."
                            )
                        if text_or_bytes(content) != after:
                            round_.replaced = content
                            return round_
                    case other:
                        raise RefusedError(
                            f"Error: {_verb(touch)} {touch.place.shown} was refused: the hook {hook_name(hook)} "
                            f"answered {type(other).__name__} instead of Allow, Refuse, Replace, Hold or None."
                        )
    return round_


def _ask(hook: Any, event: WriteEvent) -> Steps[Any]:
    try:
        with unaccompanied():  # what a hook writes itself is not the change that it is asked about
            if _is_large(event) and not _is_coroutine_function(hook):
                answer = yield from block(partial(_called, hook, event))
                return (yield from consult(lambda: answer))  # it may have made a coroutine all the same
            return (yield from consult(hook, event))
    except Exception as error:
        if is_control_flow(error):
            raise
        logger.warning("The hook %s failed, so the change was refused.", hook_name(hook), exc_info=error)
        raise RefusedError(
            f"Error: the change of {event.shown} was refused: the hook {hook_name(hook)} failed with "
            f"{type(error).__name__}: {error}"
        ) from error


def _is_large(event: WriteEvent) -> bool:
    return any(content is not None and len(content) >= _LARGE for content in (event.before, event.after))


def _is_coroutine_function(hook: Any) -> bool:
    return inspect.iscoroutinefunction(hook) or inspect.iscoroutinefunction(getattr(hook, "__call__", None))  # noqa: B004


def _called(hook: Any, event: WriteEvent) -> Any:
    try:
        return hook(event)
    except StopIteration as error:  # which no thread can hand to an event loop
        raise RuntimeError("it raised StopIteration") from error


def _event(touch: Touch, after: str | bytes | None, names: tuple[str, ...], *, repeated: bool) -> WriteEvent:
    call = current_tool_call()
    return WriteEvent(
        path=touch.place.path,
        operation=touch.operation,
        before=touch.state.content,
        after=after,
        base=touch.state.base,
        author=running_author(),
        runtime=current_runtime(),
        untrusted=call is not None and call.untrusted,
        messages=tuple(read_channel("messages") or ()),
        shown=touch.place.shown,
        names=names,
        tool_call_id=call.id if call is not None else None,
        origins=None if call is None else call.origins,
        repeated=repeated,
    )


def _landing_forms(plan: Plan, touch: Touch) -> list[str | bytes | None]:
    """What may come to stand in a file: an edit of a JSON document is stored in its canonical form.

    Whether a file that holds canonical JSON is such a document is not known here, so both forms are shown to hooks.
    """
    forms = [touch.after]
    if (
        isinstance(plan.exact.change, EditFile)
        and isinstance(touch.after, str)
        and isinstance(touch.state.content, str)
        and touch.state.content.startswith("{")
        and _canonical_json(touch.state.content) == touch.state.content
    ):
        canonical = _canonical_json(touch.after)
        if canonical is not None and canonical != touch.after:
            forms.append(canonical)
    return forms


def _canonical_json(text: str) -> str | None:
    import json

    from memoranda.store.values import encode_value

    try:
        return encode_value(json.loads(text)).text
    except Exception:  # noqa: BLE001 - no JSON, or none that can be stored
        return None


def _verb(touch: Touch) -> str:
    return {"write": "writing", "upload": "uploading", "edit": "editing", "append": "appending to"}.get(
        touch.operation,
        {"delete": "deleting", "move": "moving", "restore": "restoring"}.get(touch.operation, "changing"),
    )
