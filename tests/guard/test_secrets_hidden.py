"""Secrets that were put down in another way than as plain text in a file, and how long looking for them takes."""

from __future__ import annotations

import base64
import itertools
import random
import sys
import time
import unicodedata
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import pytest

from memoranda import open_store
from memoranda.backends import GuardedBackend, StoreBackend, WriteEvent
from memoranda.backends.hooks import Refuse, secrets
from memoranda.backends.hooks.secret_formats import FORMATS
from memoranda.backends.hooks.secret_readings import HIDDEN, readings
from memoranda.backends.hooks.secrets import find_secrets
from tests.guard.shapes import SHAPES, made, pem

TOKEN = made("ghp_{n36}")
NAME = "GitHub personal access token"
MARKS = " ".join(known.mark for known in FORMATS) + " PRIVATE KEY "


@pytest.fixture
def inner() -> Any:
    with open_store("memory://") as store:
        yield StoreBackend(namespace=("ann",), store=store)


def names(content: str | bytes) -> list[str]:
    return [found.name for found in find_secrets(content)]


def split(hide: str) -> str:
    return TOKEN[:10] + hide + TOKEN[10:20] + hide + TOKEN[20:]


# --- characters that show nothing ---------------------------------------------------------------------------------


def test_everything_that_shows_nothing_is_known() -> None:
    for number in range(sys.maxunicode + 1):
        character = chr(number)
        name = unicodedata.name(character, "")
        if unicodedata.category(character) == "Cf" or "VARIATION SELECTOR" in name or "GRAPHEME JOINER" in name:
            assert HIDDEN.fullmatch(character), hex(number)
        elif character.isprintable() and "FILLER" not in name and "INHERENT" not in name:
            assert not HIDDEN.search(character), name or hex(number)


@pytest.mark.parametrize("hide", ["\ufe0f", "\u2063", "\u034f", "\U000e0100", "\U000e0041", "\u061c", "\u3164", "\0"])
def test_invisible_characters_hide_nothing(hide: str) -> None:
    assert names(f"one\nkey: {split(hide)}\n") == [NAME]
    assert names(b"\xff" + split(hide).encode()) == [NAME]
    assert find_secrets(f"one\nkey: {split(hide)}\n")[0].line == 2


@pytest.mark.parametrize(
    "escape",
    [r"\u200b", r"\\u200b", r"\u{200b}", r"\U0000200b", r"\xad", r"\udb40\udd00", "\\u200b\u200b", r"\u200b\ufe0f"],
)
def test_escaped_invisible_characters_hide_nothing(escape: str) -> None:
    assert names(f'{{"a":\n"{split(escape)}"}}') == [NAME]
    assert find_secrets(f'{{"a":\n"{split(escape)}"}}')[0].line == 2


def test_escapes_and_invisible_characters_together_hide_nothing() -> None:
    assert names("".join(f"\\u{ord(letter):04x}\u2063" for letter in TOKEN)) == [NAME]
    assert names(r"postgres:\/\/ann:" + made("{n20}") + "@db.acme.io") == ["connection URL with a password"]


# --- other encodings ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize(
    ("before", "hide"),
    [
        (b"", ""),
        (b"", "\u200b"),
        (b"\xff" * 4096, ""),
        (b"\xff" * 4096, "\u200b"),
        (b"\xff" * 4097, ""),
        (b"\xff\0" * 5000 + b"\xff", ""),
    ],
    ids=["alone", "alone, hidden", "late", "late, hidden", "at an odd place", "after NULs"],
)
def test_wide_encodings_hide_nothing(encoding: str, before: bytes, hide: str) -> None:
    assert names(before + f"key: {split(hide)}\n".encode(encoding)) == [NAME]


def test_a_letter_before_it_does_not_hide_a_token_in_utf_16() -> None:
    assert names("中".encode("utf-16-le") + made("hf_{a34}").encode("utf-16-le")) == ["Hugging Face token"]


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_base64_hides_nothing(name: str, encode: Callable[[bytes], bytes]) -> None:
    for seed in range(3):
        secret = f'{{"token": "{made(SHAPES[name][0], seed)}"}}'
        for padding in range(3):
            encoded = encode(b" " * padding + secret.encode()).decode()
            for around in ("{}", "one\ntwo {} three", "k/{}", "data:text/plain;base64,{}", "ab/{}", "a_{}", "x={}"):
                assert name in names(around.format(encoded.rstrip("="))), (encoded, around)
                assert name in names(around.format(encoded)), (encoded, around)


