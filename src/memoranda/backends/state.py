"""`StateBackend`: files that live in the state of one thread."""

from __future__ import annotations

from typing import Any

from memoranda.backends.base import Backend


class StateBackend(Backend):
    """Files of one thread, in its state; gone for every other thread."""

    def __init__(self, runtime: Any = None) -> None:
        self._runtime = runtime
