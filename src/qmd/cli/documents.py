"""`get`, `multi-get` and `ls`: reading what is indexed."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from qmd.cli import candidates
from qmd.cli.command import Command, fail
from qmd.cli.options import (
    all_formats,
    chosen_format,
    full_path_option,
    line_numbers_option,
    max_lines_option,
    whole,
)
from qmd.cli.render.rows import Column, Listing
from qmd.cli.session import Session, pass_session
from qmd.cli.show import note_missing, show_listing, view_for
from qmd.cli.sizes import human_size
from qmd.cli.terminal import clean, clean_name, columns, one_line, write, write_plain
from qmd.errors import DocumentNotFoundError
from qmd.text.wording import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qmd.cli.render.view import View
    from qmd.types import Document

_MAX_BYTES = 10 * 1024
_IF_MISSING = "quote a docid, '#abc123', or leave its # out"


@click.command(cls=Command, if_missing=_IF_MISSING)
@click.argument("reference", metavar="REF[:FROM[:COUNT]]", shell_complete=candidates.paths)
@max_lines_option
@click.option("--from", "from_line", type=whole(1), metavar="N", help="Begin at line N.")
@line_numbers_option
@full_path_option
@click.option("--full", is_flag=True, help="The whole document, as by default.")
@all_formats
@pass_session
def get(
    session: Session, /, reference: str, max_lines: int | None, from_line: int | None, **options: Any
) -> None:
    """Print a document, or some lines of it.

    REF is a path as the searches print it, the end of one, a file on disk, a qmd:// address, or a docid; with
    :FROM or :FROM:COUNT it names lines. A pipe gets the text alone.

    \b
    Examples:
      qmd get notes/meeting.md
      qmd get meeting.md:120:20
      qmd get '#a1b2c3' --line-numbers
    """
    from qmd.cli.render import cli

    try:
        page = session.index.get(reference, from_line=from_line, max_lines=max_lines)
    except DocumentNotFoundError as error:
        absence = session.index.absence(reference)
        if absence is None:
            raise
        raise DocumentNotFoundError(
            f"{reference} is not indexed: {absence.reason}", (), absence.hint
        ) from error
    view = view_for(session, sys.stdout, None, options)
    chosen = chosen_format()
    if chosen != "cli" or not view.terminal:
        view = replace(view, exact=True)
    match chosen:
        case "cli":
            if view.terminal:
                write(cli.heading(page, view))
            # A whole document goes into a pipe as it is, whether or not its last line is ended.
            ended = page.whole and not view.line_numbers and (not view.terminal or page.text.endswith("\n"))
            write_plain(view.page(page) + ("" if ended else "\n"))
        case "json":
            from qmd.cli.render import json

            write_plain(json.page(page, view))
        case name:
            from qmd.cli.render.formats import render_pages

            write(render_pages(name, [page], view))
    note_missing(session, view)


@click.command("multi-get", cls=Command, if_missing=_IF_MISSING)
@click.argument("patterns", nargs=-1, required=True, metavar="PATTERN...", shell_complete=candidates.paths)
@max_lines_option
@click.option(
    "--max-bytes",
    type=whole(1),
    metavar="N",
    help=f"Skip larger documents.  [default: {_MAX_BYTES}]",
)
@click.option("--full", is_flag=True, help="Skip none, however large.")
@line_numbers_option
@full_path_option
@all_formats
@pass_session
def multi_get(
    session: Session,
    /,
    patterns: tuple[str, ...],
    max_lines: int | None,
    max_bytes: int | None,
    **options: Any,
) -> None:
    """Print the documents of a glob, or of a list with commas.

    A glob is matched with whole paths, with or without the collection's name; a list holds anything that get
    takes. What is not found is said on stderr.

    \b
    Examples:
      qmd multi-get 'journals/2026-05*.md'
      qmd multi-get 'notes/a.md, notes/b.md, #a1b2c3' --json
      qmd multi-get 'docs/**' --max-bytes 20480 -l 50
    """
    from qmd.cli.render.formats import render_pages

    if options["full"] and max_bytes is not None:
        fail("--full and --max-bytes contradict each other")
    most = None if options["full"] else max_bytes or _MAX_BYTES
    found = session.index.multi_get(",".join(patterns), max_lines=max_lines, max_bytes=most)
    for error in found.errors:
        write(one_line(error) + "\n", sys.stderr)
    view = view_for(session, sys.stdout, None, options)
    write(render_pages(chosen_format(), found.items, view))
    note_missing(session, view)


@click.command(cls=Command)
@click.argument("target", required=False, metavar="[COLLECTION[/PATH]]", shell_complete=candidates.paths)
@click.option("--authors", is_flag=True, help="List authors, of all collections or of one.")
@full_path_option
@all_formats
@pass_session
def ls(session: Session, target: str | None, authors: bool, full_path: bool) -> None:
    """List the collections, or the files of one with their sizes and dates.

    --authors lists whose documents there are, and from when to when: what the searches' --author takes.

    \b
    Examples:
      qmd ls
      qmd ls notes
      qmd ls notes/2026 --json
      qmd ls --authors
    """
    if authors:
        _list_authors(session, target)
    elif target is None:
        _list_collections(session)
    else:
        _list_files(session, target, full_path)


def _list_collections(session: Session) -> None:
    found = session.index.status().collections
    if chosen_format() == "cli" and found:
        lines = [(clean(each.name), plural(each.documents, "file"), human_size(each.bytes)) for each in found]
        write("\n".join(columns(lines, right=frozenset({1, 2}))) + "\n")
        return

    table = (Column("name"), Column("documents", right=True), Column("bytes", right=True))
    rows = [{"name": each.name, "documents": each.documents, "bytes": each.bytes} for each in found]
    nothing = session.addressed("No collections yet. Add one with: qmd collection add PATH")
    show_listing(Listing("collections", "collection", table, rows, nothing=nothing))


def _list_authors(session: Session, collection: str | None) -> None:
    from dataclasses import asdict

    found = session.index.authors(() if collection is None else (collection,))
    table = (
        Column("name", "Author"),
        Column("documents", right=True),
        Column("first", shown=lambda date: str(date)[:10]),
        Column("last", shown=lambda date: str(date)[:10]),
    )
    nothing = "No authors: no document's front matter or folder names one."
    show_listing(Listing("authors", "author", table, [asdict(each) for each in found], nothing=nothing))


def _list_files(session: Session, target: str, full_path: bool) -> None:

    found = session.index.documents(target)
    view = view_for(session, sys.stdout, None, {"line_numbers": False, "full_path": full_path})
    if chosen_format() == "cli" and found:
        from qmd.cli.render.cli import linked

        cells = [
            (
                human_size(each.size),
                _local(each.modified_ns),
                linked(clean_name(view.file(each), terminal=view.terminal), each, 1, view),
            )
            for each in found
        ]
        write("\n".join(columns(cells, right=frozenset({0}))) + "\n")
    else:
        show_listing(_files(found, view))
    note_missing(session, view)


def _files(found: Sequence[Document], view: View) -> Listing:

    names = ("file",) if view.disk is not None else ("docid", "file")
    rows = [
        {
            "file": view.address(each),
            "docid": each.docid,
            "title": each.title,
            "bytes": each.size,
            "modified": _utc(each.modified_ns),
        }
        for each in found
    ]
    fields = ("file", "docid", "title", "bytes", "modified")
    table = [Column(name, right=name == "bytes") for name in fields]
    return Listing("files", "document", table, rows, nothing="No files yet.", names=names)


def _local(modified_ns: int) -> str:
    from time import localtime, strftime

    return strftime("%Y-%m-%d %H:%M", localtime(modified_ns / 1e9))


def _utc(modified_ns: int) -> str:
    from time import gmtime, strftime

    return strftime("%Y-%m-%dT%H:%M:%SZ", gmtime(modified_ns / 1e9))