@pytest.mark.parametrize("between", ["\n", "\r\n", "\n    ", "\\n", "\u200b"])
def test_wrapped_base64_hides_nothing(between: str) -> None:
    encoded = base64.b64encode(f"x: 1\nword: {TOKEN}\n{pem('RSA ')}".encode()).decode()
    lines = between.join(encoded[start : start + 60] for start in range(0, len(encoded), 60))
    assert names(f"data:\n  k: {lines}\n") == [NAME, "private key"]
    assert find_secrets(f"data:\n  k: {lines}\n")[0].line == 2


def test_other_encodings_inside_base64_hide_nothing() -> None:
    assert names(base64.b64encode(TOKEN.encode("utf-16-le"))) == [NAME]
    assert names(base64.b64encode(split("\u200b").encode())) == [NAME]
    assert names(base64.b64encode(f'{{"é": "{split(chr(92) + "u200b")}"}}'.encode())) == [NAME]
    assert names(b"\xff\xfe" + base64.b64encode(TOKEN.encode()).decode().encode("utf-16-le")) == [NAME]


def test_each_run_of_base64_has_its_line() -> None:
    runs = [base64.b64encode(f"the token is {made('ghp_{n36}', seed)}!!".encode()).decode() for seed in range(5)]
    assert [found.line for found in find_secrets("\n\n" + "\n\n".join(f"> {run}" for run in runs))] == [3, 5, 7, 9, 11]


def test_ordinary_base64_is_no_secret() -> None:
    draw = random.Random(7)
    for start in (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", b"\xff\xd8\xff\xe0\0\x10JFIF", b"GIF89a", b"%PDF-1.7\n", b"PK\3\4"):
        for size in (90, 3_000, 60_000):
            image = start + draw.randbytes(size)
            for encode in (base64.b64encode, base64.urlsafe_b64encode, base64.encodebytes):
                assert names(b"![x](data:image/png;base64," + encode(image) + b")") == []
    drawing = b'<svg xmlns="http://www.w3.org/2000/svg"><path d="M0 0h24v24H0z" fill="none"/></svg>' * 20
    assert names("url(data:image/svg+xml;base64," + base64.b64encode(drawing).decode() + ")") == []


@pytest.mark.parametrize("name", SHAPES)
def test_samples_pass_in_base64_and_between_invisible_characters(name: str) -> None:
    for sample in SHAPES[name][1]:
        assert names(base64.b64encode(f"for example: {sample}, and so on and so on".encode())) == []
        assert names(f"for example \u200b{sample}\n".encode("utf-16")) == []
        assert names(f"for \\u0065xample {sample}\n") == []


# --- paths --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["/notes/{}.md", "/{}/a.md", "/notes/a {} b", "/notes/" + TOKEN[:9] + "\ufe0f{}"])
def test_a_path_holds_no_secret(inner: Any, form: str) -> None:
    path = form.format(TOKEN[9:] if "\ufe0f" in form else TOKEN)
    guard = GuardedBackend(inner, hooks=[secrets()])
    inner.write("/old.md", "text")
    for ask in (
        lambda: guard.write(path, "text"),
        lambda: guard.append(path, "text"),
        lambda: guard.upload_files([(path, b"text")])[0],
        lambda: guard.move("/old.md", path),
    ):
        assert f"its path would hold a secret: {NAME}. Choose" in (ask().error or "")
    assert [entry["path"] for entry in inner.ls("/").entries] == ["/old.md"]


def test_a_path_that_is_there_already_blocks_nothing(inner: Any) -> None:
    path = f"/notes/{TOKEN}.md"
    inner.write(path, "text")
    guard = GuardedBackend(inner, hooks=[secrets()])
    assert guard.edit(path, "text", "other").error is None
    assert guard.append(path, "more").error is None
    assert guard.move(path, "/notes/clean.md").error is None
    assert guard.write("/notes/ghp_YOUR_TOKEN.md", "text").error is None
    assert GuardedBackend(inner, hooks=[secrets(allow=[TOKEN])]).write(path, "text").error is None


# --- what lies there already --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "put",
    [
        lambda token: token,
        lambda token: token[:9] + "\ufe0f" + token[9:],
        lambda token: base64.b64encode(f"token: {token}\n".encode()).decode(),
        lambda token: token.encode("utf-16").decode("latin-1"),
    ],
    ids=["plain", "invisible", "base64", "utf-16"],
)
def test_what_lies_there_already_blocks_nothing_else(put: Callable[[str], str]) -> None:
    hook = secrets()
    many = "\n".join(put(made("ghp_{n36}", seed)) for seed in range(200))
    assert hook(WriteEvent("/a", "edit", many, f"{many}\nmore")) is None
    another = hook(WriteEvent("/a", "edit", many, f"{many}\n{put(made('ghp_{n36}', 201))}"))
    assert isinstance(another, Refuse) and f"{NAME} (line " in another.reason
    assert isinstance(hook(WriteEvent("/a", "write", None, many)), Refuse)


