"""Source formats in an index: found text, anchors, and reasons if a part is left out."""

from __future__ import annotations

import json
import zipfile

import pytest

import qmd
from qmd.engine.requests import SearchRequest
from qmd.errors import UsageError
from qmd.sources.formats.registry import Readers
from qmd.sources.read import RawBytes
from qmd.types import Anchor
from tests.conftest import Notes
from tests.files import MAILS, NOTEBOOK, epub, pdf


def found(index: qmd.Index, query: str) -> tuple[str, Anchor | None]:
    hit = index.search(query).hits[0]
    return hit.path, hit.anchor


def test_headings_of_text_formats_are_sections(index: qmd.Index, notes: Notes) -> None:
    folder = notes(
        {
            "a.rst": "=====\nTitle\n=====\n\n:Author: Ann\n\nSub\n---\n\nThe heron.\n\n"
            ".. include:: /etc/passwd\n",
            "b.adoc": "= Manual\nBob <b@example.com>\n\n== Part\n\nThe stork.\n\n----\n== code\n----\n",
            "c.org": "#+TITLE: Plan\n#+FILETAGS: :work:\n* TODO Buy a crane :bird:\n"
            "DEADLINE: <2026-03-01 Sun>\n",
        }
    )
    index.add_collection(str(folder), formats=["all"])
    assert [document.title for document in index.documents()] == ["Title", "Manual", "Plan"]
    assert [(each.heading, each.level, each.first_line) for each in index.outline("a.rst")[1]] == [
        ("Title", 1, 2),
        ("Sub", 2, 7),
    ]
    assert [each.heading for each in index.outline("b.adoc")[1]] == ["Manual", "Part"]
    assert ".. include:: /etc/passwd" in index.get("a.rst").text
    assert [hit.path for hit in index.search("crane", tag="bird").hits] == ["c.org"]
    assert index.search("[deadline:2026-03-01] [todo:TODO]").hits[0].path == "c.org"
    assert index.search("[author:Ann]").hits[0].path == "a.rst"


ASCIIDOC = """= Manual
:idprefix: s-

.Title of a block
[NOTE]
====
Mind the tide.
----
== code
====

Some text
== of a paragraph
****
== in a sidebar
****

// == a comment

[[first-id]]
== One ==

[source]
code

Two-line title
--------------

See link:https://example.org[the fox] jump, and <<first-id,over it>> again.

////
== a comment
////

[#other.role]
=== Three [[no]]

|===
| == cell
|===

== One
"""
RST = """PEP: 8
Title: Style

Abstract
========

Text::

   # code
   ------

.. comment
   =======

.. _a label:

1. Numbered
-----------

.. code-block:: python

   # code

.. note:: See :ref:`the fox <fox>` jump.

   Not a title
   ===========

>>> 1
# code

=====
Above
=====

- item::

    # code

"""
ORG = """:PROPERTIES:
:ID: 1-2
:END:
#+title: Birds
#+todo: OPEN | SHUT
* OPEN [#A] First task [1/2] :tag1:tag2:
:PROPERTIES:
:CUSTOM_ID: first
:END:
:LOGBOOK:
CLOCK: [2026-01-01]
:END:
# a comment
See [[https://example.org][the fox]] jump.
#+begin_src sh
# code
,* no
#+end_src
#+begin_example
not closed
** COMMENT Second
: # fixed
"""


