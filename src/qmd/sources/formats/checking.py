"""The rules and limits under which what a reader returns becomes a document."""

from __future__ import annotations

from collections.abc import Iterator

from qmd.sources.formats import markdown
from qmd.sources.formats.base import MAX_ANCHORS, MAX_TEXT, TOO_LARGE, Unreadable
from qmd.sources.formats.registry import Reader
from qmd.text import front_matter, properties
from qmd.text.markdown.links import MAX_LINKS
from qmd.text.outline import one_line
from qmd.text.predicates import field_name
from qmd.text.values import Date, Value, WrittenNumber, read_written, shown
from qmd.types import Extracted


def checked(found: Extracted, reader: Reader, path: str, key: str) -> Extracted | Unreadable:
    """Return the content with valid text, and fields under the rules and limits of front matter.

    That of Markdown is under them already. Raises `Unreadable` for a text that is too large; a document of a
    container, which has a key, does not spoil the others: return it.
    """
    if reader.format is markdown:
        return found
    if len(found.text) > MAX_TEXT:
        large = Unreadable(TOO_LARGE, f"{len(found.text):,} characters of text")
        if key:
            return large
        raise large
    text = found.text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", " ")
    text.encode()  # fails if the text has lone surrogates
    collected = front_matter.collect(_values(found))
    fields = properties.interpreted(collected.fields, path)
    fields["format"] = (reader.format.name,)
    file_name = path.rpartition("/")[2]
    title = one_line(found.title) or one_line(file_name.rpartition(".")[0]) or file_name
    links, anchors = tuple(found.links)[:MAX_LINKS], tuple(found.anchors)[:MAX_ANCHORS]
    return Extracted(
        text,
        title,
        fields,
        links,
        anchors,
        (*found.omitted, *collected.omitted, *properties.omissions(fields)),
        found.structure if found.structure and text == found.text and found.structure.fits(text) else None,
    )


def _values(found: Extracted) -> Iterator[tuple[str, tuple[Value, ...]]]:
    for name, values in found.fields.items():
        read = (
            value
            if isinstance(value, WrittenNumber | Date)
            else front_matter.scalar(shown(value), plain=not isinstance(value, str))
            for value in map(read_written, values)
        )
        if kept := tuple(value for value in read if value is not None):
            yield field_name(name), kept
