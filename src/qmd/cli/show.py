"""Show results in the form that suits the output: a terminal or a pipe."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from qmd.cli.console import current
from qmd.cli.options import chosen_format
from qmd.cli.render.formats import writer
from qmd.cli.render.rows import Column, Listing
from qmd.cli.render.view import Disk, Highlights, View
from qmd.cli.session import Session
from qmd.cli.terminal import columns, has_colours, is_terminal, output_width, say, write, write_plain
from qmd.errors import QueryError
from qmd.text.uris import DEFAULT_EDITOR, NO_EDITOR, editor_address, encode_path, is_editor
from qmd.text.wording import plural

if TYPE_CHECKING:
    from qmd.types import Anchor, Config


#: Options by which people want more of a result than a few lines.
_LONGER = ("full", "explain", "passages", "context_lines", "line_numbers")
#: The columns of findings of checks.
FINDING = ("level", "check", "message", "hint")


def plain_view() -> View:
    """Return how to show text on stdout: its width, and whether it is a terminal and has colours."""
    stdout = current().stdout
    return View(terminal=is_terminal(stdout), escapes=True, width=output_width(), colours=has_colours(stdout))


def view_for(
    session: Session, options: Mapping[str, Any], query: str | None = None, unknown: tuple[str, ...] = ()
) -> View:
    """Return how to show results on stdout, with the words of `query` highlighted if it is given.

    Brackets of the query with `unknown` fields are text.
    """
    index, view = session.index, plain_view()
    template = session.settings.editor_uri or DEFAULT_EDITOR
    links = view.colours and view.terminal and template != NO_EDITOR
    if links and not is_editor(template):
        session.note(f"editor_uri '{template}' is ignored: its scheme is not that of a known editor")
        links = False
    roots = {each.name: each.path for each in index.config.collections.values()}
    on_disk = options["full_path"] or chosen_format() == "vimgrep"
    disk = Disk(roots, current().folder()) if links or on_disk else None
    longer = any(options.get(name) for name in _LONGER)
    return view.replaced(
        full=bool(options.get("full")),
        height=current().height() if view.terminal and not longer else 0,
        line_numbers=bool(options.get("line_numbers")),
        explain=bool(options.get("explain")),
        terminal=view.terminal and not options.get("raw"),
        escapes=not options.get("raw"),
        disk=disk if on_disk else None,
        highlights=highlights_of(query, unknown, index.config)
        if (view.colours or view.terminal) and query is not None
        else None,
        editor=(lambda item, line, anchor: link_to(template, disk.absolute(item), line, anchor))
        if links and disk is not None
        else None,
    )


def note_missing(session: Session, view: View) -> None:
    """Note how many documents have no file any more, and so no path on disk."""
    if view.disk is not None and (missing := view.disk.missing):
        have = "has" if missing == 1 else "have"
        session.note(f"{plural(missing, 'file')} {have} gone since the last 'qmd update': shown by address")


def show_json(value: Any) -> None:
    """Write a value, in which there may be structs, as JSON to stdout."""
    from qmd.cli.render.programs import dumps

    write_plain(dumps(value))


def show_listing(
    root: str,
    row: str,
    columns: Iterable[Column | str],
    rows: Sequence[Any],
    nothing: str = "Nothing to list.",
    *,
    names: Sequence[str] = (),
    right: Sequence[str] = (),
    lines: Iterable[str] | None = None,
) -> None:
    """Write rows, structs or mappings, to stdout in the chosen format. See `Listing`.

    `columns` may have names alone; those in `right` are aligned to the right. People see `lines`, if they are
    given, in place of a table.
    """
    from msgspec import to_builtins

    name = chosen_format()
    if name == "cli" and rows and lines is not None:
        say(*lines)
        return
    table = [each if isinstance(each, Column) else Column(each, right=each in right) for each in columns]
    write(writer(name).listing(Listing(root, row, table, to_builtins(rows), nothing, names), plain_view()))


def show_steps(session: Session, *steps: tuple[str, str]) -> None:
    """Suggest the next steps, unless --quiet is given: commands to copy, and their effects."""
    if not session.quiet:
        lines = columns((session.addressed(command), text) for command, text in steps)
        say("", "Next:", *(f"  {line}" for line in lines))


def link_to(template: str, path: str, line: int, anchor: Anchor | None) -> str:
    """Return the address that opens a file at a line, or at the place of an anchor.

    A page opens in the program that the system has for the file, because editors show only text.
    """
    from qmd.text.anchors import LINE

    if anchor is None or anchor.kind == LINE:
        return editor_address(template, path, line if anchor is None else anchor.value)
    return f"file://{encode_path(path)}#{anchor.kind}={anchor.value}"


def highlights_of(query: str, unknown: tuple[str, ...], config: Config) -> Highlights:
    """Return a function that finds the words of a query, in all its lines, in a text, and their synonyms."""
    from qmd.text.highlight import Highlighter
    from qmd.text.query import parse_document
    from qmd.text.question import Question

    try:
        document = parse_document(query)
        texts = [search.query for search in document.searches] or [document.expand or query]
    except QueryError:
        # `search` accepts any text.
        texts = [query]
    questions = [Question.read(text).among(unknown) for text in texts]
    if config.synonyms:
        from qmd.engine.retrieval.own_words import add_own_words

        questions = [add_own_words(config, question, []) for question in questions]
    return Highlighter([term for question in questions for term in question.terms.terms]).highlights