@pytest.mark.parametrize(
    ("name", "text", "outline", "code", "hidden"),
    [
        (
            "a.adoc",
            ASCIIDOC,
            [
                ("Manual", 1, "_manual"),
                ("One", 2, "first-id"),
                ("Two-line title", 2, "s-two_line_title"),
                ("Three", 3, "other"),
                ("One", 2, "s-one"),
            ],
            ["----\n== code\n", "code\n"],
            [":idprefix: s-", "[NOTE]", "// == a comment", "[[first-id]]", "--------------"],
        ),
        (
            "a.rst",
            RST,
            [("Abstract", 1, ""), ("1. Numbered", 2, "a label"), ("Above", 3, "")],
            ["   # code\n   ------", "   # code", ">>> 1\n# code", "    # code"],
            ["PEP: 8", "Title: Style", "========", ".. comment\n   =======", ".. _a label:", ".. note::"],
        ),
        (
            "a.org",
            ORG,
            [("First task", 1, "first"), ("Second", 2, "")],
            ["#+begin_src sh\n# code\n,* no\n#+end_src", ": # fixed"],
            [":ID: 1-2", "#+title: Birds", ":CUSTOM_ID: first", "CLOCK: [2026-01-01]", "# a comment"],
        ),
    ],
    ids=["asciidoc", "rst", "org"],
)
def test_text_formats_have_their_own_structure(
    index: qmd.Index,
    notes: Notes,
    name: str,
    text: str,
    outline: list[tuple[str, int, str]],
    code: list[str],
    hidden: list[str],
) -> None:
    index.add_collection(str(notes({name: text})), formats=["all"])
    page = index.get(name)
    assert page.text == text
    assert [(each.heading, each.level, each.id) for each in index.outline(name)[1]] == outline
    assert [text[start:end] for start, end in page.fences] == code
    structure = Readers(["all"]).of(name).format.extract(RawBytes(name, text.encode())).structure
    assert structure is not None
    unread = [text[start:end] for start, end in structure.unread_spans()]
    assert [part for part in hidden if part not in unread] == []
    # The address of a link is not between its words and those around them.
    assert index.search('"the fox jump"').hits[0].path == name


def test_no_line_is_a_heading_by_accident(index: qmd.Index, notes: Notes) -> None:
    folder = notes(
        {
            "a.eml": "From: a@b.c\nSubject: # News\n\nHello\n\n# remark\n\nOur offer\n---------\n```\nbuy\n",
            "b.rtf": "{\\rtf1\\ansi # not a heading\\par x\\par ---\\par}",
        }
    )
    document = pytest.importorskip("docx").Document()
    document.add_heading("# Report", 1)
    document.add_paragraph("# 3 rooms")
    document.save(str(folder / "c.docx"))
    index.add_collection(str(folder), formats=["all"])
    paths = [each.path for each in index.documents()]
    found = {path: [section.heading for section in index.outline(path)[1]] for path in paths}
    assert found == {"a.eml": ["# News"], "b.rtf": [], "c.docx": ["# Report"]}


def test_links_of_text_formats_lead_to_their_documents(index: qmd.Index, notes: Notes) -> None:
    long = "https://example.com/a"
    files = {
        "a.org": f"* A\n[[file:b.org::*B][x]] [[id:5f-1][y]] [[*A]] [[{long}][z]] [[doi:10.1][d]]\n",
        "b.org": ":PROPERTIES:\n:ID: 5f-1\n:END:\n* B\n",
        "doc/c.rst": "Ccc\n===\n\n:doc:`sub/d` :doc:`Text </doc/sub/d>` `e <../e.html>`_ `f`_ "
        f"{long}.\n\n.. _f: ../e.html\n\n.. toctree::\n   :maxdepth: 2\n\n   sub/d\n   E <../e>\n\n"
        "after it\n",
        "doc/sub/d.rst": "Ddd\n===\n",
        "e.rst": "Eee\n===\n",
        "modules/one/pages/g.adoc": "= G\n\nxref:two:h.adoc#x[H] xref:c:two:h.adoc[] <<h2.adoc#y,Y>> "
        "<<here>> xref:g[]"
        f"\n\ninclude::two:partial$part.adoc[]\n\n{long}[text]\n\n----\nxref:no.adoc[]\n----\n",
        "modules/one/pages/h2.adoc": "= H2\n",
        "modules/two/pages/h.adoc": "= H\n",
        "modules/two/partials/part.adoc": "part\n",
        "i.md": '# I\n\n<a href="e.html">x</a> <a href="doc/sub/d.rst">y</a> <a href="https://x.y/z.md">z</a>\n',
    }
    index.add_collection(str(notes(files)), "notes", formats=["all"])
    found = {
        name: [
            link.to.removeprefix("notes/") if link.to else link.kind for link in index.links(f"notes/{name}")
        ]
        for name in files
    }
    two = ["modules/two/pages/h.adoc"] * 2
    assert {name: links for name, links in found.items() if links} == {
        "a.org": ["b.org", "b.org", "a.org", "url", "url"],
        "doc/c.rst": ["doc/sub/d.rst", "doc/sub/d.rst", "e.rst", "url", "e.rst", "doc/sub/d.rst", "e.rst"],
        "modules/one/pages/g.adoc": [
            *two,
            "modules/one/pages/h2.adoc",
            "modules/two/partials/part.adoc",
            "url",
        ],
        "i.md": ["e.rst"],
    }
    assert [link.file for link in index.backlinks("notes/b.org")] == ["notes/a.org"] * 2


