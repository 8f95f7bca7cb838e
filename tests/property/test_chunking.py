from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from itertools import pairwise

from hypothesis import given, strategies as st

from tests.markdown import blocks, chunk

BREAKS = ("# One", "### Three", "Setext", "===", "---", "- item", "3. item", "", "", "   ", "```", "~~~")
WORDS = ("word", "one two three four", "    code", "数据库。検索", "e\u0301 👩‍👧", "x" * 60, "> quote")
LINES = st.sampled_from(BREAKS + WORDS)
CODE = st.integers(0, 12).map(lambda count: "```py\n" + "x = 1\n" * count + "```")
TEXTS = st.lists(st.one_of(LINES, LINES, CODE), max_size=60).map("\n".join)
PLAIN_LINES = ("# One", "## Two", "###### Six", "- item", "", "word", "one two three four", "* * *")
PLAIN = st.lists(st.sampled_from(PLAIN_LINES), max_size=60).map("\n".join)


# Words; pieces that include a space; characters; words after an empty token.
TOKENIZERS = (r"\w+|[^\w\s]", r"\s?\w{1,3}|\s?[^\w\s]", r"(?s:.)", r"\b(?=\w)|\w+|[^\w\s]")


@st.composite
def cases(draw: st.DrawFn) -> tuple[str, list[tuple[int, int]], int, int, int]:
    text = draw(st.one_of(TEXTS, TEXTS, st.text(max_size=300)))
    pattern = draw(st.sampled_from(TOKENIZERS))
    repeat = draw(st.sampled_from([1, 1, 1, 3]))  # byte-level tokens share characters
    offsets = [match.span() for match in re.finditer(pattern, text) for _ in range(repeat)]
    target = draw(st.integers(2 * repeat, 60))
    overlap = draw(st.integers(0, target - 1))
    window = draw(st.integers(1, target))
    return text, offsets, target, overlap, window


def count(offsets: list[tuple[int, int]], start: int, end: int) -> int:
    """Return the number of tokens with a part in [start, end)."""
    starts = [span[0] for span in offsets]
    ends = [span[1] for span in offsets]
    return bisect_left(starts, end) - min(bisect_right(ends, start), bisect_left(starts, start))


@given(cases())
def test_chunks_cover_the_text_in_order_within_the_target(
    case: tuple[str, list[tuple[int, int]], int, int, int],
) -> None:
    text, offsets, target, overlap, window = case
    chunks = chunk(text, offsets, target=target, overlap=overlap, window=window)
    if not text.strip():
        assert chunks == []
        return
    assert (chunks[0].start, chunks[-1].end) == (0, len(text))
    for number, part in enumerate(chunks):
        assert part.seq == number
        assert count(offsets, part.start, part.end) <= target
        assert part.first_line == 1 + text.count("\n", 0, part.start)
        assert part.last_line == 1 + text.count("\n", 0, part.end - 1)
    for before, after in pairwise(chunks):
        assert before.start < after.start <= before.end < after.end
        shared = count(offsets, after.start, before.end) if after.start < before.end else 0
        last = after is chunks[-1]
        assert shared <= overlap or last


@given(cases())
def test_chunks_do_not_start_or_end_in_a_fence_that_fits(
    case: tuple[str, list[tuple[int, int]], int, int, int],
) -> None:
    text, offsets, target, overlap, window = case
    chunks = chunk(text, offsets, target=target, overlap=overlap, window=window)
    for block in blocks(text):
        start, end = block.start, block.end
        if block.kind == "fence" and count(offsets, start, end) <= target:
            for part in chunks:
                assert not start < part.start < end
                assert not start < part.end < end


@given(PLAIN, st.integers(2, 60), st.data())
def test_chunk_ends_at_the_best_break_of_the_window(text: str, target: int, data: st.DataObject) -> None:
    offsets = [match.span() for match in re.finditer(r"\w+|[^\w\s]", text)]
    window = data.draw(st.integers(1, target))
    chunks = chunk(text, offsets, target=target, overlap=0, window=window)
    if len(chunks) < 2:
        return
    best, best_value = None, 0.0
    position = 0
    blank = False
    for line in text.splitlines(keepends=True):
        tokens = bisect_left(offsets, (position, 0))
        distance = target - tokens
        if line.strip():
            if heading := re.match("#+", line):
                score = 110 - 10 * len(heading[0])
            elif line.startswith("* *"):
                score = 60
            else:
                score = 20 if blank else 5 if line.startswith("- ") else 1
            value = score * (1 - (distance / window) ** 2 * 0.7)
            if 0 <= distance <= window and distance < target and value >= best_value:
                best, best_value = position, value
        blank = not line.strip()
        position += len(line)
    if best is not None:
        assert chunks[0].end == best
