"""Keys, tokens and passwords must not come to rest in a memory that is read again and again."""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64decode
from collections import Counter
from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import NamedTuple, cast

from memoranda.backends.hooks.events import Refuse, WriteEvent
from memoranda.backends.hooks.secret_formats import FORMATS, SecretFormat
from memoranda.backends.hooks.secret_readings import Reading, readings

# What stands where a secret would, in examples and templates.
_PLACEHOLDER = re.compile(
    r"example|sample|placeholder|redacted|changeme|change_me|your[_-]|dummy|insert[_-]|replace[_-]|xxxxx|00000000|\*{4}"
    r"|\.{3}|…|<",
    re.IGNORECASE,
)
_RUN = 8
"""So many characters in a row that count up, such as `12345678`, were typed and not drawn."""

_MOST = 50
"""Whoever looks at so many secrets needs no more, and each costs the count of its line."""
_MOST_TOLD = 5

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


class _Candidate(NamedTuple):
    """What has the form of a secret, and may be a sample."""

    name: str
    value: str
    reading: Reading
    start: int


def find_secrets(content: str | bytes, formats: Iterable[SecretFormat] = FORMATS) -> list[Secret]:
    """Find what looks like a secret, and not like the sample of a documentation.

    Args:
        content: A text; or bytes, which are read as the text they may be.
        formats: What to look for; private keys in PEM form always.

    Returns:
        What was found, each value once; of very many, the first fifty.

    Example:
        >>> find_secrets("aws_access_key_id = AKIAIOSFODNN7EXAMPLE")
        []
    """
    return list(islice(_secrets(content, tuple(formats), frozenset(), None), _MOST))


def _secrets(
    content: str | bytes, formats: tuple[SecretFormat, ...], allow: frozenset[str], before: str | bytes | None
) -> Generator[Secret]:
    """Secrets that are neither allowed nor in what was there before."""
    known: set[str] | None = None
    for name, value, reading, start in _candidates(content, formats):
        if value in allow or (known is not None and value in known) or is_sample(value):
            continue
        if known is None:  # only now: most contents have none
            known = {found.value for found in _candidates(before, formats)} if before else set()
            if value in known:
                continue
        yield Secret(name, value, reading.line(start))


def _candidates(content: str | bytes, formats: tuple[SecretFormat, ...]) -> Generator[_Candidate]:
    tried: set[str] = set()
    for reading in readings(content):
        for name, value, start in _found_in(reading.text, formats):
            if value not in tried:
                tried.add(value)
                yield _Candidate(name, value, reading, start)


def _found_in(text: str, formats: Iterable[SecretFormat]) -> Generator[tuple[str, str, int]]:
    lowered = text.lower()
    for known in formats:
        if known.mark.lower() not in lowered:
            continue
        group = 1 if known.expression.groups else 0
        for match in known.expression.finditer(text):
            part = group if match[group] else 0
            if (value := match[part]) and value not in known.samples:
                yield known.name, value, match.start(part)
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
        # Only what is new: a secret that lies there already must not block every other change of the file.
        new = list(islice(_secrets(event.after, self.formats, self.allow, event.before), _MOST_TOLD))
        if new:
            kinds = ", ".join(dict.fromkeys(f"{secret.name} (line {secret.line})" for secret in new))
            return Refuse(
                f"it would hold a secret: {kinds}. Leave the secret out and note instead where it is kept, "
                "or write a placeholder such as <API_KEY>."
            )
        if event.before is None:
            new = list(islice(_secrets(event.path, self.formats, self.allow, None), _MOST_TOLD))
        if new:
            kinds = ", ".join(dict.fromkeys(secret.name for secret in new))
            return Refuse(f"its path would hold a secret: {kinds}. Choose a path without it.")
        return None


def secrets(*, allow: Iterable[str] = (), also: Mapping[str, str] | None = None) -> SecretsHook:
    r"""A hook that refuses changes which would bring a secret into a file.

    It knows keys, tokens and passwords of some eighty kinds by their form, private keys in PEM form and tokens in URLs.
    It sees the whole file as it would be afterwards, so a secret cannot come in piece by piece, and the path of a new
    file. Characters that show nothing, escapes such as `\u0067`, UTF-16, UTF-32 and base64 hide nothing from it. The
    sample values of vendors' documentation pass, and so does a secret that the file holds already.

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
