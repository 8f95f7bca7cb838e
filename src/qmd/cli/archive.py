"""`archive`: an archive of authors' posts, listed, read, searched and served."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from qmd.cli.command import Command, Group, fail, help_alone
from qmd.cli.options import json_option, words
from qmd.cli.serving import host_option, http_option, over_http, over_stdio, port_option, refuse_without_http
from qmd.cli.session import Session, pass_session
from qmd.cli.terminal import write_plain

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

    from qmd.engine.archive.archive import Archive, AuthorPosts, Match

data_option = click.option(
    "--data",
    metavar="DIR",
    help="The archive's folder.  [default: QMD_ARCHIVE_DIR, or as index.yml says]",
)


@click.group("archive", cls=Group)
@click.pass_context
def archive(ctx: click.Context) -> None:
    """List, read and search a downloaded archive of authors' posts.

    Its folder is as AfdianToMarkdown writes it: for each author a folder, with the author's own posts in
    "motions" and albums beside it. It needs no index. --data DIR names it, else QMD_ARCHIVE_DIR, else the key
    "archive" of index.yml.

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

    found = _opened(session, data).authors()
    if as_json:
        _show_json([{"author": name} for name in found])
    else:
        _show(rendering.authors(found))


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
    _show_posts(_opened(session, data).posts(author), as_json)


@archive.command("read", cls=Command)
@click.argument("path", required=False, metavar="[PATH]")
@click.option("--author", metavar="A", help="Read a post of this author, found by --title.")
@click.option("--title", metavar="T", help="Words that stand in the title; several matches are listed.")
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
    """Print a post: by its path in the archive, or by its author and words of its title.

    \b
    Examples:
      qmd archive read 'q9adg/motions/2020-12-15_20_10_39_一个小打算.md'
      qmd archive read --author q9adg --title 打算
    """
    from qmd.engine.archive import rendering
    from qmd.engine.archive.archive import PostText

    found = _opened(session, data).read_or_find(path, author, title)
    if not isinstance(found, PostText):
        _show_posts(found, as_json)
    elif as_json:
        _show_json(asdict(found))
    else:
        _show(rendering.post(found))


@archive.command("search", cls=Command)
@click.argument("query", nargs=-1, required=True, metavar="QUERY...")
@click.option("--author", metavar="A", help="Search the posts of this author only.")
@data_option
@json_option
@pass_session
def search(
    session: Session, query: tuple[str, ...], author: str | None, data: str | None, as_json: bool
) -> None:
    """Find the lines that contain a text as it stands, in upper or lower case.

    The first 20 are shown, each with three lines before and after. '-' reads the text from stdin.

    \b
    Examples:
      qmd archive search 疫情
      qmd archive search '一个 小打算' --author q9adg --json
    """
    from qmd.engine.archive import rendering

    found = _opened(session, data).search(words(query), author)
    if as_json:
        _show_json(
            {"query": found.query, "total": found.total, "matches": [_match(each) for each in found.shown]}
        )
    else:
        _show(rendering.matches(found))


@archive.command("mcp", cls=Command)
@http_option
@host_option
@port_option
@click.option("--insecure", is_flag=True, help="Let other machines read the whole archive.")
@data_option
@pass_session
def mcp(session: Session, /, data: str | None, http: bool, **options: Any) -> None:
    """Serve the archive to AI agents by the Model Context Protocol.

    The tools are list_authors, list_posts, read_post and search. Without --http it speaks on stdin and
    stdout.

    \b
    Examples:
      qmd archive mcp --data ~/afdian
      qmd archive mcp --data ~/afdian --http   at http://127.0.0.1:8181/mcp
    """
    if not http:
        refuse_without_http(options)
    opened = _opened(session, data)
    if http:
        over_http(session, options, _server(opened))
    else:
        over_stdio(session, "qmd archive mcp", _server(opened))


@contextmanager
def _server(archive: Archive) -> Iterator[Server[Any]]:
    from qmd.mcp.archive.server import build

    yield build(archive)


def _opened(session: Session, data: str | None) -> Archive:
    from qmd.engine.archive.opening import open_archive

    if data == "":
        fail("--data is empty")
    session.folder()
    told: set[str] = set()

    def tell(path: str, reason: str) -> None:
        # A server meets the same file at every search.
        if path not in told:
            told.add(path)
            session.note(f"left out: {path}: {reason}")

    return open_archive(data, name=session.index_name, on_problem=tell)


def _show(text: str) -> None:
    """Write to stdout, ended by a line feed."""
    write_plain(text if text.endswith("\n") else text + "\n")


def _show_json(value: Any) -> None:
    from qmd.cli.render.json import dumps

    write_plain(dumps(value))


def _show_posts(found: AuthorPosts, as_json: bool) -> None:
    from qmd.engine.archive import rendering

    if as_json:
        _show_json([asdict(post) for post in found.posts])
    else:
        _show(rendering.posts(found))


def _match(found: Match) -> dict[str, Any]:
    window = found.window
    return {
        "path": found.path,
        "line": window.line,
        "first_line": window.first_line,
        "lines": list(window.lines),
    }
