"""Posts and their metadata, read from file names."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from msgspec import Struct

from qmd.text.authorship import MOTIONS
from qmd.text.dates import stamped

SUFFIX = ".md"


class Post(Struct, frozen=True):
    """One post. `path` is relative to the archive, with forward slashes, in NFC.

    `album` is the folder below the author, None for the author's own posts. `published` looks like
    `2020-12-15T20:10:39`, without a time zone; None if the file name has no date.
    """

    path: str
    author: str
    album: str | None
    title: str
    published: str | None

    @property
    def date(self) -> str | None:
        """The day, `2020-12-15`."""
        return None if self.published is None else self.published[:10]


class Section(Struct, frozen=True):
    """The posts of one album, or the author's own posts if `album` is None."""

    album: str | None
    posts: tuple[Post, ...]


def read_name(path: str) -> Post:
    """Parse the path of a post's file, which begins with the author's folder."""
    author, *folders, name = path.split("/")
    album = None if folders == [MOTIONS] else "/".join(folders)
    stem = name.removesuffix(SUFFIX)
    if dated := stamped(stem):
        published, title = dated
        return Post(path, author, album, title or stem, published)
    return Post(path, author, album, stem, None)


def in_sections(posts: Iterable[Post]) -> list[Section]:
    """Group posts by album, the author's own first, each sorted by date, then path, undated posts last."""
    ordered = sorted(posts, key=_sort_key)
    return [Section(album, tuple(group)) for album, group in groupby(ordered, key=lambda post: post.album)]


def _sort_key(post: Post) -> tuple[object, ...]:
    return post.album is not None, post.album or "", post.published is None, post.published or "", post.path
