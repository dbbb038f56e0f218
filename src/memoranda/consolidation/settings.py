"""The settings of a consolidator, checked."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import partial
from threading import TIMEOUT_MAX
from typing import Any, Final, Literal, TypeAlias, cast

from memoranda.consolidation.errors import InvalidConsolidatorError
from memoranda.consolidation.sources import Conversations, ScopeOf, Source, whose
from memoranda.consolidation.task import Task
from memoranda.errors import MemorandaError
from memoranda.store.changes import Namespace
from memoranda.store.namespaces import InvalidNamespaceError, validate_labels
from memoranda.store.store import MemoryStore
from memoranda.store.turns import RecordedTurn

Mode: TypeAlias = Literal["apply", "propose"]
Owner: TypeAlias = "str | Callable[[Namespace], str] | None"

_MODES: Final = ("apply", "propose")


def checked_mode(mode: Any) -> Mode:
    """What becomes of changes, as a caller gave it, if it is known."""
    if mode not in _MODES:
        raise InvalidConsolidatorError(f"mode={mode!r} is not known.", 'Pass "apply" or "propose".')
    return mode


def checked_store(store: Any) -> MemoryStore:
    """A store as a caller gave it, if it keeps conversations."""
    if not isinstance(store, MemoryStore):
        raise InvalidConsolidatorError(
            f"{type(store).__name__} keeps no conversations and no cursors.", "Pass store=open_store(…)."
        )
    return store


def checked_name(name: Any) -> str:
    """A name as a caller gave it, if it is one."""
    if not isinstance(name, str) or not name.strip():
        raise InvalidConsolidatorError(
            f"name={name!r} is no name.", 'Pass a string, such as "preferences", or None for the usual one.'
        )
    return name


def checked_prefix(prefix: Any) -> Namespace:
    """Labels that scopes start with, as a caller gave them."""
    if isinstance(prefix, str):
        raise InvalidConsolidatorError(
            f"prefix={prefix!r} is a string, not the labels that the scopes start with.",
            f"Pass a tuple: ({prefix!r},), or () for all scopes.",
        )
    if not isinstance(prefix, (tuple, list)):
        raise InvalidConsolidatorError(
            f"prefix={prefix!r} names no scopes.", 'Pass a tuple of labels, such as ("acme",), or () for all scopes.'
        )
    return checked_scope(cast("Sequence[str]", prefix)) if prefix else ()


def checked_sources(sources: Any) -> Source:
    """What is read, as a caller gave it; None: the conversations."""
    if sources is None:
        return Conversations()
    if isinstance(sources, type) or not callable(getattr(sources, "span", None)):
        shown = f"{sources.__name__} is a class" if isinstance(sources, type) else f"{sources!r} is nothing to read"
        raise InvalidConsolidatorError(f"sources={shown}.", 'Pass Conversations(), or EventLog("/events/").')
    return sources


def check_owner(**owners: Any) -> None:
    """Refuse what names nobody: neither a name, nor a function of a scope."""
    for what, owner in owners.items():
        if owner is not None and not callable(owner) and not (isinstance(owner, str) and owner.strip()):
            raise InvalidConsolidatorError(
                f"{what}={owner!r} names nobody.", f"Pass a name, or a function such as {what}=lambda scope: scope[-1]."
            )


def owner_of(scope: Namespace, turns: Sequence[RecordedTurn], *, user: Owner, org: Owner, agent: Owner) -> ScopeOf:
    """Whose turns these are: as they say; where none of them says it, as the settings do.

    Args:
        scope: Where they were recorded.
        turns: The turns.
        user: Who talked where no turn names a user.
        org: Whose organisation, likewise.
        agent: With which agent, likewise.
    """
    who = whose(scope, turns)
    for what, owner in {"user": user, "org": org, "agent": agent}.items():
        if owner is not None and all(getattr(turn, what) is None for turn in turns):
            who = who._replace(**{what: owner if isinstance(owner, str) else _named(what, owner, scope)})
    return who


def _named(what: str, owner: Callable[[Namespace], Any], scope: Namespace) -> str | None:
    try:
        found = owner(scope)
    except MemorandaError:
        raise
    except Exception as error:
        raise InvalidConsolidatorError(
            f"The function {what}= failed for the scope {scope!r} with {type(error).__name__}: {error}.", "Mend it."
        ) from error
    if found is not None and not (isinstance(found, str) and found.strip()):
        raise InvalidConsolidatorError(
            f"The function {what}= gave {found!r} for the scope {scope!r}.", "Let it return a name, or None."
        )
    return found


def check_numbers(**numbers: Any) -> None:
    """Refuse what is no whole number above 0."""
    for what, number in numbers.items():
        if isinstance(number, bool) or not isinstance(number, int) or not number > 0:
            raise InvalidConsolidatorError(f"{what}={number!r} makes no sense.", "Pass a whole number above 0.")


def checked_timeout(timeout: Any) -> float | None:
    """Return seconds as they are, if something can be waited for so long."""
    if timeout is not None and (
        isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not 0 < timeout <= TIMEOUT_MAX
    ):
        raise InvalidConsolidatorError(
            f"timeout={timeout!r} makes no sense.", "Pass a number of seconds above 0, or None for as long as it wants."
        )
    return timeout


def checked_scope(scope: Any) -> Namespace:
    """A scope as a caller gave it, if it is one."""
    if isinstance(scope, str) or not isinstance(scope, (tuple, list)):
        raise InvalidNamespaceError(f"{scope!r} is no namespace.", 'Give a tuple of labels, such as ("ann",).')
    labels: Namespace = tuple(cast("Sequence[str]", scope))
    validate_labels(labels)
    return labels


def check_takes_one(function: Callable[..., Any], what: str, name: str) -> None:
    """Refuse a function that cannot be called with one argument.

    Args:
        function: The function.
        what: How the message begins.
        name: What it is given.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # such as some built-in ones
        return
    try:
        signature.bind(None)
    except TypeError:
        raise InvalidConsolidatorError(
            f"{what} cannot be called with the {name} alone: its parameters are {signature}.",
            f"Let it take one, as in `lambda {name}: …`.",
        ) from None


def is_function(target: Any) -> bool:
    """Whether a target is made by a function."""
    return inspect.isfunction(target) or inspect.ismethod(target) or isinstance(target, partial)


def work_of(work: Any, limit_steps: int) -> Callable[[Task], Any]:
    """What does the work, from what a caller gave."""
    if isinstance(work, str) or hasattr(work, "bind_tools"):
        from memoranda.consolidation.agent import ready_made

        return ready_made(work, limit_steps=limit_steps)
    if not callable(work):
        raise InvalidConsolidatorError(
            f"{type(work).__name__} can do no work.",
            "Pass a chat model or its name, a function of a Task, or an agent as from_agent(lambda task: …).",
        )
    if is_function(work):
        check_takes_one(work, "The consolidator's function", "task")
    return work
