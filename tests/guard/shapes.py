"""What secrets look like, and what vendors print where one would stand."""

from __future__ import annotations

import random
import re
import string

ALPHABETS = {
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
    return re.sub(r"\{([a-z])(\d+)\}", lambda match: "".join(draw.choices(ALPHABETS[match[1]], k=int(match[2]))), shape)


def pem(kind: str) -> str:
    lines = "\n".join(made("{s64}", number) for number in range(6))
    return PEM[kind].format(lines=lines)
