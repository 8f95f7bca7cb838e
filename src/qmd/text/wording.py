"""Phrases that several parts of the program write."""

from __future__ import annotations


def plural(number: int, noun: str, *, separator: str = ",") -> str:
    """Return a number with its noun: `1 file`, `2,000 files`; without thousands `separator`: `2000 files`."""
    return f"{number:{separator}} {noun}{'' if number == 1 else 's'}"
