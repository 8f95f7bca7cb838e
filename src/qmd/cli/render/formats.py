"""The formats by name; each is imported when it is chosen."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from qmd.cli.render.rows import Listing
    from qmd.cli.render.view import View
    from qmd.engine.documents import Page, Skipped
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
    module, function, _, _ = _FORMATS[name]
    return cast(str, getattr(_load(module), function)(found, view))


def render_pages(name: str, items: Sequence[Page | Skipped], view: View) -> str:
    """Documents in a format."""
    module, _, function, _ = _FORMATS[name]
    return cast(str, getattr(_load(module), function)(items, view))


def render_listing(name: str, listing: Listing, view: View) -> str:
    """Rows of named columns in a format."""
    module, _, _, function = _FORMATS[name]
    return cast(str, getattr(_load(module), function)(listing, view))


def _load(module: str) -> object:
    return import_module(f"qmd.cli.render.{module}")
