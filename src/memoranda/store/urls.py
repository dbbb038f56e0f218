"""Store URLs as they may be shown."""

from __future__ import annotations

import re


def redacted(url: str) -> str:
    """The URL without its password, fit for logs and messages.

    Example:
        >>> redacted("postgresql://ann:secret@db/memory")
        'postgresql://ann:***@db/memory'
    """
    # A password may hold a `?`, as the driver reads it, or by mistake a slash.
    hidden = re.sub(r"(://[^:/@?]*):(?:[^/]*|[^?]*)@", r"\1:***@", url)
    return re.sub(r"(password=)[^&\s]*", r"\1***", hidden)
