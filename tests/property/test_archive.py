"""The archive's search finds the lines that a plain comparison finds."""

from __future__ import annotations

import unicodedata

from hypothesis import given, strategies as st

from qmd.features.archive.matching import CONTEXT, Needle, Text
from qmd.features.archive.posts import read_name

#: Letters with unusual case or composition, and some usual ones.
LETTERS = st.sampled_from("aAbBéÉßẞİıſσςΣe\u0301Å中文字\u212a\n\n \r")
TEXTS = st.text(LETTERS, max_size=60) | st.text(max_size=60)
QUERIES = (st.text(LETTERS, min_size=1, max_size=3) | st.text(min_size=1, max_size=3)).filter(str.strip)


def plain(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold()


@given(TEXTS, QUERIES)
def test_archive_search_finds_exactly_the_lines_with_the_query(text: str, query: str) -> None:
    ended = (
        unicodedata.normalize("NFC", text.removeprefix("\ufeff")).replace("\r\n", "\n").replace("\r", "\n")
    )
    lines = ended.removesuffix("\n").split("\n")
    matching = [number for number, line in enumerate(lines, 1) if plain(query) in line.casefold()]

    searched = Text.of(text.encode())
    needle = Needle(query)
    windows = list(needle.windows(searched)) if needle.count(searched) else []
    assert [window.line for window in windows] == matching
    assert needle.count(searched) == len(matching)
    for window in windows:
        assert window.first_line == max(1, window.line - CONTEXT)
        assert list(window.lines) == lines[window.first_line - 1 : window.line + CONTEXT]
        line = lines[window.line - 1]
        assert window.spans
        edges = [edge for span in window.spans for edge in span]
        assert edges == sorted(edges)
        assert all(plain(query) in line[start:end].casefold() for start, end in window.spans)


@given(TEXTS.filter(lambda title: title and "/" not in title), st.datetimes())
def test_read_name_returns_title_and_time_of_a_dated_name(title: str, time: object) -> None:
    published = str(time).partition(".")[0].replace(" ", "T")
    post = read_name(f"a/motions/{published.replace('T', '_').replace(':', '_')}_{title}.md")
    assert (post.title, post.published, post.album) == (title, published, None)
