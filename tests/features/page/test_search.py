"""Queries, filters and snippets on the web page."""

from __future__ import annotations

import re
from datetime import date, timedelta
from importlib.resources import files

import pytest

from qmd.features.page.filters import FACETS, chips, facet, filter_for
from qmd.features.page.messages import CHINESE, ENGINE, choose
from qmd.features.page.search import plain_snippet
from qmd.text.filters import folder_counts
from qmd.text.query import as_prose, as_typed
from qmd.text.question import Question
from qmd.types import ValueCount


@pytest.mark.parametrize(
    ("typed", "searched"),
    [
        ("back", "back*"),
        ("restore back", "restore back*"),
        ("node.j", "node.j*"),
        ("b", "b"),
        ("back ", "back "),
        ("what is in", "what is in"),
        ("over", "over*"),
        ("备份", "备份"),
        ("api备", "api备"),
        ("-back", "-back"),
        ('"restore back', '"restore back'),
        ('"restore" back', '"restore" back*'),
        ("tag:wor", "tag:wor"),
        ("[status:dr", "[status:dr"),
        ("back*", "back*"),
    ],
)
def test_as_typed_completes_an_unfinished_last_word(typed: str, searched: str) -> None:
    assert as_typed(typed) == searched


@pytest.mark.parametrize(
    ("query", "read"),
    [("restore back*", "restore back"), ("back* up", "back up"), ("2 * 3*4 *", "2 * 3*4 *")],
)
def test_as_prose_removes_prefix_stars(query: str, read: str) -> None:
    assert as_prose(query) == read


def test_chips_have_the_days_of_relative_dates() -> None:
    today = date.today()  # noqa: DTZ011 - of the user
    found = chips(Question.read("backup after:7d -date:最近2天 after:2024 [status:today] tag:today"))
    assert [chip.days for chip in found] == [
        str(today - timedelta(days=7)),
        f"{today - timedelta(days=2)}..{today}",
        "",
        "",
        "",
    ]


def test_chips_returns_the_typed_filters() -> None:
    found = chips(Question.read('backup tag:work -[status:"in work"] "tag:text" after:2024'))
    assert [(chip.written, chip.without) for chip in found] == [
        ("tag:work", 'backup -[status:"in work"] "tag:text" after:2024'),
        ('-[status:"in work"]', 'backup tag:work "tag:text" after:2024'),
        ("after:2024", 'backup tag:work -[status:"in work"] "tag:text"'),
    ]


@pytest.mark.parametrize(
    ("name", "value", "written"),
    [
        ("tag", "work/ops", "tag:work/ops"),
        ("author", "Ann Lee", 'author:"Ann Lee"'),
        ("collection", "notes", "[collection:notes]"),
        ("collection", 'a "b" c', '[collection:"a b c"]'),
        ("year", "2024", "[date:2024]"),
        ("format", "pdf", "[format:pdf]"),
        ("lang", "zh", "lang:zh"),
        ("path", "my notes/", 'path:"my notes/"'),
    ],
)
def test_filter_for_returns_a_filter_that_chips_reads(name: str, value: str, written: str) -> None:
    assert filter_for(name, value) == written
    assert [chip.written for chip in chips(Question.read(f"word {written}"))] == [written]


def test_facet_value_in_use_links_to_the_query_without_it() -> None:
    made = facet(
        "tag", (ValueCount("a", 3), ValueCount("b", 1)), "word tag:a", chips(Question.read("word tag:a"))
    )
    assert [(value.text, value.query, value.chosen) for value in made.values] == [
        ("a", "word", True),
        ("b", "word tag:a tag:b", False),
    ]


def test_facet_of_paths_is_a_tree_of_folders() -> None:
    paths = folder_counts([ValueCount(path, 1) for path in ("a.md", "b/c/d.md", "b/e.md", "f/g.md")])
    made = facet("path", paths, "word", ())
    assert [(value.text, value.documents, value.level, value.query) for value in made.values] == [
        ("b/", 2, 0, "word path:b/"),
        ("c/", 1, 1, "word path:b/c/"),
        ("f/", 1, 0, "word path:f/"),
    ]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("## Restoring\n\nStop the workers.", "Stop the workers."),
        ("## Backups\n\nEach night.\n\n### Notes\n\nStop.", "Backups · Each night. Notes · Stop."),
        ("of the dump. Then stop", "… of the dump. Then stop …"),
        ("备份每天两点。", "备份每天两点。"),
    ],
)
def test_plain_snippet_divides_headings_from_sentences(text: str, shown: str) -> None:
    assert plain_snippet(text, 4, "Operations", "Operations > Restoring") == shown


def test_snippet_of_other_formats_is_as_it_is() -> None:
    text = "Title\nThe __init__ of *args and a_b_c.\n| a | b |"
    assert plain_snippet(text, 1, "Title", markdown=False) == "The __init__ of *args and a_b_c. a · b …"


def test_plain_snippet_has_no_markup_and_no_title() -> None:
    text = "---\ntitle: T\n---\n# Title\n\n> [!note] Look\n> - **bold** `code` [link](x.md)\n\n"
    text += "| a | b |\n|---|---|\n"
    assert plain_snippet(text, 1, "Title") == "Look bold code link a · b …"
    links = "See [[#Set up]] and [[note|that]]. ^b1\n\nAlso [[a link that is c"
    assert plain_snippet(links, 2, "Title") == "See Set up and that. Also a link that is c …"


@pytest.mark.parametrize(
    ("accepted", "language"),
    [
        ("", "en"),
        ("zh-CN,zh;q=0.9,en;q=0.8", "zh"),
        ("en-GB,zh;q=0.9", "en"),
        ("fr,de;q=0.7", "en"),
        ("zh;q=0,en", "en"),
        ("zh;q=x", "en"),
        ("*", "en"),
    ],
)
def test_choose_returns_the_preferred_language(accepted: str, language: str) -> None:
    assert choose(accepted) == language


def test_template_texts_have_translations() -> None:
    templates = [
        each.read_text(encoding="utf-8")
        for each in files("qmd.features.page").joinpath("templates").iterdir()
    ]
    called = [match[2] for text in templates for match in re.finditer(r"_\(\s*([\"'])(.*?)\1", text)]
    counted = [
        text
        for template in templates
        for match in re.finditer(r'plural\([^"]*"([^"]*)", "([^"]*)"', template)
        for text in match.groups()
    ]
    assert len(called) > 100
    assert [text for text in (*called, *counted, *FACETS.values()) if text not in CHINESE] == []


def test_translations_have_the_placeholders_of_their_texts() -> None:
    for text, translated in (CHINESE | ENGINE).items():
        assert {part.partition("}")[0] for part in text.split("{")[1:]} == {
            part.partition("}")[0] for part in translated.split("{")[1:]
        }, text
