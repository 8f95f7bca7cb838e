"""Chinese queries search with a vector that lacks a part of their mean."""

from __future__ import annotations

import numpy as np
import pytest

from qmd.models.e5.embedder import E5Embedder

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("query", ["how to bake bread", "パンの焼き方", "빵 굽는 법", "как испечь хлеб"])
def test_queries_of_other_languages_search_with_their_own_vector(embedder: E5Embedder, query: str) -> None:
    (probe,) = embedder.probes([query])
    np.testing.assert_array_equal(probe.vector, embedder.embed_queries([query])[0])
    assert (probe.scale, probe.offset) == (1.0, 0.0)


def test_chinese_queries_are_less_alike_and_keep_the_scale_of_cosines(embedder: E5Embedder) -> None:
    queries = ["怎么烤面包", "忘记密码怎么办", "数据库多久备份一次"]
    passages = embedder.embed_documents(
        ["Bake the bread at 240 degrees.", "Reset a lost password here.", "The database is saved each night."]
    )
    probes = embedder.probes(queries)
    plain, searched = embedder.embed_queries(queries), np.stack([probe.vector for probe in probes])
    np.testing.assert_allclose(np.linalg.norm(searched, axis=1), 1.0, atol=1e-5)
    assert (searched @ searched.T).min() < (plain @ plain.T).min()
    cosines = np.stack([probe.scale * (passages @ probe.vector) + probe.offset for probe in probes])
    assert (cosines.argmax(axis=1) == [0, 1, 2]).all()
    assert abs(cosines.mean() - (plain @ passages.T).mean()) < 0.05
