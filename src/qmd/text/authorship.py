"""Who wrote a document, and when: by its path, by its front matter, by its file's time."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from qmd.text import dates

#: In an archive of authors' posts, the folder of an author's own posts; every other one is an album.
MOTIONS = "motions"


def authors_of(paths: Iterable[str]) -> frozenset[str]:
    """The top folders that are authors', as a downloaded archive has them.

    Those that hold `motions/`, or deeper down a file with the name of a post, `2024-03-07_10_00_00_Title.md`.
    """
    found: set[str] = set()
    for path in paths:
        top, slash, rest = path.partition("/")
        folder, deeper, _ = rest.partition("/")
        if not slash or not deeper or top in found:
            continue
        if folder == MOTIONS or dates.stamped(path.rpartition("/")[2]):
            found.add(top)
    return frozenset(found)


def author_of(path: str, said: str, authors: frozenset[str]) -> str:
    """The author that the front matter names (`said`), else the one in whose folders it lies, else ""."""
    if said:
        return said
    top, _, rest = path.partition("/")
    return top if top in authors and "/" in rest else ""


def author_key(author: str) -> str:
    """What is the same for two spellings of an author that differ in case or composition alone."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", author).casefold())


def date_of(path: str, said: str, mtime_ns: int) -> str:
    """When it was written, by the file's name, else the front matter (`said`), else the file's time."""
    return dates.in_name(path.rpartition("/")[2]) or said or dates.of_mtime(mtime_ns)
