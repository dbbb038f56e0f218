"""Ready hooks for `GuardedBackend`, and what hooks are told and answer.

Room by room: `events` the vocabulary, `secrets` over `secret_formats`, `limits` size and rate, `origin` the quarantine,
`observers` for whoever wants to know.
"""

from memoranda.backends.hooks.events import (
    Allow,
    Decision,
    Hold,
    Hook,
    Observer,
    Refuse,
    Replace,
    WriteEvent,
    WrittenEvent,
)

__all__ = [
    "Allow",
    "Decision",
    "Hold",
    "Hook",
    "Observer",
    "Refuse",
    "Replace",
    "WriteEvent",
    "WrittenEvent",
]
