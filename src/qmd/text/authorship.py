"""Author and date of a document, from its path, its front matter and the modification time of its file."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from typing import Literal

from qmd.text import dates
from qmd.text.values import Value, shown

#: In an archive of posts, the folder of an author's own posts. All other folders of the author are albums.
MOTIONS = "motions"


def authors_of(paths: Iterable[str]) -> frozenset[str]:
    """Return the top-level folders that belong to authors in a downloaded archive.

    The folder of an author contains `motions/`, or at any depth a file named like a post,
    `2024-03-07_10_00_00_Title.md`.
    """
    authors: set[str] = set()
    for path in paths:
        top, slash, rest = path.partition("/")
        folder, deeper, _ = rest.partition("/")
        if not slash or not deeper or top in authors:
            continue
        if folder == MOTIONS or dates.stamped(path.rpartition("/")[2]):
            authors.add(top)
    return frozenset(authors)


def stated(fields: Mapping[str, tuple[Value, ...]]) -> tuple[str, str]:
    """Return the first author and the date that the fields of a content state, each "" if there is none."""
    first = (fields.get(name, ("",))[0] for name in ("author", "date"))
    author, date = map(shown, first)
    return author, date


def author_of(path: str, stated: str, authors: frozenset[str]) -> str:
    """Return the author of a document, or "".

    Args:
        path: the path inside the collection.
        stated: the author in the front matter, or "".
        authors: the folders of authors, from `authors_of`.
    """
    if stated:
        return stated
    top, _, rest = path.partition("/")
    return top if top in authors and "/" in rest else ""


def author_key(author: str) -> str:
    """Return a key to compare authors, without differences of case and Unicode composition."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", author).casefold())


#: Where the date of a document comes from: its name, its text, git, or the time of its file.
DateOrigin = Literal["name", "text", "git", "file"]


def date_of(path: str, stated: str, mtime_ns: int, committed: int | None = None) -> tuple[str, DateOrigin]:
    """Return the date of a document, and where it comes from.

    A name that begins with a date comes first, then the date in the text, one elsewhere in the path, the last
    commit, and the modification time.

    Args:
        path: the path inside the collection.
        stated: the date in the front matter, or "".
        mtime_ns: the modification time, in nanoseconds since the epoch.
        committed: the time of the last commit of the file in seconds since the epoch, if it is as in git.
    """
    from qmd.text.dates.names import in_path  # most commands read no file

    if named := dates.in_name(path.rpartition("/")[2]):
        return named, "name"
    if stated:
        return stated, "text"
    if named := in_path(path):
        return named, "name"
    if committed is not None:
        return dates.of_mtime(committed * 1_000_000_000), "git"
    return dates.of_mtime(mtime_ns), "file"
