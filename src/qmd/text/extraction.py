"""Extract fields, links and sections from a Markdown document."""

from __future__ import annotations

from collections.abc import Mapping

from qmd.text import front_matter, links
from qmd.text.markdown import file_title, properties
from qmd.text.predicates import Value, ValueType, key_of
from qmd.text.tokens import index_form
from qmd.types import Extracted

#: The field `format` of Markdown documents.
MARKDOWN = "markdown"
#: The classes of values in a store.
_STORED: frozenset[type] = frozenset({str, float, bool})
#: Fields that a store has of every document, whatever its content, with their types.
OF_FILE: Mapping[str, ValueType] = {
    "collection": "text",
    "path": "text",
    "file": "text",
    "title": "text",
    "date": "date",
    "modified": "date",
    "size": "number",
}


def extract(text: str, path: str) -> Extracted:
    """Return the content of a Markdown document. Never raises an exception.

    Args:
        text: The text, with line feeds as line ends.
        path: The path of the file, for its name and suffix.
    """
    head = front_matter.of(text)
    inline = links.find(text, head.body)
    found = properties(text, path, head)
    fields: dict[str, tuple[Value, ...]] = dict(head.fields)
    if found.author:
        fields.setdefault("author", (found.author,))
    if found.date:
        fields["date"] = (found.date,)
    tags = dict.fromkeys((*map(str, fields.get("tag", ())), *inline.tags))
    if tags:
        fields["tag"] = tuple(tags)
    return Extracted(
        text,
        found.title,
        fields,
        inline.links,
        omitted=(*head.omitted, *inline.omitted),
    )


def _unique(values: tuple[Value, ...]) -> tuple[Value, ...]:
    """Return the first of values that are equal when they are compared, so that each document counts once.

    Numbers become floats.
    """
    if len(values) == 1 and values[0].__class__ in _STORED:
        return values
    first: dict[object, Value] = {}
    for value in values:
        first.setdefault(key_of(value), value if isinstance(value, str | bool) else float(value))
    return tuple(first.values())


def stored_fields(
    fields: Mapping[str, tuple[Value, ...]], path: str, author: str
) -> dict[str, tuple[Value, ...]]:
    """Return the fields that a store keeps of a document, beside those of the file, without repetitions.

    Args:
        fields: The fields of its content.
        path: Its path, for the suffix.
        author: Its author, if a folder says so and the content does not.
    """
    stored = {name: _unique(values) for name, values in fields.items() if name not in OF_FILE}
    if author:
        stored.setdefault("author", (author,))
    stem, dot, suffix = path.rpartition("/")[2].rpartition(".")
    suffix = suffix.partition("#")[0]  # a key follows if the file contains several documents
    if stem and dot and suffix:
        stored["ext"] = (suffix,)
    stored.setdefault("format", (MARKDOWN,))
    return stored


def searched_title(title: str, fields: Mapping[str, tuple[Value, ...]], path: str) -> str:
    """Return the title, the aliases and the name of the file, a line each, as they are searched."""
    names = [title, *sorted(alias for alias in fields.get("alias", ()) if isinstance(alias, str))]
    file = file_title(path)
    if index_form(file) not in map(index_form, names):
        names.append(file)
    return "\n".join(names)
