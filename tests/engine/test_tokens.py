"""Searches and reading within a number of tokens."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings, strategies as st
from msgspec import json

import qmd
from qmd.engine.documents.fitting import as_json
from qmd.text import budget
from tests.conftest import Notes

LONG = "\n".join(f"Line {number} of the kestrel's log. It flew on." for number in range(1, 401))


@pytest.fixture
def log(index: qmd.Index, notes: Notes) -> qmd.Index:
    files = {
        f"{number:02}.md": f"# Log {number}\n\nThe kestrel flew {number} miles.\n" for number in range(20)
    }
    index.add_collection(str(notes(files | {"long.md": LONG})), "notes")
    return index


@pytest.mark.parametrize("tokens", [30, 100, 333, 800])
def test_search_keeps_the_best_hits_within_tokens(log: qmd.Index, tokens: int) -> None:
    everything = log.search("kestrel", limit=20)
    found = log.search("kestrel", limit=20, tokens=tokens)
    assert budget.count(as_json(found.hits, found.note)) <= tokens
    assert [hit.file for hit in found.hits] == [hit.file for hit in everything.hits][: len(found.hits)]
    assert found.found == len(everything.hits)
    assert f"{found.left_out} more hits" in found.note
    assert found.note.endswith(": raise tokens")


def test_search_within_many_tokens_is_the_search(log: qmd.Index) -> None:
    assert log.search("kestrel", tokens=10_000).hits == log.search("kestrel").hits
    assert log.search("kestrel", tokens=10_000).note == ""


def test_search_cuts_the_last_hit_that_it_keeps(log: qmd.Index) -> None:
    full = log.search("kestrel log", limit=1, full=True, tokens=600)
    (hit,) = full.hits
    assert hit.body is not None
    assert LONG.startswith(hit.body)
    assert hit.body.endswith((".", "log"))
    assert full.note.startswith("more of notes/long.md from line ")


def test_search_cuts_several_passages_in_order(log: qmd.Index) -> None:
    options = {"limit": 1, "passages": 5}
    (whole,) = log.search("kestrel log line", **options).hits  # type: ignore[arg-type]
    (hit,) = log.search("kestrel log line", tokens=250, **options).hits  # type: ignore[arg-type]
    assert 0 < len(hit.passages) < 5
    assert whole.passages[0].text.startswith(hit.passages[0].text)


def test_get_stops_at_a_line_within_tokens_and_says_where_to_go_on(log: qmd.Index) -> None:
    text, reference = "", "long.md"
    while True:
        page = log.get(reference, tokens=500)
        assert budget.count(as_json([page], page.note)) <= 500
        text += page.text
        if not page.note:
            break
        line = int(page.note.removesuffix(": raise tokens").rpartition(" ")[2])
        if text.count("\n") + 1 == line:  # a sentence of this line was shown
            text = text.rpartition("\n")[0] + "\n"
        else:
            text += "\n"
        reference = f"long.md:{line}"
    assert text == LONG


def test_multi_get_counts_what_it_leaves_out(log: qmd.Index) -> None:
    pages = log.multi_get("*.md", max_bytes=None, tokens=400)
    assert budget.count(as_json(pages.items, pages.note)) <= 400
    assert len(pages.items) + len(pages.left_out) == 21
    assert f"{len(pages.left_out)} more documents" in pages.note


def test_too_few_tokens_are_an_error_with_the_least_number(log: qmd.Index) -> None:
    for call in (
        lambda tokens: log.search("kestrel", tokens=tokens),
        lambda tokens: log.get("long.md", tokens=tokens),
        lambda tokens: log.multi_get("*.md", tokens=tokens),
    ):
        with pytest.raises(qmd.TokensError) as caught:
            call(1)
        assert str(caught.value.least) in (caught.value.hint or "")
        assert json.encode(call(caught.value.least).note)
        with pytest.raises(qmd.TokensError):
            call(caught.value.least - 1)


def test_search_refuses_no_tokens(log: qmd.Index) -> None:
    with pytest.raises(qmd.UsageError, match="tokens must be at least 1"):
        log.search("kestrel", tokens=0)


_LINES = st.sampled_from(
    [
        "```",
        "    ```",
        "> ```sh",
        "- ```",
        "  ```",
        "~~~",
        "# Heading",
        "words. More words.",
        "",
        "| a | b |",
        "<pre>",
    ]
)


def read_on(index: qmd.Index, file: str, tokens: int) -> str:
    """Read a document from line to line as the notes of its pages say; "" if one needs more tokens."""
    lines: dict[int, str] = {}
    line = 1
    while True:
        try:
            page = index.get(f"{file}:{line}", tokens=tokens)
        except qmd.TokensError:
            return ""
        lines |= dict(enumerate(page.text.split("\n"), line))
        if not page.note:
            return "\n".join(lines.values()).removesuffix("\n")
        if "from line" not in page.note:
            return ""
        before, line = line, int(page.note.removesuffix(": raise tokens").rpartition(" ")[2])
        assert line > before


@pytest.mark.parametrize(
    "text",
    [
        "Log\n\n    ```\n    code\n\n" + "A line of the log.\n" * 150,
        "> ```\n> quoted\n\n" + "A line of the log.\n" * 150,
        "```\n" + "code of the log\n" * 150,
        "- ```sh\n  # install\n" + "A line of the log.\n" * 150,
    ],
)
def test_reading_on_passes_fences_that_are_not_closed(index: qmd.Index, notes: Notes, text: str) -> None:
    index.add_collection(str(notes({"a.md": text})), "notes")
    assert read_on(index, "a.md", 200) == text.removesuffix("\n")


@settings(max_examples=15)
@given(st.lists(st.lists(_LINES, min_size=1, max_size=40).map("\n".join), min_size=20, max_size=20))
def test_reading_on_gives_the_whole_text(texts: list[str]) -> None:
    with TemporaryDirectory() as folder, qmd.open_index(f"{folder}/index.sqlite", environ={}) as index:
        for number, text in enumerate(texts):
            Path(folder, f"{number}.md").write_text(f"Text {number}\n{text}\nEnd.\n", encoding="utf-8")
        index.add_collection(folder, "notes")
        for number, text in enumerate(texts):
            assert read_on(index, f"{number}.md", 130) == f"Text {number}\n{text}\nEnd."
