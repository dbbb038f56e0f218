"""Secrets: each format is refused on every way of writing, and what documentations print in their place is not."""

from __future__ import annotations

import random
import re
import time
from typing import Any

import pytest

from memoranda import open_store
from memoranda.backends import FilesystemPermission, GuardedBackend, StoreBackend
from memoranda.backends.hooks import secrets
from memoranda.backends.hooks.secret_formats import FORMATS
from memoranda.backends.hooks.secrets import find_secrets, is_sample
from memoranda.backends.protocol import AppendFile, EditFile, WriteFile
from tests.guard.shapes import ALPHABETS, PEM, SHAPES, made, pem


@pytest.fixture
def inner() -> Any:
    with open_store("memory://") as store:
        yield StoreBackend(namespace=("ann",), store=store)


def test_every_format_has_a_shape_and_a_sample() -> None:
    assert {known.name for known in FORMATS} == set(SHAPES)
    assert len(SHAPES) >= 40
    assert all(samples for _, samples in SHAPES.values())


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize(
    "around",
    ["{}", "key: {}\n", '{{"k": "{}"}}', "see `{}`.", "export K='{}'", "A={}&b=1", "<{}>", "x/{}/y", "--k={},"],
)
def test_secrets_are_found(name: str, around: str) -> None:
    for seed in range(20):
        secret = made(SHAPES[name][0], seed)
        found = find_secrets("notes\n" + around.format(secret))
        assert name in [one.name for one in found], secret
        assert found[0].line == 2


@pytest.mark.parametrize("name", SHAPES)
def test_samples_are_not(name: str) -> None:
    for sample in SHAPES[name][1]:
        assert find_secrets(f"for example {sample}\n") == []


@pytest.mark.parametrize("kind", PEM)
def test_private_keys(kind: str) -> None:
    assert [one.name for one in find_secrets(pem(kind))] == ["private key"]


@pytest.mark.parametrize(
    "text",
    [
        "-----BEGIN RSA PRIVATE KEY-----\nEXAMPLE\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCEXAMPLE"
        + "a" * 80
        + "\n-----END PRIVATE KEY-----",
        "Look for '-----BEGIN PRIVATE KEY-----' in the file.",
        "-----BEGIN PUBLIC KEY-----\n" + "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A" * 8 + "\n-----END PUBLIC KEY-----",
        "-----BEGIN CERTIFICATE-----\n" + "MIIDdzCCAl+gAwIBAgIEAgAAuTANBgkq" * 8 + "\n-----END CERTIFICATE-----",
    ],
)
def test_what_is_no_private_key(text: str) -> None:
    assert find_secrets(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "4242 4242 4242 4242",
        "commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "550e8400-e29b-41d4-a716-446655440000",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "https://example.com/path?x=1#eyJ",
        "the secret key of success is patience, and the password is nothing to write down",
        "task-list: risk-free, disk-usage, ask-me-anything sk-learn",
        "version v1.0-beta and key-value pairs; see hf_hub_download and npm_config_cache",
        "data:image/png;base64," + "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk" * 20,
    ],
)
def test_what_is_no_secret(text: str) -> None:
    assert find_secrets(text) == []


def test_random_text_is_no_secret() -> None:
    draw = random.Random(5)
    for _ in range(30):
        assert find_secrets("".join(draw.choices(ALPHABETS["s"], k=50_000))) == []
        assert find_secrets("".join(draw.choices(ALPHABETS["h"], k=50_000))) == []


def test_no_random_secret_looks_like_a_sample() -> None:
    for shape, _ in SHAPES.values():
        assert sum(is_sample(made("{n40}" if shape == "" else shape, seed)) for seed in range(200)) == 0, shape


@pytest.mark.parametrize("name", SHAPES)
def test_every_way_of_writing_refuses(inner: Any, name: str) -> None:
    secret = made(SHAPES[name][0])
    guard = GuardedBackend(inner, hooks=[secrets()])
    half = len(secret) // 2
    inner.write("/a.md", f"first\n{secret[:half]}@@\n")
    inner.write("/old.md", f"{secret}\n")
    inner.write("/old.md", "clean\n")
    inner.write("/moved.md", f"{secret}\n")
    ways = {
        "write": lambda: guard.write("/b.md", f"x\n{secret}"),
        "overwrite": lambda: guard.write("/a.md", secret),
        "edit": lambda: guard.edit("/a.md", "@@", secret[half:]),
        "append": lambda: guard.append("/a.md", secret),
        "upload": lambda: guard.upload_files([("/b.md", secret.encode())])[0],
        "binary": lambda: guard.upload_files([("/b.bin", b"\xff\xfe\xfd " + secret.encode() + b" \xff")])[0],
        "utf-16": lambda: guard.upload_files([("/b.bin", b"\xff\xfe" + secret.encode("utf-16-le"))])[0],
        "restore": lambda: guard.restore("/old.md", 1),
        "move": lambda: guard.move("/moved.md", "/b.md"),
        "commit write": lambda: guard.commit([WriteFile("/b.md", secret)]),
        "commit edit": lambda: guard.commit([EditFile("/a.md", "@@", secret[half:])]),
        "commit in pieces": lambda: guard.commit(
            [WriteFile("/b.md", secret[:half] + "@"), EditFile("/b.md", "@", secret[half:])]
        ),
        "commit append": lambda: guard.commit([AppendFile("/a.md", secret)]),
    }
    for way, ask in ways.items():
        error = ask().error
        assert error is not None, way
        assert "was refused: it would hold a secret" in error, way
        assert name in error, way
        assert secret not in error, way
    assert [entry["path"] for entry in inner.ls("/").entries] == ["/a.md", "/moved.md", "/old.md"]


