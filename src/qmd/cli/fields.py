"""`fields`, `tags`, `links`, `outline` and `history`: documents on themselves and on each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from qmd.cli.command import command
from qmd.cli.options import (
    all_formats,
    argument,
    chosen_format,
    collection_option,
    flag,
    limit_option,
    offset_option,
)
from qmd.cli.render.cli import linked
from qmd.cli.render.passage import labelled
from qmd.cli.render.rows import Column, count_entry, program_text
from qmd.cli.render.view import address
from qmd.cli.session import Session
from qmd.cli.show import plain_view, show_listing, view_for
from qmd.cli.terminal import (
    BOLD,
    DIM,
    clean_name,
    columns,
    cut,
    one_line,
    output_width,
    painted,
    shell_words,
    width_of,
)
from qmd.cli.usage import fail
from qmd.errors import FieldNotFoundError
from qmd.text.values import plain, shown
from qmd.text.wording import plural

if TYPE_CHECKING:
    from qmd.engine.documents.fields import FieldValues
    from qmd.types import Commit, Document, ResolvedLink, Section, ValueCount

_LIMIT, _COMMITS = 100, 20
#: The most values of a field that the list of fields shows to people, and the widest one.
_SHOWN, _WIDEST = 5, 30
#: Columns of numbers.
_RIGHT = frozenset({2, 3})
_COLLECTIONS = "Only documents in this collection (may be repeated)."


@command(agents=True)
@argument("field", "[FIELD]", "fields")
@collection_option(_COLLECTIONS)
@limit_option(f"Show at most N values of FIELD.  [default: {_LIMIT}]")
@offset_option
@all_formats
def fields(
    session: Session,
    /,
    field: str | None,
    collections: tuple[str, ...],
    limit: int | None,
    offset: int | None,
) -> None:
    """List the fields of documents with their most frequent values, or the values of one field.

    Every key of the front matter is a field, and so are tag, author, ext and format. Filters can name them:
    'qmd search --where status=draft'.

    Examples:
      qmd fields
      qmd fields status -c notes
      qmd fields author --json
    """
    if field is not None:
        _list_values(session, field, collections, limit or _LIMIT, offset or 0)
        return
    if limit is not None or offset is not None:
        fail("--limit and --offset are for the values of one field: name the field")
    found = session.index.fields(collections)
    rows = [
        {
            "name": each.summary.name,
            "types": each.summary.types,
            "documents": each.summary.documents,
            "values": each.summary.values,
            "top": [count_entry(count) for count in each.values],
        }
        for each in found
    ]
    show_listing(
        "fields",
        "field",
        ("name", "types", "documents", "values", "top"),
        rows,
        "No fields: no document has front matter or tags.",
        right=("documents", "values"),
        lines=_field_lines(found),
    )


def _field_lines(found: Sequence[FieldValues]) -> Iterator[str]:
    """Yield a table of fields. The last column has as many values as a line has space for."""
    headings = ("Field", "Type", "Documents", "Values")
    rows = [
        (
            cut(one_line(each.summary.name), _WIDEST),
            ", ".join(each.summary.types),
            f"{each.summary.documents:,}",
            f"{each.summary.values:,}",
        )
        for each in found
    ]
    # The empty column keeps the spaces at the end of the others.
    first, *lines = [line[:-1] for line in columns([(*row, "|") for row in (headings, *rows)], _RIGHT)]
    yield painted(f"{first}Most frequent", BOLD)
    space = max(output_width() - width_of(first), _WIDEST)
    for line, each in zip(lines, found, strict=True):
        yield line + painted(_most_frequent(each.values[:_SHOWN], space), DIM)


def _most_frequent(counts: Iterable[ValueCount], space: int) -> str:
    """Return the first values with their numbers of documents, as many as fit; the first one always."""
    text = ""
    for count in counts:
        value = cut(one_line(shown(count.value)), _WIDEST - 8)
        longer = f"{text}{', ' if text else ''}{value} {count.documents:,}"
        if text and width_of(longer) > space:
            break
        text = longer
    return text


def _list_values(session: Session, field: str, collections: tuple[str, ...], limit: int, offset: int) -> None:
    try:
        found = session.index.field_values(field, collections, limit=offset + limit)
    except FieldNotFoundError as error:
        if field in session.index.config.collections:
            error.hint = f"it is a collection: qmd fields -c {shell_words(field)}"
        raise
    convert = shown if chosen_format() == "cli" else plain
    rows = [{"value": convert(count.value), "documents": count.documents} for count in found.values[offset:]]
    table = (Column("value", shown=program_text), Column("documents", right=True))
    show_listing("values", "value", table, rows)
    if offset + len(rows) < found.summary.values and rows:
        values = plural(found.summary.values, "value")
        session.note(f"{len(rows):,} of {values}: -n shows more, --offset {offset + len(rows)} the next")


@command(agents=True)
@collection_option(_COLLECTIONS)
@all_formats
def tags(session: Session, collections: tuple[str, ...]) -> None:
    """Show the tags of documents as a tree, with the number of documents that have each or one below it.

    Tags come from the front matter (tags, tag) and from #tag in the text. Filter by them: 'qmd search --tag
    work'.

    Examples:
      qmd tags
      qmd tags -c notes --json
    """
    found = session.index.tags(collections)
    cells = []
    for tag in found:
        above, _, name = str(tag.value).rpartition("/")
        indent = "  " * (above.count("/") + 1 if above else 0)
        cells.append((indent + one_line(name), f"{tag.documents:,}"))
    rows = [{"tag": tag.value, "documents": tag.documents} for tag in found]
    lines = columns(cells, right=frozenset({1}))
    show_listing("tags", "tag", ("tag", "documents"), rows, "No tags.", right=("documents",), lines=lines)


@command(agents=True)
@argument("document", "[DOC]", "paths")
@flag("--backlinks", help="List the links of other documents to DOC.")
@flag("--unresolved", help="List only links that lead to no document, of DOC or of all documents.")
@flag("--orphans", help="List the documents that no other document links to.")
@collection_option("With --unresolved and --orphans: only documents in this collection (may be repeated).")
@all_formats
def links(
    session: Session,
    document: str | None,
    backlinks: bool,
    unresolved: bool,
    orphans: bool,
    collections: tuple[str, ...],
) -> None:
    """List the links of a document with their lines and the documents that they lead to.

    'qmd get --help' says how to name DOC. Links are wikilinks, embedded files and Markdown links. They are
    resolved as Obsidian does, each time you ask.

    Examples:
      qmd links notes/plan.md
      qmd links notes/plan.md --backlinks
      qmd links --unresolved -c notes
      qmd links --orphans --json
    """
    from qmd.engine.documents.links import leads_to_document

    for wrong, message in (
        (backlinks + unresolved + orphans > 1, "--backlinks, --unresolved and --orphans exclude each other"),
        (backlinks and not document, "--backlinks needs a document"),
        (
            not (document or unresolved or orphans),
            "name a document, or give --unresolved or --orphans for all documents",
        ),
        (orphans and document, "--orphans concerns all documents: leave DOC out"),
        (document and collections, "-c goes with --unresolved and --orphans: leave it or DOC out"),
    ):
        if wrong:
            fail(message)
    index = session.index
    if orphans:
        files = index.orphans(collections)
        rows = [{"file": address(file)} for file in files]
        nothing = "No orphans: other documents link to every document."
        lines = (clean_name(file) for file in files)
        show_listing("orphans", "document", ("file",), rows, nothing, lines=lines)
    elif document is None:
        _list_links(index.unresolved_links(collections), "No unresolved links.", "file")
    elif backlinks:
        _list_links(index.backlinks(document), "No links to this document.", "file")
    else:
        found = index.links(document)
        if unresolved:
            found = [link for link in found if link.to is None and leads_to_document(link)]
        _list_links(found, "No unresolved links." if unresolved else "No links.", "to")


def _list_links(found: Sequence[ResolvedLink], nothing: str, name: str) -> None:
    """Show links. `name` is the column that the format `files` prints."""
    from msgspec.structs import replace  # help does without it

    rows = [replace(link, file=address(link.file), to=link.to and address(link.to)) for link in found]
    if chosen_format() == "files":
        rows = [*{to: row for row in rows if (to := getattr(row, name)) is not None}.values()]
    lines = _link_lines(found, with_targets=name == "to")
    table = ("file", "line", "kind", "target", "to")
    show_listing("links", "link", table, rows, nothing, names=(name,), right=("line",), lines=lines)


def _link_lines(found: Sequence[ResolvedLink], *, with_targets: bool) -> Iterator[str]:
    """Yield the path of each document with links, then its links: line, target and where that leads."""
    from qmd.engine.documents.links import leads_to_document

    view = plain_view()
    for at, (file, group) in enumerate(groupby(found, key=lambda link: link.file)):
        if at:
            yield ""
        yield painted(clean_name(file), BOLD)
        for link in group:
            text = view.shown(one_line(link.target, terminal=False))
            if with_targets and link.to is not None:
                text += f" -> {clean_name(link.to)}"
            elif with_targets and leads_to_document(link):
                text += " (unresolved)"
            label = f"{link.line:6,}  "
            # A URL that is cut cannot be clicked.
            yield from [label + text] if link.kind == "url" else labelled(label, text, view)


@command(agents=True)
@argument("document", "DOC", "paths")
@limit_option(f"Show at most N commits.  [default: {_COMMITS}]")
@offset_option
@all_formats
def history(session: Session, document: str, limit: int | None, offset: int | None) -> None:
    """List the commits of a document, newest first, with the lines that each added and removed.

    'qmd get --help' says how to name DOC. Its file must be in a clone of git. Commits from before it was
    renamed are listed too, as far as it was in the collection. Print an older text with
    'qmd get DOC --as-of DATE'.

    Examples:
      qmd history notes/ops.md
      qmd history ops.md -n 5 --json
    """
    first = offset or 0
    end = first + (limit or _COMMITS)
    # One more, to know whether there are others.
    found = session.index.history(document, limit=end + 1)
    shown = found[first:end]
    names = ("commit", "date", "author", "subject", "path", "added", "removed")
    show_listing("commits", "commit", names, shown, right=("added", "removed"), lines=_commit_lines(shown))
    if len(found) > end:
        session.note(f"there are older commits: -n shows more, --offset {end} the next")


def _commit_lines(found: Sequence[Commit]) -> Iterator[str]:
    """Yield a line for each commit, and one for each rename before it."""
    rows = [
        (
            commit.short,
            commit.date[:16].replace("T", " "),
            "" if commit.added is None else f"+{commit.added:,}",
            "" if commit.removed is None else f"-{commit.removed:,}",
            cut(one_line(commit.author), _WIDEST),
            one_line(commit.subject),
        )
        for commit in found
    ]
    path = found[0].path
    for line, commit in zip(columns(rows, right=_RIGHT), found, strict=True):
        if commit.path != path:
            yield painted(f"{' ' * 9}was {one_line(commit.path)}", DIM)
            path = commit.path
        yield line


@command(agents=True)
@argument("document", "DOC", "paths")
@all_formats
def outline(session: Session, document: str) -> None:
    """Show the headings of a document as a tree, with their lines.

    'qmd get --help' says how to name DOC. Print a section with 'qmd get DOC#HEADING'.

    Examples:
      qmd outline notes/ops.md
      qmd outline ops.md --json
    """
    found, sections = session.index.outline(document)
    show_listing(
        "sections",
        "section",
        ("heading", "level", "first_line", "last_line"),
        sections,
        f"No headings in {clean_name(found.file)}.",
        right=("level", "first_line", "last_line"),
        lines=_outline_lines(session, found, sections),
    )


def _outline_lines(session: Session, document: Document, sections: Sequence[Section]) -> Iterator[str]:
    view = view_for(session, {"full_path": False})
    yield view.styled(clean_name(document.file), BOLD)
    top = min(section.level for section in sections)
    for section in sections:
        label = f"{section.first_line:6,}  {'  ' * (section.level - top)}"
        text = view.shown(one_line(section.heading, terminal=False))
        yield from (linked(part, document, section.first_line, view) for part in labelled(label, text, view))
