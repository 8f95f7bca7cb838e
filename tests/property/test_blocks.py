"""The blocks of Markdown, compared with markdown-it's, which pass the tests of CommonMark."""

from __future__ import annotations

import re

from hypothesis import assume, given, strategies as st
from markdown_it import MarkdownIt

from tests.markdown import blocks

_INDENTS = st.sampled_from(["", "", "", " ", "  ", "   ", "    ", "     ", "      "])
_MARKS = st.sampled_from(["", "", "", "- ", "* ", "1. ", "10) ", "> ", ">", "-   ", "- - ", "> - ", "- > "])
_CONTENT = st.sampled_from(
    ["a", "# H", "## I", "```", "```sh", "````", "~~~", "", "", "text", "#tag", "``` x ```", "***", "``", "#"]
)
_LINE = st.tuples(_INDENTS, _MARKS, _CONTENT).map("".join)
#: markdown-it continues a quote by a `>` that is indented like code; CommonMark does not. Headings that are
#: underlined in a list are not read.
TEXTS = st.lists(
    _LINE.filter(lambda line: "    >" not in line and bool(line.strip(" ->*") or "-" not in line)),
    max_size=12,
).map("\n".join)
_MARKS_OF_BLOCKS = re.compile(r"\n *(?:#{1,6}(?: |$)|```|~~~)", re.M)


def judged(text: str) -> tuple[list[tuple[int, int]], list[int]]:
    """Return the headings outside quotes as (line, level), and the lines where fences begin.

    Texts are left out in which a paragraph goes on without the marks of its list or quote, because
    markdown-it differs there from the reference implementation.
    """
    headings, fences, quotes = [], [], 0
    tokens = MarkdownIt("commonmark").parse(text)
    for at, token in enumerate(tokens):
        quotes += (token.type == "blockquote_open") - (token.type == "blockquote_close")
        if token.map and token.type == "heading_open" and not quotes and tokens[at + 1].content:
            headings.append((token.map[0], int(token.tag[1])))
        elif token.type == "inline":
            assume(not _MARKS_OF_BLOCKS.search(token.content))
        elif token.type == "code_block":
            assume(not tokens[at - 1].type.endswith(("list_close", "quote_close")))
        elif token.map and token.type == "fence":
            fences.append(token.map[0])
    return headings, fences


@given(TEXTS)
def test_headings_and_fences_are_those_of_commonmark(text: str) -> None:
    found = [*blocks(text)]
    headings = [(text.count("\n", 0, each.start), each.level) for each in found if each.kind == "heading"]
    fences = [text.count("\n", 0, each.start) for each in found if each.kind == "fence"]
    their_headings, their_fences = judged(text)
    assert headings == their_headings
    lines = text.split("\n")
    # Fences that are indented like code count as well if they are closed, because they are fences in MDX.
    assert [line for line in fences if line in their_fences or "    " not in lines[line]] == their_fences
