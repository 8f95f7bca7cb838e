"""Scopes as conditions on ids: a collection's documents are one range of them."""

from __future__ import annotations

from collections.abc import Sequence

from qmd.store.sqlite.schema import COLLECTION_SHIFT

#: Ranges of document ids, both ends included.
Ranges = Sequence[tuple[int, int]]


def ranges(collection_ids: Sequence[int]) -> list[tuple[int, int]]:
    """The id ranges of collections; neighbours are merged."""
    merged: list[tuple[int, int]] = []
    for collection in sorted(collection_ids):
        low, high = collection << COLLECTION_SHIFT, ((collection + 1) << COLLECTION_SHIFT) - 1
        if merged and merged[-1][1] + 1 == low:
            merged[-1] = (merged[-1][0], high)
        else:
            merged.append((low, high))
    return merged


def condition(within: Ranges, column: str) -> tuple[str, tuple[int, ...]]:
    """`AND column BETWEEN …` with its values. One range reaches into FTS5 itself, so it costs nothing."""
    if not within:
        return "AND 0", ()
    parts = " OR ".join(f"{column} BETWEEN ? AND ?" for _ in within)
    return f"AND ({parts})", tuple(end for pair in within for end in pair)
