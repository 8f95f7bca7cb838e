"""Settings from environment variables, the configuration file and defaults, in this order of precedence."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, get_args

from msgspec import Struct

from qmd.errors import ConfigError
from qmd.types import MAX_WEIGHT, MIN_WEIGHT, Config, EmbedMode, Mask, Ranking, ScoreScale, Secret

DEFAULT_LEASE_SECONDS, MAX_LEASE_SECONDS = 600, 3_600
DEFAULT_WINDOWS_MB, MAX_WINDOWS_MB = 64, 100_000
DEFAULT_BUSY_TIMEOUT_MS = 120_000
# SQLite stores the busy timeout in a signed 32-bit integer.
MAX_BUSY_TIMEOUT_MS = 2**31 - 1
MAX_THREADS = 4096
MAX_RAM_MB = 2**31 - 1
#: How long to wait for one response of a model server, in seconds.
DEFAULT_SERVER_TIMEOUT = 60
MAX_SERVER_TIMEOUT = 86_400
#: How long a request to this server may make no progress, and an idle connection stays open, in seconds.
DEFAULT_REQUEST_TIMEOUT, DEFAULT_KEEP_ALIVE = 15, 75
MAX_CONNECTION_SECONDS = 86_400

#: The keys that take one of a few words.
CHOICES: Mapping[str, tuple[str, ...]] = {
    "ranking": get_args(Ranking),
    "scores": get_args(ScoreScale),
    "embed": get_args(EmbedMode),
    "remote": ("allow", "deny"),
    "mask": get_args(Mask),
}
#: The values that keys of this name take, for messages.
WEIGHT = f"weight must be a number from {MIN_WEIGHT:g} to {MAX_WEIGHT:g}"
RECENCY = "recency must be a time such as 30d, 6m or 1y, in which the weight of a document's date halves"
_SECRET_WORDS = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSPHRASE")


class Settings(Struct, frozen=True):
    """The settings in effect. None lets the engine choose."""

    ranking: Ranking | None = None
    embed_model: str | None = None
    rerank_model: str | None = None
    generate_model: str | None = None
    editor_uri: str | None = None
    threads: int | None = None
    #: How long a writer waits for another writer, in milliseconds.
    busy_timeout_ms: int = DEFAULT_BUSY_TIMEOUT_MS
    #: How long a worker keeps the documents that it embeds to itself, in seconds.
    embed_lease_seconds: int = DEFAULT_LEASE_SECONDS
    max_ram_mb: int | None = None
    #: The key for OpenAI-compatible model servers, and a file with this key.
    openai_api_key: Secret | None = None
    openai_api_key_file: str | None = None
    server_timeout: int = DEFAULT_SERVER_TIMEOUT
    scores: ScoreScale | None = None
    #: The most megabytes of the index for windows that the reranker has read.
    windows_mb: int = DEFAULT_WINDOWS_MB


def resolve(config: Config, environ: Mapping[str, str]) -> Settings:
    """Return the settings in effect. An empty environment variable counts as unset.

    Raises `ConfigError`, which names the variable, if one has an invalid value.
    """

    def number(name: str, highest: int) -> int | None:
        return _whole_number(environ, name, 1, highest)

    windows = _whole_number(environ, "QMD_WINDOWS_MB", 0, MAX_WINDOWS_MB)
    return Settings(
        ranking=_choice(environ, "QMD_RANKING", "ranking") or config.ranking,
        scores=_choice(environ, "QMD_SCORES", "scores") or config.scores,
        embed_model=_text(environ, "QMD_EMBED_MODEL") or config.models.embed,
        rerank_model=_text(environ, "QMD_RERANK_MODEL") or config.models.rerank,
        generate_model=_text(environ, "QMD_GENERATE_MODEL") or config.models.generate,
        editor_uri=_text(environ, "QMD_EDITOR_URI") or config.editor_uri,
        threads=number("QMD_THREADS", MAX_THREADS) or config.models.threads,
        max_ram_mb=number("QMD_MAX_RAM_MB", MAX_RAM_MB) or config.models.max_ram_mb,
        openai_api_key=Secret(key) if (key := _text(environ, "QMD_OPENAI_API_KEY")) else None,
        openai_api_key_file=config.models.openai_api_key_file,
        server_timeout=number("QMD_SERVER_TIMEOUT", MAX_SERVER_TIMEOUT) or DEFAULT_SERVER_TIMEOUT,
        busy_timeout_ms=busy_timeout_ms(environ),
        embed_lease_seconds=number("QMD_EMBED_LEASE", MAX_LEASE_SECONDS) or DEFAULT_LEASE_SECONDS,
        windows_mb=DEFAULT_WINDOWS_MB if windows is None else windows,
    )


def busy_timeout_ms(environ: Mapping[str, str]) -> int:
    """Return how long a writer waits for another, in milliseconds. Used before the configuration is read."""
    timeout = _whole_number(environ, "QMD_SQLITE_BUSY_TIMEOUT", 0, MAX_BUSY_TIMEOUT_MS)
    return DEFAULT_BUSY_TIMEOUT_MS if timeout is None else timeout


def request_timeout(environ: Mapping[str, str]) -> int:
    """Return how long a request to this server may make no progress, in seconds."""
    timeout = _whole_number(environ, "QMD_REQUEST_TIMEOUT", 1, MAX_CONNECTION_SECONDS)
    return timeout or DEFAULT_REQUEST_TIMEOUT


def keep_alive(environ: Mapping[str, str]) -> int:
    """Return how long a connection to this server stays open without a request, in seconds."""
    return _whole_number(environ, "QMD_KEEP_ALIVE", 1, MAX_CONNECTION_SECONDS) or DEFAULT_KEEP_ALIVE


def environment_settings(environ: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the environment variables that are set, as (name, value) sorted by name, with secrets hidden.

    Unknown variables that start with `QMD_` are included, so that the user can find misspelt names.
    """
    return [
        (name, "(set)" if _is_secret(name, value) else value)
        for name, value in sorted(environ.items())
        if value.strip() and (name.startswith("QMD_") or name == "INDEX_PATH")
    ]


