"""Keys, tokens and passwords must not come to rest in a memory that is read again and again."""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64decode
from collections import Counter
from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, cast

from memoranda.backends.hooks.events import Refuse, WriteEvent
from memoranda.backends.hooks.secret_formats import FORMATS, SecretFormat

# What stands where a secret would, in examples and templates.
_PLACEHOLDER = re.compile(
    r"example|sample|placeholder|redacted|changeme|change_me|your[_-]|dummy|insert[_-]|replace[_-]|xxxxx|00000000|\*{4}"
    r"|\.{3}|…|<",
    re.IGNORECASE,
)
_RUN = 8
"""So many characters in a row that count up, such as `12345678`, were typed and not drawn."""

_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")
_INVISIBLE = dict.fromkeys([0x00AD, 0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF])
_PRIVATE_KEY = re.compile(r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_KEY_BODY = 64
"""How many characters of a private key make it one, rather than the mention of one."""


class Secret(NamedTuple):
    """A secret that was found.

    Args:
        name: What it is.
        value: It.
        line: On which line it starts, from 1.
    """

    name: str
    value: str
    line: int


def find_secrets(content: str | bytes, formats: Iterable[SecretFormat] = FORMATS) -> list[Secret]:
    """Find what looks like a secret, and not like the sample of a documentation.

    Args:
        content: A text; or bytes, which are read as the text they may be.
        formats: What to look for; private keys in PEM form always.

    Returns:
        What was found, each value once.

    Example:
        >>> find_secrets("aws_access_key_id = AKIAIOSFODNN7EXAMPLE")
        []
    """
    found: dict[str, Secret] = {}
    known = tuple(formats)
    for text in _readings(content):
        for name, value, start in _found_in(text, known):
            if value not in found:
                found[value] = Secret(name, value, text.count("\n", 0, start) + 1)
    return list(found.values())


def _found_in(text: str, formats: Iterable[SecretFormat]) -> Generator[tuple[str, str, int]]:
    lowered = text.lower()
    for known in formats:
        if known.mark.lower() not in lowered:
            continue
        group = 1 if known.expression.groups else 0
        tried = set(known.samples)
        for match in known.expression.finditer(text):
            value = match.group(group)
            if value not in tried:
                tried.add(value)
                if not is_sample(value):
                    yield known.name, value, match.start(group)
    if "PRIVATE KEY" in text:
        yield from _private_keys(text)


def _private_keys(text: str) -> Generator[tuple[str, str, int]]:
    """PEM blocks with something in them; one that was cut off counts too."""
    for match in _PRIVATE_KEY.finditer(text):
        end = text.find("-----", match.end())  # each search ends at the next block, so all of them are one pass
        body = text[match.end() : end if end >= 0 else match.end() + 20_000]
        key = re.sub(r"\\[nr]|\s", "", body[:20_000])
        if sum(map(_is_base64, key)) >= _KEY_BODY and not _PLACEHOLDER.search(key):
            yield "private key", key, match.start()


def _is_base64(character: str) -> bool:
    return character.isascii() and (character.isalnum() or character in "+/=")


def is_sample(value: str) -> bool:
    """Whether a value was made up to stand for a secret.

    Args:
        value: What has the form of a secret.

    Returns:
        True for placeholders, for one character over and over, for what counts up, and for the token of jwt.io.
    """
    if _PLACEHOLDER.search(value):
        return True
    letters = [character for character in value if character.isalnum()]
    if not letters or max(Counter(letters).values()) * 2 >= len(letters):
        return True
    run = 1
    for one, other in pairwise(value):
        run = run + 1 if ord(other) == ord(one) + 1 or (one, other) == ("9", "0") else 1
        if run >= _RUN:
            return True
    return value.startswith("eyJ") and _is_sample_token(value)


def _is_sample_token(token: str) -> bool:
    try:
        payload = token.split(".")[1]
        claims: object = json.loads(urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    except (ValueError, IndexError):
        return False
    if not isinstance(claims, dict):
        return False
    known = cast("Mapping[str, object]", claims)
    return known.get("sub") == "1234567890" or known.get("name") == "John Doe"


def _readings(content: str | bytes) -> list[str]:
    """The texts that a content may be read as, each only if it differs from those before it."""
    if isinstance(content, bytes):
        readings = [content.decode("latin-1")]
        if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
            readings.append(content.decode("utf-16", "replace"))
        elif b"\0" in content[:4096]:
            readings += [content.decode("utf-16-le", "ignore"), content.decode("utf-16-be", "ignore")]
        return readings
    readings = [content]
    if not content.isascii():
        plain = content.translate(_INVISIBLE)
        if plain != content:
            readings.append(plain)
    if "\\u" in content:
        readings.append(_ESCAPE.sub(lambda match: chr(int(match[1], 16)), content))
    return readings


@dataclass(frozen=True)
class SecretsHook:
    """Refuses changes that would bring a secret into a file; see `secrets`."""

    formats: tuple[SecretFormat, ...]
    allow: frozenset[str]
    name: str = "secrets"

    def __call__(self, event: WriteEvent) -> Refuse | None:
        """Refuse what brings in a secret."""
        if event.after is None:
            return None
        found = [secret for secret in find_secrets(event.after, self.formats) if secret.value not in self.allow]
        if not found:
            return None
        # Only what is new: a secret that lies there already must not block every other change of the file.
        known = {secret.value for secret in find_secrets(event.before, self.formats)} if event.before else set[str]()
        new = [secret for secret in found if secret.value not in known]
        if not new:
            return None
        kinds = ", ".join(dict.fromkeys(f"{secret.name} (line {secret.line})" for secret in new[:5]))
        return Refuse(
            f"it would hold a secret: {kinds}. Leave the secret out and note instead where it is kept, "
            "or write a placeholder such as <API_KEY>."
        )


def secrets(*, allow: Iterable[str] = (), also: Mapping[str, str] | None = None) -> SecretsHook:
    """A hook that refuses changes which would bring a secret into a file.

    It knows keys, tokens and passwords of some eighty kinds by their form, private keys in PEM form and tokens in URLs.
    It sees the whole file as it would be afterwards, so a secret cannot come in piece by piece. The sample values of
    vendors' documentation pass, and so does a secret that the file holds already.

    Args:
        allow: Values that may be written although they look like secrets.
        also: More kinds: a name for each regular expression; its first group, if any, is the secret.

    Example:
        >>> hook = secrets()
        >>> hook(WriteEvent("/notes.md", "write", None, "key: " + "ghp_" + "Zk3" * 12)) is None
        False
    """
    more = tuple(SecretFormat(name, "", pattern) for name, pattern in (also or {}).items())
    for one in more:
        _ = one.expression  # a mistake in a pattern is told at once
    return SecretsHook((*FORMATS, *more), frozenset(allow))
