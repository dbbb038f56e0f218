"""Secrets are masked before a conversation is recorded: it is kept, searched, and shown to models later."""

from __future__ import annotations

from typing import Final

from memoranda.backends.hooks.secrets import find_secrets

MASK: Final = "[secret removed]"
"""What stands in the place of a secret."""

_ROUNDS: Final = 8


def mask_secrets(text: str) -> str:
    """Take keys, tokens and passwords of well-known formats out of a text.

    What cannot be found as it stands, because it is encoded or spread over lines, takes the whole line with it, and at
    last the whole text: a secret is never kept for want of a place to cut.

    Args:
        text: What was said.

    Returns:
        The text with a mask in the place of each secret.

    Example:
        >>> mask_secrets("Use " + "ghp_" + "Zk3" * 12 + " for it.")
        'Use [secret removed] for it.'
    """
    for _ in range(_ROUNDS):
        found = find_secrets(text)
        if not found:
            return text
        masked = text
        for secret in found:
            masked = masked.replace(secret.value, MASK)
        if masked == text:
            lines = text.split("\n")
            gone = {secret.line - 1 for secret in found}
            masked = "\n".join(MASK if number in gone else line for number, line in enumerate(lines))
        text = masked
    return text if not find_secrets(text) else MASK
