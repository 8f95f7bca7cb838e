"""Reading and rendering take a number of steps proportional to the length of the text, for any repetition."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
from hypothesis import example, given, settings, strategies as st

from qmd.features.evidence.citations import citations
from qmd.features.evidence.quotations import assigned
from qmd.features.evidence.verbatim import VerbatimWords
from qmd.features.formats import asciidoc, org, rst
from qmd.features.page import markdown
from qmd.sources.read import RawBytes
from qmd.text import budget, extraction, front_matter
from qmd.text.highlight import Highlighter
from qmd.text.query import parse
from tests.markdown import fences, sections

_MARKS = (
    "<!-- --> [ ] [[ ]] ]( ( ) ![ ![[ [^ ]: ^[ * ** _ ` `` ~~ == = --- # > | \\ $ $$ %% { } # http:// <a: & "
    "' \" “ ” „ « » 「 a.md:1 qmd://a #abc123 … '[[ [a][b] :a: :tag: SCHEDULED: [[a][ #tag >\\ [!x] - + 1."
).split()
_LINES = [
    "\n",
    "\n\n",
    "\t",
    "    ",
    " ",
    "a",
    "\n- ",
    "\n# ",
    "\n===",
    "\n---",
    "\n```\n",
    "\n> [!a]\n\n",
    "\n[a]: b",
    "\n\n    #a",
    "\n    - [^a]: ",
    "<script>\n",
    "</style>",
    '<a b="',
]
_PARTS = st.lists(st.sampled_from([*_MARKS, *_LINES]), min_size=1, max_size=4).map("".join)


class Counted(str):
    """A text that counts the characters searched in it."""

    __slots__ = ()
    searched = 0

    def find(self, part: str, start: int = 0, end: int | None = None) -> int:  # type: ignore[override]
        found = super().find(part, start, end)
        Counted.searched += max((found if found >= 0 else len(self) if end is None else end) - start, 0)
        return found

    def rfind(self, part: str, start: int = 0, end: int | None = None) -> int:  # type: ignore[override]
        found = super().rfind(part, start, end)
        Counted.searched += max((len(self) if end is None else end) - max(found, start), 0)
        return found


HTML = [
    *("<div>\n", "<details>\n\n", '<a href="', "<kbd", "<!-- <td>"),
    *("![[a]]\n\n", "$a$ ", "$$\n", "^a\n\n"),
]


def _steps(read: Callable[[str], object], text: str) -> int:
    """Return the number of lines of Python that run, plus the characters searched."""
    lines = 0

    def trace(frame: FrameType, event: str, argument: object) -> object:
        nonlocal lines
        lines += event == "line"
        return trace

    before, tracing = Counted.searched, sys.gettrace()
    sys.settrace(trace)
    try:
        read(Counted(text))
    finally:
        sys.settrace(tracing)
    return lines + Counted.searched - before


def _render(text: str) -> object:
    return markdown.render(text, markdown.RenderContext(link=lambda target: None, file=lambda path: None))


def _cited(text: str) -> object:
    return assigned(text, citations(text))


def _file(module: Any) -> Callable[[str], object]:
    def read(text: str) -> object:
        file = RawBytes("a", b"")
        file.text = lambda: text  # type: ignore[method-assign]
        return module.extract(file)

    return read


@pytest.mark.parametrize(
    "read",
    [
        pytest.param(lambda text: extraction.extract(text, "a.md"), id="markdown"),
        pytest.param(sections, id="sections"),
        pytest.param(_file(org), id="org"),
        pytest.param(_file(rst), id="rst"),
        pytest.param(_file(asciidoc), id="asciidoc"),
        pytest.param(_render, id="page"),
        pytest.param(_cited, id="citations"),
        pytest.param(VerbatimWords, id="words"),
        pytest.param(budget.count, id="tokens"),
        pytest.param(lambda text: [*budget.cuts(text, fences(text))], id="cuts"),
    ],
)
@settings(max_examples=40)  # each is rendered thousands of times slower than usual, to count its steps
@given(_PARTS)
@example("<!--[a][b]")
@example("]]<!--")
@example("'[[")
@example("\n===")
@example("> [!a]\n\n")
@example("<!--\n```\n```\n")
@example("<!--\n")
@example("\n\n    #a [[b]]")
@example("> <script>\n\n")
@example("<script>\n</script>\n")
@example("- <style>\n  #a\n")
@example("<script>\n><script>\n</style>")
@example("> ```\na\n")
@example("<a b")
def test_reading_takes_linear_steps(read: Callable[[str], object], part: str) -> None:
    read(part * 120)  # patterns that are compiled on use take steps of their own
    once, twice = (_steps(read, part * n) for n in (60, 120))
    assert twice < 2.6 * once + 2000


@pytest.mark.parametrize("part", ["\n===", "<!--\n", "> [!a]\n\n", "'[[", "- [ ] a\n", "[^1]: a\n\n", *HTML])
def test_rendering_takes_linear_steps(part: str) -> None:
    once, twice = (_steps(_render, part * n) for n in (400, 800))
    assert twice < 2.6 * once


@pytest.mark.parametrize("level", ["[", "{a: ", "- "])
def test_levels_of_front_matter_beyond_the_limit_take_no_steps(level: str) -> None:
    def read(text: str) -> object:
        return front_matter.read(text[:])  # the parser takes no subclass

    once, twice = (_steps(read, f"a: {level * count}") for count in (3000, 6000))
    assert twice < once + 100


def test_highlighter_finds_prefix_words_in_one_pass() -> None:
    highlighter = Highlighter(parse("heron abc*").terms)
    texts = ("é " + " ".join(f"abc{number}" for number in range(count)) for count in (500, 1000))
    once, twice = (_steps(highlighter.find, text) for text in texts)
    assert twice < 2.6 * once
