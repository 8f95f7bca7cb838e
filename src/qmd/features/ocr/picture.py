"""Pictures: the text recognized in them, a page for each frame."""

from __future__ import annotations

from qmd.features.formats.pdf import joined
from qmd.sources.formats.base import NO_TEXT, RawFile, Unreadable
from qmd.sources.formats.recognized import seen_in
from qmd.sources.formats.writing import Writer
from qmd.types import Extracted

name = "picture"
version = 1
media_type = "text/plain"


def extract(file: RawFile) -> Extracted:
    pages = seen_in(file)
    if not any(page.text for page in pages.values()):
        raise Unreadable(NO_TEXT)
    writer = Writer("page")
    for number, page in pages.items():
        if len(pages) > 1:
            writer.anchor(number)
        writer.add(joined(page.text.split("\n")))
    omitted = tuple(f"page {number}: {page.why}" for number, page in pages.items() if page.why)
    return Extracted(writer.text, "", anchors=writer.anchors, omitted=omitted, structure=writer.structure)
