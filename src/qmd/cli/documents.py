"""`get`, `multi-get` and `ls`: read indexed documents."""

from __future__ import annotations

from time import gmtime, localtime, strftime
from typing import TYPE_CHECKING, Any, NoReturn

from qmd.cli import options
from qmd.cli.command import command
from qmd.cli.commands import LOADABLE
from qmd.cli.console import current
from qmd.cli.render import cli
from qmd.cli.render.formats import writer
from qmd.cli.render.rows import Column
from qmd.cli.session import NO_COLLECTIONS, Session
from qmd.cli.show import note_missing, show_listing, view_for
from qmd.cli.terminal import clean, clean_name, columns, one_line, write
from qmd.cli.usage import Exit, fail
from qmd.errors import DocumentNotFoundError
from qmd.plugins import resolve
from qmd.text.wording import human_size, plural

if TYPE_CHECKING:
    from qmd.cli.render.view import View
    from qmd.engine.documents.pages import Page, Pages
    from qmd.types import Commit

_MAX_BYTES = 10 * 1024
#: Signs of a glob or of a list, in a name that no document has.
_SEVERAL = frozenset("*?[{,")
_IF_MISSING = "put a docid in quotes, '#a1b2c3', or omit the #"


@command("get", agents=True, if_missing=_IF_MISSING)
@options.argument("reference", "DOC...", "paths")
@options.max_lines_option
@options.option("--from N", options.whole(1), "Start at line N.", to="from_line")
@options.tokens_option
@options.option(
    "--as-of DATE",
    options.date_of_filter,
    "Print the document as git has it at the end of this day: 2024-06-30, 7d, last-month.",
    complete="dates",
)
@options.flag("--outline", help="Show its headings with their lines instead.")
@options.flag("--links", help="List its links instead, and the documents that they lead to.")
@options.flag("--history", help="List its commits in git instead.")
@options.fresh_option
@options.path_options
@options.flag("--full", help="Print the whole document (the default).")
@options.all_formats
def get(
    session: Session,
    /,
    reference: tuple[str, ...],
    max_lines: int | None,
    from_line: int | None,
    tokens: int | None,
    as_of: str | None,
    fresh: bool,
    **arguments: Any,
) -> None:
    """Print a document, some of its lines, or one of its sections; or several documents.

    DOC names a document in all commands: by a path from search results or its end (notes/ops.md, ops.md), its
    title, a docid (#a1b2c3), a qmd:// address, or a file on disk. At the end of DOC, :120 means from line 120
    on, :120:20 twenty lines from there, :120-139 these lines, and #HEADING the section that --outline shows.

    Several names, and globs such as 'notes/*.md', print each document below its name. Those that are not
    found are reported on stderr, the others are printed, and the exit code is 1. A single - reads names from
    stdin, one per line. If the output is a pipe, only the text is printed.

    Examples:
      qmd get notes/meeting.md
      qmd get meeting.md:120:20
      qmd get meeting.md:120-139
      qmd get 'notes/ops.md#Restoring'
      qmd get 'notes/ops.md#Backups#Restoring'
      qmd get '#a1b2c3' --line-numbers
      qmd get notes/ops.md --as-of last-month
      qmd get notes/ops.md --outline
      qmd get notes/ops.md --links
      qmd get plan.md 'journals/2026-05*.md' --tokens 4000
    """

    instead = [name for name in ("outline", "links", "history") if arguments[name]]
    limits = {"--from": from_line, "--as-of": as_of, "-l": max_lines, "--tokens": tokens}
    others = [name for name, given in limits.items() if given is not None]
    one_only = [name for name in others if name in ("--from", "--as-of")]
    if instead:
        _show_instead(session, instead, reference, others)
        return

    def several() -> NoReturn:
        raise Exit(int(_print_several(session, reference, max_lines, None, tokens, fresh, arguments)))

    if len(reference) > 1 or reference == ("-",):
        if one_only:
            fail(f"{one_only[0]} is for one document")
        several()
    (name,) = reference
    try:
        page = session.index.get(name, from_line=from_line, max_lines=max_lines, as_of=as_of)
        if fresh and session.index.refresh([page]):
            page = session.index.get(name, from_line=from_line, max_lines=max_lines, as_of=as_of)
    except DocumentNotFoundError as error:
        absence = None if session.for_agent else session.index.absence(name)
        if absence is None:
            if _SEVERAL.isdisjoint(name) or one_only:
                raise
            several()
        raise DocumentNotFoundError(f"{name} is not indexed: {absence.reason}", (), absence.hint) from error
    if page.counted and not {"--from", "-l"}.isdisjoint(others):
        session.note(f"{name} names its lines, so --from and -l have no effect")
    format_name = options.chosen_format()
    view = view_for(session, arguments)
    _note(session, page, sentences=format_name == "cli" and not view.terminal)
    view = view.replaced(exact=format_name != "cli" or not view.terminal)

    def printed(page: Page) -> str:
        return _printed(format_name, page, view.replaced(note=page.note))

    if tokens is None:
        write(printed(page))
    else:
        from qmd.engine.documents.fitting import Limit, fit_page

        write(fit_page(page, Limit(tokens, "--tokens", format_name != "files"), printed, str))
    note_missing(session, view)