def test_notebook_cells_are_anchors(index: qmd.Index, notes: Notes) -> None:
    index.add_collection(str(notes({"a.ipynb": json.dumps(NOTEBOOK)})), formats=["notebook"])
    assert found(index, "ibis") == ("a.ipynb", Anchor(12, "cell", 3))
    assert index.get("a.ipynb:c2").text == "```python\nprint('heron')\n```\n\n```output\nheron\n```\n"
    assert index.get("a.ipynb:c3").text == "The ibis is last."
    assert index.get("a.ipynb:cell2-3").text.endswith("The ibis is last.")
    with pytest.raises(UsageError, match="has no 'c4': it has cell 1 to 3"):
        index.get("a.ipynb:c4")
    with pytest.raises(UsageError, match="has no 'p1'"):
        index.get("a.ipynb:p1")
    (page,) = index.multi_get("a.ipynb:c3").items
    assert page.text == "The ibis is last."  # type: ignore[union-attr]


def test_mailbox_messages_are_documents(index: qmd.Index, notes: Notes) -> None:
    folder = notes({"box.mbox": MAILS})
    index.add_collection(str(folder), formats=["mailbox", "mail"])
    assert [document.path for document in index.documents()] == [
        "box.mbox#one@example.com",
        "box.mbox#two@example.com",
    ]
    hit = index.search("stork", author="Ann Example", after="2026-01-05").hits[0]
    assert (hit.path, hit.title) == ("box.mbox#one@example.com", "Café plans")
    assert "\nFrom here on it stays." in index.get("box.mbox#one@example.com").text
    (report,) = index.update()
    assert (report.unchanged, report.added, report.removed) == (2, 0, 0)
    # Delete the second message and add a new one.
    first = MAILS.partition("From bob")[0]
    new = MAILS.replace("one@", "three@").replace("stork", "crane").partition("From bob")[0]
    (folder / "box.mbox").write_text(first + new, encoding="utf-8")
    (report,) = index.update()
    assert (report.added, report.removed, report.unchanged) == (1, 1, 1)
    (folder / "box.mbox").unlink()
    (report,) = index.update(allow_empty=True)
    assert report.removed == 2


def test_pdf_pages_are_anchors(index: qmd.Index, notes: Notes) -> None:
    pytest.importorskip("pypdfium2")
    folder = notes({})
    (folder / "a.pdf").write_bytes(pdf("The heron flies.", "The ibis walks.", "", "The crane sleeps."))
    # A pattern is enough, because a PDF file cannot be read as text.
    index.add_collection(str(folder), pattern="**/*.pdf")
    assert found(index, "ibis") == ("a.pdf", Anchor(3, "page", 2))
    assert index.get("a.pdf:p2").text.strip() == "The ibis walks."
    assert index.get("a.pdf:p2-4").text.split("\n\n") == ["The ibis walks.", "The crane sleeps."]
    page = index.get("a.pdf:p4")
    assert (page.source_type, page.media_type) == ("application/pdf", "text/plain")
    assert page.anchor == Anchor(5, "page", 4)
    why = index.why("a.pdf", "search", SearchRequest("ibis"))
    assert "left out: page 3 without a text layer" in why.notes


