"""`archive`: list, read, search and serve an archive of authors' posts."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from qmd.cli.command import group
from qmd.cli.listening import MCP_PORT, http_option, insecure_option, listen_options, take_stdio, trust_option
from qmd.cli.options import argument, chosen_format, json_option, option, query_argument, query_text
from qmd.cli.session import Session
from qmd.cli.show import show_json
from qmd.cli.terminal import write_plain
from qmd.cli.usage import fail

if TYPE_CHECKING:
    from qmd.features.archive.archive import Archive, AuthorPosts, Match, Matches, PostText

data_option = option(
    "--data DIR", None, "The folder of the archive.  [default: QMD_ARCHIVE_DIR, or the one in index.yml]"
)


@group("archive")
def archive() -> None:
    """List, read and search a downloaded archive of authors' posts.

    An archive is a folder made by AfdianToMarkdown. It has a folder for each author, with the author's posts
    in "motions" and albums next to it. It needs no index. Name it by --data DIR, QMD_ARCHIVE_DIR, or the key
    "archive" in index.yml.

    Examples:
      qmd archive authors --data ~/afdian
      qmd archive search 关键词
      qmd archive mcp --data ~/afdian
    """


@archive.command("authors")
@data_option
@json_option
def authors(session: Session, data: str | None) -> None:
    """List the authors of the archive.

    Examples:
      qmd archive authors
      qmd archive authors --data ~/afdian --json
    """
    archive = _open(session, data)
    _show(session, archive, archive.authors())


@archive.command("posts")
@argument("author", "AUTHOR")
@data_option
@json_option
def posts(session: Session, author: str, data: str | None) -> None:
    """List an author's posts, by album and date.

    Examples:
      qmd archive posts q9adg
      qmd archive posts q9adg --json
    """
    archive = _open(session, data)
    _show(session, archive, archive.posts(author))


@archive.command("read")
@argument("path", "[PATH]")
@option("--author A", None, "Read a post by this author; needs --title.")
@option("--title T", None, "Words of the post's title; several matches are listed.")
@data_option
@json_option
def read(session: Session, path: str | None, author: str | None, title: str | None, data: str | None) -> None:
    """Print a post, named by its path in the archive, or by its author and words of its title.

    Examples:
      qmd archive read 'q9adg/motions/2020-12-15_20_10_39_一个小打算.md'
      qmd archive read --author q9adg --title 打算
    """
    archive = _open(session, data)
    _show(session, archive, archive.read_or_find(path, author, title))


@archive.command("search")
@query_argument
@option("--author A", None, "Search only the posts by this author.")
@data_option
@json_option
def search(session: Session, text: tuple[str, ...], author: str | None, data: str | None) -> None:
    """Find the lines that contain a text, in upper or lower case.

    The first 20 matches are shown, each with three lines before and after. '-' reads the text from stdin.

    Examples:
      qmd archive search 疫情
      qmd archive search '一个 小打算' --author q9adg --json
    """
    archive = _open(session, data)
    _show(session, archive, archive.search(query_text(text), author))


@archive.command("mcp")
@http_option
@listen_options(MCP_PORT)
@insecure_option
@trust_option
@data_option
def mcp(session: Session, /, data: str | None, http: bool, **options: Any) -> None:
    """Serve the archive to AI agents over the Model Context Protocol (MCP).

    The tools are list_authors, list_posts, read_post and search. Without --http the server speaks on stdin
    and stdout.

    Examples:
      qmd archive mcp --data ~/afdian
      qmd archive mcp --data ~/afdian --http   at http://127.0.0.1:8181/mcp
    """
    if not http:
        session.refuse(options, "--http")
    opened = _open(session, data, agent=True)
    streams = None if http else take_stdio(session, "qmd archive mcp")
    from qmd.cli.serving import over_http, over_stdio
    from qmd.features.archive.tools import build

    if streams is None:
        over_http(session, options, nullcontext(build(opened)))
    else:
        over_stdio(nullcontext(build(opened)), streams)


def _open(session: Session, data: str | None, *, agent: bool = False) -> Archive:
    from qmd.features.archive.archive import open_archive

    if data == "":
        fail("--data is empty")
    session.folder()
    noted: set[str] = set()

    def on_problem(path: str, reason: str) -> None:
        # A server reads the same file in every search.
        if path not in noted:
            noted.add(path)
            session.note(f"left out: {path}: {reason}")

    return open_archive(
        data, name=session.index_name, on_problem=on_problem, agent=agent or session.for_agent
    )


def _show(session: Session, archive: Archive, result: list[str] | AuthorPosts | PostText | Matches) -> None:
    """Print an answer, for people as the text that the MCP tools of the archive return."""
    from msgspec import to_builtins

    from qmd.features.archive import rendering
    from qmd.features.archive.archive import AuthorPosts, Matches, PostText

    value: Any = result
    match result:
        case AuthorPosts():
            value, text = result.posts, rendering.posts(result)
        case PostText():
            text = rendering.post(result)
        case Matches():
            value = {"query": result.query, "total": result.total, "matches": [*map(_match, result.shown)]}
            text = rendering.matches(result)
        case _:
            value, text = [{"author": name} for name in result], rendering.authors(result)
    if chosen_format() == "json":
        show_json(archive.masker.parts(to_builtins(value)) if archive.masker else value)
    else:
        text = archive.shown(text)
        write_plain(text if text.endswith("\n") else text + "\n")


def _match(match: Match) -> dict[str, Any]:
    window = match.window
    lines = {"line": window.line, "first_line": window.first_line, "lines": window.lines}
    return {"path": match.path} | lines
