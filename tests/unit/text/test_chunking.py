from __future__ import annotations

import re

import pytest

from qmd.types import Chunk
from tests.markdown import chunk


def words(text: str) -> list[tuple[int, int]]:
    """Return a token for each word and punctuation mark."""
    return [match.span() for match in re.finditer(r"\w+|[^\w\s]", text)]


def pieces(text: str, target: int, overlap: int = 0, window: int | None = None) -> list[str]:
    return [
        text[piece.start : piece.end]
        for piece in chunk(text, words(text), target=target, overlap=overlap, window=window)
    ]


def prose(count: int, start: int = 0) -> str:
    return " ".join(f"w{number}" for number in range(start, start + count))


def test_chunk_keeps_a_text_within_the_target_whole() -> None:
    text = "# A\n\nb c d\n"
    assert chunk(text, words(text), target=5) == [Chunk(0, 0, len(text), 1, 3)]


@pytest.mark.parametrize("text", ["", " ", "\n\n\t\n", "\u3000"])
def test_chunk_of_blank_text_is_empty(text: str) -> None:
    assert chunk(text, []) == []


def test_chunk_of_text_without_tokens_is_one_chunk() -> None:
    assert chunk("a\nb", []) == [Chunk(0, 0, 3, 1, 2)]


@pytest.mark.parametrize(
    "wrong",
    [{"target": 0}, {"overlap": -1}, {"target": 5, "overlap": 5}, {"window": 0}, {"target": 5, "window": 6}],
)
def test_chunk_refuses_impossible_sizes(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="invalid chunk sizes: "):
        chunk("a", [(0, 1)], **wrong)


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ("# h1", "## h2"),
        ("## h2", "### h3"),
        ("### h3", "#### h4"),
        ("#### h4", "##### h5"),
        ("##### h5", "###### h6"),
        ("***", "###### h6"),
        ("###### h6", "\nblank"),
        ("\nblank", "- item"),
        ("+ item", "line"),
        ("2. item", "line"),
        ("\nSetext\n===", "## h2"),
        ("\nSetext\n---", "### h3"),
    ],
)
def test_chunk_prefers_the_better_of_two_near_breaks(better: str, worse: str) -> None:
    filling = prose(300)
    for first, second in ((better, worse), (worse, better)):
        text = f"{filling}\n{first}\n{second}\n{filling}\n"
        size = len(words(filling + first + second))
        end = chunk(text, words(text), target=size + 2, overlap=0, window=30 + len(words(first + second)))[
            0
        ].end
        assert text[end:].startswith(better.lstrip("\n"))


def test_chunk_breaks_before_and_after_a_fence() -> None:
    before = prose(80) + "\n```\nx\n```\n"
    text = before + "text\n#### h4\n" + prose(200)
    assert pieces(text, target=95, window=60)[0] == before
    before = prose(80) + "\n#### h4\ntext\n"
    text = before + "```\n" + "x\n" * 40 + "```\n" + prose(200)
    assert pieces(text, target=95, window=60)[0] == before


def test_chunk_weighs_breaks_by_their_distance_from_the_target() -> None:
    # h2 at distance 90 of 100: 90 * (1 - 0.81 * 0.7) = 39; h6 at distance 0: 50.
    text = prose(110) + "\n## far\n" + prose(86) + "\n###### near\n" + prose(200)
    assert pieces(text, target=200, window=100)[0].endswith("w85\n")
    # At distance 60 the h2 has 90 * (1 - 0.36 * 0.7) = 67.
    text = prose(140) + "\n## far\n" + prose(56) + "\n###### near\n" + prose(200)
    assert pieces(text, target=200, window=100)[0] == prose(140) + "\n"


def test_chunk_ignores_a_break_before_the_window() -> None:
    text = prose(96) + "\n# before\n" + prose(200)
    assert pieces(text, target=200, window=100)[0] == prose(96) + "\n# before\n" + prose(102) + " "


def test_chunk_defaults_to_900_tokens_and_15_percent_overlap() -> None:
    text = prose(2000)
    first, second, third = chunk(text, words(text))
    assert len(words(text[first.start : first.end])) == 900
    assert len(words(text[second.start : first.end])) == 135
    assert len(words(text[third.start : second.end])) == 135


def test_chunk_scales_overlap_and_window_with_the_target() -> None:
    text = prose(2000)
    first, second, *_ = chunk(text, words(text), target=450)
    assert len(words(text[second.start : first.end])) == 67
    text = prose(349) + "\n" + prose(700)
    assert chunk(text, words(text), target=450)[0].end != 350 + len(prose(349)) - 349
    text = prose(351) + "\n" + prose(700)
    assert chunk(text, words(text), target=450)[0].end == len(prose(351)) + 1


def test_chunk_overlap_starts_at_a_line() -> None:
    text = "\n".join(f"line {number} has five words" for number in range(100))
    first, second, *_ = chunk(text, words(text), target=50, overlap=12)
    assert second.start < first.end
    assert text[second.start - 1] == "\n"
    assert len(words(text[second.start : first.end])) == 10


