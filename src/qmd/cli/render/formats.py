"""The formats by name; each is imported when it is chosen."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, cast

from qmd.cli.terminal import clean

if TYPE_CHECKING:
    from qmd.cli.render.rows import Listing
    from qmd.cli.render.view import View
    from qmd.engine.documents.library import Page, Skipped
    from qmd.types import Hit

#: Format to (module, function for hits, function for pages, function for listings).
_FORMATS = {
    "cli": ("cli", "hits", "pages", "listing"),
    "json": ("json", "hits", "pages", "listing"),
    "csv": ("csv", "hits", "pages", "listing"),
    "md": ("markdown", "hits", "pages", "listing"),
    "xml": ("xml", "hits", "pages", "listing"),
    "files": ("csv", "files_of_hits", "files_of_pages", "names_of_listing"),
}


def render_hits(name: str, found: Sequence[Hit], view: View) -> str:
    """Results in a format."""
    return _render(name, 1, found, view)


def render_pages(name: str, items: Sequence[Page | Skipped], view: View) -> str:
    """Documents in a format."""
    return _render(name, 2, items, view)


def render_listing(name: str, listing: Listing, view: View) -> str:
    """Rows of named columns in a format."""
    return _render(name, 3, listing, view)


def _render(name: str, function: int, shown: object, view: View) -> str:
    module = import_module(f"qmd.cli.render.{_FORMATS[name][0]}")
    text = cast(str, getattr(module, _FORMATS[name][function])(shown, view))
    # `cli` has styles of its own, and has escaped what it puts them around.
    return text if name == "cli" else clean(text, terminal=view.terminal)
