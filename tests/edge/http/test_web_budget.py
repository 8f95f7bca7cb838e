"""Documents that would cost too much: they are shown in part, once each, and the server goes on."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.clients import Server, server_of
from tests.edge.http.pages import page
from tests.users import MakeUser

pytestmark = pytest.mark.slow

SHORT = "This document is too much for a page"
MANY = 20_000
#: Characters of a document; those of more are shown as text.
LENGTH = 390_000
#: Documents of which each would take long, or give an endless page.
COSTLY = {
    "self": "![[self]]\n\n" * 5_000,
    "ring": "![[chain]]\n\n" * 2_000,
    "chain": "![[ring]]\n\n" * 2_000,
    "files": "".join(f"![[{n}.png]]\n\n" for n in range(MANY)),
    "sounds": "![[a.mp3]]\n\n" * MANY,
    "pictures": "![](a.png)\n\n" * MANY,
    "tags": '<img src="b.png">\n\n' * MANY,
    "boxes": "<details>\n\n" * MANY,
    "letters": "<b><i>x\n\n" * MANY,
    "formulas": "".join(f"$x_{{{n}}}$ " for n in range(MANY)),
    "dollars": "$$a\n\n" * MANY,
    "makefile": "```make\n" + "a" * 29_000 + "\n```\n",
    "spaces": "```autohotkey\n" + " \n" * 14_000 + "```\n",
    "links": "".join(f"[[{n}]] " for n in range(MANY)),
    "headings": "".join(f"# {n}\n\n" for n in range(MANY)),
    "footnotes": "".join(f"a[^{n}]\n\n[^{n}]: b\n\n" for n in range(MANY // 2)),
    "callouts": "> [!note]- a\n> b\n\n" * (MANY // 2),
    "emphasis": "*a _b **c " * MANY,
    "table": "|a|b|\n|-|-|\n" + "|c|d|\n" * MANY,
    "notes": "".join(f"![[part {n}]]\n\n" for n in range(150)),
}


@pytest.fixture(scope="module")
def costly(make_user: MakeUser) -> Iterator[Server]:
    user = make_user("budget")
    folder = user.home / "costly"
    folder.mkdir()
    parts = {f"part {n}": f"# Part {n}\n\nText of part {n}.\n" for n in range(150)}
    for name, text in {**COSTLY, **parts}.items():
        (folder / f"{name}.md").write_text(text[:LENGTH], encoding="utf-8")
    for name in ("a.png", "a.mp3"):
        (folder / name).write_bytes(b"x")
    user.ok("collection", "add", str(folder), "--name", "costly")
    with server_of(user) as server:
        yield server


@pytest.mark.parametrize("name", COSTLY)
def test_page_of_a_costly_document_is_shown(costly: Server, name: str) -> None:
    assert '<div class="prose"' in page(costly, f"/read/costly/{name}.md")


def test_note_that_shows_itself_is_shown_in_itself_once(costly: Server) -> None:
    html = page(costly, "/read/costly/self.md")
    assert html.count('<section class="embed"') == 1
    assert SHORT not in html


def test_notes_that_show_each_other_are_shown_once(costly: Server) -> None:
    html = page(costly, "/read/costly/ring.md")
    assert html.count('<section class="embed"') == 2
    assert SHORT not in html


def test_page_shows_a_number_of_notes_and_leads_to_the_others(costly: Server) -> None:
    html = page(costly, "/read/costly/notes.md")
    assert html.count('<section class="embed"') == html.count("Text of part") == 100
    assert len({*re.findall(r'href="(/read/costly/part%20\d+\.md)"', html)}) == 150
    assert SHORT in html


def test_picture_is_looked_up_once_for_all_its_places(costly: Server) -> None:
    html = page(costly, "/read/costly/pictures.md")
    assert html.count("<img ") == MANY
    assert SHORT not in html
    html = page(costly, "/read/costly/files.md")
    assert SHORT in html
    assert html.count(f"{MANY - 1}.png") >= 1


def test_rest_of_a_document_beyond_the_budget_is_text(costly: Server) -> None:
    html = page(costly, "/read/costly/formulas.md")
    assert SHORT in html
    assert 0 < html.count("<math") < MANY
    assert f"x_{{{MANY - 1}}}" in html


def test_reader_who_reads_chinese_is_told_in_chinese(costly: Server) -> None:
    html = page(costly, "/read/costly/formulas.md", accept_language="zh")
    assert "其余部分以纯文本显示" in html
