"""What a passage shows is text: no fence lines, tags, link definitions, imports and front matter."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

import qmd
from tests.conftest import Notes
from tests.markdown import only_text

PAGE = """---
title: Guide
summary: about herring
---
import Herring from '@theme/Herring';
export const herring = 1;

# Setup

<div align="center" title="herring">
<img src="herring.png">
</div>

Install the tool before you begin, as the manual of your system says.

```herring
make install
```

<Herring groupId="os">

Then look at the lake, where a herring lives.

</Herring>

[herring]: https://example.org/herring "The herring"
"""
LAKE = "Then look at the lake, where a herring lives."


@pytest.fixture
def library(index: qmd.Index, notes: Notes) -> qmd.Index:
    index.add_collection(str(notes({"guide.md": PAGE})), "notes")
    return index


def test_passages_are_text(library: qmd.Index) -> None:
    (hit,) = library.search("herring", passages=5).hits
    assert LAKE in hit.snippet.text
    assert hit.line == PAGE[: PAGE.index(LAKE)].count("\n") + 1
    for passage in hit.passages:
        assert passage.text in PAGE
        for edge in (passage.text.split("\n")[0], passage.text.split("\n")[-1]):
            assert not edge.startswith(("<", "import", "export", "```", "[herring]", "---", "summary"))


def test_words_of_markup_alone_find_the_document_but_show_its_text(library: qmd.Index) -> None:
    (hit,) = library.search("summary").hits
    assert hit.snippet.text.startswith("# Setup")
    (hit,) = library.search("theme").hits
    assert hit.snippet.text.startswith("# Setup")


def test_line_of_source_code_is_one_of_the_file(index: qmd.Index, notes: Notes) -> None:
    files = {"testC.c": "int main(void) { return 0; }\n", "b.c": "// c\n\nint other(int c) { return c; }\n"}
    index.add_collection(str(notes(files)), "code", formats=["code"])
    for query in ("c", "main", "testC", "int", "other"):
        for hit in index.search(query).hits:
            # A heading that the reader adds has no line in the file.
            assert hit.anchor is None or hit.anchor.value >= 1
            assert not hit.snippet.text.startswith("```")


LINES = [*PAGE.splitlines(), "~~~", "  ```", "text <b>bold</b>", "a < b"]


@given(st.lists(st.sampled_from(LINES)).map("\n".join))
def test_text_without_markup_keeps_all_places(text: str) -> None:
    plain = only_text(text)
    assert len(plain) == len(text)
    assert all(mine in (theirs, " ") for mine, theirs in zip(plain, text, strict=True))
    assert plain.count("\n") == text.count("\n")
