"""GGUF models, run by llama.cpp in this process with `xllamacpp` (the extra `llm`)."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from msgspec.structs import replace

from qmd.config.settings import Settings
from qmd.errors import ModelError
from qmd.features.models import remote
from qmd.features.models.llama.gguf import RANK, RERANK_PROMPT, Header, read_header
from qmd.features.models.llama.service import CONTEXT, LlamaService
from qmd.installation import install_command
from qmd.models import downloads
from qmd.models.catalog import Condition, Installation, Leftover, ModelCard, Role, with_window

#: The output of an expander in llama.cpp's grammar notation (GBNF): three to five lines with a type each.
GRAMMAR = r"""
root ::= line line line line? line?
line ::= ("lex" | "vec" | "hyde") ": " [^\n]{3,200} "\n"
"""
#: Sampling as recommended for small instruction models. The seed makes the output reproducible.
_SAMPLING = {"temperature": 0.7, "top_k": 20, "top_p": 0.8, "seed": 7, "max_tokens": 500}


def load(
    card: ModelCard, *, cache_dir: Path, settings: Settings, progress: Callable[[str], None] | None = None
) -> remote.RemoteModel:
    """Return the model for the card's role; its weights load at the first use.

    Raises `ModelError` if llama.cpp is not installed, or if the file is missing, damaged or made for another
    role.
    """
    _check_installed()
    path = _locate(card, cache_dir)
    header = read_header(path)
    check_role(path, header, card.role)
    card = with_header(card, header)
    if card.role == "generate":
        card = replace(card, window=min(card.window, CONTEXT))
    service = LlamaService(card, path, header, settings, progress)
    return remote.load(card, service, {"grammar": GRAMMAR, **_SAMPLING})


def inspect(card: ModelCard, cache_dir: Path, *, thorough: bool) -> Installation:
    """Check that the file exists and that its model fits the role. Its checksum is not known."""
    try:
        path = _locate(card, cache_dir)
    except ModelError as error:
        return Installation("missing", reason=error.message, hint=error.hint)
    files, size = (str(path),), path.stat().st_size
    condition: Condition = "damaged"
    try:
        header = read_header(path)
        condition = "unsupported"
        check_role(path, header, card.role)
        _check_installed()
    except ModelError as error:
        return Installation(condition, files, size, error.message, error.hint)
    return Installation("ready", files, size)


def leftovers(cache_dir: Path, before: float) -> list[Leftover]:
    """List the downloads that were abandoned before the time `before`."""
    paths = sorted((cache_dir / "models").glob(f"*/*/**/*{downloads.PARTIAL}"))
    files = [(path, path.stat()) for path in paths]
    return [Leftover(str(path), state.st_size) for path, state in files if state.st_mtime < before]


def _locate(card: ModelCard, cache_dir: Path) -> Path:
    if card.source.startswith("hf:"):
        return downloads.locate(card, cache_dir)
    path = Path(card.source)
    if not path.is_file():
        raise ModelError(f"{path}: no such file", "correct the model's path")
    return path


def check_role(path: Path, header: Header, role: Role) -> None:
    """Raise `ModelError` if the model was not made for the role."""
    is_reranker = header.pooling == RANK
    match role:
        case "embed" if is_reranker:
            reason = "is a reranker and makes no embeddings"
        case "rerank" if not is_reranker:
            reason = "is not a reranker: it has no ranking head"
        case "rerank" if header.architecture.startswith("qwen3") and RERANK_PROMPT not in header.values:
            reason = "was converted without its reranking prompt: its scores would be meaningless"
        case "generate" if header.pooling or not header.is_chat_model:
            reason = "cannot answer prompts: it is not an instruction model"
        case _:
            return
    raise ModelError(f"{path.name} {reason}", "use a model that was made for this role")


def with_header(card: ModelCard, header: Header) -> ModelCard:
    """Return the card with the size, window and dimension from the file's header."""
    window = header.number("context_length") or card.window
    if card.role != "embed":
        return replace(card, size=header.size, window=window)
    # Early conversions of some models lack the ending and the pooling type, without which vectors are poor.
    ending = "" if header.values.get("tokenizer.ggml.add_eos_token") is True else card.ending
    card = replace(
        card,
        size=header.size,
        dimension=header.number("embedding_length"),
        query_prompt=card.query_prompt + ending,
        document_prompt=card.document_prompt + ending,
        pooling="" if header.pooling else card.pooling,
    )
    return with_window(card, window)


def _check_installed() -> None:
    if find_spec("xllamacpp") is None:
        raise ModelError("GGUF models need the extra 'llm'", install_command("llm"))
