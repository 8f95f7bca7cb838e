"""The formats for programs and the lines of a terminal, for arbitrary documents."""

from __future__ import annotations

import csv
import io
import json
import xml.etree.ElementTree as ElementTree
from itertools import pairwise

from hypothesis import given, settings, strategies as st

from qmd.cli.render.formats import writer
from qmd.cli.render.passage import line_spans
from qmd.cli.render.rows import Column, Listing
from qmd.cli.render.view import View
from qmd.cli.terminal import width_of
from qmd.engine.documents.pages import Page, Skipped
from qmd.types import Document, Hit, Snippet

#: Arbitrary text, with characters special in CSV, XML and JSON more often than random text has.
TEXTS = st.one_of(
    st.text(),
    st.text(alphabet="ab ,\"'\n\r\t<>&;]#%|\\\x00\x08\x1b\x7f\x85\u2028\ufeff\ufffe数🎉"),
    st.sampled_from(["", " ", "]]>", "<!--", "&amp;", '""', "a\r\nb", "=1+1", "\ud7ff\ue000\U0010ffff"]),
)
HITS = st.builds(
    Hit,
    docid=st.just("#abc123"),
    file=TEXTS,
    collection=st.just("notes"),
    path=TEXTS,
    title=TEXTS,
    score=st.floats(0, 1),
    context=st.none() | TEXTS,
    line=st.integers(1, 10**9),
    snippet=st.builds(Snippet, text=TEXTS, first_line=st.integers(1, 9), line=st.integers(1, 9)),
    hash=st.just("abc123"),
)
DOCUMENTS = st.builds(
    Document,
    id=st.just(1),
    collection=st.just("notes"),
    path=TEXTS,
    title=TEXTS,
    hash=st.just("abc123"),
    size=st.integers(1, 10**9),
    modified_ns=st.just(0),
)
PAGES = st.builds(
    Page,
    document=DOCUMENTS,
    context=st.none() | TEXTS,
    text=TEXTS,
    first_line=st.just(1),
    total_lines=st.integers(1, 99),
    more=st.just(0),
)
VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(), TEXTS, st.lists(TEXTS), st.dictionaries(TEXTS, TEXTS)
)
LISTINGS = st.lists(st.fixed_dictionaries({"name": TEXTS, "value": VALUES})).map(
    lambda rows: Listing("things", "thing", (Column("name"), Column("value")), rows)
)


def in_csv(text: str) -> str:
    """Return the text of a CSV field, with an apostrophe if a spreadsheet would take it for a formula."""
    return f"'{text}" if text[:1] in tuple("=+-@\t\r") else text


def in_xml(text: str) -> str:
    """Return the characters of a text that XML 1.0 can contain."""
    return "".join(
        char
        for char in text
        if char in "\t\n\r" or " " <= char <= "\ud7ff" or "\ue000" <= char <= "\ufffd" or char >= "\U00010000"
    )


@given(st.lists(HITS, max_size=3))
def test_xml_of_results_keeps_every_character_that_xml_allows(hits: list[Hit]) -> None:
    root = ElementTree.fromstring(writer("xml").hits(hits, View()))
    assert root.tag == "results"
    assert len(root) == len(hits)
    for file, hit in zip(root, hits, strict=True):
        assert file.text == f"\n{in_xml(hit.snippet.text)}\n"
        assert file.attrib["title"] == in_xml(hit.title)
        assert file.get("context") == (None if hit.context is None else in_xml(hit.context))


@given(st.lists(PAGES | st.builds(Skipped, document=DOCUMENTS, bytes=st.integers(1, 10**9)), max_size=3))
def test_xml_csv_and_json_of_documents_can_be_read_back(items: list[Page | Skipped]) -> None:
    files = ElementTree.fromstring(writer("xml").pages(items, View()))
    rows = list(csv.DictReader(io.StringIO(writer("csv").pages(items, View()), newline="")))
    objects = json.loads(writer("json").pages(items, View()))
    assert len(files) == len(rows) == len(objects) == len(items)
    for item, file, row, shown in zip(items, files, rows, objects, strict=True):
        skipped = isinstance(item, Skipped)
        assert (file.get("skipped"), row["skipped"]) == (("true", "true") if skipped else (None, "false"))
        assert shown.get("skipped", False) == skipped
        if isinstance(item, Page):
            assert file.text == f"\n{in_xml(item.text)}\n"
            assert (row["body"], shown["body"]) == (in_csv(item.text), item.text)


@given(st.lists(HITS, max_size=3))
def test_csv_and_json_of_results_can_be_read_back(hits: list[Hit]) -> None:
    rows = list(csv.DictReader(io.StringIO(writer("csv").hits(hits, View()), newline="")))
    objects = json.loads(writer("json").hits(hits, View()))
    for hit, row, shown in zip(hits, rows, objects, strict=True):
        assert (row["title"], row["context"], row["snippet"]) == (
            in_csv(hit.title),
            in_csv(hit.context or ""),
            in_csv(hit.snippet.text),
        )
        assert (shown["title"], shown.get("context"), shown["snippet"]) == (
            hit.title,
            hit.context,
            hit.snippet.text,
        )


@given(st.lists(HITS, min_size=1, max_size=3))
def test_files_format_can_be_read_back(hits: list[Hit]) -> None:
    rows = list(csv.reader(io.StringIO(writer("files").hits(hits, View()), newline="")))
    assert [row[0] for row in rows] == [hit.docid for hit in hits]


@settings(max_examples=40)
@given(LISTINGS)
def test_every_format_of_a_listing_can_be_read_back(listing: Listing) -> None:
    count = len(listing.rows)
    assert json.loads(writer("json").listing(listing, View())) == list(listing.rows)
    header, *rows = csv.reader(io.StringIO(writer("csv").listing(listing, View()), newline=""))
    assert header == ["name", "value"]
    assert [row[0] for row in rows] == [in_csv(row["name"]) for row in listing.rows]
    root = ElementTree.fromstring(writer("xml").listing(listing, View()))
    assert [thing.findtext("name") for thing in root] == [in_xml(row["name"]) for row in listing.rows]
    table = writer("md").listing(listing, View()).split("\n")
    assert len(table) == (count + 3 if count else 1)
    assert len(writer("files").listing(listing, View()).split("\n")) == count + 1


@given(st.text(alphabet=st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp"))), st.integers(16, 90))
def test_line_spans_fill_lines_and_drop_only_blanks(text: str, width: int) -> None:
    lines = [text[start:end] for start, end in line_spans(text, width)]
    assert all(width_of(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    for line, after in pairwise(lines):
        assert after
        assert width_of(f"{line} {after}") > width


@given(st.lists(st.text(alphabet="abc,.", min_size=1, max_size=12), min_size=1), st.integers(16, 40))
def test_line_spans_does_not_cut_words_that_fit(words: list[str], width: int) -> None:
    text = " ".join(words)
    lines = [text[start:end] for start, end in line_spans(text, width)]
    assert " ".join(lines).split() == words
