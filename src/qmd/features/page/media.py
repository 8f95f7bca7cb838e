"""Files that are shown inside of documents: their elements, sizes and captions."""

from __future__ import annotations

import re
from collections.abc import Mapping

_SIZE = re.compile(r"(?:(.{0,1000})\|)?[ ]*(\d{1,4})(?:x(\d{1,4}))?[ ]*", re.S)
#: The elements of files that are shown inside a document, by suffix.
MEDIA: Mapping[str, str] = {
    **dict.fromkeys("png jpg jpeg gif webp avif svg bmp ico".split(), "img"),
    **dict.fromkeys("mp3 mpga wav ogg oga opus m4a flac".split(), "audio"),
    **dict.fromkeys("mp4 webm ogv mov".split(), "video"),
}


def media(path: str) -> str:
    """Return the element that shows a file in a document: `img`, `audio` or `video`; "" if none does."""
    return MEDIA.get(path.rpartition(".")[2].lower(), "")


def sized(text: str) -> tuple[str, dict[str, str]]:
    """Return the caption of an image, and its width and height: `caption|600`, `600x400` or a caption."""
    match = _SIZE.fullmatch(text)
    if match is None:
        return text, {}
    sizes = {"width": match[2], "height": match[3]}
    return match[1] or "", {name: size for name, size in sizes.items() if size}
