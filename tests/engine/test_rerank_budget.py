"""How much of the candidates the reranker reads."""

from __future__ import annotations

from collections.abc import Iterator

import apsw
import pytest

import qmd
from tests.conftest import Notes
from tests.model_server import Server, serving

#: Many windows, most of which have words of "sourdough bread".
LONG = "\n\n".join(
    f"{place}. The sourdough rests, and bread is baked on the stone." * 4 for place in range(20)
)


@pytest.fixture
def server(environ: dict[str, str]) -> Iterator[Server]:
    """A server with an embedder and a reranker."""
    with serving() as found:
        environ["QMD_EMBED_MODEL"] = f"openai:words@{found.url}"
        environ["QMD_RERANK_MODEL"] = f"openai:overlap@{found.url}"
        yield found


@pytest.fixture
def library(server: Server, index: qmd.Index, notes: Notes) -> qmd.Index:
    index.add_collection(
        str(notes({f"{place}.md": f"# Note {place}\n\n{LONG}" for place in range(70)})), "notes"
    )
    index.embed()
    return index


def read(server: Server) -> list[str]:
    """Return what the reranker has read of each document in the last search."""
    texts: list[str] = server.asked("/v1/rerank")[-1]["documents"]
    return texts


@pytest.mark.slow
@pytest.mark.parametrize("query", ["sourdough bread", "面包怎么烤"])
@pytest.mark.parametrize("candidates", [30, 60])
def test_every_candidate_is_read(library: qmd.Index, server: Server, query: str, candidates: int) -> None:
    response = library.query(query, candidate_limit=candidates, limit=70, explain=True)
    texts = read(server)
    assert len(texts) == candidates
    assert all("sourdough" in text for text in texts)
    assert len([hit for hit in response.hits if hit.explain and "rerank" in hit.explain]) == candidates


def test_more_is_read_if_the_words_are_of_another_language(library: qmd.Index, server: Server) -> None:
    library.query("sourdough bread")
    same = sum(map(len, read(server)))
    library.query("面包怎么烤")
    assert sum(map(len, read(server))) > 1.5 * same


def test_no_more_is_read_than_the_shown_results_need(index: qmd.Index, notes: Notes) -> None:
    texts = {f"{place}.md": f"Water the tomatoes in bed {place}." for place in range(5)}
    texts |= {f"other{place}.md": f"Box {place} has water bottles." for place in range(25)}
    index.add_collection(str(notes(texts)), "notes")
    index.embed()

    def cached() -> int:
        """Return the number of cached answers of models; the score of a candidate is one."""
        with apsw.Connection(index.locations.index) as db:
            return int(db.execute("SELECT count(*) FROM llm_cache").get)

    others = cached()
    few = index.query("water the tomatoes", limit=3)
    assert 3 <= cached() - others < 30
    many = index.query("water the tomatoes", limit=30)
    assert cached() - others == len(many.hits) == 30
    assert few.hits == many.hits[:3]
    assert index.query("water the tomatoes", limit=3).hits == few.hits
    why = index.why("notes/other24.md", "query", qmd.SearchRequest("water the tomatoes", limit=3))
    assert why.verdict == "below_limit"
