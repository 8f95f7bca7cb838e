"""`archive`: list, read, search and serve an archive of authors' posts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from qmd.cli.command import Group, fail
from qmd.cli.options import json_option, query_argument, query_text, refuse
from qmd.cli.serving import (
    MCP_PORT,
    http_option,
    insecure_option,
    listen_options,
    over_http,
    over_stdio,
)
from qmd.cli.session import Session
from qmd.cli.show import show_json
from qmd.cli.terminal import write_plain
from qmd.engine.archive import rendering
from qmd.engine.archive.archive import Archive, AuthorPosts, PostText, open_archive

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

data_option = click.option(
    "--data",
    metavar="DIR",
    help="The folder of the archive.  [default: QMD_ARCHIVE_DIR, or the one in index.yml]",
)


@click.group("archive", cls=Group)
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


@archive.subcommand("authors")
@data_option
@json_option
def authors(session: Session, data: str | None, as_json: bool) -> None:
    """List the authors of the archive.

    Examples:
      qmd archive authors
      qmd archive authors --data ~/afdian --json
    """
    names = _open(session, data).authors()
    if as_json:
        show_json([{"author": name} for name in names])
    else:
        _show(rendering.authors(names))


@archive.subcommand("posts")
@click.argument("author", metavar="AUTHOR")
@data_option
@json_option
def posts(session: Session, author: str, data: str | None, as_json: bool) -> None:
    """List an author's posts, by album and date.

    Examples:
      qmd archive posts q9adg
      qmd archive posts q9adg --json
    """
    _show_posts(_open(session, data).posts(author), as_json)


@archive.subcommand("read")
@click.argument("path", required=False, metavar="[PATH]")
@click.option("--author", metavar="A", help="Read a post by this author; needs --title.")
@click.option("--title", metavar="T", help="Words of the post's title; several matches are listed.")
@data_option
@json_option
def read(
    session: Session, path: str | None, author: str | None, title: str | None, data: str | None, as_json: bool
) -> None:
    """Print a post, named by its path in the archive, or by its author and words of its title.

    Examples:
      qmd archive read 'q9adg/motions/2020-12-15_20_10_39_一个小打算.md'
      qmd archive read --author q9adg --title 打算
    """
    from qmd.engine.archive import rendering

    result = _open(session, data).read_or_find(path, author, title)
    if not isinstance(result, PostText):
        _show_posts(result, as_json)
    elif as_json:
        show_json(result)
    else:
        _show(rendering.post(result))


@archive.subcommand("search")
@query_argument
@click.option("--author", metavar="A", help="Search only the posts by this author.")
@data_option
@json_option
def search(
    session: Session, text: tuple[str, ...], author: str | None, data: str | None, as_json: bool
) -> None:
    """Find the lines that contain a text, in upper or lower case.

    The first 20 matches are shown, each with three lines before and after. '-' reads the text from stdin.

    Examples:
      qmd archive search 疫情
      qmd archive search '一个 小打算' --author q9adg --json
    """
    result = _open(session, data).search(query_text(text), author)
    if as_json:
        names = ("line", "first_line", "lines")
        matches = [
            {"path": match.path} | {name: getattr(match.window, name) for name in names}
            for match in result.shown
        ]
        show_json({"query": result.query, "total": result.total, "matches": matches})
    else:
        _show(rendering.matches(result))


@archive.subcommand("mcp")
@http_option
@listen_options(MCP_PORT)
@insecure_option
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
        refuse(options, "--http")
    context = _server(_open(session, data))
    if http:
        over_http(session, options, context)
    else:
        over_stdio(session, "qmd archive mcp", context)


@contextmanager
def _server(archive: Archive) -> Iterator[Server[Any]]:
    from qmd.mcp.archive import build

    yield build(archive)


def _open(session: Session, data: str | None) -> Archive:
    if data == "":
        fail("--data is empty")
    session.folder()
    noted: set[str] = set()

    def on_problem(path: str, reason: str) -> None:
        # A server reads the same file in every search.
        if path not in noted:
            noted.add(path)
            session.note(f"left out: {path}: {reason}")

    return open_archive(data, name=session.index_name, on_problem=on_problem)


def _show(text: str) -> None:
    """Write to stdout, with a line feed at the end."""
    write_plain(text if text.endswith("\n") else text + "\n")


def _show_posts(posts: AuthorPosts, as_json: bool) -> None:
    if as_json:
        show_json(posts.posts)
    else:
        _show(rendering.posts(posts))
