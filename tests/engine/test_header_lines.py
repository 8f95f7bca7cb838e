"""Fields in lines at the top of a text that are not between `---`, as many programs write them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

import qmd
from qmd.text.predicates import OF_FILE
from tests.conftest import Notes

BLOCK = "Title: Harbour\nAuthor: Ann Bee\nDate: 2024-05-01\nTags: alpha, two words\n"
FIELDS = {"author": ("Ann Bee",), "date": ("2024-05-01T00:00:00",), "tag": ("alpha", "two words")}


def fields_of(index: qmd.Index, path: str) -> Mapping[str, tuple[Any, ...]]:
    return index.fields_of([f"notes/{path}"])[f"notes/{path}"]


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("mmd.md", f"{BLOCK}\nkindword\n", FIELDS),
        ("mmd.txt", f"{BLOCK}\nkindword\n", FIELDS),
        ("pelican.md", f"{BLOCK}Status: draft\n\n# Another\n\nkindword\n", FIELDS | {"status": ("draft",)}),
        ("nikola.md", "<!--\n.. title: Harbour\n.. tags: alpha, b\n-->\n\nx\n", {"tag": ("alpha", "b")}),
        ("nikola.rst", ".. title: Harbour\n.. tags: alpha, b\n\nx\n", {"tag": ("alpha", "b")}),
        ("pandoc.md", "% Harbour\n% Ann Bee; Bo Cat\n\nx\n", {"author": ("Ann Bee", "Bo Cat")}),
        ("blank.md", "\n\n---\ntitle: Harbour\ntags: a b\n---\nx\n", {"tag": ("a", "b")}),
        ("comment.md", "<!-- x -->\n---\ntitle: Harbour\ntags: [a, b c]\n---\nx\n", {"tag": ("a", "b c")}),
        ("notion.md", "# Harbour\n\nCreated: May 1, 2024\nTags: a, b c\n\nx\n", {"tag": ("a", "b c")}),
        ("pep.rst", "PEP: 8\nTitle: Harbour\nAuthor: Ann Bee <a@b.c>,\n  Bo <c@d.e>\n\n\nA\n=\n\nx\n",
         {"author": ("Ann Bee", "Bo"), "alias": ("PEP 8",)}),
        ("zim.txt", "Content-Type: text/x-zim-wiki\nCreation-Date: 2024-05-01T10:00:00+01:00\n\n# Harbour\n",
         {"date": ("2024-05-01T10:00:00",)}),
        ("a.adoc", "---\ntitle: Harbour\n---\n= Other\n:keywords: a, b c\n\nx\n", {"tag": ("a", "b c")}),
        ("a.org", "#+title: Harbour\n#+keywords: a, b c\n#+filetags: :d:\n", {"tag": ("a", "b c", "d")}),
        ("eip-20.md", "---\neip: 20\ntitle: Harbour\n---\nx\n", {"alias": ("EIP 20",)}),
    ],
)  # fmt: skip
def test_header_lines_are_fields(
    index: qmd.Index, notes: Notes, path: str, text: str, expected: dict[str, tuple[object, ...]]
) -> None:
    index.add_collection(str(notes({path: text})), formats=["all"])
    assert index.get(path).text == text
    found = fields_of(index, path)
    assert found["title"] == ("Harbour",)
    assert {name: tuple(map(str, found[name])) for name in expected} == expected
    assert [hit.path for hit in index.search("harbour").hits] == [path]


@pytest.mark.parametrize(
    "text",
    [
        "Title: this line and the next are a paragraph\nand no header.\n",
        "Question: who sails?\nAnswer: Ann does.\n\nMore.\n",
        "Author: who is that, after all?\nEditor: nobody knows it either.\n\nMore.\n",
        "Date: we met on Monday.\nPlace: the harbour.\n\nMore.\n",
        "http://example.org/title: x\n\nMore.\n",
        "# Heading\n\nNote: bring bread.\nWarning: hot.\n\nMore.\n",
        "<!-- title: x -->\n\nMore.\n",
    ],
)
def test_lines_that_only_look_like_a_header_are_text(index: qmd.Index, notes: Notes, text: str) -> None:
    index.add_collection(str(notes({"a.md": text})))
    found = fields_of(index, "a.md")
    assert {*found} <= {*OF_FILE, "ext", "format", "lang", "date.from"}
    assert found["title"] in (("a",), ("Heading",))


def test_elements_of_lists_are_whole_tags(index: qmd.Index, notes: Notes) -> None:
    folder = notes({
        "a.md": "---\ntags: [alpha, 'two words']\n---\nx\n",
        "b.md": "---\ntags:\n  - other words\n  - '#b'\n---\nx\n",
        "c.md": "---\ntags: two, words\n---\nx\n",
    })  # fmt: skip
    index.add_collection(str(folder))
    for query, paths in {
        'tag:"two words"': ["a.md"],
        'tag:"other words"': ["b.md"],
        "tag:two": ["c.md"],
    }.items():
        assert [hit.path for hit in index.search(query).hits] == paths
    assert [hit.path for hit in index.search("tag:b").hits] == ["b.md"]


def test_document_with_a_number_comes_before_those_that_mention_it(index: qmd.Index, notes: Notes) -> None:
    mention = "Title: Thing {0}\nPEP: {0}\n\nThe names follow PEP 8, as PEP 8 says. See PEP 8 and PEP {0}.\n"
    files = {f"pep-0{number}.rst": mention.format(number) for number in (569, 540, 686, 701)}
    own = "PEP: 8\nTitle: Style Guide for Code\n\nAbstract\n========\n\n" + "How code looks. " * 60
    index.add_collection(str(notes({**files, "pep-0008.rst": own})), formats=["all"])
    for query in ("PEP 8", "pep-8", "pep8"):
        hits = index.search(query).hits
        assert hits[0].path == "pep-0008.rst"
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
