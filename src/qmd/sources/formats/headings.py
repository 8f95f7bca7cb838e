"""Texts whose headings have other marks than those of Markdown: lines stay where they are."""

from __future__ import annotations

from qmd.text.outline import heading_text


def as_markdown(lines: list[str], headings: dict[int, tuple[int, str]], empty: set[int]) -> str:
    """Return a text with the headings of Markdown.

    Args:
        lines: The lines of the text.
        headings: (level from 1, heading) by the number of the line, from 0.
        empty: Numbers of lines that only underline headings.
    """
    return "\n".join(
        f"{'#' * min(headings[number][0], 6)} {headings[number][1]}"
        if number in headings
        else ""
        if number in empty
        else line
        for number, line in enumerate(lines)
    )


def first_title(headings: dict[int, tuple[int, str]]) -> str:
    """Return the first heading as a title; "" if there is none."""
    return next((heading_text(heading) for _, heading in headings.values()), "")
