"""The prompts of known models, compared literally with the publishers' documentation."""

from __future__ import annotations

from typing import Any

import pytest

from qmd.features.models.llama.backend import with_header
from qmd.features.models.llama.gguf import Header
from qmd.models.catalog import CARDS, ModelCard
from qmd.models.registry import find_card

GEMMA = ("task: search result | query: {text}", "title: {title} | text: {text}")
QWEN = (
    "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:{text}",
    "{text}",
)
E5 = ("query: {text}", "passage: {text}")
BGE = ("Represent this sentence for searching relevant passages: {text}", "{text}")


def card(spec: str) -> ModelCard:
    result = find_card(spec, "embed")
    assert result is not None
    return result


@pytest.mark.parametrize(
    ("spec", "prompts"),
    [
        # https://ai.google.dev/gemma/docs/embeddinggemma/model_card
        ("embeddinggemma-300M-Q8_0", GEMMA),
        ("openai:embeddinggemma@http://localhost:11434/v1", GEMMA),
        ("hf:unsloth/embeddinggemma-300m-GGUF/embeddinggemma-300m-Q4_0.gguf", GEMMA),
        # https://huggingface.co/Qwen/Qwen3-Embedding-0.6B
        ("Qwen3-Embedding-0.6B", QWEN),
        ("hf:Qwen/Qwen3-Embedding-8B-GGUF/Qwen3-Embedding-8B-Q4_K_M.gguf", QWEN),
        ("openai:qwen3-embedding:0.6b@http://localhost:11434/v1", QWEN),
        # https://huggingface.co/intfloat/multilingual-e5-small
        ("multilingual-e5-small", E5),
        # https://huggingface.co/nomic-ai/nomic-embed-text-v1.5
        (
            "openai:nomic-embed-text@http://localhost:11434/v1",
            ("search_query: {text}", "search_document: {text}"),
        ),
        # https://huggingface.co/BAAI/bge-large-en-v1.5; bge-m3 needs no prompt
        ("openai:bge-large-en-v1.5@http://localhost:11434/v1", BGE),
        ("openai:bge-m3@http://localhost:11434/v1", ("{text}", "{text}")),
    ],
)
def test_embedder_prompts_are_those_of_the_publisher(spec: str, prompts: tuple[str, str]) -> None:
    assert (card(spec).query_prompt, card(spec).document_prompt) == prompts


def test_expansion_model_uses_its_training_prompt() -> None:
    (expander,) = [card for card in CARDS if card.role == "generate"]
    assert expander.query_prompt == "/no_think Expand this search query: {text}"
    assert expander.system_prompt == ""


def header(**values: Any) -> Header:
    defaults = {
        "general.architecture": "qwen3",
        "qwen3.context_length": 32_768,
        "qwen3.embedding_length": 1024,
    }
    return Header(defaults | values, 600_000_000)


@pytest.mark.parametrize("spec", ["Qwen3-Embedding-0.6B", "/models/my-qwen3-embedding-4b.gguf"])
def test_with_header_falls_back_to_the_pooling_of_the_model_family(spec: str) -> None:
    silent = with_header(card(spec), header())
    assert silent.pooling == "last"
    assert silent.query_prompt == QWEN[0] + "<|endoftext|>"
    assert silent.document_prompt == "{text}<|endoftext|>"


def test_with_header_prefers_the_pooling_and_ending_of_the_file() -> None:
    specified = {"qwen3.pooling_type": 3, "tokenizer.ggml.add_eos_token": True}
    result = with_header(card("Qwen3-Embedding-0.6B"), header(**specified))
    assert (result.pooling, result.query_prompt, result.document_prompt) == ("", *QWEN)
