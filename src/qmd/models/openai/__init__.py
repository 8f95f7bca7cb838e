"""Models on OpenAI-compatible servers (Ollama, LM Studio, vLLM, llama-server, hosted): `openai:MODEL@URL`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from qmd.errors import ModelError

if TYPE_CHECKING:
    from qmd.config.settings import Settings
    from qmd.models.catalog import ModelCard
    from qmd.models.openai.client import Client
    from qmd.models.served.embedder import ServedEmbedder
    from qmd.models.served.expander import ServedExpander
    from qmd.models.served.reranker import ServedReranker


def load_embedder(
    card: ModelCard, *, cache_dir: Path, settings: Settings, progress: Callable[[str], None] | None = None
) -> ServedEmbedder:
    """The embedder; its server is asked at the first call. Raises `ModelError` for a key it cannot read."""
    from qmd.models.served.embedder import ServedEmbedder

    return ServedEmbedder(card, _client(card, settings))


def load_reranker(
    card: ModelCard, *, cache_dir: Path, settings: Settings, progress: Callable[[str], None] | None = None
) -> ServedReranker:
    """The reranker; as `load_embedder`."""
    from qmd.models.served.reranker import ServedReranker

    return ServedReranker(card, _client(card, settings))


def load_expander(
    card: ModelCard, *, cache_dir: Path, settings: Settings, progress: Callable[[str], None] | None = None
) -> ServedExpander:
    """The expander; as `load_embedder`."""
    from qmd.models.served.expander import ServedExpander

    return ServedExpander(card, _client(card, settings))


def _client(card: ModelCard, settings: Settings) -> Client:
    from qmd.models.openai.address import parse_address
    from qmd.models.openai.client import Client

    return Client(parse_address(card.source), _key(settings), timeout=settings.server_timeout)


def _key(settings: Settings) -> str | None:
    """The key, from the environment or from its file; None where neither is set."""
    if settings.openai_api_key or settings.openai_api_key_file is None:
        return _checked(settings.openai_api_key, "QMD_OPENAI_API_KEY")
    path = settings.openai_api_key_file
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(10_000)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8"
        raise ModelError(
            f"{path}: cannot be read: {reason}", "It is what models.openai_api_key_file names."
        ) from error
    key = _checked(text.strip(), path)
    if key is None:
        raise ModelError(f"{path}: no key in it", "Put the key there, on one line.")
    return key


def _checked(key: str | None, where: str) -> str | None:
    """The key, if it can stand in a header. Raises `ModelError` where it cannot, without showing it."""
    if key and not (key.isascii() and key.isprintable() and " " not in key):
        raise ModelError(f"{where}: that is no key", "A key is one word of ASCII characters.")
    return key or None
