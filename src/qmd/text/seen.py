"""A text as it is read: without markup inside its words, and with the characters that are written by name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from qmd.text.letters import UNSEEN
from qmd.text.regex import lazy
from qmd.text.spans import blanks, is_inside_word
from qmd.types.structure import Edit, Structure

#: The most characters of a word.
_WORD = 128
_HIDDEN = "\u00ad"
_UNSEEN = lazy(f"[{UNSEEN}]")


#: The signs of which one is in every edit of a Markdown text.
_SIGNS = frozenset("*~=_<&[{\n")


def seen_markdown(text: str) -> tuple[str, str]:
    """Return what `edited` does of a part of a Markdown text whose structure is not known."""
    if _SIGNS.isdisjoint(text):
        return text, ""
    from qmd.text.markdown.reading import read  # most searches start without it

    return edited(text, read(text).structure.all_edits())


def edited(text: str, edits: Iterable[Edit]) -> tuple[str, str]:
    """Return a text as it is read in lines, and what is not seen there; "" if it is the text itself.

    Both are as long as the text. In the first, words that markup divides are whole, with signs that are not
    seen (soft hyphens) in place of the markup, and words beside it are next to each other, with blanks
    between them. The second has the markup, the pieces of divided words, and words that may be one: those
    with a hyphen at the end of a line, and with raised or lowered parts.

    Args:
        text: The text, or the text with blanks in place of parts of it.
        edits: What of it is read otherwise than it is written, in order and apart.
    """
    seen, other, at = list[str](), list[str](), 0
    spans: list[tuple[int, int]] = []
    for start, end, kind in edits:
        raw = text[start:end]
        if raw.isspace() or end > len(text):
            continue
        shown = blanks(raw)
        joined = raw
        inside = kind != "markup" and is_inside_word(text, start, end)
        if kind == "entity":
            shown = _character(raw, inside=inside)
            inside = not shown.isspace()
        elif kind == "hyphen":
            shown, joined = raw, _HIDDEN * len(raw)
        elif kind == "script" and inside:
            joined = _HIDDEN * len(raw)
        elif kind == "joined" and inside:
            shown = _HIDDEN * len(raw)
        seen += [text[at:start], shown]
        other += [text[at:start], joined]
        at = end
        spans.append(_word_around(text, start, end) if inside else (start, end))
    if not spans:
        return text, ""
    rest, before, whole = list[str](), 0, "".join([*other, text[at:]])
    for start, end in spans:
        start = max(start, before)
        rest += [blanks(whole[before:start]), whole[start:end]]
        before = max(before, end)
    rest.append(blanks(whole[before:]))
    return "".join([*seen, text[at:]]), "".join(rest)


def edited_part(text: str, edits: Sequence[Edit], start: int, end: int) -> tuple[str, str]:
    """Return what `edited` does of a part [start, end) of a text. An edit that it divides is left out."""
    inside = [
        Edit(edit.start - start, edit.end - start, edit.kind)
        for edit in edits
        if edit.start >= start and edit.end <= end
    ]
    return edited(text[start:end], inside)


@lru_cache(maxsize=8)
def edits_of(structure: Structure) -> tuple[Edit, ...]:
    """Return what is read otherwise than it is written."""
    return tuple(structure.all_edits())


def _character(entity: str, *, inside: bool) -> str:
    """Return the character of an entity, as long as it; blanks if it is no letter and not in a word."""
    from html import unescape  # most searches start without it

    character = unescape(entity)
    if character.isalnum() or _UNSEEN.fullmatch(character):
        return character[: len(entity)].ljust(len(entity), _HIDDEN)
    if inside and character in ("'", "’"):
        return character.rjust(len(entity), _HIDDEN)
    return (character if len(character) == 1 and not character.isspace() else " ").ljust(len(entity))


def _word_around(text: str, start: int, end: int) -> tuple[int, int]:
    """Extend a span to the letters and digits around it."""
    low, high = max(0, start - _WORD), end + _WORD
    while start > low and text[start - 1].isalnum():
        start -= 1
    while end < high and text[end : end + 1].isalnum():
        end += 1
    return start, end