def _is_secret(name: str, value: str) -> bool:
    # An address with a password is rejected elsewhere, but must not be displayed.
    return any(word in name for word in _SECRET_WORDS) or (name == "QMD_STORE" and "@" in value)


def _text(environ: Mapping[str, str], name: str) -> str | None:
    return environ.get(name, "").strip() or None


def _choice(environ: Mapping[str, str], variable: str, key: str) -> Any:
    """Return the value of the environment variable of a setting in `CHOICES`; None if it is not set."""
    value = _text(environ, variable)
    if value is not None and value not in CHOICES[key]:
        choices = " or ".join(CHOICES[key])
        raise ConfigError(f"{variable} must be {choices}, not {value!r}.", f"correct or unset {variable}")
    return value


def as_weight(text: str) -> float | None:
    """Return the weight of a collection that a text states; None if it is not within the limits."""
    if not re.fullmatch(r"\d{1,6}(\.\d{0,10})?", text, re.ASCII):
        return None
    return float(text) if MIN_WEIGHT <= float(text) <= MAX_WEIGHT else None


def as_whole_number(text: str, lowest: int, highest: int) -> int | None:
    """Return the number that a text states in ASCII digits; None if it is not within the limits."""
    # isascii, because int() accepts digits of other scripts. No limit has more than 10 digits.
    valid = text.isascii() and text.isdigit() and len(text) <= 10 and lowest <= int(text) <= highest
    return int(text) if valid else None


def _whole_number(environ: Mapping[str, str], name: str, lowest: int, highest: int) -> int | None:
    value = _text(environ, name)
    number = None if value is None else as_whole_number(value, lowest, highest)
    if value is not None and number is None:
        raise ConfigError(
            f"{name} must be a whole number from {lowest} to {highest}, not {value!r}.",
            f"correct or unset {name}",
        )
    return number
