"""Models on OpenAI-compatible servers (Ollama, LM Studio, vLLM, llama-server, hosted): `openai:MODEL@URL`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from qmd.config.settings import Settings
from qmd.errors import ModelError
from qmd.features.models import remote
from qmd.features.models.openai.client import OpenAIClient
from qmd.models.address import parse_address
from qmd.models.catalog import Installation, Leftover, ModelCard


def load(
    card: ModelCard, *, cache_dir: Path, settings: Settings, progress: Callable[[str], None] | None = None
) -> remote.RemoteModel:
    """Return the model for the card's role; the server is contacted at the first use.

    Raises `ModelError` if the API key cannot be read.
    """
    client = OpenAIClient(parse_address(card.source), _api_key(settings), timeout=settings.server_timeout)
    return remote.load(card, client)


def inspect(card: ModelCard, cache_dir: Path, *, thorough: bool) -> Installation:
    """Return `remote` without contacting the server."""
    return Installation("remote")


def leftovers(cache_dir: Path, before: float) -> list[Leftover]:
    """Return an empty list: these models have no files."""
    return []


def _api_key(settings: Settings) -> str | None:
    """Return the key from the environment or from its file, if one is set."""
    if settings.openai_api_key or settings.openai_api_key_file is None:
        return _checked(settings.openai_api_key, "QMD_OPENAI_API_KEY")
    path = settings.openai_api_key_file
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(10_000)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8"
        raise ModelError(
            f"{path}: cannot be read: {reason}", "models.openai_api_key_file names this file"
        ) from error
    key = _checked(text.strip(), path)
    if key is None:
        raise ModelError(f"{path}: contains no API key", "write the key into it, on one line")
    return key


def _checked(key: str | None, origin: str) -> str | None:
    """Return the key if it is a valid header value. The error message does not contain it."""
    if key and not (key.isascii() and key.isprintable() and " " not in key):
        raise ModelError(f"{origin}: not a valid API key", "a key is one word of ASCII characters")
    return key or None
