"""`archive`: list, read, search and serve an archive of authors' posts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from qmd.cli.command import Command, Group, fail, help_alone
from qmd.cli.options import json_option
from qmd.cli.search_options import query_argument, query_text
from qmd.cli.serving import (
    MCP_PORT,
    host_option,
    http_option,
    insecure_option,
    over_http,
    over_stdio,
    port_option,
    refuse,
)
from qmd.cli.session import Session, pass_session
from qmd.cli.show import show_json
from qmd.cli.terminal import write_plain

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

    from qmd.engine.archive.archive import Archive, AuthorPosts, Match

data_option = click.option(
    "--data",
    metavar="DIR",
    help="The folder of the archive.  [default: QMD_ARCHIVE_DIR, or the one in index.yml]",
)


@click.group("archive", cls=Group)
@click.pass_context
def archive(ctx: click.Context) -> None:
    """List, read and search a downloaded archive of authors' posts.

    An archive is a folder made by AfdianToMarkdown. It has a folder for each author, with the author's posts
    in "motions" and albums next to it. It needs no index. Name it by --data DIR, QMD_ARCHIVE_DIR, or the key
    "archive" in index.yml.

    \b
    Examples:
      qmd archive authors --data ~/afdian
      qmd archive search 关键词
      qmd archive mcp --data ~/afdian
    """
    help_alone(ctx)


@archive.command("authors", cls=Command)
@data_option
@json_option
@pass_session
def authors(session: Session, data: str | None, as_json: bool) -> None:
    """List the authors of the archive.

    \b
    Examples:
      qmd archive authors
      qmd archive authors --data ~/afdian --json
    """
    from qmd.engine.archive import rendering

    names = _open(session, data).authors()
    if as_json:
        show_json([{"author": name} for name in names])
    else:
        _show(rendering.authors(names))


@archive.command("posts", cls=Command)
@click.argument("author", metavar="AUTHOR")
@data_option
@json_option
@pass_session
def posts(session: Session, author: str, data: str | None, as_json: bool) -> None:
    """List an author's posts, by album and date.

    \b
    Examples:
      qmd archive posts q9adg
      qmd archive posts q9adg --json
    """
    _show_posts(_open(session, data).posts(author), as_json)


@archive.command("read", cls=Command)
@click.argument("path", required=False, metavar="[PATH]")
@click.option("--author", metavar="A", help="Read a post by this author; needs --title.")
@click.option("--title", metavar="T", help="Words of the post's title; several matches are listed.")
@data_option
@json_option
@pass_session
def read(
    session: Session,
    path: str | None,
    author: str | None,
    title: str | None,
    data: str | None,
    as_json: bool,
) -> None:
    """Print a post, named by its path in the archive, or by its author and words of its title.

    \b
    Examples:
      qmd archive read 'q9adg/motions/2020-12-15_20_10_39_一个小打算.md'
      qmd archive read --author q9adg --title 打算
    """
    from qmd.engine.archive import rendering
    from qmd.engine.archive.archive import PostText

    result = _open(session, data).read_or_find(path, author, title)
    if not isinstance(result, PostText):
        _show_posts(result, as_json)
    elif as_json:
        show_json(asdict(result))
    else:
        _show(rendering.post(result))


@archive.command("search", cls=Command)
@query_argument
@click.option("--author", metavar="A", help="Search only the posts by this author.")
@data_option
@json_option
@pass_session
def search(
    session: Session, text: tuple[str, ...], author: str | None, data: str | None, as_json: bool
) -> None:
    """Find the lines that contain a text, in upper or lower case.

    The first 20 matches are shown, each with three lines before and after. '-' reads the text from stdin.

    \b
    Examples:
      qmd archive search 疫情
      qmd archive search '一个 小打算' --author q9adg --json
    """
    from qmd.engine.archive import rendering

    result = _open(session, data).search(query_text(text), author)
    if as_json:
        matches = [_match_as_json(match) for match in result.shown]
        show_json({"query": result.query, "total": result.total, "matches": matches})
    else:
        _show(rendering.matches(result))


@archive.command("mcp", cls=Command)
@http_option
@host_option
@port_option(MCP_PORT)
@insecure_option
@data_option
@pass_session
def mcp(session: Session, /, data: str | None, http: bool, **options: Any) -> None:
    """Serve the archive to AI agents over the Model Context Protocol (MCP).

    The tools are list_authors, list_posts, read_post and search. Without --http the server speaks on stdin
    and stdout.

    \b
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
    from qmd.engine.archive.archive import open_archive

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
    from qmd.engine.archive import rendering

    if as_json:
        show_json([asdict(post) for post in posts.posts])
    else:
        _show(rendering.posts(posts))


def _match_as_json(match: Match) -> dict[str, Any]:
    window = match.window
    return {
        "path": match.path,
        "line": window.line,
        "first_line": window.first_line,
        "lines": list(window.lines),
    }
