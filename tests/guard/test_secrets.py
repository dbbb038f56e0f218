"""Secrets: each format is refused on every way of writing, and what documentations print in their place is not."""

from __future__ import annotations

import random
import re
import string
import time
from typing import Any

import pytest

from memoranda import open_store
from memoranda.backends import FilesystemPermission, GuardedBackend, StoreBackend
from memoranda.backends.hooks import secrets
from memoranda.backends.hooks.secret_formats import FORMATS
from memoranda.backends.hooks.secrets import find_secrets, is_sample
from memoranda.backends.protocol import AppendFile, EditFile, WriteFile

_ALPHABETS = {
    "n": string.ascii_letters + string.digits,
    "a": string.ascii_letters,
    "d": string.digits,
    "h": "0123456789abcdef",
    "u": string.ascii_uppercase + "234567",
    "c": string.ascii_uppercase + string.digits,
    "l": string.ascii_lowercase + string.digits,
    "b": string.ascii_letters + string.digits + "-_",
    "s": string.ascii_letters + string.digits + "+/",
    "q": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
}

# What a secret of each format looks like (`{alphabet length}`), and what the vendor prints where one would stand.
SHAPES: dict[str, tuple[str, tuple[str, ...]]] = {
    "AWS access key ID": ("AKIA{u16}", ("AKIAIOSFODNN7EXAMPLE", "AKIAI44QH8DHBEXAMPLE")),
    "AWS temporary access key ID": ("ASIA{u16}", ("ASIAIOSFODNN7EXAMPLE", "ASIAXXXXXXXXXXXXXXXX")),
    "AWS secret access key": (
        "aws_secret_access_key = {s40}",
        (
            "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            "AWS_SECRET_ACCESS_KEY=je7MtGbClwBF/2Zp9Utk/h3yCo8nvbEXAMPLEKEY",
        ),
    ),
    "Google API key": (
        "AIza{b35}",
        ("AIzaSyDaGmWKa4JsXZ-HjGw7ISLn_3namBGewQe", "AIzaSyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY", "AIzaSy..."),
    ),
    "Google OAuth client secret": (
        "GOCSPX-{b28}",
        ("GOCSPX-xxxxxxxxxxxxxxxxxxxxxxxxxxxx", "GOCSPX-your-client-secret"),
    ),
    "Google OAuth access token": ("ya29.{b120}", ("ya29.EXAMPLE-TOKEN", "ya29." + "x" * 80)),
    "Azure storage account key": (
        "AccountName=mem;AccountKey={s86}==;",
        (
            "AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==",
            "AccountKey=C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==",
            "AccountKey=<account-key>",
        ),
    ),
    "Azure client secret": ("{n3}8Q~{n34}", ("xxx8Q~xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",)),
    "DigitalOcean token": ("dop_v1_{h64}", ("dop_v1_" + "0123456789abcdef" * 4,)),
    "Alibaba Cloud access key ID": ("LTAI{n20}", ("LTAIxxxxxxxxxxxxxxxxxxxx", "LTAI********************")),
    "Cloudflare origin CA key": ("v1.0-{h24}-{h146}", ("v1.0-your-origin-ca-key",)),
    "Fly.io access token": ("fm2_{s200}", ("fm2_" + "x" * 120,)),
    "Heroku API key": ("HRKU-AA{b58}", ("HRKU-00000000-0000-0000-0000-000000000000",)),
    "Supabase token": ("sbp_{h40}", ("sbp_bdd0" + "x" * 36, "sbp_0123456789abcdef0123456789abcdef01234567")),
    "PlanetScale token": ("pscale_tkn_{b43}", ("pscale_tkn_" + "X" * 43,)),
    "Databricks token": ("dapi{h32}", ("dapi1234567890abcdef1234567890abcdef", "dapi" + "X" * 32)),
    "GitHub personal access token": ("ghp_{n36}", ("ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "ghp_YOUR_TOKEN")),
    "GitHub fine-grained token": ("github_pat_{n22}_{n59}", ("github_pat_" + "X" * 22 + "_" + "X" * 59,)),
    "GitHub OAuth, user or server token": (
        "ghs_{n36}",
        ("gho_16C7e42F292c6912E7710c838347Ae178B4a", "ghs_16C7e42F292c6912E7710c838347Ae178B4a"),
    ),
    "GitHub refresh token": (
        "ghr_{n76}",
        ("ghr_1B4a2e77838347a7E420ce178F2E7c6912E169246c34E1ccbF66C46812d16D5B1A9Dc86A1498",),
    ),
    "GitLab token": ("glpat-{b20}", ("glpat-<your_access_token>", "glpat-xxxxxxxxxxxxxxxxxxxx", "glrt-REDACTED")),
    "Atlassian API token": ("ATATT3xFfGF0{b180}", ("ATATT3x" + "x" * 120,)),
    "Bitbucket app password": ("ATBB{n32}", ("ATBB" + "x" * 32,)),
    "npm token": ("npm_{n36}", ("npm_XXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX",)),
    "PyPI token": ("pypi-AgEIcHlwaS5vcmc{b150}", ("pypi-AgEIcHlwaS5vcmc...", "pypi-AgE" + "x" * 60)),
    "RubyGems key": ("rubygems_{h48}", ("rubygems_" + "0123456789abcdef" * 3,)),
    "crates.io token": ("cio{n32}", ("cio" + "x" * 32,)),
    "Docker Hub token": ("dckr_pat_{b27}", ("dckr_pat_" + "x" * 27, "dckr_pat_<token>")),
    "CircleCI token": ("CCIPAT_{n22}_{h40}", ("CCIPAT_" + "x" * 22 + "_" + "0" * 40,)),
    "Buildkite token": ("bkua_{h40}", ("bkua_" + "x" * 40, "bkua_" + "0" * 40)),
    "Sourcegraph token": ("sgp_{h40}", ("sgp_" + "0" * 40,)),
    "Terraform Cloud token": ("{n14}.atlasv1.{n67}", ("xxxxxxxxxxxxxx.atlasv1." + "z" * 67,)),
    "Vault token": ("hvs.{b95}", ("hvs.EXAMPLExxxxxxxxxxxxxxxxxxxxx", "hvs.CAESI...")),
    "Doppler token": ("dp.pt.{n43}", ("dp.pt." + "X" * 43, "dp.st.your_config." + "x" * 43)),
    "1Password service account token": ("ops_eyJ{b400}", ("ops_eyJzaWduSW5BZGRyZXNz...", "ops_eyJ" + "x" * 120)),
    "age secret key": ("AGE-SECRET-KEY-1{q58}", ("AGE-SECRET-KEY-1" + "Q" * 58, "AGE-SECRET-KEY-1...")),
    "OpenAI API key": ("sk-proj-{b74}T3BlbkFJ{b74}", ("sk-proj-...", "sk-" + "x" * 20 + "T3BlbkFJ" + "x" * 20)),
    "Anthropic API key": ("sk-ant-api03-{b93}AA", ("sk-ant-api03-...", "sk-ant-api03-" + "x" * 95)),
    "OpenRouter API key": ("sk-or-v1-{h64}", ("sk-or-v1-" + "0" * 64, "sk-or-v1-...")),
    "Hugging Face token": ("hf_{a34}", ("hf_" + "x" * 34, "hf_YOUR_TOKEN_HERE")),
    "Groq API key": ("gsk_{n52}", ("gsk_" + "x" * 52,)),
    "Replicate API token": ("r8_{n37}", ("r8_" + "*" * 37, "r8_" + "x" * 37)),
    "xAI API key": ("xai-{n80}", ("xai-" + "x" * 80,)),
    "Perplexity API key": ("pplx-{n48}", ("pplx-" + "x" * 48,)),
    "NVIDIA API key": ("nvapi-{b64}", ("nvapi-" + "x" * 64,)),
    "LangSmith API key": ("lsv2_pt_{h32}_{h10}", ("lsv2_pt_" + "0" * 32 + "_" + "0" * 10, "lsv2_pt_...")),
    "Pinecone API key": ("pcsk_{n6}_{n63}", ("pcsk_" + "x" * 6 + "_" + "x" * 63,)),
    "Stripe secret key": (
        "sk_live_{n24}",
        (
            "sk_test_4eC39HqLyjWDarjtT1zdp7dc",
            "sk_test_BQokikJOvBiI2HlWgH4olfQ2",
            "sk_test_your_key",
            "4242 4242 4242 4242",
        ),
    ),
    "Stripe webhook secret": ("whsec_{n32}", ("whsec_...", "whsec_" + "x" * 32)),
    "Square token": ("sq0atp-{b22}", ("sq0atp-" + "x" * 22, "sq0csp-YOUR_SECRET")),
    "Shopify token": ("shpat_{h32}", ("shpat_" + "0" * 32, "shpat_" + "x" * 32)),
    "Braintree access token": (
        "access_token$production${l16}${h32}",
        ("access_token$sandbox$" + "x" * 16 + "$" + "0" * 32, "access_token$production$your_id$your_token"),
    ),
    "Flutterwave secret key": ("FLWSECK-{h32}-X", ("FLWSECK_TEST-" + "0" * 32 + "-X", "FLWSECK_TEST-SANDBOXDEMOKEY-X")),
    "Slack token": (
        "xoxb-{d12}-{d13}-{n24}",
        (
            "xoxb-17653672481-19874698323-pdFZKVeTuE8sk7oOcHrzzqgy",
            "xoxb-your-token",
            "xoxp-xxxxxxxxx-xxxx",
            "xoxb-123456789012-1234567890123-abcdefghijklmnopqrstuvwx",
        ),
    ),
    "Slack app token": ("xapp-1-A{c10}-{d13}-{h64}", ("xapp-1-A0123456789-1234567890123-" + "0" * 64, "xapp-1-...")),
    "Slack webhook": (
        "https://hooks.slack.com/services/T{c10}/B{c10}/{n24}",
        (
            "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX",
            "https://hooks.slack.com/services/...",
        ),
    ),
    "Discord bot token": (
        "MTk{n23}.G{n5}.{b38}",
        ("MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs",),
    ),
    "Discord webhook": (
        "https://discord.com/api/webhooks/{d18}/{b68}",
        ("https://discord.com/api/webhooks/123456789012345678/" + "x" * 68,),
    ),
    "Telegram bot token": (
        "{d10}:AA{b33}",
        ("110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw", "123456:ABC-DEF1234ghIkl-zyx57W2v1u123ew11"),
    ),
    "Twilio API key": ("SK{h32}", ("SKXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX", "SK" + "0" * 32)),
    "SendGrid API key": ("SG.{b22}.{b43}", ("SG." + "x" * 22 + "." + "x" * 43, "SG.your-key")),
    "Mailgun API key": ("key-{l32}", ("key-3ax6xnjp29jd6fds4gc373sgvjxteol0", "key-" + "x" * 32)),
    "Mailchimp API key": ("{h32}-us14", ("0123456789abcdef0123456789abcdef-us1", "your_api_key-us6")),
    "Brevo API key": ("xkeysib-{h64}-{n16}", ("xkeysib-" + "0" * 64 + "-" + "x" * 16, "xkeysib-YOUR_API_KEY")),
    "Facebook access token": ("EAA{n180}", ("EAA" + "x" * 100, "EAACEdEose0cBA...")),
    "Notion token": ("ntn_{n46}", ("ntn_" + "x" * 46, "ntn_****")),
    "Notion integration secret": ("secret_{n43}", ("secret_" + "x" * 43, "secret_your_key")),
    "Linear API key": ("lin_api_{n40}", ("lin_api_" + "x" * 40,)),
    "Airtable token": ("pat{n14}.{h64}", ("patXXXXXXXXXXXXXX." + "0" * 64, "YOUR_SECRET_API_TOKEN")),
    "Figma token": ("figd_{b40}", ("figd_" + "x" * 40,)),
    "Postman API key": ("PMAK-{h24}-{h34}", ("PMAK-" + "0" * 24 + "-" + "0" * 34,)),
    "New Relic user key": ("NRAK-{c27}", ("NRAK-" + "X" * 27, "NRAK-YOUR-KEY")),
    "Grafana token": ("glsa_{n32}_{h8}", ("glsa_" + "x" * 32 + "_" + "0" * 8, "glsa_<token>")),
    "Sentry token": ("sntryu_{h64}", ("sntryu_" + "0" * 64, "sntrys_YOUR_TOKEN_HERE")),
    "Dropbox token": (
        "sl.{b135}",
        (
            "sl." + "x" * 140,
            "sl.AbX9y6Fe3AuH5o66-gmJpR032jwAwQPIVVzWXZNkdzcYT02akC2de219dZi6gxYPVnYPrpvISRSf9lxKWJzYLjtMPH",
        ),
    ),
    "Contentful token": ("CFPAT-{b43}", ("CFPAT-" + "x" * 43,)),
    "Typeform token": ("tfp_{b44}_{b14}", ("tfp_" + "x" * 50,)),
    "JSON Web Token": (
        "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJ{b80}.{b43}",
        (
            "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwiaWF0IjoxNTE2Mj"
            "M5MDIyfQ.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c",
            "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwiYWRtaW4iOnRydW"
            "UsImlhdCI6MTUxNjIzOTAyMn0.KMUFsIDTnFmyG3nMiGM6H9FNFUROf3wh7SmqJp-QV30",
        ),
    ),
    "connection URL with a password": (
        "postgresql://app:{n24}@db.internal:5432/app",
        (
            "postgresql://user:password@localhost/db",
            "postgresql://user:secret@localhost",
            "postgres://user:${DB_PASSWORD}@host/db",
            "mysql://user:<password>@host/db",
            "mongodb://myDatabaseUser:D1fficultP%40ssw0rd@mongodb0.example.com:27017/",
            "redis://localhost:6379/0",
        ),
    ),
}

PEM = {
    "RSA ": "-----BEGIN RSA PRIVATE KEY-----\n{lines}\n-----END RSA PRIVATE KEY-----\n",
    "EC ": "-----BEGIN EC PRIVATE KEY-----\n{lines}\n-----END EC PRIVATE KEY-----\n",
    "OPENSSH ": "-----BEGIN OPENSSH PRIVATE KEY-----\n{lines}\n-----END OPENSSH PRIVATE KEY-----\n",
    "ENCRYPTED ": "-----BEGIN ENCRYPTED PRIVATE KEY-----\n{lines}\n-----END ENCRYPTED PRIVATE KEY-----\n",
    "": '{{"private_key": "-----BEGIN PRIVATE KEY-----\\\\n{lines}\\\\n-----END PRIVATE KEY-----\\\\n"}}',
    "PGP": "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n{lines}\n-----END PGP PRIVATE KEY BLOCK-----\n",
    "cut off": "-----BEGIN PRIVATE KEY-----\n{lines}",
}


def made(shape: str, seed: int = 0) -> str:
    """A secret of a shape, drawn at random; the seed is fixed, so that a failure can be repeated."""
    draw = random.Random(f"{shape} {seed}")
    return re.sub(
        r"\{([a-z])(\d+)\}", lambda match: "".join(draw.choices(_ALPHABETS[match[1]], k=int(match[2]))), shape
    )


def pem(kind: str) -> str:
    lines = "\n".join(made("{s64}", number) for number in range(6))
    return PEM[kind].format(lines=lines)


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
        assert find_secrets("".join(draw.choices(_ALPHABETS["s"], k=50_000))) == []
        assert find_secrets("".join(draw.choices(_ALPHABETS["h"], k=50_000))) == []


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
    assert seconds("".join(draw.choices(_ALPHABETS["s"], k=1_000_000))) < 2


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
