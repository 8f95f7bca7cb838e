"""Making the `View` for where the output goes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, TYPE_CHECKING, Any

from qmd.cli.render.view import Highlights, View, on_disk
from qmd.cli.session import Session
from qmd.cli.terminal import has_colours, is_terminal, terminal_width
from qmd.errors import QueryError

if TYPE_CHECKING:
    from qmd.types import Hit


def view_for(session: Session, stream: IO[str], query: str | None, options: Mapping[str, Any]) -> View:
    """How to show things on `stream`; `query` is given where its words are to be highlighted."""
    index = session.index
    terminal, colours = is_terminal(stream), has_colours(stream)
    roots = {each.name: each.path for each in index.config.collections.values()}
    template = index.settings.editor_uri or "file://{path}"

    def editor(hit: Hit) -> str:
        return editor_address(template, on_disk(roots, hit), hit.line)

    return View(
        full=bool(options.get("full")),
        line_numbers=options["line_numbers"],
        explain=bool(options.get("explain")),
        roots=roots if options["full_path"] else None,
        terminal=terminal,
        width=terminal_width() if terminal else 80,
        colours=colours,
        highlights=_highlights(query) if colours and query is not None else None,
        editor=editor if colours and query is not None else None,
    )


def editor_address(template: str, path: str, line: int) -> str:
    """`editor_uri` filled in: {path}, {line} and {col}."""
    from qmd.text.uris import encode_path

    values = {"{path}": encode_path(path), "{line}": str(line), "{col}": "1", "{column}": "1"}
    for name, value in values.items():
        template = template.replace(name, value)
    return template


def _highlights(query: str) -> Highlights:
    """What finds a query's words in a text; of a query document, those of all its lines."""
    from qmd.text.query import parse, parse_document
    from qmd.text.snippet import Marker

    try:
        document = parse_document(query)
        texts = [search.query for search in document.searches] or [query]
    except QueryError:
        # Text to `search`, where nothing is malformed.
        texts = [query]
    return Marker([term for text in texts for term in parse(text).terms]).highlights
