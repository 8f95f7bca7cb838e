"""What a shell offers when TAB is pressed: names of collections, paths of documents, folders on disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from qmd.cli.session import Session
from qmd.errors import QmdError
from qmd.text.uris import SCHEME

if TYPE_CHECKING:
    from collections.abc import Iterable

    from click.shell_completion import CompletionItem

    from qmd.engine.index import Index


def collections(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Collections whose name begins so."""
    try:
        return [name for name in _index(ctx).config.collections if name.startswith(incomplete)]
    except (QmdError, OSError):
        return []


def authors(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
    """Authors whose name begins so, in upper or lower case."""
    from click.shell_completion import CompletionItem

    try:
        names = [author.name for author in _index(ctx).authors()]
    except (QmdError, OSError):
        return []
    begins = incomplete.casefold()
    return [CompletionItem(name, kind="name") for name in names if name.casefold().startswith(begins)]


def places(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
    """What a context can be about: `/`, and collections and folders as `qmd://` addresses."""
    from click.shell_completion import CompletionItem

    if ctx.params.get(param.name or ""):
        return []  # the text comes next
    found = [item for item in paths(ctx, param, incomplete or "qmd://") if item.value.endswith("/")]
    return [*found, *([CompletionItem("/", kind="name")] if not incomplete else [])]


def described(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
    """Places that have a context."""
    from click.shell_completion import CompletionItem

    try:
        found = [place for place, _ in _index(ctx).contexts()]
    except (QmdError, OSError):
        return []
    return [CompletionItem(place, kind="name") for place in found if place.startswith(incomplete)]


def paths(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
    """Documents by their path, a folder at a time: `notes/`, `notes/work/`, `notes/work/plan.md`.

    What begins with `qmd://` is completed to addresses.
    """
    from click.shell_completion import CompletionItem

    scheme = SCHEME if incomplete.startswith(SCHEME) else ""
    incomplete = incomplete.removeprefix(scheme)
    try:
        index = _index(ctx)
        folder, inside, _ = incomplete.rpartition("/")
        files: Iterable[str] = (
            (document.file for document in index.documents(folder))
            if inside
            else (f"{name}/" for name in index.config.collections)
        )
        found = {
            incomplete + "".join(file[len(incomplete) :].partition("/")[:2]): None
            for file in files
            if file.startswith(incomplete)
        }
    except (QmdError, OSError):
        return []
    return [CompletionItem(scheme + path, kind="path") for path in found]


def folders(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
    """Folders on disk; the shell looks them up."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="dir")]


def _index(ctx: click.Context) -> Index:
    session = ctx.ensure_object(Session)
    session.quiet = True
    return session.index
