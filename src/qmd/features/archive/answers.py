"""The answers of `archive`, as text for people and as JSON."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from msgspec import to_builtins

from qmd.cli.listening import take_stdio
from qmd.cli.options import chosen_format, query_text
from qmd.cli.session import Session
from qmd.cli.show import show_json, show_listing
from qmd.cli.terminal import write_plain
from qmd.cli.usage import fail
from qmd.features.archive import rendering
from qmd.features.archive.archive import Archive, AuthorPosts, Match, Matches, PostText, open_archive
from qmd.features.archive.posts import Post


def authors(session: Session, data: str | None) -> None:
    """List the authors of the archive."""
    archive = _open(session, data)
    _show(session, archive, archive.authors())


def posts(session: Session, author: str, data: str | None) -> None:
    """List an author's posts, by album and date."""
    archive = _open(session, data)
    _show(session, archive, archive.posts(author))


def read(session: Session, path: str | None, author: str | None, title: str | None, data: str | None) -> None:
    """Print a post, named by its path in the archive, or by its author and words of its title."""
    archive = _open(session, data)
    _show(session, archive, archive.read_or_find(path, author, title))


def search(session: Session, text: tuple[str, ...], author: str | None, data: str | None) -> None:
    """Find the lines that contain a text, in upper or lower case."""
    archive = _open(session, data)
    _show(session, archive, archive.search(query_text(text), author))


def mcp(session: Session, /, data: str | None, http: bool, **options: Any) -> None:
    """Serve the archive to AI agents over the Model Context Protocol (MCP)."""
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
    value: Any = result
    columns: tuple[str, ...] = ()
    match result:
        case AuthorPosts():
            value, text = result.posts, rendering.posts(result)
            columns = Post.__struct_fields__
        case PostText():
            text = rendering.post(result)
        case Matches():
            value = {"query": result.query, "total": result.total, "matches": [*map(_match, result.shown)]}
            text = rendering.matches(result)
            columns = ("path", "line", "first_line", "lines")
        case _:
            value, text = [{"author": name} for name in result], rendering.authors(result)
            columns = ("author",)
    format_name = chosen_format()
    if format_name == "cli":
        text = archive.shown(text)
        write_plain(text if text.endswith("\n") else text + "\n")
        return
    values = to_builtins(value)
    values = archive.masker.parts(values) if archive.masker else values
    if format_name == "json":
        show_json(values)
    else:
        rows = values["matches"] if isinstance(values, dict) else values
        show_listing("results", "result", columns, rows)


def _match(match: Match) -> dict[str, Any]:
    window = match.window
    lines = {"line": window.line, "first_line": window.first_line, "lines": window.lines}
    return {"path": match.path} | lines
