"""What a store keeps to find a text by its words: made where the text is read, before a store is asked."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import MsgspecError

from qmd.text.values import Value
from qmd.types import Indexed
from qmd.types.structure import Structure


def indexed(
    title: str, fields: Mapping[str, tuple[Value, ...]], text: str, path: str, structure: Structure | None
) -> Indexed:
    """Return the terms of a document, and the structure of its text; that of Markdown if it is None."""
    from qmd.text.extraction import searched_title  # searches start without it
    from qmd.text.layout import indexed_with_structure, of_markdown

    if structure is None:
        structure = of_markdown(text)
    return Indexed(*indexed_with_structure(searched_title(title, fields, path), text, path, structure))


def belongs(made: Indexed, text: str) -> bool:
    """Tell whether the structure that another process has made may be that of a text."""
    from qmd.text.layout import unpack

    try:
        return unpack(made.structure).fits(text)
    except MsgspecError:
        return False
