"""Near copies of passages: how much of one passage is also in another."""

from __future__ import annotations

from collections.abc import Set

from qmd.text import tokens

#: Words of a shingle. Two texts about one subject share words, but hardly four in a row.
WIDTH = 4


def shingles(text: str) -> frozenset[int]:
    """Return the runs of `WIDTH` words of a text, as hashes; a shorter text is one run.

    Case, accents, punctuation and the marks of Markdown do not count. A character of an unspaced script
    counts as a word.
    """
    words = [part for word in tokens.words(text) for part in _parts(tokens.fold(word))]
    runs = zip(*(words[at:] for at in range(WIDTH)), strict=False)
    return frozenset(map(hash, runs)) or frozenset([hash(tuple(words))] if words else [])


def _parts(word: str) -> tuple[str, ...]:
    return tuple(word) if word and tokens.is_unspaced(word[0]) else (word,)


def contained(part: Set[int], whole: Set[int]) -> float:
    """Return the share of a passage's shingles that are in another one, 0..1."""
    return len(part & whole) / len(part) if part else 0.0
