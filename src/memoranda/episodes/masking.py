"""Secrets are masked before a conversation is recorded: it is kept, searched, and shown to models later."""

from __future__ import annotations

import re
from typing import Final

from memoranda.backends.hooks.secrets import find_secrets

MASK: Final = "[secret removed]"
"""What stands in the place of a secret."""

_ROUNDS: Final = 8
_PRIVATE_KEY: Final = re.compile(
    r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
    r".*?(?:-----END (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----|\Z)",
    re.DOTALL,
)
_ENCODED_LINE: Final = re.compile(r"\s*[A-Za-z0-9+/_=-]{4,}\s*")


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
        if any(secret.name == "private key" for secret in found):
            masked = _PRIVATE_KEY.sub(MASK, masked)
        if masked == text:
            masked = _without_lines(text, {secret.line - 1 for secret in found})
        text = masked
    return text if not find_secrets(text) else MASK


def _without_lines(text: str, gone: set[int]) -> str:
    """A text with a mask in the place of these lines, and of what is encoded in the lines below each."""
    kept: list[str] = []
    is_gone = False
    for number, line in enumerate(text.split("\n")):
        goes_on = is_gone and _ENCODED_LINE.fullmatch(line) is not None
        is_gone = number in gone or goes_on
        if not goes_on:
            kept.append(MASK if is_gone else line)
    return "\n".join(kept)