def test_pdf_anchors_count_blank_pages(index: qmd.Index, notes: Notes) -> None:
    pytest.importorskip("pypdfium2")
    folder = notes({})
    (folder / "a.pdf").write_bytes(pdf("", "The heron.", "", "", "The ibis.", "", ""))
    index.add_collection(str(folder), formats=["pdf"])
    assert found(index, "heron") == ("a.pdf", Anchor(1, "page", 2))
    assert found(index, "ibis") == ("a.pdf", Anchor(3, "page", 5))
    assert index.get("a.pdf:p5").text == "The ibis."
    assert index.get("a.pdf:p1-4").text.strip() == "The heron."
    for blank in (1, 3, 4, 6, 7):
        with pytest.raises(UsageError, match=f"page {blank} of notes/a.pdf has no text"):
            index.get(f"a.pdf:p{blank}")
    assert index.multi_get("a.pdf:p2,a.pdf:p3").errors == ("page 3 of notes/a.pdf has no text",)


def test_pdf_headers_and_footers_are_left_out(index: qmd.Index, notes: Notes) -> None:
    pytest.importorskip("pypdfium2")
    birds = ("heron", "ibis", "crane", "stork")
    folder = notes({})
    (folder / "alone.pdf").write_bytes(pdf(*(f"Page {number} talks about birds" for number in range(1, 5))))
    body = [
        {
            760: "Annual report",
            740: f"Page {number} talks about birds",
            400: f"Table {number}",
            380: f"The {bird}.",
            40: f"Page {number} of 4",
        }
        for number, bird in enumerate(birds, 1)
    ]
    (folder / "body.pdf").write_bytes(pdf(*body))
    index.add_collection(str(folder), formats=["pdf"])
    assert [line for line in index.get("alone.pdf").text.split("\n") if line] == [
        f"Page {number} talks about birds" for number in range(1, 5)
    ]
    text = index.get("body.pdf").text
    assert (text.count("Annual report"), text.count(" of 4")) == (1, 1)
    assert [text.count(f"Page {number} talks") for number in range(1, 5)] == [1, 1, 1, 1]
    assert [text.count(f"Table {number}") for number in range(1, 5)] == [1, 1, 1, 1]


def test_pdf_titles_of_chapters_beside_page_numbers_are_left_out(index: qmd.Index, notes: Notes) -> None:
    pytest.importorskip("pypdfium2")
    heads = ("", "Wading birds 4", "Wading birds 5", "6 Cranes", "Cranes 7", "Storks 8", "Table 12")
    body = [
        {760: head, 700: "1 Storks", 400: f"Row {number}", 380: f"{number + 2} birds", 360: "The end."}
        for number, head in enumerate(heads, 1)
    ]
    folder = notes({})
    (folder / "a.pdf").write_bytes(pdf(*body))
    index.add_collection(str(folder), formats=["pdf"])
    text = index.get("a.pdf").text
    found = [text.count(words) for words in ("Wading birds", "Cranes", "Storks 8", "Table 12", " birds\n")]
    assert found == [1, 1, 0, 1, 7]


def test_pdf_lines_are_no_headings_unless_a_bookmark_says_so(index: qmd.Index, notes: Notes) -> None:
    pytest.importorskip("pypdfium2")
    written = (
        ("12 1.2 OF HERONS", "1.2 Of herons", "Let the norm be kxk", "=", "1 for all", "---", "# include x"),
        ("A line of the last page", "==", "<!-- open", "1. # step", "```c", "# comment"),
    )
    pages = [{700 - 20 * at: line for at, line in enumerate(lines)} for lines in written]
    folder = notes({})
    (folder / "a.pdf").write_bytes(pdf(*pages, bookmarks=[("Of herons", 1)]))
    index.add_collection(str(folder), "notes", formats=["pdf"])
    assert [each.heading for each in index.outline("a.pdf")[1]] == ["1.2 Of herons"]
    text = index.get("a.pdf").text
    assert "kxk\n=\n1 for all\n---\n# include x\n" in text


