"""The output formats. Each module is imported when its format is chosen."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, cast

from qmd.cli.terminal import clean

if TYPE_CHECKING:
    from qmd.cli.render.rows import Listing
    from qmd.cli.render.view import View
    from qmd.engine.documents.library import Page, Skipped
    from qmd.types import Hit


class Format(NamedTuple):
    """An output format: its description for the help, its module, and the module's functions."""

    description: str
    module: str
    hits: str = "hits"
    pages: str = "pages"
    listing: str = "listing"


#: By the name that `--format` takes. To add a format, add a row and a module.
FORMATS = {
    "cli": Format("text for people", "cli"),
    "json": Format("JSON", "json"),
    "csv": Format("CSV with a header row", "csv"),
    "md": Format("Markdown", "markdown"),
    "xml": Format("XML", "xml"),
    "files": Format("only names, one per line", "csv", "file_hits", "file_pages", "file_listing"),
}


def render_hits(name: str, hits: Sequence[Hit], view: View) -> str:
    """Render search results in the format `name`."""
    return _render(name, FORMATS[name].hits, hits, view)


def render_pages(name: str, items: Sequence[Page | Skipped], view: View) -> str:
    """Render documents in the format `name`."""
    return _render(name, FORMATS[name].pages, items, view)


def render_listing(name: str, listing: Listing, view: View) -> str:
    """Render a listing in the format `name`."""
    return _render(name, FORMATS[name].listing, listing, view)


def _render(name: str, function: str, value: object, view: View) -> str:
    module = import_module(f"qmd.cli.render.{FORMATS[name].module}")
    text = cast(str, getattr(module, function)(value, view))
    # `cli` adds styles, and has already escaped the text inside them.
    return text if name == "cli" else clean(text, terminal=view.terminal)
