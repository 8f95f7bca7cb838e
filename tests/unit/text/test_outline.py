"""Sections of a document, and their addresses."""

from __future__ import annotations

import pytest

from qmd.text.outline import find_section
from tests.markdown import sections

TEXT = """# Guide

## Überblick & Co.

## Setup {#install}

### <a name="flags"></a> Flags of `<b>` &amp; <kbd>Tab</kbd>

## Setup

## Map<K, V>

1. Step

    ### Inside a step

   ```sh
# not in the list any more
```
"""


@pytest.mark.parametrize(
    ("address", "heading", "line"),
    [
        ("Überblick & Co.", "Überblick & Co.", 3),
        ("überblick--co", "Überblick & Co.", 3),
        ("überblick-co", "Überblick & Co.", 3),
        ("install", "Setup", 5),
        ("setup", "Setup", 5),
        ("setup-1", "Setup", 9),
        ("setup_1", "Setup", 9),
        ("flags", "Flags of <b> & Tab", 7),
        ("#guide#setup", "Setup", 5),
        ("guide/setup", "Setup", 5),
        ("mapk-v", "Map<K, V>", 11),
        ("inside-a-step", "Inside a step", 15),
    ],
)
def test_find_section_takes_headings_and_anchors(address: str, heading: str, line: int) -> None:
    section = find_section(sections(TEXT), address)
    assert section is not None
    assert (section.heading, section.first_line) == (heading, line)


@pytest.mark.parametrize("address", ["setup-2", "setup-x", "not-in-the-list-any-more-1", ""])
def test_find_section_finds_nothing_else(address: str) -> None:
    assert find_section(sections(TEXT), address) is None
