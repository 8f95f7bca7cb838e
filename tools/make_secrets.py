"""Make features/secrets/shapes.tsv from the rules of gitleaks (https://github.com/gitleaks/gitleaks, MIT).

    python tools/make_secrets.py CHECKOUT/config/gitleaks.toml COMMIT

Only rules about keys of a known shape are taken: those that begin with a name, such as `airtable = ...`, are
covered by the names of `qmd.features.secrets.names`, which also judges values. Patterns are rewritten for
Python, and end at the end of a word, because keys in prose are followed by other signs than in source code.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

OUT = Path(__file__).parents[1] / "src/qmd/features/secrets/shapes.tsv"
#: The beginning of rules for names, and the end of most rules.
NAMED = r"[\w.-]{0,50}?"
END = re.compile(
    r"""\(\?:\[(?:\\x60|`|'|"|\\s|;|\^|\\w|-|a-zA-Z0-9\+/)+\](?:\|\\\\\[nr\])?(?:\|\$|\|\\z)+(?:\|\\b)?\)$"""
)
#: Rules that are not for texts, or that `qmd.features.secrets.detection` has its own way for.
SKIPPED = {
    "curl-auth-header",
    "curl-auth-user",
    "generic-api-key",
    "jwt-base64",
    "kubernetes-secret-yaml",
    "nuget-config-password",
    "pkcs12-file",
    "private-key",
    "freemius-secret-key",
    "sidekiq-sensitive-url",
    "facebook-access-token",
    "aws-amazon-bedrock-api-key-short-lived",
    # A hexadecimal number is a key beside the name only.
    "sourcegraph-access-token",
}
#: Patterns and keywords in place of those of gitleaks, by its rule.
CHANGED = {
    "anthropic-api-key": (("sk-ant-",), r"sk-ant-[A-Za-z0-9_-]{24,}"),
    "openai-api-key": (
        ("sk-",),
        r"sk-(?:proj-|svcacct-|admin-|None-)?(?=[A-Za-z_-]{0,40}\d)[A-Za-z0-9_-]{20,}",
    ),
    "vault-service-token": (("hvs.",), r"hvs\.[\w-]{24,120}"),
    "azure-ad-client-secret": (("q~",), r"[a-zA-Z0-9_~.]{3}\dQ~[a-zA-Z0-9_~.-]{31,34}"),
    "slack-webhook-url": (
        ("hooks.slack.com",),
        r"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/]{40,60}",
    ),
    "jwt": (("eyj",), r"ey[a-zA-Z0-9_-]{10,}\.ey[a-zA-Z0-9_/\\-]{10,}\.(?:[a-zA-Z0-9_/\\-]{10,}={0,2})?"),
    "twilio-api-key": (("sk", "ac"), r"(?:SK|AC)[0-9a-f]{32}"),
    "square-access-token": (("sq0atp-", "eaaa"), r"(?:EAAA|sq0atp-)[\w-]{22,60}"),
    "airtable-personnal-access-token": (("pat",), r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}"),
    "aws-access-token": (
        ("a3t", "akia", "asia", "abia", "acca"),
        r"(?:A3T|AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16,17}",
    ),
    "huggingface-access-token": (("hf_",), r"hf_[A-Za-z0-9]{34,40}"),
    "github-pat": (("ghp_",), r"ghp_[0-9a-zA-Z]{36,255}"),
    "github-oauth": (("gho_",), r"gho_[0-9a-zA-Z]{36,255}"),
    "github-refresh-token": (("ghr_",), r"ghr_[0-9a-zA-Z]{36,255}"),
    "github-app-token": (("ghu_", "ghs_"), r"gh[us]_[0-9a-zA-Z]{36,255}"),
    "github-fine-grained-pat": (("github_pat_",), r"github_pat_\w{60,255}"),
    "gitlab-pat": (("glpat-",), r"glpat-[\w-]{20,300}(?:\.[0-9a-z]{2}[0-9a-z]{7})?"),
    "gitlab-pat-routable": ((), ""),
    "age-secret-key": (("age-secret-key-1",), r"AGE-SECRET-KEY-1[0-9A-Z]{58}"),
    "linear-api-key": (("lin_api_",), r"lin_api_[A-Za-z0-9]{40}"),
    "pypi-upload-token": (("pypi-",), r"pypi-[\w-]{50,1000}"),
    "npm-access-token": (("npm_",), r"npm_[A-Za-z0-9]{36}"),
}
#: Shapes that gitleaks has no rule for, or knows beside a name only: (kind, keywords, pattern).
ADDED = (
    ("telegram token", (":",), r"\d{8,10}:[A-Za-z0-9_-]{35}"),
    ("slack token", ("xox",), r"xox[abeoprs]-(?=[A-Za-z-]{0,20}\d)[A-Za-z0-9-]{16,}"),
    ("discord token", (".",), r"[MNO][A-Za-z0-9_-]{23,25}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38}"),
    ("discord webhook", ("/api/webhooks/",), r"/api/webhooks/\d{15,20}/[A-Za-z0-9_-]{60,72}"),
    ("google oauth secret", ("gocspx-",), r"GOCSPX-[A-Za-z0-9_-]{28}"),
    ("google oauth token", ("ya29.",), r"ya29\.[A-Za-z0-9_-]{20,}"),
    ("mailgun key", ("key-",), r"key-[0-9a-f]{32}"),
    ("mailchimp key", ("-us",), r"[0-9a-f]{32}-us\d{1,2}"),
    ("groq key", ("gsk_",), r"gsk_[A-Za-z0-9]{48,56}"),
    ("xai key", ("xai-",), r"xai-[A-Za-z0-9]{70,90}"),
    ("openrouter key", ("sk-or-",), r"sk-or-v1-[0-9a-f]{64}"),
    ("replicate token", ("r8_",), r"r8_[A-Za-z0-9]{37,40}"),
    ("docker token", ("dckr_pat_",), r"dckr_pat_[A-Za-z0-9_-]{27}"),
    ("stripe webhook secret", ("whsec_",), r"whsec_[A-Za-z0-9+/=]{24,}"),
    ("supabase key", ("sbp_",), r"sbp_[0-9a-f]{40}"),
    ("figma token", ("figd_",), r"figd_[A-Za-z0-9_-]{40,}"),
    ("asana token", ("/",), r"[12]/\d{15,17}(?:/\d{15,17})?:[0-9a-f]{32}"),
    ("azure key", ("accountkey=",), r"AccountKey=([A-Za-z0-9+/]{86}==)"),
    ("azure key", ("sharedaccesskey=",), r"SharedAccessKey=([A-Za-z0-9+/]{42,43}=)"),
    ("azure sas", ("sig=",), r"sig=([A-Za-z0-9%+/]{40,80}(?:%3D|%3d|=)?)"),
    ("aws signature", ("x-amz-signature=",), r"X-Amz-Signature=([0-9a-f]{64})"),
    ("square token", ("sq0csp-",), r"sq0csp-[\w-]{43}"),
    ("paypal token", ("access_token$",), r"access_token\$production\$[0-9a-z]{16}\$[0-9a-f]{32}"),
    ("tailscale key", ("tskey-",), r"tskey-[a-z]{3,12}-[A-Za-z0-9]{8,20}(?:-[A-Za-z0-9]{16,60})?"),
    ("supabase key", ("sb_secret_",), r"sb_secret_[A-Za-z0-9_-]{20,60}"),
    ("netlify token", ("nfp_",), r"nfp_[A-Za-z0-9]{30,60}"),
    ("vercel token", ("vcp_", "vci_", "vca_", "vcr_", "vck_"), r"vc[piark]_[A-Za-z0-9_-]{24,80}"),
    ("newrelic key", ("nrak-", "nrjs-"), r"NR(?:AK-[A-Z0-9]{27}|JS-[0-9a-f]{19})"),
    ("newrelic key", ("nrii-", "nrra-"), r"NR(?:II|RA)-[A-Za-z0-9_-]{32,42}"),
    ("circleci token", ("ccipat_", "cciprj_"), r"CCIP(?:AT|RJ)_[A-Za-z0-9]{20,24}_[0-9a-f]{40}"),
    ("langsmith key", ("lsv2_",), r"lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}"),
    ("fly token", ("fm2_",), r"fm2_[A-Za-z0-9+/_=-]{40,}"),
    ("resend key", ("re_",), r"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{20,30}"),
    ("posthog key", ("phc_", "phx_"), r"ph[cx]_[A-Za-z0-9]{32,60}"),
    ("azure devops token", ("azdo",), r"[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}"),
    # Base32: four digits at least, of 52 signs.
    ("azure devops token", tuple("234567"), r"(?=(?:[a-z]{0,40}[2-7]){4})[a-z2-7]{52}"),
    ("sentry token", ("sntrys_", "sntrya_"), r"sntry[sa]_[A-Za-z0-9+/=_-]{40,400}"),
    ("ngrok token", ("_",), r"[1-9][A-Za-z0-9]{26}_[A-Za-z0-9]{20,22}"),
    ("ngrok key", ("ak_", "cr_"), r"(?:ak|cr)_(?=[A-Za-z]{0,20}\d)[A-Za-z0-9]{27,32}"),
    # crypt(5), also in .htpasswd and /etc/shadow; the end of argon2, whose parameters have commas
    (
        "password hash",
        ("$1$", "$5$", "$6$", "$7$", "$y$", "$gy$", "$apr1$"),
        r"\$(?:[1567]|g?y|apr1)\$(?:[./A-Za-z0-9=]{1,40}\$){1,2}[./A-Za-z0-9]{22,103}",
    ),
    ("password hash", ("p=",), r"p=\d{1,3}\$[A-Za-z0-9+/]{8,64}\$[A-Za-z0-9+/]{20,90}"),
    ("wordpress hash", ("$2",), r"\$2[aby]\$\d\d\$[./A-Za-z0-9]{53}"),
)  # fmt: skip
KINDS = {
    "aws-access-token": "aws key",
    "jwt": "jwt",
    "gcp-api-key": "google key",
    "wordpress hash": "password hash",
    "1password-secret-key": "1password key",
}
NOUNS = ("secret", "key", "token", "pat", "webhook", "password", "url", "cookie", "id")


def main(source: str, commit: str) -> None:
    rules = tomllib.loads(Path(source).read_text())["rules"]
    rows = sorted({*of_gitleaks(rules), *((KINDS.get(kind, kind), *rest) for kind, *rest in _added())})
    head = (
        f"# Made by tools/make_secrets.py from the rules of gitleaks, {commit}: kind, keywords, pattern.\n"
        "# Copyright (c) 2019 Zachary Rice, MIT License (https://github.com/gitleaks/gitleaks).\n"
    )
    OUT.write_text(head + "".join("\t".join(row) + "\n" for row in rows))
    print(f"{len(rows)} shapes")


def _added() -> Iterator[tuple[str, str, str]]:
    for kind, keywords, pattern in ADDED:
        yield kind, " ".join(keywords), bounded(pattern)


def of_gitleaks(rules: list[dict[str, Any]]) -> Iterator[tuple[str, str, str]]:
    for rule in rules:
        name, written = rule["id"], rule.get("regex", "")
        keywords = rule.get("keywords", [])
        if name in CHANGED:
            keywords, written = CHANGED[name]
            if not written:
                continue
        elif name in SKIPPED or NAMED in written or not written:
            continue
        pattern = python(written)
        re.compile(pattern)
        yield kind_of(name), " ".join(keywords), bounded(pattern)


def python(pattern: str) -> str:
    """Return an expression of RE2 as one of Python, without its boundaries."""
    pattern = END.sub("", pattern).removeprefix(r"\b").removesuffix(r"\b")
    pattern = (
        pattern.replace("[[:alnum:]]", "[A-Za-z0-9]").replace(r"\z", r"\Z").replace(r"(?:[^\w-]|\Z)", "")
    )
    pattern = pattern.replace("(?:[^a-zA-Z0-9+/]|\\Z)", "")
    while pattern.startswith("(") and closes(pattern) == len(pattern) - 1 and not pattern.startswith("(?"):
        pattern = pattern[1:-1]
    if pattern.startswith("(?i)"):
        rest = pattern[4:].removeprefix(r"\b")
        return f"(?i:{python(rest)})"
    while (at := pattern.find("(?i)")) >= 0:
        end = next((i for i in range(at, len(pattern)) if depth(pattern[at:i]) < 0), len(pattern))
        end = end - 1 if end < len(pattern) else end
        pattern = f"{pattern[:at]}(?i:{pattern[at + 4 : end]}){pattern[end:]}"
    # Groups mark the secret inside of a pattern; those of alternatives do not.
    return re.sub(r"(?<!\\)\((?!\?)", "(?:", pattern)


def depth(text: str) -> int:
    plain = re.sub(r"\\.|\[(?:\\.|[^\]])*\]", "", text)
    return plain.count("(") - plain.count(")")


def closes(pattern: str) -> int:
    """Return the place of the bracket that closes the first."""
    return next(i for i in range(1, len(pattern)) if pattern[i] == ")" and depth(pattern[: i + 1]) == 0)


def bounded(pattern: str) -> str:
    first = "" if pattern.startswith("/") else "(?<![A-Za-z0-9])"
    return f"{first}(?:{pattern})(?![A-Za-z0-9])"


def kind_of(name: str) -> str:
    """Return the words that a mask shows for a rule: its service and a noun."""
    if name in KINDS:
        return KINDS[name]
    words = name.split("-")
    noun = next((each for each in NOUNS if each in words), words[-1])
    return f"{words[0]} {'token' if noun == 'pat' else noun}"


if __name__ == "__main__":
    main(*sys.argv[1:])
