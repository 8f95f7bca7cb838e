"""Properties of fusion and blending for arbitrary lists."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, strategies as st
from msgspec.structs import replace

from qmd.ranking import bm25, rerank
from qmd.ranking.fusion import RankedList, by_meaning, convex, reciprocal_rank
from qmd.types.traces import ContractBlend, Fusion, Signal


@st.composite
def ranked_lists(draw: st.DrawFn) -> list[RankedList]:
    lists = []
    for number in range(draw(st.integers(1, 4))):
        documents = draw(st.lists(st.integers(1, 30), unique=True, max_size=20))
        scores = sorted((draw(st.floats(0, 50)) for _ in documents), reverse=True)
        kind = draw(st.sampled_from(["lexical", "dense"]))
        weight = draw(st.sampled_from([1.0, 2.0]))
        lists.append(RankedList(str(number), kind, list(zip(documents, scores, strict=True)), weight))
    return lists


@given(lists=ranked_lists())
def test_fusion_returns_each_document_once_with_descending_scores(lists: list[RankedList]) -> None:
    everything = {document for ranked in lists for document, _ in ranked.items}
    for fused in (reciprocal_rank(lists), convex([ranked for ranked in lists if ranked.items])):
        assert {entry.document for entry in fused} == everything
        assert len(fused) == len(everything)
        scores = [entry.score for entry in fused]
        assert scores == sorted(scores, reverse=True)
        assert all(0.0 <= score <= 1.0 for score in scores)


def test_reciprocal_rank_fusion_adds_the_documented_bonus() -> None:
    lists = [
        RankedList("original", "lexical", [(1, 9.0), (2, 8.0)], 2.0),
        RankedList("variant", "dense", [(2, 0.9), (3, 0.8), (4, 0.7), (5, 0.6)], 1.0),
    ]
    totals = {
        entry.document: trace.total
        for entry in reciprocal_rank(lists)
        for trace in entry.traces
        if isinstance(trace, Fusion)
    }
    assert totals[1] == 2 / 61 + 0.05
    assert totals[2] == 2 / 62 + 1 / 61 + 0.05
    assert totals[3] == 1 / 62 + 0.02
    assert totals[5] == 1 / 64


@given(lists=ranked_lists(), scores=st.dictionaries(st.integers(1, 30), st.floats(0, 1)))
def test_rankings_keep_every_document_with_descending_scores(
    lists: list[RankedList], scores: dict[int, float]
) -> None:
    fused = convex([ranked for ranked in lists if ranked.items])
    signals: dict[int, dict[Signal, float]] = {
        document: {"rerank": score, "title": 0.1, "meaning": 0.8} for document, score in scores.items()
    }
    read = [replace(item, signals=signals.get(item.document, {})) for item in fused]
    for ranked in (rerank.contract(read), rerank.tuned(read, 0.5)):
        assert {item.document for item in ranked} == {entry.document for entry in fused}
        values = [item.score for item in ranked]
        assert all(0.0 <= value <= 1.0 for value in values)
        assert all(first >= second - 1e-12 for first, second in pairwise(values))


def test_contract_ranking_blends_by_fused_rank() -> None:
    items = [(document, 20.0 - document) for document in range(1, 13)]
    fused = reciprocal_rank([RankedList("a", "lexical", items, 2.0)])
    blends = {
        item.document: trace.share
        for item in rerank.contract([replace(item, signals={"rerank": 0.5}) for item in fused])
        for trace in item.traces
        if isinstance(trace, ContractBlend)
    }
    assert [blends[document] for document in range(1, 13)] == [0.75] * 3 + [0.60] * 7 + [0.40] * 2


@given(lists=ranked_lists())
def test_merging_lists_of_cosines_keeps_the_best_of_each_document(lists: list[RankedList]) -> None:
    merged = {item.document: item.signals["meaning"] for item in by_meaning(lists)}
    for ranked in lists:
        for document, cosine in ranked.items:
            assert merged[document] >= cosine


@given(frequency=st.floats(0.5, 1e6), length=st.floats(1, 1e6), weight=st.floats(0.01, 20))
def test_bm25_score_never_exceeds_the_bound(frequency: float, length: float, weight: float) -> None:
    score = bm25.term_score(weight, frequency, bm25.length_norm(length, 100.0))
    assert 0.0 < score <= bm25.bound([weight])


@given(
    measured=st.lists(st.tuples(st.floats(0, 2), st.floats(0, 1)), max_size=40),
    depth=st.integers(1, 50),
    extra=st.sets(st.integers(0, 40)),
)
def test_candidates_are_read_until_no_other_is_expected_among_the_first(
    measured: list[tuple[float, float]], depth: int, extra: set[int]
) -> None:
    parts = {document: part for document, (part, _) in enumerate(measured)}
    values = {document: score for document, (_, score) in enumerate(measured)}
    before = {document: score for document, score in values.items() if document in extra}
    ways = []
    for scores in ({}, before):
        read = rerank.to_read(parts, scores, depth)
        while any(document not in scores for document in read):
            scores = {**scores, **{document: values[document] for document in read}}
            read = rerank.to_read(parts, scores, depth)
        ways.append(read)
    read = ways[0]
    assert ways[1] == read
    assert len({*read}) == len(read) >= min(depth, len(parts))
    rest = parts.keys() - {*read}
    if rest:
        expected = sum(values[document] for document in read) / len(read)
        sums = sorted((parts[document] + values[document] for document in read), reverse=True)
        assert all(parts[document] + expected < sums[depth - 1] for document in rest)