def test_pdf_bookmarks_are_headings_and_form_values_are_text(index: qmd.Index, notes: Notes) -> None:
    pytest.importorskip("pypdfium2")
    folder = notes({})
    pages: list[str | dict[int, str]] = [
        {700: "1 About the", 680: "birds", 660: "The heron."},
        "The ibis.",
        "",
    ]
    bookmarks = [("About the birds", 1), ("Appendix", 2)]
    fields = [("form[0].Name[0]", "Kestrel", 2), ("City", "Gannetville", 3)]
    readers = [("A gannet here?", 2)]
    (folder / "a.pdf").write_bytes(pdf(*pages, bookmarks=bookmarks, fields=fields, readers=readers))
    index.add_collection(str(folder), formats=["pdf"])
    headings = [(each.heading, each.level) for each in index.outline("a.pdf")[1]]
    assert headings == [("1 About the birds", 2), ("Appendix", 2)]
    assert index.search("ibis").hits[0].section == "Appendix"
    assert index.get("a.pdf:p2").text.endswith("\n\nName: Kestrel\n\nA gannet here?\n")
    path, anchor = found(index, "Gannetville")
    assert (path, anchor and anchor.address) == ("a.pdf", "p3")


def test_epub_chapters_are_anchors(index: qmd.Index, notes: Notes) -> None:
    pytest.importorskip("lxml")
    folder = notes({"page.html": "<title>Page</title><h1>Top</h1><p>A stork.</p><script>alert(1)</script>"})
    (folder / "a.epub").write_bytes(epub({"one": "<h1>One</h1><p>heron</p>", "two": "<p>ibis</p>"}))
    index.add_collection(str(folder), formats=["all"])
    path, anchor = found(index, "ibis")
    assert (path, anchor and (anchor.kind, anchor.value)) == ("a.epub", ("chapter", 2))
    assert index.get("a.epub:c1").text == "One\n\nheron\n"
    assert index.get("page.html").text == "Top\n\nA stork.\n"
    assert [document.title for document in index.documents()] == ["The book", "Page"]


PAGE = """<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title/></head><body>
<h1 id="top">*args and [x]<a href="#top">¶</a></h1><script src="a.js"/>
<p>A <b>heron</b> at <a href="b%20c.html">the
lake</a>,<!-- not --> <code>a_b</code>.<br/>See https://example.org/a.</p>
<ul><li>one<ol start="3"><li>two</li></ol></li><li><p>three</p><p>more</p></li></ul>
<table><tr><th>bird</th><th>number</th></tr><tr><td></td><td><p>4</p> <a href="https://example.org/">x</a></td></tr></table>
<section id="sec"><h2>Code &amp;amp; <i>more</i></h2><pre>
# no heading
  x | y</pre></section>
<blockquote><h2>Said</h2></blockquote><hr/>
<table><tr><td><h3><a name="in"/>In a cell</h3></td><td>right</td></tr></table>
</body></html>"""
PAGE_TEXT = """*args and [x]

A heron at the lake <b c.html>, a_b.
See https://example.org/a.

- one
  3. two
- three
  more

| bird | number |
|  | 4 x <https://example.org/> |

Code &amp; more

# no heading
  x | y

> Said

* * *

In a cell

right
"""


