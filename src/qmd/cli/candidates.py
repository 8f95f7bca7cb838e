"""What a shell offers when TAB is pressed: names of collections, paths of documents, folders on disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from qmd.cli.session import Session
from qmd.errors import QmdError

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


def paths(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
    """Documents by their display path, a folder at a time: `notes/`, `notes/work/`, `notes/work/plan.md`."""
    from click.shell_completion import CompletionItem

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
    return [CompletionItem(path, kind="path") for path in found]


def folders(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
    """Folders on disk; the shell looks them up."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="dir")]


def _index(ctx: click.Context) -> Index:
    session = ctx.ensure_object(Session)
    session.quiet = True
    return session.index