def _note(session: Session, page: Page, *, sentences: bool) -> None:
    """Say of which day a document is, and that it is of before; with `sentences` what it says of itself."""
    if page.commit is not None:
        session.note(f"as of {in_one_line(page.commit)}")
    for note in page.notes if sentences else ():
        if note.sentence:
            session.note(f"{page.document.file} {note.sentence}")
    if page.unread_since:
        since = page.unread_since
        session.note(f"{page.document.file} could not be read since {since}: this is its text of before")


def _show_instead(session: Session, names: list[str], references: tuple[str, ...], others: list[str]) -> None:
    """Show the outline, the links or the history of a document, as the command of this name does."""
    name, *more = names
    if more or others:
        fail(f"--{name} stands alone, without {', '.join([*(f'--{each}' for each in more), *others])}")
    if len(references) > 1 or references == ("-",):
        fail(f"--{name} is for one document")
    command = resolve(LOADABLE.builtin[name])
    values = {each.to: each.default for each in command.parameters if each.goes == "argument"}
    command.run(session, **values | {"document": references[0]})


def in_one_line(commit: Commit) -> str:
    """Return when a commit was made, its hash and its subject."""
    return one_line(f"{commit.date[:16].replace('T', ' ')}, commit {commit.short}: {commit.subject}")


def _printed(format_name: str, page: Page, view: View) -> str:
    if format_name == "json":
        from qmd.cli.render.programs import dumps, json_page

        return view.written(dumps(json_page(page, view.replaced(escapes=False, terminal=False))))
    if format_name != "cli":
        return writer(format_name).pages([page], view)
    heading = cli.heading(page, view) if view.terminal else ""
    # A whole document goes into a pipe unchanged, with or without a line feed at its end.
    has_end = not view.terminal or page.text.endswith("\n")
    unchanged = page.whole and not view.line_numbers and has_end
    end = f"\n\n[{view.note}]\n" if view.note else "" if unchanged else "\n"
    return heading + view.shown(view.page(page)) + end


@command("multi-get", agents=True, if_missing=_IF_MISSING)
@options.argument("patterns", "PATTERN...", "paths")
@options.max_lines_option
@options.tokens_option
@options.option(
    "--max-bytes N", options.whole(1), f"Skip documents larger than N bytes.  [default: {_MAX_BYTES}]"
)
@options.flag("--full", help="Print all documents, however large.")
@options.fresh_option
@options.filter_options
@options.path_options
@options.all_formats
def multi_get(
    session: Session,
    /,
    patterns: tuple[str, ...],
    max_lines: int | None,
    max_bytes: int | None,
    tokens: int | None,
    fresh: bool,
    **arguments: Any,
) -> None:
    """Print the documents that match a glob, or the documents of a list separated by commas.

    A glob must match the whole path, with or without the name of the collection. A list may contain all
    names of documents that 'qmd get --help' lists. A single - reads names from stdin, one per line. Documents
    that are not found are reported on stderr, and documents that do not pass the filters are left out.

    Examples:
      qmd multi-get 'journals/2026-05*.md'
      qmd multi-get 'notes/a.md, notes/b.md, #a1b2c3' --json
      qmd multi-get 'docs/**' --max-bytes 20480 -l 50
      qmd multi-get 'notes/**' --tag work --where status=draft
      grep -rl planning ~/notes | qmd multi-get -
    """
    if arguments["full"] and max_bytes is not None:
        fail("--full and --max-bytes contradict each other")
    limit = None if arguments["full"] else max_bytes or _MAX_BYTES
    _print_several(session, patterns, max_lines, limit, tokens, fresh, arguments)