def test_a_kind_of_ones_own_may_have_a_group_that_stays_empty() -> None:
    hook = secrets(also={"badge": r"badge-(?:(\d{6})|none-[a-z]{8})"})
    answer = hook(WriteEvent("/a", "write", None, "badge-none-kqzwmvxr"))
    assert isinstance(answer, Refuse) and "badge (line 1)" in answer.reason


# --- time ---------------------------------------------------------------------------------------------------------


def seconds(work: Callable[[], Any]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def filled(piece: str | bytes, size: int) -> Any:
    return (piece * (size // len(piece) + 1))[:size]


@lru_cache
def hard_contents(size: int) -> dict[str, str | bytes]:
    draw = random.Random(3)
    tokens = "\n".join(made("ghp_{n36}", seed) for seed in range(size // 41))
    letters = base64.b64encode(draw.randbytes(size)).decode()
    return {
        "tokens": tokens,
        "samples": "\n".join("ghp_12345678" + made("{n28}", seed) for seed in range(size // 41)),
        "marks": filled(MARKS, size),
        "marks and base64": (MARKS + letters)[:size],
        "short runs": (MARKS + "\n.".join(letters[at : at + 46] for at in range(0, size, 46)))[:size],
        "wrapped runs": (MARKS + "\n".join(letters[at : at + 46] for at in range(0, size, 46)))[:size],
        "runs of text": base64.b64encode(filled(MARKS + tokens[:5000].lower(), size * 3 // 4).encode()),
        "runs that are too short": filled("a" * 39 + ".", size),
        "escapes": filled(MARKS + "\\u0067" * 50, size),
        "backslashes": filled("\\", size),
        "unfinished escapes": filled("\\\\u{12", size),
        "breaks": filled("a" * 41 + "\\n\n \t", size),
        "invisible": filled(MARKS + "a\u200b" * 200, size),
        "utf-16": b"\xff" + filled(MARKS + "a", size // 2 - 1).encode("utf-16-le"),
        "binary": MARKS.encode() + draw.randbytes(size - len(MARKS)),
        "nearly": filled("redis://:" + "a" * 7, size),
    }


@pytest.mark.parametrize("kind", hard_contents(2000))
def test_a_megabyte_takes_a_moment(kind: str) -> None:
    """About half a second on an idle machine; what grows with the square takes many."""
    content = hard_contents(1_000_000)[kind]
    tries = (seconds(lambda: find_secrets(content)) for _ in range(2))
    assert any(taken < 2 for taken in tries)


def test_an_edit_among_many_secrets_takes_a_moment() -> None:
    tokens = "\n".join(made("ghp_{n36}", seed) for seed in range(24_000))
    assert seconds(lambda: secrets()(WriteEvent("/a", "edit", tokens, tokens + "\nmore"))) < 2
    assert len(find_secrets(tokens)) == 50


def test_readings_are_a_few_times_the_content() -> None:
    for kind, content in hard_contents(100_000).items():
        made_of_it = list(itertools.islice(readings(content), 10))
        assert len(made_of_it) <= 6, kind
        assert sum(len(reading.text) for reading in made_of_it) <= 5 * len(content), kind
