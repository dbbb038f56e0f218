"""The formats of secrets that are known by their looks, and what vendors print in their documentation instead of one.

Every pattern starts at a fixed text or has bounds everywhere, so that no input makes it slow.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final


@dataclass(frozen=True)
class SecretFormat:
    """One kind of secret.

    Args:
        name: What it is, for messages.
        mark: A text that comes with every secret of this kind, in whatever case; without it there is no search.
        pattern: A regular expression; its first group, if any, is the secret itself.
        samples: Values that look like one and are public: those of the vendor's documentation.
    """

    name: str
    mark: str
    pattern: str = field(repr=False)
    samples: frozenset[str] = frozenset()

    @cached_property
    def expression(self) -> re.Pattern[str]:
        """The compiled pattern."""
        return re.compile(self.pattern)


def _format(name: str, mark: str, pattern: str, *samples: str) -> SecretFormat:
    return SecretFormat(name, mark, pattern, frozenset(samples))


# For prefixes that are short enough to occur inside other things.
_START = r"(?<![A-Za-z0-9])"
_END = r"(?![A-Za-z0-9])"

FORMATS: Final[tuple[SecretFormat, ...]] = (
    # --- clouds ---------------------------------------------------------------------------------------------
    _format("AWS access key ID", "AKIA", r"AKIA[A-Z2-7]{16}(?![A-Z0-9])", "AKIAI44QH8DHBEXAMPLE"),
    _format("AWS temporary access key ID", "ASIA", r"ASIA[A-Z2-7]{16}(?![A-Z0-9])"),
    _format(
        "AWS secret access key",
        "ecret",
        r"(?i:aws|secret)[A-Za-z_. ]{0,30}(?i:key)[\"'`\s:=>]{1,12}([A-Za-z0-9/+]{40})(?![A-Za-z0-9])",
        "je7MtGbClwBF/2Zp9Utk/h3yCo8nvbEXAMPLEKEY",
    ),
    _format(
        "Google API key",
        "AIza",
        r"AIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])",
        "AIzaSyDaGmWKa4JsXZ-HjGw7ISLn_3namBGewQe",
        "AIzaSyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY",
        "AIzaSyClzfrOzB818x55FASHvX4JuGQciR9lv7q",
    ),
    _format("Google OAuth client secret", "GOCSPX-", r"GOCSPX-[A-Za-z0-9_-]{28}"),
    _format("Google OAuth access token", "ya29.", r"ya29\.[A-Za-z0-9_-]{60,300}"),
    _format(
        "Azure storage account key",
        "AccountKey=",
        r"AccountKey=([A-Za-z0-9+/]{86}==)",
        # The Azurite and Cosmos DB emulators take these and nothing else.
        "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==",
        "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==",
    ),
    _format("Azure client secret", "Q~", _START + r"[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}"),
    _format("DigitalOcean token", "do", r"do[opr]_v1_[a-f0-9]{64}"),
    _format("Alibaba Cloud access key ID", "LTAI", _START + r"LTAI[A-Za-z0-9]{20}" + _END),
    _format("Cloudflare origin CA key", "v1.0-", _START + r"v1\.0-[a-f0-9]{24}-[a-f0-9]{146}"),
    _format("Fly.io access token", "fm2_", r"fm2_[A-Za-z0-9+/=_-]{100,800}"),
    _format("Heroku API key", "HRKU-", r"HRKU-[A-Za-z0-9_-]{36,60}"),
    _format("Supabase token", "sb", r"(?:sbp_[a-f0-9]{40}|sb_secret_[A-Za-z0-9_-]{31})"),
    _format("PlanetScale token", "pscale_", r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{32,64}"),
    _format("Databricks token", "dapi", _START + r"dapi[a-f0-9]{32}(?:-[0-9])?" + _END),
    # --- code and packages ----------------------------------------------------------------------------------
    _format("GitHub personal access token", "ghp_", r"ghp_[A-Za-z0-9]{36}"),
    _format("GitHub fine-grained token", "github_pat_", r"github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}"),
    _format(
        "GitHub OAuth, user or server token",
        "gh",
        r"gh[ous]_[A-Za-z0-9]{36}",
        "gho_16C7e42F292c6912E7710c838347Ae178B4a",
        "ghu_16C7e42F292c6912E7710c838347Ae178B4a",
        "ghs_16C7e42F292c6912E7710c838347Ae178B4a",
    ),
    _format(
        "GitHub refresh token",
        "ghr_",
        r"ghr_[A-Za-z0-9]{36,76}",
        "ghr_1B4a2e77838347a7E420ce178F2E7c6912E169246c34E1ccbF66C46812d16D5B1A9Dc86A1498",
    ),
    _format("GitLab token", "gl", r"gl(?:pat|dt|rt|ptt|oas|cbt|ft|soat|agent|imt)-[A-Za-z0-9_-]{20,64}"),
    _format("Atlassian API token", "ATATT3x", r"ATATT3x[A-Za-z0-9_=-]{100,250}"),
    _format("Bitbucket app password", "ATBB", _START + r"ATBB[A-Za-z0-9]{32}" + _END),
    _format("npm token", "npm_", r"npm_[A-Za-z0-9]{36}"),
    _format("PyPI token", "pypi-AgE", r"pypi-AgE[A-Za-z0-9_-]{50,1000}"),
    _format("RubyGems key", "rubygems_", r"rubygems_[a-f0-9]{48}"),
    _format("crates.io token", "cio", _START + r"cio[A-Za-z0-9]{32}" + _END),
    _format("Docker Hub token", "dckr_pat_", r"dckr_pat_[A-Za-z0-9_-]{27}"),
    _format("CircleCI token", "CCIPAT_", r"CCIPAT_[A-Za-z0-9]{22}_[a-f0-9]{40}"),
    _format("Buildkite token", "bkua_", r"bkua_[a-f0-9]{40}"),
    _format("Sourcegraph token", "sgp_", r"sgp_(?:[a-f0-9]{16}_|local_)?[a-f0-9]{40}"),
    _format("Terraform Cloud token", ".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9]{60,70}"),
    _format("Vault token", "hv", _START + r"hv[sbr]\.[A-Za-z0-9_-]{24,300}"),
    _format("Doppler token", "dp.", _START + r"dp\.(?:pt|st|sa|ct|scim|audit)\.[A-Za-z0-9_.-]{40,60}"),
    _format("1Password service account token", "ops_eyJ", r"ops_eyJ[A-Za-z0-9_=-]{100,1500}"),
    _format("age secret key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}"),
    # --- models ---------------------------------------------------------------------------------------------
    _format("OpenAI API key", "T3BlbkFJ", r"sk-[A-Za-z0-9_-]{20,120}T3BlbkFJ[A-Za-z0-9_-]{20,120}"),
    _format("Anthropic API key", "sk-ant-", r"sk-ant-(?:api|admin|oat|sid)[0-9]{2}-[A-Za-z0-9_-]{80,120}"),
    _format("OpenRouter API key", "sk-or-v1-", r"sk-or-v1-[a-f0-9]{64}"),
    _format("Hugging Face token", "hf_", _START + r"hf_[A-Za-z]{34}" + _END),
    _format("Groq API key", "gsk_", _START + r"gsk_[A-Za-z0-9]{52}"),
    _format("Replicate API token", "r8_", _START + r"r8_[A-Za-z0-9]{37}" + _END),
    _format("xAI API key", "xai-", _START + r"xai-[A-Za-z0-9]{80}"),
    _format("Perplexity API key", "pplx-", _START + r"pplx-[A-Za-z0-9]{48}"),
    _format("NVIDIA API key", "nvapi-", r"nvapi-[A-Za-z0-9_-]{64}"),
    _format("LangSmith API key", "lsv2_", r"lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}"),
    _format("Pinecone API key", "pcsk_", r"pcsk_[A-Za-z0-9]{5,7}_[A-Za-z0-9]{60,70}"),
    # --- money ----------------------------------------------------------------------------------------------
    _format(
        "Stripe secret key",
        "k_",
        r"(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{24,250}",
        "sk_test_4eC39HqLyjWDarjtT1zdp7dc",
        "sk_test_BQokikJOvBiI2HlWgH4olfQ2",
        "sk_test_tR3PYbcVNZZ796tH88S4VQ2u",
    ),
    _format("Stripe webhook secret", "whsec_", r"whsec_[A-Za-z0-9]{32,64}"),
    _format("Square token", "sq0", r"sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,43}"),
    _format("Shopify token", "shp", r"shp(?:at|ss|ca|pa)_[a-fA-F0-9]{32}"),
    _format(
        "Braintree access token", "access_token$", r"access_token\$(?:production|sandbox)\$[a-z0-9]{16}\$[a-f0-9]{32}"
    ),
    _format("Flutterwave secret key", "FLWSECK", r"FLWSECK(?:_TEST|_LIVE)?-[a-fA-F0-9]{32}-X"),
    # --- messages -------------------------------------------------------------------------------------------
    _format(
        "Slack token",
        "xox",
        r"xox[abeoprs]-(?:[0-9]{6,14}-){1,3}[A-Za-z0-9]{20,64}|xoxe(?:\.xox[bp])?-1-[A-Za-z0-9]{100,200}",
        "xoxb-17653672481-19874698323-pdFZKVeTuE8sk7oOcHrzzqgy",
    ),
    _format("Slack app token", "xapp-", r"xapp-[0-9]-[A-Z0-9]{8,14}-[0-9]{10,14}-[a-f0-9]{64}"),
    _format(
        "Slack webhook",
        "hooks.slack.com",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Z0-9]{8,14}/[A-Z0-9]{8,14}/[A-Za-z0-9]{20,48}",
    ),
    _format(
        "Discord bot token",
        ".",
        _START + r"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38}" + _END,
        "MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs",
        "MTk4NjIyNDgzNDcxOTI1MjQ4.G2FMQo.ZnCjm1XVW7vRze4b7Cq4se7kKWsAAAAAAAAAAA",
    ),
    _format(
        "Discord webhook", "/api/webhooks/", r"discord(?:app)?\.com/api/webhooks/[0-9]{17,20}/[A-Za-z0-9_-]{60,72}"
    ),
    _format(
        "Telegram bot token",
        ":AA",
        r"(?<![0-9])[0-9]{8,10}:AA[A-Za-z0-9_-]{32,33}(?![A-Za-z0-9_-])",
        "110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw",
        "4839574812:AAFD39kkdpWt3ywyRZergyOLMaJhac60qc",
    ),
    _format("Twilio API key", "SK", _START + r"SK[a-f0-9]{32}" + _END),
    _format("SendGrid API key", "SG.", _START + r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}"),
    _format(
        "Mailgun API key",
        "key-",
        _START + r"key-[a-z0-9]{32}" + _END,
        "key-3ax6xnjp29jd6fds4gc373sgvjxteol0",
    ),
    _format("Mailchimp API key", "-us", _START + r"[a-f0-9]{32}-us[0-9]{1,2}" + _END),
    _format("Brevo API key", "xkeysib-", r"xkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16}"),
    _format("Facebook access token", "EAA", _START + r"EAA[A-Za-z0-9]{90,300}" + _END),
    # --- work -----------------------------------------------------------------------------------------------
    _format("Notion token", "ntn_", _START + r"ntn_[A-Za-z0-9]{46}"),
    _format("Notion integration secret", "secret_", _START + r"secret_[A-Za-z0-9]{43}" + _END),
    _format("Linear API key", "lin_", r"lin_(?:api|oauth)_[A-Za-z0-9]{40,64}"),
    _format("Airtable token", "pat", _START + r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}"),
    _format("Figma token", "fig", r"fig[dou]r?_[A-Za-z0-9_-]{40}"),
    _format("Postman API key", "PMAK-", r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}"),
    _format("New Relic user key", "NRAK-", r"NRAK-[A-Z0-9]{27}"),
    _format("Grafana token", "gl", r"(?:glsa_[A-Za-z0-9]{32}_[a-fA-F0-9]{8}|glc_[A-Za-z0-9+/=]{60,300})"),
    _format("Sentry token", "sntry", r"sntry(?:u_[a-f0-9]{64}|s_eyJ[A-Za-z0-9+/=_-]{80,400})"),
    _format("Dropbox token", "sl.", _START + r"sl\.(?:u\.)?[A-Za-z0-9_-]{130,2000}"),
    _format("Contentful token", "CFPAT-", r"CFPAT-[A-Za-z0-9_-]{43}"),
    _format("Typeform token", "tfp_", r"tfp_[A-Za-z0-9_.-]{44,59}"),
    # --- any ------------------------------------------------------------------------------------------------
    _format(
        "JSON Web Token",
        "eyJ",
        r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{10,4000}\.eyJ[A-Za-z0-9_-]{10,8000}\.[A-Za-z0-9_-]{20,1000}",
    ),
    _format(
        "connection URL with a password",
        "://",
        r"(?:postgres(?:ql)?|mysql|mariadb|mongodb(?:\+srv)?|redis|rediss|amqps?|mssql)(?:\+[a-z0-9]{1,20})?"
        r"://[^\s:@/\"'<>]{0,100}:([^\s@/\"'<>{}$]{8,200})@",
        "password",
        "mypassword",
        "mysecretpassword",
        "postgres",
        "postgrespassword",
        "username",
        "D1fficultP%40ssw0rd",
    ),
)
