"""OpenDocument texts (ODT) by odfdo: headings, lists, tables, notes and comments. Images are left out."""

from __future__ import annotations

import io
import re
from typing import Any

from qmd.features.formats.archive import open_zip, read_member
from qmd.sources.formats.base import DAMAGED, ENCRYPTED, RawFile, Unreadable
from qmd.sources.formats.writing import Writer, properties
from qmd.text.outline import one_line
from qmd.types import Extracted

name = "odt"
version = 2
media_type = "text/markdown"

_IMAGE = re.compile(r"!\[[^\[\]\n]*+\]\((?:[^()\n]|\([^()\n]*+\))*+\)")
#: Marks inside of words, which would split them.
_ESCAPED = re.compile(r"\\([*_])")
_TITLE = re.compile(r"^# (.+)", re.M)


def extract(file: RawFile) -> Extracted:
    from odfdo import Document

    archive = open_zip(file.data)
    try:
        manifest = read_member(archive, "META-INF/manifest.xml")
    except KeyError as error:
        raise Unreadable(DAMAGED, "not an OpenDocument file") from error
    if b"encryption-data" in manifest:
        raise Unreadable(ENCRYPTED)
    document: Any = Document(io.BytesIO(file.data))
    text = document.to_markdown()
    if not isinstance(text, str):
        raise Unreadable(DAMAGED, "not a text document")
    writer = Writer("page")
    writer.add_markdown(_ESCAPED.sub(r"\1", _IMAGE.sub("", text)))
    comments = [_comment(each) for each in document.body.get_annotations()]
    if any(comments):
        writer.add_markdown("## Comments")
        writer.add("\n\n".join(filter(None, comments)))
    meta = document.meta
    first = _TITLE.search(text)
    title = one_line(meta.title or "") or one_line(first[1] if first else "")
    date = meta.date.isoformat() if meta.date else ""
    fields = properties(meta.initial_creator or meta.creator, date, meta.keyword)
    return Extracted(writer.text, title, fields, structure=writer.structure)


def _comment(annotation: Any) -> str:
    """Return the text of a comment, after its author."""
    body, author = (annotation.note_body or "").strip(), one_line(annotation.creator or "")
    return f"{author}: {body}" if author and body else body
