"""The archive: authors, their posts, and plain-text search over them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from qmd.config.validate import nfc, require_file_name, require_unicode
from qmd.engine.archive.cache import TextCache
from qmd.engine.archive.folder import Entry, Folder, find_name
from qmd.engine.archive.matching import Needle, Window, decode
from qmd.engine.archive.posts import Post, Section, in_sections, read_name
from qmd.errors import NotFoundError, SourceError, UsageError
from qmd.models.base import Cancelled, CancelledError
from qmd.sources.problems import OnProblem, in_words

#: Matches that a search shows.
MAX_MATCHES = 20


@dataclass(frozen=True, slots=True)
class PostText:
    """The text of a post. `path` is relative to the archive."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class AuthorPosts:
    """The posts of one author by section; sections without posts are left out."""

    author: str
    sections: tuple[Section, ...]

    @property
    def posts(self) -> tuple[Post, ...]:
        """All posts, in the order of the sections."""
        return tuple(post for section in self.sections for post in section.posts)


@dataclass(frozen=True, slots=True)
class Match:
    """One matching line of a post, with the lines around it."""

    path: str
    window: Window


@dataclass(frozen=True, slots=True)
class Matches:
    """The result of a search: the first `MAX_MATCHES` matches and the number of all matches."""

    query: str
    total: int
    shown: tuple[Match, ...]


class Archive:
    """A read-only archive in a folder, which need not exist yet. Safe to use from several threads.

    Every call lists the folder again. Hidden files and files outside the folder are never listed, read or
    searched. The first search loads the texts into memory. `on_problem` is called for unreadable files.
    """

    def __init__(self, path: str, on_problem: OnProblem = lambda path, reason: None) -> None:
        require_file_name(path)
        self._folder = Folder(path, on_problem)
        self._cache = TextCache(on_problem)

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

        Raises:
            NotFoundError: If there is no such post, or the path leads outside the archive.
            SourceError: If the file cannot be read.
        """
        require_unicode(path)
        file = self._folder.find(path)
        if file is None:
            raise NotFoundError(f"文件不存在：{path}")
        return self._read(file)

    def find(self, author: str, title: str) -> PostText | AuthorPosts:
        """Find the post of `author` whose title contains `title`, ignoring case.

        Returns:
            The post's text, or the list of matching posts if there are several.

        Raises:
            NotFoundError: If the author is not in the archive, or no title matches.
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

        Args:
            query: The text to find; it is not parsed.
            author: Search only this author's posts.
            cancelled: Called before each post; the search ends if it returns true.

        Raises:
            UsageError: If the query is empty.
            NotFoundError: If the author is not in the archive.
            CancelledError: If the search was cancelled.
        """
        if not query.strip():
            raise UsageError("请提供搜索关键词")
        needle = Needle(query)
        shown: list[Match] = []
        total = 0
        for entry in self._folders(author):
            for path, text in self._cache.texts(entry.name, self._folder.files(entry)):
                if cancelled():
                    raise CancelledError
                count = needle.count(text)
                if count and len(shown) < MAX_MATCHES:
                    windows = islice(needle.windows(text), MAX_MATCHES - len(shown))
                    shown += [Match(path, window) for window in windows]
                total += count
        return Matches(query, total, tuple(shown))

    def _folders(self, author: str | None) -> list[Entry]:
        if author is not None:
            return [self._author(author)]
        authors = self._folder.authors()
        self._cache.retain({entry.name for entry in authors})
        return authors

    def _author(self, name: str) -> Entry:
        require_unicode(name)
        entry = find_name(self._folder.authors(), name)
        if entry is None:
            raise NotFoundError(f"作者不存在：{name}")
        return entry

    @staticmethod
    def _read(file: Entry) -> PostText:
        try:
            with open(file.absolute, "rb") as stream:
                return PostText(file.path, decode(stream.read()))
        except FileNotFoundError as error:
            raise NotFoundError(f"文件不存在：{file.path}") from error
        except OSError as error:
            raise SourceError(f"cannot read {file.path}: {in_words(error)}") from error
