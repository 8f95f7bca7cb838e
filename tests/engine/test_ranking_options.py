"""Ranking options: weights of collections, recency, folded copies, and order by date."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

import qmd
from qmd.errors import UsageError
from tests.conftest import Notes

COPY = "# Water\n\nOn the water one heron stands beside another heron and many other words.\n"
FILES = {"best.md": "# Heron\n\nheron heron\n", "new.md": COPY, "copy.md": COPY}
DAY = 86_400


@pytest.fixture
def library(index: qmd.Index, notes: Notes) -> qmd.Index:
    """Two collections: the best match is a year old, and one text occurs three times."""
    folders = [(notes(FILES, "mine"), "mine"), (notes({"again.md": COPY}, "yours"), "yours")]
    ages = {"best.md": 400, "new.md": 1, "copy.md": 50, "again.md": 60}
    for folder, name in folders:
        for path in folder.iterdir():
            moment = time.time() - ages[path.name] * DAY
            os.utime(path, (moment, moment))
        index.add_collection(str(folder), name)
    return index


def files(response: qmd.SearchResponse) -> list[str]:
    return [hit.file for hit in response.hits]


PLAIN = ["mine/best.md", "mine/copy.md", "mine/new.md", "yours/again.md"]


def test_search_without_ranking_options_is_unchanged(library: qmd.Index) -> None:
    plain = library.search("heron", explain=True)
    assert sorted(files(plain)[1:]) == PLAIN[1:] and files(plain)[0] == PLAIN[0]
    assert all(set(hit.explain or {}) == {"lexical", "likelihood"} for hit in plain.hits)
    off = library.search("heron", explain=True, recent=False, fold=False, sort="relevance", marks=False)
    assert off.hits == plain.hits
    library.set_weight("mine", 3)
    library.set_weight("yours", 3)  # equal weights change nothing
    assert library.search("heron", explain=True).hits == plain.hits


def test_recency_ranks_newer_documents_higher_and_explains_it(library: qmd.Index) -> None:
    found = library.search("heron", half_life=10, explain=True, collections=["mine"])
    assert files(found)[-2:] == ["mine/copy.md", "mine/best.md"] or files(found)[0] == "mine/best.md"
    order = [file for file in files(library.search("heron", recent=True)) if "best" not in file]
    assert order == ["mine/new.md", "mine/copy.md", "yours/again.md"]
    explain = next(hit.explain for hit in found.hits if hit.path == "copy.md")
    assert explain is not None
    factor = explain["adjusted"]["factors"]["recency"]
    assert factor["reason"] == "50 days old, half-life 10 days"
    assert factor["factor"] == pytest.approx(0.5 + 0.5 / 32, abs=1e-3)


def test_recency_of_a_collection_overrides_that_of_the_index(library: qmd.Index, tmp_path: Path) -> None:
    def adjusted(**options: bool) -> set[str]:
        hits = library.search("heron", explain=True, recent=options.get("recent")).hits
        return {hit.collection for hit in hits if "adjusted" in (hit.explain or {})}

    config = tmp_path / "index.yml"
    assert adjusted() == set()
    library.set_recency("yours", 30)
    assert adjusted() == {"yours"}
    config.write_text("recency: 1y\n" + config.read_text("utf-8"), "utf-8")
    assert library.config.recency == 365
    assert adjusted() == {"mine", "yours"}
    library.set_recency("mine", 0)
    assert adjusted() == {"yours"}
    assert adjusted(recent=False) == set()
    library.set_recency("mine", None)
    assert "recency: false" not in config.read_text("utf-8")


def test_weight_of_a_collection_moves_its_documents(library: qmd.Index, tmp_path: Path) -> None:
    before = library.search("heron").hits
    library.set_weight("mine", 0.01)
    assert "weight: 0.01" in (tmp_path / "index.yml").read_text("utf-8")
    found = library.search("heron", explain=True)
    assert files(found)[0] == "yours/again.md"
    scores = [hit.score for hit in found.hits]
    assert scores == sorted(scores, reverse=True)
    factors = (found.hits[1].explain or {})["adjusted"]["factors"]
    assert factors["collection"] == {
        "factor": 0.01,
        "reason": "its collection has the weight 0.01, the highest is 1",
    }
    # A single collection is not compared with others, so a low weight leaves no document out.
    alone = library.search("heron", collections=["mine"])
    assert [hit.score for hit in alone.hits] == [hit.score for hit in before if hit.collection == "mine"]
    assert len(library.search("heron", min_score=before[-1].score).hits) == len(before)
    library.set_weight("mine", 1)
    assert "weight:" not in (tmp_path / "index.yml").read_text("utf-8")


@pytest.mark.parametrize("weight", [0, -1, 101, float("nan")])
def test_set_weight_refuses_a_weight_out_of_range(library: qmd.Index, weight: float) -> None:
    with pytest.raises(UsageError, match=r"from 0\.01 to 100"):
        library.set_weight("mine", weight)


def test_fold_merges_documents_with_the_same_text(library: qmd.Index) -> None:
    found = library.search("heron", fold=True, explain=True)
    assert len(found.hits) == 2
    _, folded = found.hits
    assert sorted([folded.file, *folded.also]) == ["mine/copy.md", "mine/new.md", "yours/again.md"]
    assert (folded.explain or {})["copies"] == 2
    # Folding happens before the limit, so copies make room for other documents.
    assert len(library.search("heron", fold=True, limit=2).hits) == 2
    # Weights decide which copy is shown.
    assert library.search("heron", fold=True, half_life=1).hits[-1].file in ("mine/new.md", "mine/best.md")
    listed = library.search("path:md", fold=True)
    assert len(listed.hits) <= 2


def test_fold_names_only_copies_that_the_search_covers(library: qmd.Index) -> None:
    for found in (
        library.search("heron", fold=True, collections=["mine"]),
        library.limited(["mine"]).search("heron", fold=True, explain=True),
    ):
        hit = found.hits[1]
        assert sorted([hit.file, *hit.also]) == ["mine/copy.md", "mine/new.md"]
        assert (hit.explain or {"copies": 1})["copies"] == 1
    filtered = library.search("heron", fold=True, path="new").hits
    assert [(hit.file, hit.also) for hit in filtered] == [("mine/new.md", ())]


def test_sort_by_date_applies_before_the_limit(library: qmd.Index) -> None:
    newest = ["mine/new.md", "mine/copy.md", "yours/again.md", "mine/best.md"]
    assert files(library.search("heron", sort="date")) == newest
    found = library.search("heron", sort="date", limit=2, explain=True)
    assert files(found) == newest[:2]
    assert (found.hits[0].explain or {})["date"][:2] == "20"
    # A document with only some of the words ranks below, even if it is newer.
    assert files(library.search("heron beside", sort="date", limit=9)) == newest[:3]
    with pytest.raises(UsageError, match="sort must be"):
        library.search("heron", sort="size")  # type: ignore[arg-type]


@pytest.mark.models
@pytest.mark.slow
def test_ranking_options_apply_to_vsearch_and_query(library: qmd.Index) -> None:
    library.embed()
    for search in (library.vsearch, library.query):
        plain = search("heron in water")
        assert len(plain.hits) == 4
        folded = search("heron in water", fold=True)
        assert len(folded.hits) == 2
        assert {len(hit.also) for hit in folded.hits} == {0, 2}
        dated = search("heron in water", sort="date", limit=2)
        assert set(files(dated)) == set(files(plain)[:2])
        recent = search("heron in water", half_life=5, explain=True)
        assert all("recency" in (hit.explain or {})["adjusted"]["factors"] for hit in recent.hits)
        library.pin("herons in water", "yours/again.md")
        assert search("heron in water", limit=1).hits[0].pinned
        library.unpin("herons in water")
