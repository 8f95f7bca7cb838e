"""Words that answers share."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """`1 collection`, `2 collections` (H40)."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