def test_pages_are_plain_text_with_headings_links_tables_and_code(index: qmd.Index, notes: Notes) -> None:
    pytest.importorskip("lxml")
    folder = notes({"a.xhtml": PAGE, "b c.html": "<p>The ibis.</p>", "empty.html": "<p> </p>"})
    index.add_collection(str(folder), "n", formats=["html"])
    page = index.get("n/a.xhtml")
    assert (page.text, page.media_type, page.document.title) == (PAGE_TEXT, "text/plain", "*args and [x]")
    outline = [(each.heading, each.level, each.id) for each in index.outline("n/a.xhtml")[1]]
    assert outline == [("*args and [x]", 1, "top"), ("Code &amp; more", 2, "sec"), ("In a cell", 3, "in")]
    assert page.fences == ((PAGE_TEXT.index("# no"), PAGE_TEXT.index("\n\n> Said")),)
    assert [(each.target, each.line, each.to) for each in index.links("n/a.xhtml")] == [
        ("b c.html", 3, "n/b c.html"),
        ("https://example.org/a", 4, None),
        ("https://example.org/", 12, None),
    ]
    assert "Code" in index.get("n/a.xhtml#sec").text
    assert index.search('"the lake a_b"').hits


@pytest.mark.parametrize(
    ("name", "text", "headings"),
    [
        ("a.adoc", "= *args `x`\n\n== a_b_c\n\n== [x] link:b.html[y]\n", ["*args x", "a_b_c", "[x] y"]),
        (
            "a.rst",
            "\\*args ``x``\n===========\n\na_b_c\n-----\n\n[x] *y*\n-------\n",
            ["*args x", "a_b_c", "[x] y"],
        ),
        ("a.org", "* *args =x=\n* a_b_c\n* [x] [[b.org][y]]\n", ["*args x", "a_b_c", "[x] y"]),
    ],
)
def test_words_of_headings_are_no_markdown(
    index: qmd.Index, notes: Notes, name: str, text: str, headings: list[str]
) -> None:
    index.add_collection(str(notes({name: text})), formats=["all"])
    assert [each.heading for each in index.outline(name)[1]] == headings
    assert index.documents()[0].title == headings[0]


