"""The formats by name; each is imported when it is chosen."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from qmd.cli.render.view import View
    from qmd.engine.documents import Page, Skipped
    from qmd.types import Hit

#: Format to (module, function for hits, function for pages).
_FORMATS = {
    "cli": ("cli", "hits", "pages"),
    "json": ("json", "hits", "pages"),
    "csv": ("csv", "hits", "pages"),
    "md": ("markdown", "hits", "pages"),
    "xml": ("xml", "hits", "pages"),
    "files": ("csv", "files_of_hits", "files_of_pages"),
}


def render_hits(name: str, found: Sequence[Hit], view: View) -> str:
    """Results in a format."""
    module, function, _ = _FORMATS[name]
    return cast(str, getattr(_load(module), function)(found, view))


def render_pages(name: str, items: Sequence[Page | Skipped], view: View) -> str:
    """Documents in a format."""
    module, _, function = _FORMATS[name]
    return cast(str, getattr(_load(module), function)(items, view))


def _load(module: str) -> object:
    return import_module(f"qmd.cli.render.{module}")
