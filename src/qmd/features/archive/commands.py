"""The rows of `archive`: list, read, search and serve an archive of authors' posts."""

from __future__ import annotations

from qmd.cli.command import group
from qmd.cli.options import all_formats, argument, json_option, option, query_argument
from qmd.cli.server import MCP_PORT, http_option, insecure_option, listen_options, trust_option

_ANSWERS = "qmd.features.archive.answers"
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


@archive.command("authors", runs=f"{_ANSWERS}:authors", agents=True)
@data_option
@all_formats
def authors() -> None:
    """List the authors of the archive.

    Examples:
      qmd archive authors
      qmd archive authors --data ~/afdian --json
    """


@archive.command("posts", runs=f"{_ANSWERS}:posts", agents=True)
@argument("author", "AUTHOR")
@data_option
@all_formats
def posts() -> None:
    """List an author's posts, by album and date.

    Examples:
      qmd archive posts q9adg
      qmd archive posts q9adg --json
    """


@archive.command("read", runs=f"{_ANSWERS}:read", agents=True)
@argument("path", "[PATH]")
@option("--author A", None, "Read a post by this author; needs --title.")
@option("--title T", None, "Words of the post's title; several matches are listed.")
@data_option
@json_option
def read() -> None:
    """Print a post, named by its path in the archive, or by its author and words of its title.

    Examples:
      qmd archive read 'q9adg/motions/2020-12-15_20_10_39_一个小打算.md'
      qmd archive read --author q9adg --title 打算
    """


@archive.command("search", runs=f"{_ANSWERS}:search", agents=True)
@query_argument
@option("--author A", None, "Search only the posts by this author.")
@data_option
@all_formats
def search() -> None:
    """Find the lines that contain a text, in upper or lower case.

    The first 20 matches are shown, each with three lines before and after. '-' reads the text from stdin.

    Examples:
      qmd archive search 疫情
      qmd archive search '一个 小打算' --author q9adg --json
    """


@archive.command("mcp", runs=f"{_ANSWERS}:mcp", agents=True)
@http_option
@listen_options(MCP_PORT)
@insecure_option
@trust_option
@data_option
def mcp() -> None:
    """Serve the archive to AI agents over the Model Context Protocol (MCP).

    The tools are list_authors, list_posts, read_post and search. Without --http the server speaks on stdin
    and stdout.

    Examples:
      qmd archive mcp --data ~/afdian
      qmd archive mcp --data ~/afdian --http   at http://127.0.0.1:8181/mcp
    """
