"""The archive: authors, their posts, and plain-text search over them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from itertools import islice
from typing import TYPE_CHECKING

from msgspec import Struct

from qmd.config.index_yml import load
from qmd.config.locations import Locations, locate
from qmd.config.validate import nfc, require_file_name, require_unicode
from qmd.engine.access.masks import masker_of
from qmd.engine.calls import check_values
from qmd.errors import NotFoundError, SourceError, UsageError
from qmd.features.archive.cache import TextCache
from qmd.features.archive.folder import Folder, PostFile, find_name
from qmd.features.archive.matching import MatchWindow, Needle, decode
from qmd.features.archive.posts import Post, Section, in_sections, read_name
from qmd.sources.paths import OnProblem, in_words, is_inside
from qmd.types.cancelling import Cancelled, stop_if_cancelled

if TYPE_CHECKING:
    from qmd.engine.access.masks import Masker

VARIABLE = "QMD_ARCHIVE_DIR"
#: Matches that a search shows.
MAX_MATCHES = 20


class PostText(Struct, frozen=True):
    """The text of a post. `path` is relative to the archive."""

    path: str
    text: str


class AuthorPosts(Struct, frozen=True):
    """The posts of one author by section; sections without posts are left out."""

    author: str
    sections: tuple[Section, ...]

    @property
    def posts(self) -> tuple[Post, ...]:
        """All posts, in the order of the sections."""
        return tuple(post for section in self.sections for post in section.posts)


class Match(Struct, frozen=True):
    """One matching line of a post, with the lines around it."""

    path: str
    window: MatchWindow


class Matches(Struct, frozen=True):
    """The result of a search: the first `MAX_MATCHES` matches and the number of all matches."""

    query: str
    total: int
    shown: tuple[Match, ...]


class Archive:
    """A read-only archive in a folder, which need not exist yet. Safe to use from several threads.

    Every call lists the folder again. Hidden files and files outside the folder are never listed, read or
    searched. The first search loads the texts into memory. `on_problem` is called for unreadable files. For
    agents a `masker` masks the secrets in texts.
    """

    def __init__(
        self, path: str, on_problem: OnProblem = lambda path, reason: None, *, masker: Masker | None = None
    ) -> None:
        require_file_name(path)
        self._folder = Folder(path, on_problem)
        self.masker = masker
        self.shown: Callable[[str], str] = masker.mask if masker else str
        self._cache = TextCache(on_problem, self.shown)

    def authors(self) -> list[str]:
        """Return the authors' names, sorted. Raises `NotFoundError` if the folder does not exist."""
        return [author.name for author in self._folder.authors()]

    def posts(self, author: str) -> AuthorPosts:
        """Return all posts of an author. Raises `NotFoundError` if the author is not in the archive."""
        entry = self._author(author)
        posts = (read_name(file.path) for file in self._folder.files(entry))
        return AuthorPosts(entry.name, tuple(in_sections(posts)))

    def read(self, path: str) -> PostText:
        """Return the post at a path relative to the archive.

        Raises `NotFoundError` if there is no such post in the archive, `SourceError` if it cannot be read.
        """
        require_unicode(path)
        file = self._folder.find(path)
        if file is None:
            raise NotFoundError(f"文件不存在：{path}")
        try:
            with open(file.absolute, "rb") as stream:
                return PostText(file.path, self.shown(decode(stream.read())))
        except FileNotFoundError as error:
            raise NotFoundError(f"文件不存在：{file.path}") from error
        except OSError as error:
            raise SourceError(f"cannot read {file.path}: {in_words(error)}") from error

    def find(self, author: str, title: str) -> PostText | AuthorPosts:
        """Find the post of `author` whose title contains `title`, ignoring case; list them if several do.

        Raises `NotFoundError` if the author is not in the archive, or no title matches.
        """
        require_unicode(title)
        folded = nfc(title).casefold()
        posts = [post for post in self.posts(author).posts if folded in post.title.casefold()]
        match posts:
            case []:
                raise NotFoundError(f"未找到标题包含 '{title}' 的文章")
            case [post]:
                return self.read(post.path)
        return AuthorPosts(posts[0].author, tuple(in_sections(posts)))

    def read_or_find(self, path: str | None, author: str | None, title: str | None) -> PostText | AuthorPosts:
        """Call `read` if there is a path, otherwise `find`. Raises `UsageError` if arguments are missing."""
        if path:
            return self.read(path)
        if author is None or not title:
            raise UsageError("请提供 path 或 author+title 参数")
        return self.find(author, title)

    def search(
        self, query: str, author: str | None = None, *, cancelled: Cancelled = lambda: False
    ) -> Matches:
        """Find the lines of posts that contain `query`, ignoring case, sorted by author, path and line.

        Raises `UsageError` if the query is empty, `NotFoundError` if there is no such author, and
        `CancelledError` if `cancelled` returns true; it is called before each post.
        """
        if not query.strip():
            raise UsageError("请提供搜索关键词")
        needle = Needle(query)
        shown: list[Match] = []
        total = 0
        for entry in self._folders(author):
            for path, text in self._cache.texts(entry.name, self._folder.files(entry)):
                stop_if_cancelled(cancelled)
                count = needle.count(text)
                if count and len(shown) < MAX_MATCHES:
                    windows = islice(needle.windows(text), MAX_MATCHES - len(shown))
                    shown += [Match(path, window) for window in windows]
                total += count
        return Matches(query, total, tuple(shown))

    def _folders(self, author: str | None) -> list[PostFile]:
        if author is not None:
            return [self._author(author)]
        authors = self._folder.authors()
        self._cache.retain({entry.name for entry in authors})
        return authors

    def _author(self, name: str) -> PostFile:
        require_unicode(name)
        entry = find_name(self._folder.authors(), name)
        if entry is None:
            raise NotFoundError(f"作者不存在：{name}")
        return entry


def open_archive(
    data: str | os.PathLike[str] | None = None,
    *,
    name: str | None = None,
    environ: Mapping[str, str] | None = None,
    on_problem: OnProblem = lambda path, reason: None,
    agent: bool = False,
) -> Archive:
    """Open the archive in the folder `data`, else `QMD_ARCHIVE_DIR`, else `archive:` of `index.yml`.

    Args:
        data: The archive's folder.
        name: The index whose `index.yml` is read.
        environ: Environment variables; by default those of the process.
        on_problem: Called with (path, reason) for each file that cannot be read.
        agent: Whether secrets in texts are masked.

    Raises:
        UsageError: If no archive is named.
        ConfigError: If `index.yml` cannot be read.
    """
    check_values(open_archive.__annotations__, {"data": data, "name": name})
    variables = os.environ if environ is None else environ
    path = os.fspath(data) if data is not None else variables.get(VARIABLE, "").strip()
    locations = locate(name, variables, os.getcwd()) if agent or not path else None
    folder = os.path.expanduser(path) if path or locations is None else _configured(locations)
    masker = masker_of(load(locations.config)) if agent and locations else None
    return Archive(folder, on_problem, masker=masker)


def _configured(locations: Locations) -> str:
    folder = load(locations.config).archive
    if folder is None:
        raise UsageError(
            "no archive folder is set",
            f"give --data DIR, set {VARIABLE}, or write 'archive: DIR' into index.yml",
        )
    if locations.project is not None and not is_inside(
        os.path.realpath(folder), os.path.realpath(locations.project)
    ):
        # A project's file may come with a checkout, so the user may not have written it.
        raise UsageError(
            f"{locations.config} names an archive outside its project: {folder}",
            f"name it yourself: --data DIR or {VARIABLE}",
        )
    return folder