def test_proposals_and_approvals_hold_no_secret(inner: Any) -> None:
    for mode in ("propose", "interrupt"):
        guard = GuardedBackend(inner, [FilesystemPermission(["write"], ["/**"], mode)], [secrets()])
        result = guard.write("/a", made("ghp_{n36}"))
        assert "secret" in (result.error or "")
        assert (result.proposal, result.approval) == (None, None)


def test_a_secret_that_lies_there_already_blocks_nothing_else(inner: Any) -> None:
    secret = made("ghp_{n36}")
    inner.write("/a.md", f"{secret}\nline\n")
    guard = GuardedBackend(inner, hooks=[secrets()])
    assert guard.edit("/a.md", "line", "other line").error is None
    assert guard.append("/a.md", "more").error is None
    assert "secret" in (guard.append("/a.md", made("ghp_{n36}", 1)).error or "")
    assert guard.edit("/a.md", secret, "gone").error is None
    assert guard.delete("/a.md").error is None


@pytest.mark.parametrize("hide", ["\u200b", "\u00ad", "\ufeff"])
def test_invisible_characters_hide_nothing(hide: str) -> None:
    secret = made("ghp_{n36}")
    assert find_secrets(f"é {secret[:10]}{hide}{secret[10:]}")


def test_json_escapes_hide_nothing() -> None:
    secret = made("ghp_{n36}")
    assert find_secrets('{"k": "\\u0067\\u0068p_' + secret[4:] + '"}')


def test_values_that_are_allowed_and_kinds_of_ones_own() -> None:
    secret = made("ghp_{n36}")
    with open_store("memory://") as store:
        inner = StoreBackend(namespace=("ann",), store=store)
        guard = GuardedBackend(inner, hooks=[secrets(allow=[secret], also={"badge": r"badge-(\d{6})"})])
        assert guard.write("/a", secret).error is None
        assert "badge (line 1)" in (guard.write("/a", "badge-739104").error or "")
    with pytest.raises(re.error):
        secrets(also={"broken": "("})


def test_a_lone_surrogate_is_no_trouble(inner: Any) -> None:
    guard = GuardedBackend(inner, hooks=[secrets()])
    assert "secret" in (guard.write("/a", "\ud800" + made("ghp_{n36}")).error or "")
    assert "surrogate" in (guard.write("/a", "\ud800").error or "")


def seconds(text: str | bytes) -> float:
    start = time.process_time()
    find_secrets(text)
    return time.process_time() - start


def test_a_large_file_is_fast() -> None:
    draw = random.Random(3)
    words = ["memory", "secret", "key", "token", "://", "eyJ", ".", "sk-", "the", "note", "-us", "hv"]
    text = " ".join(draw.choices(words, k=200_000))[:1_000_000]
    assert seconds(text) < 2
    assert seconds("".join(draw.choices(ALPHABETS["s"], k=1_000_000))) < 2


@pytest.mark.parametrize("known", FORMATS, ids=lambda known: known.name)
def test_no_pattern_is_slow(known: Any) -> None:
    """Twice the text takes about twice the time, whatever it repeats."""
    shape = SHAPES[known.name][0]
    secret = made(shape)
    pieces = [
        known.mark,
        secret[: len(secret) // 2],
        secret[:-1],
        secret[-20:] + known.mark,
        known.mark + "a",
        known.mark + " ",
    ]
    for piece in pieces:
        text = piece * (200_000 // len(piece))
        start = time.process_time()
        sum(1 for _ in known.expression.finditer(text))
        small = time.process_time() - start
        start = time.process_time()
        sum(1 for _ in known.expression.finditer(text * 4))
        large = time.process_time() - start
        assert large < max(0.5, small * 12), piece


def test_many_keys_that_never_end_are_fast() -> None:
    assert seconds("-----BEGIN PRIVATE KEY-----\n" * 30_000) < 2
    assert seconds("-----BEGIN PRIVATE KEY-----" + "A" * 1_000_000) < 2
    assert seconds(("-----BEGIN PRIVATE KEY-----" + "Ab3" * 30) * 8_000) < 4
