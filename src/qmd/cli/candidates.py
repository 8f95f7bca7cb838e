"""Completions for the shell: names of collections, paths of documents, folders on disk."""

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
    """Return the collections whose name starts with `incomplete`."""
    try:
        return [name for name in _index(ctx).config.collections if name.startswith(incomplete)]
    except (QmdError, OSError):
        return []


def authors(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
    """Return the authors whose name starts with `incomplete`, in upper or lower case."""
    from click.shell_completion import CompletionItem

    try:
        names = [author.name for author in _index(ctx).authors()]
    except (QmdError, OSError):
        return []
    prefix = incomplete.casefold()
    return [CompletionItem(name, kind="name") for name in names if name.casefold().startswith(prefix)]


def context_paths(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
    """Return what a context can describe: `/`, and collections and folders as `qmd://` addresses."""
    from click.shell_completion import CompletionItem

    if ctx.params.get(param.name or ""):
        return []  # the next argument is the text
    items = [item for item in paths(ctx, param, incomplete or "qmd://") if item.value.endswith("/")]
    return [*items, *([CompletionItem("/", kind="name")] if not incomplete else [])]


def described_paths(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
    """Return the paths that have a context."""
    from click.shell_completion import CompletionItem

    try:
        paths = [path for path, _ in _index(ctx).contexts()]
    except (QmdError, OSError):
        return []
    return [CompletionItem(path, kind="name") for path in paths if path.startswith(incomplete)]


def paths(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
    """Return documents by path, one folder at a time: `notes/`, `notes/work/`, `notes/work/plan.md`.

    If `incomplete` starts with `qmd://`, the paths do too.
    """
    from click.shell_completion import CompletionItem

    scheme = SCHEME if incomplete.startswith(SCHEME) else ""
    incomplete = incomplete.removeprefix(scheme)
    try:
        index = _index(ctx)
        folder, slash, _ = incomplete.rpartition("/")
        files: Iterable[str] = (
            (document.file for document in index.documents(folder))
            if slash
            else (f"{name}/" for name in index.config.collections)
        )
        completed = {
            incomplete + "".join(file[len(incomplete) :].partition("/")[:2]): None
            for file in files
            if file.startswith(incomplete)
        }
    except (QmdError, OSError):
        return []
    return [CompletionItem(scheme + path, kind="path") for path in completed]


def folders(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
    """Ask the shell to complete folders on disk."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="dir")]


def _index(ctx: click.Context) -> Index:
    session = ctx.ensure_object(Session)
    session.quiet = True
    return session.index