def _print_several(
    session: Session,
    references: tuple[str, ...],
    max_lines: int | None,
    max_bytes: int | None,
    tokens: int | None,
    fresh: bool,
    arguments: dict[str, Any],
) -> bool:
    """Print documents, and the errors of those that cannot be. Return whether there were errors."""
    from qmd.engine.documents.fitting import Limit, fit_pages, most_bytes

    if references == ("-",):
        references = tuple(current().read().decode("utf-8", "replace").splitlines())
    format_name = options.chosen_format()
    texts = format_name != "files"

    def read() -> Pages:
        return session.index.multi_get(
            ",".join(references),
            max_lines=max_lines,
            max_bytes=max_bytes,
            max_total=most_bytes(tokens) if texts else None,
            **options.filters_of(arguments),
        )

    pages = read()
    if fresh and session.index.refresh(pages.items):
        pages = read()
    write("".join(f"{one_line(error)}\n" for error in pages.errors), current().stderr)
    view, chosen = view_for(session, arguments), writer(format_name)

    def printed(pages: Pages) -> str:
        return chosen.pages(pages.items, view.replaced(note=pages.note))

    write(fit_pages(pages, Limit(tokens, "--tokens", texts), printed, str))
    note_missing(session, view)
    return bool(pages.errors)


@command("ls", agents=True)
@options.argument("target", "[COLLECTION[/PATH]]", "paths")
@options.flag("--authors", help="List the authors in all collections, or in one.")
@options.flag("--full-path", help="Show paths on disk.")
@options.filter_options
@options.all_formats
def ls(session: Session, target: str | None, authors: bool, full_path: bool, **arguments: Any) -> None:
    """List the collections, or the files in one with their sizes and dates.

    With filters, list the files that pass them, in all collections if none is named. --authors lists the
    authors with the dates of their first and last documents.

    Examples:
      qmd ls
      qmd ls notes
      qmd ls notes/2026 --json
      qmd ls notes --tag work --where status=draft
      qmd ls --authors
    """
    filters = options.filters_of(arguments)
    if authors and filters:
        fail("--authors lists all authors: leave the filters out")
    if authors:
        _list_authors(session, target)
    elif target is None and not filters:
        _list_collections(session)
    else:
        _list_files(session, target, full_path, filters)


def _list_collections(session: Session) -> None:
    collections = session.index.collection_statuses()
    cells = [
        (clean(each.name), plural(each.documents, "file"), human_size(each.bytes)) for each in collections
    ]
    show_listing(
        "collections",
        "collection",
        ("name", "documents", "bytes"),
        collections,
        session.addressed(NO_COLLECTIONS),
        right=("documents", "bytes"),
        lines=columns(cells, right=frozenset({1, 2})),
    )


def _list_authors(session: Session, collection: str | None) -> None:
    table = (
        Column("name", "Author"),
        Column("documents", right=True),
        Column("first", shown=lambda date: str(date)[:10]),
        Column("last", shown=lambda date: str(date)[:10]),
    )
    authors = session.index.authors(() if collection is None else (collection,))
    nothing = "No authors: no front matter and no folder names an author."
    show_listing("authors", "author", table, authors, nothing)


def _list_files(session: Session, target: str | None, full_path: bool, filters: dict[str, Any]) -> None:
    documents = session.index.documents(target, **filters)
    if filters and not documents:
        session.note(session.index.explain_no_documents(target, **filters))
    view = view_for(session, {"full_path": full_path})
    rows, cells = [], []
    for document in documents:
        name = clean_name(view.file(document))
        modified = document.modified_ns / 1e9
        time = strftime("%Y-%m-%d %H:%M", localtime(modified))
        cells.append((human_size(document.size), time, cli.linked(name, document, 1, view)))
        rows.append(
            {
                "file": view.address(document),
                "docid": document.docid,
                "title": document.title,
                "bytes": document.size,
                "modified": strftime("%Y-%m-%dT%H:%M:%SZ", gmtime(modified)),
            }
        )
    show_listing(
        "files",
        "document",
        ("file", "docid", "title", "bytes", "modified"),
        rows,
        "No files with these filters." if filters else "No files yet.",
        names=("file",) if view.disk is not None else ("docid", "file"),
        right=("bytes",),
        lines=columns(cells, right=frozenset({0})),
    )
    note_missing(session, view)
