"""Which part of a text is shown, and where it is cut."""

from __future__ import annotations

from qmd.text.highlight import Highlighter
from qmd.text.query import parse
from qmd.text.snippet import snippet

FRONT = "---\ntitle: Backups\ntags: [ops]\n---\n"
BODY = "# Keeping copies\n\nBackups run at two.\n"


def marker(query: str) -> Highlighter:
    return Highlighter(parse(query).terms)


def test_front_matter_is_not_shown_where_the_body_matches() -> None:
    shown = snippet(FRONT + BODY, marker("backups"))
    assert shown.text == BODY.strip()
    assert (shown.first_line, shown.line) == (5, 7)


def test_front_matter_is_shown_where_nothing_else_matches() -> None:
    shown = snippet(FRONT + BODY, marker("ops"))
    assert "tags: [ops]" in shown.text
    assert shown.line == 3


def test_a_document_without_a_match_is_shown_from_its_first_words() -> None:
    shown = snippet(FRONT + "\n" + BODY + "\n## Later\n", marker("zebra"))
    assert shown.text.startswith("# Keeping copies")
    assert shown.first_line == 6


def test_a_passage_without_a_match_ends_with_a_whole_line() -> None:
    lines = [f"{number}. a step of about forty characters here" for number in range(1, 20)]
    text = "intro\n" + "\n".join(lines)
    shown = snippet(text, marker("zebra"), within=(6, len(text)))
    assert shown.text.split("\n") == lines[: len(shown.text.split("\n"))]


def test_a_long_line_is_cut_between_words() -> None:
    text = "word " * 200
    shown = snippet(text, marker("zebra"))
    assert set(shown.text.split()) == {"word"}
