"""Completions for the shell: names of indexes and collections, paths, fields and their values, folders."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, TypeAlias

import click

from qmd.cli.session import Session
from qmd.errors import QmdError
from qmd.text.uris import SCHEME

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from qmd.engine.index import Index

Complete: TypeAlias = "Callable[[click.Context, click.Parameter, str], list[CompletionItem[str]]]"


def _completing(find: Callable[[Index, str], Iterable[str]], kind: str = "name") -> Complete:
    """Return a completion by the values that `find` returns; by nothing if the index cannot be read."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
        from click.shell_completion import CompletionItem

        session = ctx.ensure_object(Session)
        session.quiet = True
        try:
            return [CompletionItem(value, kind=kind) for value in find(session.index, incomplete)]
        except (QmdError, OSError):
            return []

    return complete


def _collections(index: Index, incomplete: str) -> Iterable[str]:
    return (name for name in index.config.collections if name.startswith(incomplete))


def _authors(index: Index, incomplete: str) -> Iterable[str]:
    """Yield the authors whose name starts with `incomplete`, in upper or lower case."""
    prefix = incomplete.casefold()
    return (author.name for author in index.authors() if author.name.casefold().startswith(prefix))


def _tags(index: Index, incomplete: str) -> Iterable[str]:
    prefix = incomplete.casefold()
    tags = index.field_values("tag", limit=1_000).values
    return (str(tag.value) for tag in tags if str(tag.value).casefold().startswith(prefix))


def _fields(index: Index, incomplete: str) -> Iterable[str]:
    names = (field.summary.name for field in index.fields(values=0))
    return (name for name in names if name.startswith(incomplete))


def _conditions(index: Index, incomplete: str) -> Iterable[str]:
    """Yield fields, and the values of one after `field=`."""
    from qmd.cli.render.rows import plain, program_text

    name, equals, start = incomplete.partition("=")
    if not equals:
        return _fields(index, incomplete)
    counts = index.field_values(name.rstrip("!"), limit=1_000).values
    values = (program_text(plain(count.value)) for count in counts)
    prefix = start.casefold()
    return (f"{name}={value}" for value in values if value.casefold().startswith(prefix))


def _facets(index: Index, incomplete: str) -> Iterable[str]:
    """Yield names to complete the last one of a list with commas."""
    from qmd.engine.documents.fields import FACETS

    before, comma, start = incomplete.rpartition(",")
    names = dict.fromkeys((*FACETS, *_fields(index, "")))
    return (f"{before}{comma}{name}" for name in names if name.startswith(start))


def _typed(index: Index, incomplete: str) -> Iterable[str]:
    """Yield the values of a filter that is typed in a query, as `tag:work`, and fields after `[`."""
    name, colon, start = incomplete.partition(":")
    if not colon:
        return (f"[{field}" for field in _fields(index, name[1:])) if name.startswith("[") else ()
    values = _TYPED[name](index, start) if name in _TYPED else ()
    return (f'{name}:"{value}"' if " " in value else f"{name}:{value}" for value in values)


def _inner_paths(index: Index, incomplete: str) -> Iterable[str]:
    """Yield paths inside collections, one folder at a time."""
    paths = (document.path for document in index.documents() if document.path.startswith(incomplete))
    return _one_folder(paths, incomplete)


#: What completes the values of typed filters.
_TYPED: Mapping[str, Callable[[Index, str], Iterable[str]]] = {
    "tag": _tags,
    "author": _authors,
    "path": _inner_paths,
}


def _one_folder(paths: Iterable[str], start: str) -> Iterable[str]:
    """Yield paths that start with `start` up to the next slash, each once."""
    parts = (path[len(start) :].partition("/") for path in paths)
    return dict.fromkeys(f"{start}{name}{slash}" for name, slash, _ in parts)


def _described_paths(index: Index, incomplete: str) -> Iterable[str]:
    return (path for path, _ in index.contexts() if path.startswith(incomplete))


def _paths(index: Index, incomplete: str) -> Iterator[str]:
    """Yield documents by path, one folder at a time: `notes/`, `notes/work/`, `notes/work/plan.md`.

    If `incomplete` starts with `qmd://`, the paths do too.
    """
    scheme = SCHEME if incomplete.startswith(SCHEME) else ""
    start = incomplete.removeprefix(scheme)
    folder, slash, _ = start.rpartition("/")
    if slash:
        files = [document.file for document in index.documents(folder)]
    else:
        files = [f"{name}/" for name in index.config.collections]
    for path in _one_folder((file for file in files if file.startswith(start)), start):
        yield scheme + path


def _marked_queries(index: Index, incomplete: str) -> Iterable[str]:
    return dict.fromkeys(mark.query for mark in index.marks() if mark.query.startswith(incomplete))


def _marked_documents(index: Index, incomplete: str) -> Iterable[str]:
    return dict.fromkeys(mark.file for mark in index.marks() if mark.file.startswith(incomplete))


collections = _completing(_collections, kind="plain")
authors = _completing(_authors)
tags = _completing(_tags)
fields = _completing(_fields)
conditions = _completing(_conditions)
typed = _completing(_typed)
inner_paths = _completing(_inner_paths, kind="path")
facets = _completing(_facets)
described_paths = _completing(_described_paths)
marked_queries = _completing(_marked_queries)
marked_documents = _completing(_marked_documents, kind="path")
paths = _completing(_paths, kind="path")


def context_paths(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
    """Return what a context can describe: `/`, and collections and folders as `qmd://` addresses."""
    from click.shell_completion import CompletionItem

    if ctx.params.get(param.name or ""):
        return []  # the next argument is the text
    items = [item for item in paths(ctx, param, incomplete or SCHEME) if item.value.endswith("/")]
    return [*items, *([CompletionItem("/", kind="name")] if not incomplete else [])]


def indexes(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
    from click.shell_completion import CompletionItem

    from qmd.config.paths import index_names

    try:
        names = index_names(os.environ)
    except QmdError:  # there is no home folder
        return []
    return [CompletionItem(name, kind="name") for name in names if name.startswith(incomplete)]


def folders(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="dir")]
