"""Ready hooks for `GuardedBackend`, and what hooks are told and answer.

Room by room: `events` the vocabulary, `secrets` over `secret_formats` and
`secret_readings`, `limits` size and rate, `origin` the quarantine, `observers` for whoever wants to know.
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
from memoranda.backends.hooks.limits import size_limit, write_rate
from memoranda.backends.hooks.observers import on_written
from memoranda.backends.hooks.origin import quarantine
from memoranda.backends.hooks.secrets import secrets

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
    "on_written",
    "quarantine",
    "secrets",
    "size_limit",
    "write_rate",
]
