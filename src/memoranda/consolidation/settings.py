"""The settings of a consolidator, checked."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import partial
from threading import TIMEOUT_MAX
from typing import Any, cast

from memoranda.consolidation.errors import InvalidConsolidatorError
from memoranda.consolidation.task import Task
from memoranda.store.changes import Namespace
from memoranda.store.namespaces import InvalidNamespaceError, validate_labels


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
    return work
