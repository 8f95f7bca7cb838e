"""Where a GGUF model lies, and whether it suits its role."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from qmd.errors import ModelError
from qmd.models.catalog import Condition, Installation, Leftover, ModelCard, Role, resized
from qmd.models.llama.gguf import RANK, Header, read_header
from qmd.models.store import locate_pulled, partial_downloads


def check_backend() -> None:
    """Raises `ModelError` where llama.cpp is not installed."""
    if find_spec("xllamacpp") is None:
        raise ModelError("GGUF models need llama.cpp", "pip install 'qmd-python[llm]'")


def locate(card: ModelCard, cache_dir: Path) -> Path:
    """The model's file. Raises `ModelError` where it is not here."""
    if card.source.startswith("hf:"):
        path = locate_pulled(card.source, cache_dir)
        if not path.is_file():
            raise ModelError(f"Model '{card.name}' is not here", f"qmd pull {card.source}")
        return path
    path = Path(card.source)
    if not path.is_file():
        raise ModelError(f"{path}: no such file", "Correct the model's path.")
    return path


def read(path: Path, role: Role) -> Header:
    """The file's header. Raises `ModelError` for a broken file, and for a model that cannot play the role."""
    header = read_header(path)
    check_role(path, header, role)
    return header


def check_role(path: Path, header: Header, role: Role) -> None:
    """Raises `ModelError` for a model that cannot play the role."""
    ranks = header.pooling == RANK
    match role:
        case "embed" if ranks:
            raise _wrong(path, "is a reranker: it makes no vectors")
        case "rerank" if not ranks:
            raise _wrong(path, "is no reranker: it has no ranking head")
        case "rerank" if header.architecture.startswith("qwen3") and not header.has_judging_prompt:
            raise _wrong(path, "was converted without the prompt that it judges by: its scores mean nothing")
        case "generate" if header.pooling or not header.chats:
            raise _wrong(path, "cannot answer: it is no instruction model")


def described(card: ModelCard, header: Header) -> ModelCard:
    """The card with what the file itself says: its size, its window, and the length of its vectors."""
    window = header.number("context_length") or card.window
    if card.role != "embed":
        return replace(card, size=header.size, window=window)
    # The first conversions of a family say neither of both, and without them its vectors mean little.
    ending = "" if header.ends_texts else card.ending
    known = replace(
        card,
        size=header.size,
        dimension=header.number("embedding_length"),
        query_prompt=card.query_prompt + ending,
        document_prompt=card.document_prompt + ending,
        pooling="" if header.pooling else card.pooling,
    )
    return resized(known, window)


def inspect(card: ModelCard, cache_dir: Path, *, thorough: bool) -> Installation:
    """The file, if it is here, and whether it can play its role."""
    try:
        path = locate(card, cache_dir)
    except ModelError as error:
        return Installation("missing", reason=error.message, hint=error.hint)
    shown, size = (str(path),), path.stat().st_size
    condition: Condition = "damaged"
    try:
        header = read_header(path)
        condition = "unsupported"
        check_role(path, header, card.role)
        check_backend()
    except ModelError as error:
        return Installation(condition, shown, size, error.message, error.hint)
    return Installation("ready", shown, size)


def leftovers(cache_dir: Path, before: float) -> list[Leftover]:
    """Downloads that were given up before the time `before`."""
    return [
        Leftover(str(path), path.stat().st_size)
        for path in partial_downloads(cache_dir)
        if path.stat().st_mtime < before
    ]


def _wrong(path: Path, what: str) -> ModelError:
    return ModelError(f"{path.name} {what}", "Use a model that was made for the role.")
