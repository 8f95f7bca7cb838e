"""The archive: authors, their posts, and plain-text search over them."""

from __future__ import annotations

from dataclasses import dataclass

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
    """A post, read. `path` is relative to the archive."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class AuthorPosts:
    """Posts of one author, in sections; a section without posts is left out."""

    author: str
    sections: tuple[Section, ...]

    @property
    def posts(self) -> tuple[Post, ...]:
        """All of them, in the order of the sections."""
        return tuple(post for section in self.sections for post in section.posts)


@dataclass(frozen=True, slots=True)
class Match:
    """One matching line of a post, with those around it."""

    path: str
    window: Window


@dataclass(frozen=True, slots=True)
class Matches:
    """What a search found: the first of the matches, and how many there are."""

    query: str
    total: int
    shown: tuple[Match, ...]


class Archive:
    """The archive in a folder, which need not exist yet. Reads only; may be used from several threads.

    Every call looks at the folder anew, and nothing hidden or outside it is ever listed, read or searched.
    Texts are kept in memory from the first search on. `on_problem` hears of files that cannot be read.
    """

    def __init__(self, path: str, on_problem: OnProblem = lambda path, reason: None) -> None:
        require_file_name(path)
        self._folder = Folder(path, on_problem)
        self._shelf = TextCache(on_problem)

    def authors(self) -> list[str]:
        """The authors' names, in order. Raises `NotFoundError` where the folder does not exist."""
        return [author.name for author in self._folder.authors()]

    def posts(self, author: str) -> AuthorPosts:
        """All posts of an author. Raises `NotFoundError` for one that there is not."""
        entry = self._author(author)
        posts = (read_name(file.path) for file in self._folder.files(entry))
        return AuthorPosts(entry.name, tuple(in_sections(posts)))

    def read(self, path: str) -> PostText:
        """The post at a path relative to the archive.

        Raises `NotFoundError` for one that there is not, or that leads outside, `SourceError` for one that
        cannot be read.
        """
        require_unicode(path)
        file = self._folder.find(path)
        if file is None:
            raise NotFoundError(f"文件不存在：{path}")
        return self._read(file)

    def find(self, author: str, title: str) -> PostText | AuthorPosts:
        """The post whose title contains a text, in any case; where there are several, which they are.

        Raises `NotFoundError` for an author that there is not, and where no title matches.
        """
        require_unicode(title)
        wanted = nfc(title).casefold()
        posts = [post for post in self.posts(author).posts if wanted in post.title.casefold()]
        match posts:
            case []:
                raise NotFoundError(f"未找到标题包含 '{title}' 的文章")
            case [post]:
                return self.read(post.path)
        return AuthorPosts(posts[0].author, tuple(in_sections(posts)))

    def read_or_find(self, path: str | None, author: str | None, title: str | None) -> PostText | AuthorPosts:
        """As `read` where there is a path, else as `find`. Raises `UsageError` where neither can be."""
        if path:
            return self.read(path)
        if author is None or not title:
            raise UsageError("请提供 path 或 author+title 参数")
        return self.find(author, title)

    def search(
        self, query: str, author: str | None = None, *, cancelled: Cancelled = lambda: False
    ) -> Matches:
        """The lines of posts that contain a text, in any case, by author, path and line.

        Raises `UsageError` for an empty query, `NotFoundError` for an author that there is not, and
        `CancelledError` once `cancelled()` is true.
        """
        if not query.strip():
            raise UsageError("请提供搜索关键词")
        needle = Needle(query)
        shown: list[Match] = []
        total = 0
        for entry in self._searched(author):
            for path, text in self._shelf.texts(entry.name, self._folder.files(entry)):
                if cancelled():
                    raise CancelledError
                found = needle.count(text)
                if found and len(shown) < MAX_MATCHES:
                    windows = zip(needle.windows(text), range(MAX_MATCHES - len(shown)), strict=False)
                    shown += [Match(path, window) for window, _ in windows]
                total += found
        return Matches(query, total, tuple(shown))

    def _searched(self, author: str | None) -> list[Entry]:
        if author is not None:
            return [self._author(author)]
        authors = self._folder.authors()
        self._shelf.keep_only({entry.name for entry in authors})
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
            with open(file.absolute, "rb") as opened:
                return PostText(file.path, decode(opened.read()))
        except FileNotFoundError as error:
            raise NotFoundError(f"文件不存在：{file.path}") from error
        except OSError as error:
            raise SourceError(f"cannot read {file.path}: {in_words(error)}") from error
