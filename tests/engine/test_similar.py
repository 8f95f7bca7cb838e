"""Similar documents: by vectors, by words without them, and what is left out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import qmd
from qmd.engine.embedding.batches import embedding_lock
from qmd.errors import DocumentNotFoundError
from qmd.types.traces import VectorMatch
from tests import milvus
from tests.conftest import Notes

BACKUP = "# Backups\n\nEvery night the database is dumped and copied to another machine.\n"
RESTORE = "# Restoring\n\nTo recover lost data, load the newest dump of the database. See [[backup]].\n"
SOUP = "# Soup\n\nBoil carrots and onions in salted water, and add pepper.\n"
STEW = "# Stew\n\nFry the onions, add carrots and potatoes, and simmer them for an hour.\n"
FILES = {
    "backup.md": BACKUP,
    "copy.md": BACKUP,
    "restore.md": RESTORE,
    "soup.md": SOUP,
    "stew.md": STEW,
    "both.md": "# Both\n\n" + SOUP[2:] + "\nFiller about nothing. " * 200 + "\n\n## Data\n\n" + BACKUP[11:],
}


@pytest.fixture
def embedded(index: qmd.Index, notes: Notes) -> Iterator[qmd.Index]:
    index.add_collection(str(notes(FILES)))
    index.embed()
    yield index


def paths(response: qmd.SearchResponse) -> list[str]:
    return [hit.path for hit in response.hits]


def test_similar_finds_what_a_document_is_about_without_it_and_its_copies(embedded: qmd.Index) -> None:
    response = embedded.similar("backup.md")
    assert paths(response)[:2] in (["restore.md", "both.md"], ["both.md", "restore.md"])
    assert not {"backup.md", "copy.md"} & {*paths(response)}
    scores = [hit.score for hit in response.hits]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    assert [(stage.stage, stage.status) for stage in response.stages] == [
        ("vector", "ran"),
        ("lexical", "ran"),
    ]


def test_similar_keeps_the_order_of_documents_that_are_all_farther_than_usual(
    index: qmd.Index, notes: Notes
) -> None:
    lentils = {f"soup{n}.md": f"# Soup\n\nBoil the lentils in salted water, pot {n}.\n" for n in range(30)}
    near = {"zz.md": "# Dump\n\nWrite a snapshot of the tables to tape.\n"}
    index.add_collection(str(notes({**lentils, **near, "backup.md": BACKUP})))
    index.embed()
    response = index.similar("backup.md", limit=None, explain=True)
    cosines = [hit.traces[-1].cosine for hit in response.hits if isinstance(hit.traces[-1], VectorMatch)]
    assert response.hits[0].path == "zz.md"
    assert cosines == sorted(cosines, reverse=True)
    assert len(cosines) == len(response.hits) == 31
    assert all(0 < round(hit.score, 2) < 1 for hit in response.hits)


def test_similar_keeps_its_order_in_a_weighed_collection(index: qmd.Index, notes: Notes) -> None:
    index.add_collection(str(notes(FILES)))
    index.add_collection(str(notes({"other.md": "# Other\n\nSomething else.\n"}, "heavy")))
    index.embed()
    before = [hit.file for hit in index.similar("notes/backup.md", limit=None).hits]
    index.set_weight("notes", 0.01)
    response = index.similar("notes/backup.md", limit=None)
    in_notes = [file for file in before if file.startswith("notes/")]
    assert [hit.file for hit in response.hits if hit.collection == "notes"] == in_notes
    assert all(0 < round(hit.score, 2) < 1 for hit in response.hits)


def test_similar_gives_the_passages_that_are_alike(embedded: qmd.Index) -> None:
    both = next(hit for hit in embedded.similar("backup.md").hits if hit.path == "both.md")
    assert both.line > 100
    assert both.similar_to is not None
    assert (both.similar_to.line, both.similar_to.section) == (1, "Backups")
    backup, soup = (
        next(hit.similar_to for hit in embedded.similar("both.md").hits if hit.path == path)
        for path in ("backup.md", "soup.md")
    )
    assert backup is not None
    assert soup is not None
    assert soup.line == 1
    assert backup.line > 100


def test_similar_compares_the_lines_or_the_section_that_are_named_alone(embedded: qmd.Index) -> None:
    assert {*paths(embedded.similar("both.md:1:3", limit=2))} == {"soup.md", "stew.md"}
    assert paths(embedded.similar("both.md#Data", limit=1))[0] in ("backup.md", "copy.md")


def test_similar_leaves_out_linked_documents_on_request(embedded: qmd.Index) -> None:
    assert "restore.md" in paths(embedded.similar("backup.md"))
    assert "restore.md" not in paths(embedded.similar("backup.md", unlinked=True))
    assert "backup.md" not in paths(embedded.similar("restore.md", unlinked=True))
    # The copy is no target of the link.
    assert "copy.md" in paths(embedded.similar("restore.md", unlinked=True))


def test_similar_applies_filters_before_the_cut(embedded: qmd.Index, notes: Notes) -> None:
    assert paths(embedded.similar("soup.md", limit=1)) != ["restore.md"]
    assert paths(embedded.similar("soup.md", limit=1, path="restore.md")) == ["restore.md"]
    embedded.add_collection(str(notes({"lentils.md": "# Lentils\n\nSoup of lentils.\n"}, "other")))
    embedded.embed()
    assert paths(embedded.similar("notes/soup.md", collections=["other"])) == ["lentils.md"]
    best = embedded.similar("notes/soup.md").hits[0]
    assert all(
        hit.score >= best.score for hit in embedded.similar("notes/soup.md", min_score=best.score).hits
    )


def test_similar_needs_no_model(embedded: qmd.Index, tmp_path: Path, environ: dict[str, str]) -> None:
    wanted = paths(embedded.similar("soup.md"))
    elsewhere = {**environ, "QMD_EMBED_MODEL": "http://127.0.0.1:9/v1#none", "XDG_CACHE_HOME": str(tmp_path)}
    with qmd.open_index(tmp_path / "index.sqlite", environ=elsewhere) as opened:
        assert paths(opened.similar("soup.md")) == wanted
        assert not opened.model_loaded


def test_similar_goes_by_words_without_vectors_and_says_how_to_get_them(
    index: qmd.Index, notes: Notes
) -> None:
    index.add_collection(str(notes(FILES)))
    response = index.similar("soup.md", limit=2)
    assert {*paths(response)} == {"stew.md", "both.md"}
    skipped = response.stage("vector")
    assert skipped is not None
    assert skipped.notable
    assert skipped.reason == "notes/soup.md has no vectors yet: run 'qmd embed'"
    assert response.hits[0].similar_to is None
    with embedding_lock(index.locations.index):
        being_made = index.similar("soup.md").stage("vector")
    assert being_made is not None
    assert being_made.reason == "notes/soup.md has no vectors yet: they are being made"


@pytest.mark.slow
def test_similar_samples_the_parts_of_a_long_document(index: qmd.Index, notes: Notes) -> None:
    long = "".join(f"## Part {n}\n\n" + f"Sentence {n} of a long text. " * 100 + "\n\n" for n in range(20))
    index.add_collection(str(notes({"long.md": long, "soup.md": SOUP})))
    index.embed()
    response = index.similar("long.md")
    assert paths(response) == ["soup.md"]
    sample = response.stage("sample")
    assert sample is not None
    assert sample.reason is not None
    assert sample.reason.startswith("8 of ")


def test_similar_of_an_unknown_document_fails(embedded: qmd.Index) -> None:
    with pytest.raises(DocumentNotFoundError):
        embedded.similar("nothing.md")


@pytest.mark.skipif(not milvus.INSTALLED, reason="the extra 'milvus' is not installed")
def test_similar_is_the_same_in_milvus(
    embedded: qmd.Index, tmp_path: Path, environ: dict[str, str], served: str
) -> None:
    embedded.copy_store(str(tmp_path / "index.sqlite"), served)
    with qmd.open_index(tmp_path / "index.sqlite", store=served, environ=environ) as other:
        for reference in ("backup.md", "both.md"):
            mine, its = embedded.similar(reference), other.similar(reference)
            assert paths(its) == paths(mine)
            assert [hit.similar_to for hit in its.hits] == [hit.similar_to for hit in mine.hits]
