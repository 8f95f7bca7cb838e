"""Pictures that a text holds as `data:` addresses: no word of them is indexed, embedded or shown."""

from __future__ import annotations

import base64
import random
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

import qmd
from qmd.text.data_uris import data_spans, largest_free, with_names, without_data
from tests.markdown import chunk, only_text
from tests.model_server import serving

DATA = base64.b64encode(random.Random(1).randbytes(30_000)).decode()
SVG = "data:image/svg+xml,%3Csvg%20xmlns=%27x%27" + "%3Cpath%20d=harbour/%3E" * 20
LINES = "\n".join(DATA[at : at + 76] for at in range(0, 3_000, 76))
FILES = {
    "inline.md": f"# Meet\n\n![shot](data:image/png;base64,{DATA})\n\nThe harbour decision is postponed.\n",
    "one-line.md": f"The harbour decision ![a](data:image/png;base64,{DATA}) is postponed.\n",
    "html.md": f'<img src="data:image/jpeg;base64,{DATA}" alt="x"> The harbour decision is postponed.\n',
    "lines.md": f'The harbour decision\n\n<img src="data:image/png;base64,{LINES}">\n\nis postponed.\n',
    "reference.md": f"A harbour decision ![][image1]\n\n[image1]: <data:image/png;base64,{DATA}>\n",
    "only.md": f"![harbour decision](data:image/png;base64,{DATA})\n",
    "code.md": f"The harbour decision\n\n```css\na {{ b: url(data:image/gif;base64,{DATA}) }}\n```\n",
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[qmd.Index]:
    """An index that the tests only read."""
    folder = tmp_path_factory.mktemp("data")
    for name, text in FILES.items():
        (folder / name).write_text(text)
    with qmd.open_index(folder / "index.sqlite", environ={"HOME": str(folder)}) as index:
        index.add_collection(str(folder), "notes")
        yield index


def is_free(text: str) -> bool:
    return not any(DATA[at : at + 40] in text.replace("\n", "") for at in range(0, len(DATA), 20))


def test_pictures_are_in_no_snippet_and_get_prints_them(library: qmd.Index) -> None:
    for options in ({}, {"passages": 4}, {"context_lines": 2}):
        hits = library.search("harbour decision", **options).hits  # type: ignore[arg-type]
        assert {hit.path for hit in hits} == set(FILES)
        assert all(is_free(passage.text) for hit in hits for passage in (hit.snippet, *hit.passages))
    assert library.get("inline.md").text == FILES["inline.md"]
    assert library.search("base64 png").hits == ()


def test_pictures_are_named_by_their_size_within_tokens(library: qmd.Index) -> None:
    page = library.get("inline.md", tokens=200)
    assert "![shot](data:image/png 29 KB)\n\nThe harbour decision is postponed." in page.text
    pages = library.multi_get("*.md", tokens=2_000)
    assert len(pages.items) == len(FILES)
    assert all(is_free(page.text) for page in pages.items if isinstance(page, qmd.Page))


def test_pictures_cost_no_token_of_a_pack(library: qmd.Index) -> None:
    pack = library.pack("harbour decision", tokens=2_000)
    assert len(pack.passages) >= 4
    assert all(is_free(passage.text) for passage in pack.passages)


@pytest.mark.parametrize("text", [*FILES.values(), f"![x]({SVG}) and more", "data:image/png;base64,short"])
def test_places_stay_and_data_cost_no_chunk(text: str) -> None:
    blank = without_data(text)
    assert len(blank) == len(text) and blank.count("\n") == text.count("\n")
    assert is_free(blank) and is_free(only_text(text)) and is_free(with_names(text))
    assert with_names(text).count("\n") == text.count("\n")
    assert bool(data_spans(text)) == ("short" not in text)
    words = [(at, at + len(word)) for word in blank.split() for at in [blank.index(word)]]
    assert len(chunk(text, words)) == 1
    start, end = largest_free(text, 0, len(text))
    assert is_free(text[start:end])


def test_part_of_a_text_is_named_where_data_are_cut() -> None:
    text = FILES["one-line.md"]
    assert with_names(text, 0, 60) == "The harbour decision ![a](data:image/png 29 KB)"
    assert with_names(text, 100) == "(data:image/png 29 KB) is postponed.\n"


def test_older_index_embeds_texts_with_pictures_again(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "picture.md").write_text(FILES["one-line.md"])
    (folder / "words.md").write_text("The harbour.\n")
    place = tmp_path / "index.sqlite"
    with serving() as server:
        environ = {"HOME": str(tmp_path), "QMD_EMBED_MODEL": f"openai:made@{server.url}"}
        with qmd.open_index(place, environ=environ) as index:
            index.add_collection(str(folder), "notes")
            index.embed()
            assert index.status().needs_embedding == 0
        with closing(apsw.Connection(str(place))) as db:
            db.execute("DROP TRIGGER document_fields_of_this_format; DROP TRIGGER links_of_this_format")
            db.execute("PRAGMA user_version=12")
        (folder / "picture.md").unlink()  # files are not read for it
        with qmd.open_index(place, environ=environ) as index:
            index.set_weight("notes", 2)
            assert index.status().needs_embedding == 1
            assert [hit.path for hit in index.vsearch("harbour", expand=False).hits] == ["words.md"]
            index.embed()
            assert index.status().needs_embedding == 0
            assert len(index.vsearch("harbour", expand=False).hits) == 2
