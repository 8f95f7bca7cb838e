"""The choice of the snippet, and where it is cut."""

from __future__ import annotations

import pytest

from qmd.engine.retrieval.passages import choose_passages
from qmd.text.highlight import Highlighter, Match
from qmd.text.query import parse
from qmd.types import Chunk, Ranked, Snippet

FRONT = "---\ntitle: Backups\ntags: [ops]\n---\n"
BODY = "# Keeping copies\n\nBackups run at two.\n"


def snippet(text: str, highlighter: Highlighter, chunk: Chunk | None = None) -> Snippet:
    return choose_passages(text, highlighter, Ranked(1, 1.0, chunk=chunk))[0]


def highlighter(query: str) -> Highlighter:
    return Highlighter(parse(query).terms)


def test_snippet_prefers_the_body_to_front_matter() -> None:
    shown = snippet(FRONT + BODY, highlighter("backups"))
    assert shown.text == BODY.strip()
    assert (shown.first_line, shown.line) == (5, 7)


def test_snippet_shows_no_front_matter_if_nothing_else_matches() -> None:
    shown = snippet(FRONT + BODY, highlighter("ops"))
    assert shown.text.startswith("# Keeping copies")


def test_snippet_without_a_match_starts_at_the_first_words() -> None:
    shown = snippet(FRONT + "\n" + BODY + "\n## Later\n", highlighter("zebra"))
    assert shown.text.startswith("# Keeping copies")
    assert shown.first_line == 6


def test_snippet_without_a_match_ends_with_a_whole_line() -> None:
    lines = [f"{number}. a step of about forty characters here" for number in range(1, 20)]
    text = "intro\n" + "\n".join(lines)
    shown = snippet(text, highlighter("zebra"), Chunk(1, 6, len(text), 2, 20))
    assert shown.text.split("\n") == lines[: len(shown.text.split("\n"))]


def test_snippet_cuts_a_long_line_between_words() -> None:
    text = "word " * 200
    shown = snippet(text, highlighter("zebra"))
    assert set(shown.text.split()) == {"word"}


class Counting(Highlighter):
    """A highlighter that counts the characters that it searches."""

    searched = 0

    def find(self, text: str) -> list[Match]:
        self.searched += len(text)
        return super().find(text)


FILLERS = {
    "ascii": "data about a rocket, ",
    "umlauts": "Größe der rocket data über Zürich, ",
    "han": "数据库的备份，在凌晨两点！",
    "word": "data" * 50,
}


@pytest.mark.slow
@pytest.mark.parametrize("filler", FILLERS)
@pytest.mark.parametrize("megabytes", [1, 16])
def test_snippet_searches_little_of_a_dense_text(filler: str, megabytes: int) -> None:
    text = FILLERS[filler] * (megabytes * 1_000_000 // len(FILLERS[filler]))
    counting = Counting(parse("rocket data* 数据库").terms)
    shown = snippet(text, counting)
    assert FILLERS[filler].strip()[:20] in shown.text
    assert counting.searched <= 12_000


@pytest.mark.parametrize(
    ("filler", "query", "end"),
    [
        ("data about reports, ", "data zebra", "the last data zebra"),
        ("partial apartments ", "art", "the art of it"),
        ("data about reports, ", "réunion data", "the réunion data"),
        ("数据库的数据，", "数据库 恢复", "恢复数据库"),
        ("data about symbols, ", "data 📅", "the 📅 data"),
    ],
)
def test_snippet_shows_a_rare_word_at_the_end_of_a_dense_text(filler: str, query: str, end: str) -> None:
    text = filler * (400_000 // len(filler)) + f"\n{end}\n"
    counting = Counting(parse(query).terms)
    shown = snippet(text, counting)
    assert end in shown.text
    assert counting.searched <= 70_000


def test_snippet_of_a_long_text_with_few_matches_shows_them() -> None:
    text = (
        "lorem ipsum dolor sit amet, " * 30_000
        + "\n\n# Rockets\n\nthe launch pad\n\n"
        + "ipsum dolor " * 9_000
    )
    shown = snippet(text, highlighter("rocket launch"))
    assert shown.text.startswith("# Rockets\n\nthe launch pad")
    assert shown.line == 3


def test_snippet_cuts_a_very_long_word() -> None:
    shown = snippet("before " + "y" * 500_000 + " after", highlighter("y" * 128))
    assert len(shown.text) <= 2 * 300
    assert "before yyy" in shown.text


@pytest.mark.parametrize("edge", range(2040, 2060))
def test_snippet_does_not_match_parts_of_words_at_a_window_edge(edge: int) -> None:
    text = "x" * (edge - 10) + " dataset " + "datasets " * 4_000
    assert snippet(text, highlighter("set")).line == 1
    assert "dataset" in snippet(text, highlighter("dataset")).text
