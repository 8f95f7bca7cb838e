"""Completions for the shell: names of indexes and collections, paths, fields and their values, folders."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from qmd.cli.app import named
from qmd.cli.command import Group
from qmd.cli.session import Session
from qmd.cli.usage import MisuseError
from qmd.errors import QmdError
from qmd.text.uris import SCHEME
from qmd.text.values import shown

if TYPE_CHECKING:
    from qmd.engine.index import Index


class Item(NamedTuple):
    """An offer of a shell: a value, its kind, and its description.

    A `dir` or a `file` is looked for by the shell. A `name` may need quotes, and so may a `path`, after which
    more follows if it is a folder.
    """

    value: str
    kind: str = "plain"
    description: str | None = None


#: Returns what completes a word of a parameter, which the user has given some values already.
Complete: TypeAlias = "Callable[[Session, Sequence[str], str], list[Item]]"
Find: TypeAlias = "Callable[[Index, str], Iterable[str]]"


def _completing(kind: str = "name") -> Callable[[Find], Complete]:
    """Make a completion of a function that finds values; it has none if the index cannot be read."""

    def completing(find: Find) -> Complete:
        def complete(session: Session, _: Sequence[str], start: str) -> list[Item]:
            session.quiet = True
            try:
                return _items(find(session.index, start), kind)
            except (QmdError, OSError):
                return []

        return complete

    return completing


def _items(values: Iterable[str], kind: str = "name") -> list[Item]:
    return [Item(value, kind) for value in values]


def _starting(values: Iterable[str], start: str) -> Iterable[str]:
    """Return the values that start with `start`, each once."""
    return dict.fromkeys(value for value in values if value.startswith(start))


def _starting_in_any_case(values: Iterable[str], start: str) -> Iterable[str]:
    prefix = start.casefold()
    return (value for value in values if value.casefold().startswith(prefix))


def _dates(_: Index, incomplete: str) -> Iterable[str]:
    from qmd.text.dates.relative import CHINESE_WORDS, WORDS

    return _starting_in_any_case((*WORDS, *CHINESE_WORDS), incomplete)


def _authors(index: Index, incomplete: str) -> Iterable[str]:
    return _starting_in_any_case((author.name for author in index.authors()), incomplete)


def _values(index: Index, field: str) -> Iterable[str]:
    return (shown(each.value) for each in index.field_values(field, limit=1_000).values)


def _tags(index: Index, incomplete: str) -> Iterable[str]:
    return _starting_in_any_case(_values(index, "tag"), incomplete)


def _suffixes(index: Index, incomplete: str) -> Iterable[str]:
    return _starting_in_any_case(_values(index, "ext"), incomplete)


def _languages(index: Index, incomplete: str) -> Iterable[str]:
    return _starting_in_any_case(_values(index, "lang"), incomplete)


def _fields(index: Index, incomplete: str) -> Iterable[str]:
    return _starting((field.summary.name for field in index.fields(values=0)), incomplete)


@_completing()
def conditions(index: Index, incomplete: str) -> Iterable[str]:
    """Return fields, and the values of one after `field=`."""
    name, equals, start = incomplete.partition("=")
    if not equals:
        return _fields(index, incomplete)
    values = _starting_in_any_case(_values(index, name.rstrip("!")), start)
    return (f"{name}={value}" for value in values)


@_completing()
def facets(index: Index, incomplete: str) -> Iterable[str]:
    """Return names to complete the last one of a list with commas."""
    from qmd.engine.documents.fields import FACETS

    before, comma, start = incomplete.rpartition(",")
    return (f"{before}{comma}{name}" for name in _starting((*FACETS, *_fields(index, "")), start))


@_completing()
def typed(index: Index, incomplete: str) -> Iterable[str]:
    """Return the values of a filter that is typed in a query, as `tag:work`, and fields after `[`."""
    name, colon, start = incomplete.partition(":")
    if not colon:
        return (f"[{field}" for field in _fields(index, name[1:])) if name.startswith("[") else ()
    filters: dict[str, Find] = {"tag": _tags, "author": _authors, "path": _inner_paths, "ext": _suffixes}
    filters["lang"] = _languages
    filters |= dict.fromkeys(("after", "before", "date"), _dates)
    values = filters[name](index, start) if name in filters else ()
    return (f'{name}:"{value}"' if " " in value else f"{name}:{value}" for value in values)


def _inner_paths(index: Index, incomplete: str) -> Iterable[str]:
    """Return paths inside collections, one folder at a time."""
    return _one_folder((document.path for document in index.documents()), incomplete)


def _one_folder(paths: Iterable[str], start: str) -> Iterable[str]:
    """Return paths that start with `start` up to the next slash, each once."""
    parts = (path[len(start) :].partition("/") for path in paths if path.startswith(start))
    return dict.fromkeys(f"{start}{name}{slash}" for name, slash, _ in parts)


@_completing("path")
def paths(index: Index, incomplete: str) -> Iterator[str]:
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
    for path in _one_folder(files, start):
        yield scheme + path


collections = _completing("plain")(lambda index, start: _starting(index.config.collections, start))
authors = _completing()(_authors)
tags = _completing()(_tags)
suffixes = _completing()(_suffixes)
languages = _completing()(_languages)
dates = _completing()(_dates)
fields = _completing()(_fields)
inner_paths = _completing("path")(_inner_paths)
described_paths = _completing()(lambda index, start: _starting(dict(index.contexts()), start))
marked_queries = _completing()(lambda index, start: _starting((mark.query for mark in index.marks()), start))
marked_documents = _completing("path")(
    lambda index, start: _starting((mark.file for mark in index.marks()), start)
)


def context_paths(session: Session, given: Sequence[str], start: str) -> list[Item]:
    """Return what a context can describe: `/`, and collections and folders as `qmd://` addresses."""
    if given:
        return []  # the next argument is the text
    items = [item for item in paths(session, given, start or SCHEME) if item.value.endswith("/")]
    return [*items, *_items([] if start else ["/"])]


def typed_or_paths(session: Session, given: Sequence[str], start: str) -> list[Item]:
    """Return filters as people type them, and documents."""
    return [*typed(session, given, start), *paths(session, given, start)]


def indexes(_: Session, __: Sequence[str], start: str) -> list[Item]:
    from qmd.config.paths import index_names

    try:
        return _items(_starting(index_names(os.environ), start))
    except QmdError:  # there is no home folder
        return []


def commands(_: Session, given: Sequence[str], start: str) -> list[Item]:
    """Return commands, inside the groups named before."""
    try:
        found, _path = named(given)
    except (MisuseError, QmdError):
        return []
    return _items(_starting(found.names(), start), "plain") if isinstance(found, Group) else []


def folders(_: Session, __: Sequence[str], start: str) -> list[Item]:
    return [Item(start, "dir")]


def files(_: Session, __: Sequence[str], start: str) -> list[Item]:
    return [Item(start, "file")]