def test_chunk_overlap_is_more_than_a_blank_line() -> None:
    text = prose(95) + "\n\n\n# Next\n" + prose(200)
    first, second, *_ = chunk(text, words(text), target=100, overlap=15, window=20)
    assert text[first.end :].startswith("# Next")
    assert text[second.start : first.end] == "w80 " + prose(14, 81) + "\n\n\n"


def test_chunk_never_cuts_a_fence_that_fits() -> None:
    code = "```\n" + "x\n" * 20 + "```\n"
    text = prose(90) + "\n\n" + code + "\n" + prose(100)
    size = len(words(prose(90))) + 10
    first, second, *_ = pieces(text, target=size, window=5)
    assert first == prose(90) + "\n\n"
    assert second.startswith(code)


def test_chunk_overlap_does_not_cut_a_fence() -> None:
    code = "~~~\n" + "x = 1\n" * 30 + "~~~\n"
    text = prose(95) + "\n" + code + prose(200)
    spans = [
        (piece.start, piece.end) for piece in chunk(text, words(text), target=100, overlap=40, window=10)
    ]
    start = text.index("~~~")
    end = start + len(code)
    assert not [span for span in spans if start < span[0] < end or start < span[1] < end]
    assert [span for span in spans if span[0] <= start and end <= span[1]]


def test_chunk_cuts_a_long_fence_at_lines() -> None:
    text = "```\n" + "value = compute(1)\n" * 100 + "```\n"
    parts = pieces(text, target=50)
    assert len(parts) > 5
    assert all(part.endswith("\n") for part in parts)


def test_chunk_ignores_headings_inside_a_long_fence() -> None:
    text = "```\n" + "aaa\n" * 40 + "# no heading\n" + "bbb\n" * 3 + "ccc\n" * 60 + "```\n"
    assert not any(part.startswith("# no heading") for part in pieces(text, target=50))


@pytest.mark.parametrize(
    ("text", "ending"),
    [
        ("Some words here and there. " * 500, ". "),
        ("one two three " * 500, " "),
        ("这是一个很长的句子。" * 500, "。"),
        ("本当ですか？はい！" * 500, "！"),
    ],
)
def test_chunk_cuts_a_long_line_at_sentences_or_spaces(text: str, ending: str) -> None:
    offsets = [(index, index + 1) for index in range(len(text)) if not text[index].isspace()]
    parts = chunk(text, offsets, target=100, overlap=15)
    assert len(parts) > 10
    for part in parts[:-1]:
        assert text[part.start : part.end].endswith((ending, "？"))


def test_chunk_keeps_combining_characters_together() -> None:
    text = "e\u0301" * 500
    offsets = [(index, index + 1) for index in range(len(text))]
    for part in chunk(text, offsets, target=101, overlap=15):
        assert text[part.start] == "e"
        assert text[part.end - 1] == "\u0301"


def test_chunk_accepts_tokens_that_share_a_character() -> None:
    text = "😀" * 50
    offsets = [(index, index + 1) for index in range(50) for _ in range(4)]
    parts = chunk(text, offsets, target=10, overlap=2)
    assert [(part.start, part.end) for part in parts][:2] == [(0, 2), (2, 4)]
    assert parts[-1].end == 50


def test_chunk_makes_a_chunk_of_a_character_with_many_tokens() -> None:
    parts = chunk("😀😁", [(0, 1)] * 4 + [(1, 2)] * 4, target=2, overlap=0)
    assert [(part.start, part.end) for part in parts] == [(0, 1), (1, 2)]


def test_chunk_accepts_tokens_with_gaps_and_line_ends() -> None:
    text = "alpha beta\ngamma delta\nepsilon zeta\n" * 20
    offsets = [match.span() for match in re.finditer(r"[\s]?\w+", text)]
    parts = chunk(text, offsets, target=10, overlap=2)
    assert all(text[part.start : part.end].endswith("\n") for part in parts)


def test_chunk_gives_a_short_rest_the_whole_overlap() -> None:
    text = prose(180) + "\n" + prose(15) + "\n" + prose(10)
    parts = chunk(text, words(text), target=200, overlap=30, window=20)
    assert len(parts) == 2
    assert 30 <= len(words(text[parts[1].start :])) <= 60


def test_chunk_lines_are_those_of_the_file() -> None:
    text = "---\ntitle: x\n---\n" + "\n".join(f"line {number}" for number in range(4, 400)) + "\n"
    for part in chunk(text, words(text), target=50):
        lines = text[part.start : part.end].splitlines()
        if part.first_line > 3:
            assert lines[0] == f"line {part.first_line}"
        assert lines[-1] == f"line {part.last_line}"
        assert len(lines) == part.last_line - part.first_line + 1


def test_chunk_cuts_a_line_of_200000_characters() -> None:
    text = "x" * 200_000
    offsets = [(start, start + 4) for start in range(0, 200_000, 4)]
    parts = chunk(text, offsets)
    assert all(part.end - part.start <= 3600 and part.first_line == part.last_line == 1 for part in parts)
    assert {part.start % 4 for part in parts} == {0}
