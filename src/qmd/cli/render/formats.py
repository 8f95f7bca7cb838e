"""The output formats. The modules that write them are imported when a format is chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from qmd.cli.terminal import clean

if TYPE_CHECKING:
    from qmd.cli.render.rows import Listing
    from qmd.cli.render.view import View
    from qmd.engine.documents.library import Page, Skipped
    from qmd.types import Hit, ValueCount

#: Descriptions for the help, by the name that `--format` takes. To add a format, add a row here and in
#: `programs.WRITERS`.
FORMATS = {
    "cli": "text for people",
    "json": "JSON",
    "csv": "CSV with a header row",
    "md": "Markdown",
    "xml": "XML",
    "files": "only names, one per line",
}


def render_hits(
    name: str,
    hits: Sequence[Hit],
    view: View,
    facets: Mapping[str, Sequence[ValueCount]] | None = None,
) -> str:
    """Return hits in a format. JSON has `facets` beside them, if any are given."""
    if name == "cli":
        from qmd.cli.render import cli

        return cli.hits(hits, view)
    from qmd.cli.render import programs

    entries = [programs.hit_entry(hit, view) for hit in hits]
    if name == "json" and facets is not None:
        text = programs.json_hits_and_facets(entries, facets)
    else:
        text = programs.WRITERS[name].hits(entries)
    return clean(text, terminal=view.terminal)


def render_pages(name: str, items: Sequence[Page | Skipped], view: View) -> str:
    if name == "cli":
        from qmd.cli.render import cli

        return cli.pages(items, view)
    from qmd.cli.render import programs

    entries = [programs.page_entry(item, view) for item in items]
    return clean(programs.WRITERS[name].pages(entries), terminal=view.terminal)


def render_listing(name: str, listing: Listing, view: View) -> str:
    if name == "cli":
        from qmd.cli.render import cli

        return cli.listing(listing, view)
    from qmd.cli.render import programs

    return clean(programs.WRITERS[name].listing(listing), terminal=view.terminal)