def test_office_slides_and_sheets_are_anchors(index: qmd.Index, notes: Notes) -> None:
    docx, pptx = pytest.importorskip("docx"), pytest.importorskip("pptx")
    pytest.importorskip("python_calamine")
    from docx.oxml import parse_xml
    from docx.oxml.ns import nsdecls

    folder = notes({})
    document = docx.Document()
    document.add_heading("Report", 1)
    document.add_paragraph("The heron.")
    table = document.add_table(2, 2)
    table.cell(0, 0).text, table.cell(1, 1).text = "bird", "4"
    row = table.rows[1]._tr
    row.addprevious(control := parse_xml(f"<w:sdt {nsdecls('w')}><w:sdtContent/></w:sdt>"))
    control[0].append(row)
    moved = parse_xml(f"<w:moveFrom {nsdecls('w')}><w:r><w:t>The moved kestrel.</w:t></w:r></w:moveFrom>")
    document.paragraphs[1]._p.append(moved)
    document.save(str(folder / "a.docx"))
    presentation = pptx.Presentation()
    for title in ("First", "Second"):
        slide = presentation.slides.add_slide(presentation.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text = f"About the {'ibis' if title == 'First' else 'crane'}"
    presentation.save(str(folder / "b.pptx"))
    index.add_collection(str(folder), formats=["docx", "pptx"])
    assert index.get("a.docx").text == ("Report\n\nThe heron.\n\n| bird |  |\n|  | 4 |\n")
    path, anchor = found(index, "crane")
    assert (path, anchor and anchor.address) == ("b.pptx", "s2")
    assert index.get("b.pptx:s2").text == "Second\n\nAbout the crane"


def test_word_headers_comments_and_text_boxes_are_read(index: qmd.Index, notes: Notes) -> None:
    docx = pytest.importorskip("docx")
    from docx.oxml import parse_xml

    word = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    folder = notes({})
    document = docx.Document()
    document.sections[0].header.paragraphs[0].text = "Confidential heron"
    document.sections[0].footer.add_table(1, 1, 100).cell(0, 0).text = "Footer ibis"
    paragraph = document.add_paragraph("The body.")
    comment = document.add_comment(paragraph.runs, "Why a crane?", author="Ann")
    comment.add_paragraph("A second question.")
    box = "<w:p><w:r><w:t>box 30</w:t></w:r></w:p>"
    for depth in reversed(range(30)):
        inner = f"<w:r><w:pict><w:txbxContent>{box}</w:txbxContent></w:pict></w:r>"
        box = f"<w:p><w:r><w:t>box {depth}</w:t></w:r>{inner}</w:p>"
    paragraph._p.append(
        parse_xml(f'<w:r xmlns:w="{word}"><w:pict><w:txbxContent>{box}</w:txbxContent></w:pict></w:r>')
    )
    document.save(str(folder / "a.docx"))
    index.add_collection(str(folder), formats=["docx"])
    boxes = "\n\n".join(f"box {depth}" for depth in range(31))
    assert index.get("a.docx").text == (
        f"The body.\n\n{boxes}\n\nHeaders\n\nConfidential heron\n\nFooters\n\nFooter ibis\n\n"
        "Comments\n\nAnn: Why a crane?\n\nA second question.\n"
    )


def test_open_document_and_rich_text_are_read(index: qmd.Index, notes: Notes) -> None:
    odfdo = pytest.importorskip("odfdo")
    pytest.importorskip("striprtf")
    folder = notes({})
    document = odfdo.Document("text")
    document.body.clear()
    document.body.append(odfdo.Header(1, "Report"))
    paragraph = odfdo.Paragraph("The file_name of the heron.")
    document.body.append(paragraph)
    paragraph.insert_note(after="heron", note_id="1", citation="1", body="A footnote.")
    paragraph.insert_annotation(after="file", body="Why a crane?", creator="Ann")
    table = odfdo.Table("Birds", 2, 2)
    table.set_value("A1", "bird")
    table.set_value("B2", 4)
    document.body.append(table)
    document.meta.creator = "Bob"
    document.save(str(folder / "a.odt"))
    (folder / "b.rtf").write_bytes(
        rb"{\rtf1\ansi\ansicpg1252{\info{\title Caf\'e9 plans}{\author Ann}}"
        rb"{\fonttbl{\f0 Times;}{\f1\fnil\fcharset204 Arial;}}"
        rb"\f0 The \b ibis\b0  \u-10179?\u-9206? flies.\par At the caf\'e9.\par "
        rb"{\field{\*\fldinst{HYPERLINK \"http://example.com\"}}{\fldrslt Plans}}"
        rb" in C:\\f1: \f1 \'cc\'e8\'f0}"
    )
    (folder / "c.rtf").write_text("not rich", encoding="utf-8")
    with zipfile.ZipFile(folder / "d.odt", "w") as archive:
        archive.writestr("META-INF/manifest.xml", "<manifest:encryption-data/>")
    report = index.add_collection(str(folder), formats=["odt", "rtf"])
    assert dict(report.problems) == {
        "c.rtf": "cannot read c.rtf: damaged (not an RTF file)",
        "d.odt": "cannot read d.odt: encrypted",
    }
    text = index.get("a.odt").text
    assert text.startswith("Report\n\nThe file_name of the heron")
    assert all(part in text for part in ("A footnote.", "Ann: Why a crane?", "| bird |"))
    assert index.get("b.rtf").text == "The ibis 🐊 flies.\nAt the café.\nPlans in C:\\f1: Мир\n"
    assert [document.title for document in index.documents()] == ["Report", "Café plans"]
    assert index.search("[author:Ann] ibis").hits[0].path == "b.rtf"


def test_source_code_has_functions_as_sections_and_line_anchors(index: qmd.Index, notes: Notes) -> None:
    pytest.importorskip("tree_sitter")
    source = '"""A module."""\n\nimport os\n\n\n# Says it.\ndef greet(name):\n    return name + "heron"\n'
    index.add_collection(str(notes({"a.py": source})), formats=["code"])
    hit = index.search("heron").hits[0]
    assert (hit.section, hit.anchor and (hit.anchor.kind, hit.anchor.value)) == ("greet", ("line", 8))
    assert index.get("a.py:l6-8").text == '# Says it.\ndef greet(name):\n    return name + "heron"'
