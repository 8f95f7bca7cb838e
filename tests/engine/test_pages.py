"""Pages of results: `offset`, the number of results, and whether others follow."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import qmd
from qmd.errors import UsageError

#: Every document has the word, each in another measure, and some are copies of others.
WORDS = ("heron", "river", "bank", "reed", "water")
COPIES = {"copy of 3.md": 3, "copy of 12.md": 12}


def text(number: int) -> str:
    body = " ".join(WORDS[at % len(WORDS)] for at in range(number + 2))
    return f"# Note {number}\n\nheron {body}\n\nParagraph {number} of the story.\n"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[qmd.Index]:
    home = tmp_path_factory.mktemp("pages")
    folder = home / "notes"
    folder.mkdir()
    for number in range(40):
        (folder / f"{number}.md").write_text(text(number), "utf-8")
    for name, number in COPIES.items():
        (folder / name).write_text(text(number), "utf-8")
    with qmd.open_index(environ=environ_of(home)) as index:
        index.add_collection(str(folder), "notes")
        yield index


def environ_of(home: Path) -> dict[str, str]:
    return {"HOME": str(home), "QMD_CONFIG_DIR": str(home), "XDG_CACHE_HOME": str(home / "cache")}


def paged(index: qmd.Index, query: str, size: int, **options: object) -> list[qmd.Hit]:
    """Return the hits of all pages, as a client gets them that goes on while there is a next one."""
    hits: list[qmd.Hit] = []
    offset: int | None = 0
    while offset is not None:
        page = index.search(query, limit=size, offset=offset, **options)  # type: ignore[arg-type]
        hits += page.hits
        assert page.next_offset is None or page.next_offset == len(hits)
        offset = page.next_offset
    return hits


@pytest.mark.parametrize(
    "options", [{}, {"fold": True}, {"sort": "date"}, {"recent": True}, {"min_score": 0.4}]
)
@pytest.mark.parametrize("size", [7, 20])
def test_pages_together_are_the_whole_list(library: qmd.Index, size: int, options: dict[str, object]) -> None:
    whole = library.search("heron", limit=None, **options)  # type: ignore[arg-type]
    files = [hit.file for hit in paged(library, "heron", size, **options)]
    assert files == [hit.file for hit in whole.hits]
    assert whole.total == len(files) and whole.next_offset is None


def test_search_tells_how_many_results_all_pages_have(library: qmd.Index) -> None:
    first = library.search("heron", limit=5)
    assert (first.total, first.more, first.next_offset, first.extent) == (42, True, 5, "results 1 to 5 of 42")
    last = library.search("heron", limit=5, offset=40)
    assert (last.total, last.more, last.next_offset, last.extent) == (
        42,
        False,
        None,
        "results 41 to 42 of 42",
    )
    past = library.search("heron", limit=5, offset=50)
    assert (past.hits, past.total, past.next_offset) == ((), 42, None)
    stage = past.stage("offset")
    assert stage is not None and stage.reason == "there are only 42 results"


def test_filters_apply_before_the_pages_are_cut(library: qmd.Index) -> None:
    pages = paged(library, "heron path:1", 4)
    assert [hit.file for hit in pages] == [hit.file for hit in library.search("heron path:1", limit=50).hits]
    listed = library.search("path:1", limit=4, offset=4)
    assert (len(listed.hits), listed.total, listed.next_offset) == (4, 11, 8)


def test_a_pin_is_on_the_first_page_only(library: qmd.Index) -> None:
    library.pin("heron", "notes/0.md")
    try:
        files = [hit.file for hit in paged(library, "heron", 7)]
    finally:
        library.unpin("heron")
    assert files[0] == "notes/0.md" and len(files) == len(set(files)) == 42


def test_the_number_of_results_is_the_same_on_all_pages(library: qmd.Index) -> None:
    for query in ("ri", "stor", "herons paragraphs"):  # no document has them, but longer words or stems
        numbers = {library.search(query, limit=5, offset=offset).total for offset in (0, 5, 40, 50)}
        assert numbers == {42}, query


@pytest.mark.parametrize("offset", [-1, 1_000_000])
def test_search_refuses_an_impossible_offset(library: qmd.Index, offset: int) -> None:
    with pytest.raises(UsageError, match=f"offset must be from 0 to 100000, not {offset}"):
        library.search("heron", offset=offset)
