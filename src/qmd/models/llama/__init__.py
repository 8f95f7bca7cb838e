"""GGUF models through llama.cpp in this process, by `xllamacpp` (the extra `llm`)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from qmd.config.settings import Settings
    from qmd.models.catalog import ModelCard
    from qmd.models.llama.service import LlamaService
    from qmd.models.served.embedder import ServedEmbedder
    from qmd.models.served.expander import ServedExpander
    from qmd.models.served.reranker import ServedReranker

#: What an expander may write, in llama.cpp's grammar (GBNF): three to five lines, each of a kind.
GRAMMAR = r"""
root ::= line line line line? line?
line ::= ("lex" | "vec" | "hyde") ": " [^\n]{3,200} "\n"
"""
#: Sampling as the publishers of small instruction models advise; the seed makes an answer repeatable.
_SAMPLING = {"temperature": 0.7, "top_k": 20, "top_p": 0.8, "seed": 7, "max_tokens": 500}


def load_embedder(
    card: ModelCard, *, cache_dir: Path, settings: Settings, progress: Callable[[str], None] | None = None
) -> ServedEmbedder:
    """The embedder; weights load at the first call. Raises `ModelError` for a file that cannot be one."""
    from qmd.models.served.embedder import ServedEmbedder

    known, service = _service(card, cache_dir, settings, progress)
    return ServedEmbedder(known, service)


def load_reranker(
    card: ModelCard, *, cache_dir: Path, settings: Settings, progress: Callable[[str], None] | None = None
) -> ServedReranker:
    """The reranker; as `load_embedder`."""
    from qmd.models.served.reranker import ServedReranker

    known, service = _service(card, cache_dir, settings, progress)
    return ServedReranker(known, service)


def load_expander(
    card: ModelCard, *, cache_dir: Path, settings: Settings, progress: Callable[[str], None] | None = None
) -> ServedExpander:
    """The expander; as `load_embedder`. What it writes keeps to `GRAMMAR`."""
    from qmd.models.served.expander import ServedExpander

    known, service = _service(card, cache_dir, settings, progress)
    return ServedExpander(known, service, {"grammar": GRAMMAR, **_SAMPLING})


def _service(
    card: ModelCard, cache_dir: Path, settings: Settings, progress: Callable[[str], None] | None
) -> tuple[ModelCard, LlamaService]:
    """What the file says of the model, and the model to ask."""
    from qmd.models.llama import files
    from qmd.models.llama.service import LlamaService

    files.check_backend()
    path = files.locate(card, cache_dir)
    header = files.read(path, card.role)
    known = files.described(card, header)
    return known, LlamaService(known, path, header, settings, progress)
