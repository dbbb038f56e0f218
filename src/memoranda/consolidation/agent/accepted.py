"""Which texts are taken as memory: not what a model says in the place of it."""

from __future__ import annotations

import json
import re
from typing import Final

from memoranda.backends.hooks.secrets import find_secrets
from memoranda.files.path import name_of

MOST_BYTES: Final = 64_000
"""How many bytes a file has at most that a model writes in one call; memory is to be short."""

_MOST_REFUSAL: Final = 600

# A model that declines speaks of itself in the first words; what is remembered of a person does not begin so.
_REFUSAL: Final = re.compile(
    r"""[\s"'*_>#-]*(?:
        (?:i['’]?\s?a?m\s+(?:very\s+|so\s+)?sorry|sorry|(?:i\s+)?apologi[sz]e|unfortunately|as\s+an?\s+ai\b)
          [^\n]{0,80}?\b(?:can(?:no|['’])?t|unable|not\s+able|won['’]?t|will\s+not|not\s+comfortable|ai\b)
      | i\s+(?:can(?:no|['’])?t|am\s+unable\s+to|am\s+not\s+able\s+to|won['’]?t|will\s+not)\s+
          (?:help|assist|do\s+that|comply|fulfil|continue|provide|process|access|complete)
      | (?:here\s+(?:is|are)\s+the\s+(?:updated|new)\b|i\s+have\s+(?:updated|written|saved)\b|sure[,!]\s)
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_MARKUP: Final = re.compile(
    r"<\|[a-z_]{2,30}\|>|</?(?:[a-z]+:)?(?:tool_calls?|function_calls?|invoke|parameter|thinking|think)\b[^>\n]{0,200}>",
    re.IGNORECASE,
)
_CALL: Final = re.compile(
    r"""\s*(?:```(?:json)?\s*)?[\[{]\s*\{?\s*["']?(?:name|tool|tool_name|function|tool_calls?|action|file_path|path|operations)["']?\s*:""",
    re.IGNORECASE,
)

# What models write in the place of lines that they do not care to repeat: these lines would be lost.
_LEFT_OUT: Final = re.compile(
    r"""[^\w]*(?:
        \.{3}|…
      | (?:the\s+)?(?:rest|remaining|remainder|existing|other|previous|earlier)\b.{0,40}?\b
          (?:unchanged|omitted|as\s+before|the\s+same|stays?|remains?|kept|continues?|goes?\s+here)
      | (?:unchanged|omitted)
    )[^\w]*""",
    re.IGNORECASE | re.VERBOSE,
)
_LONGEST_LEFT_OUT: Final = 200


def objection(path: str, text: str, *, is_whole: bool = True) -> str | None:
    """Say why a text is not taken as memory, if it is not.

    Args:
        path: The file that it is for.
        text: The text.
        is_whole: It is all of the file, and not a part that is put into it.

    Returns:
        One or two sentences that a model can act on; None: it is taken.

    Example:
        >>> objection("/notes.md", "I'm sorry, but I can't help with that.").split(":")[0]
        'This is an answer to whoever asked and nothing to remember'
        >>> objection("/notes.md", "- Ann is sorry that she cannot come on 2026-03-05.") is None
        True
    """
    if strange := strange_character(text):
        return f"The text holds {strange}, which no text file has. Write plain text."
    size = len(text.encode())
    if size > MOST_BYTES:
        return f"The text has {size:,} bytes; more than {MOST_BYTES:,} are not taken at once. Keep memory short."
    if len(text) <= _MOST_REFUSAL and _REFUSAL.match(text):
        return "This is an answer to whoever asked and nothing to remember: write facts, or change nothing and finish."
    if (found := _MARKUP.search(text)) is not None:
        return f"The text holds {found[0]!r}, which belongs to a tool call. Write the text alone."
    for line in text.splitlines():
        if len(line) <= _LONGEST_LEFT_OUT and _LEFT_OUT.fullmatch(line):
            return f"The text holds {line.strip()!r} in the place of lines: write all of it, or use edit_file."
    if (wrong := _wrong_json(path, text) if is_whole else _wrong_piece(text)) is not None:
        return wrong
    secrets = find_secrets(text)
    if secrets:
        return f"Line {secrets[0].line} holds a secret ({secrets[0].name}). Leave it out: no secret is remembered."
    return None


def strange_character(text: str) -> str | None:
    """Name a character that no text file has, if there is one."""
    for character in text:
        number = ord(character)
        if (number < 32 and character not in "\t\n\r") or number == 127:
            return f"the control character U+{number:04X}"
        if 0xD800 <= number <= 0xDFFF:
            return f"half a character (U+{number:04X})"
        if number == 0xFFFD:
            return "the mark of a broken character (U+FFFD)"
    return None


def _wrong_json(path: str, text: str) -> str | None:
    if name_of(path).lower().endswith(".json"):
        try:
            json.loads(text)
        except ValueError as error:
            return f"The text is not valid JSON: {error}."
        return None
    return _wrong_piece(text)


def _wrong_piece(text: str) -> str | None:
    if _CALL.match(text):
        return "The text looks like the arguments of a tool call. Write the text that is to be remembered."
    return None
