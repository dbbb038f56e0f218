"""`ApprovalMiddleware`: the run pauses until a person has decided on the changes that the guard held back."""

from __future__ import annotations

from typing import Any

from memoranda.agents.middleware.tool_calls import ToolCallMiddleware
from memoranda.backends.base import Backend


class ApprovalMiddleware(ToolCallMiddleware):
    """Ask a person before a change to a sensitive path lands.

    Args:
        backend: The guarded backend that the agent's files go through, or a function of the runtime that gives it.
            An approved change is applied through it, also by another process than the one that asked.
    """

    def __init__(self, backend: Backend | Any) -> None:
        super().__init__()
        self.backend = backend
