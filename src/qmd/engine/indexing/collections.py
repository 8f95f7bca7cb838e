"""What a user points at on the disk, as collections and places in them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping

from qmd.config import contexts
from qmd.config.paths import PROJECT_FOLDER, check_project, is_home, project_file
from qmd.config.validate import MAX_COLLECTION_NAME, nfc, require_unicode, validate_collection_name
from qmd.engine.requests import collections_of
from qmd.errors import ConflictError, NotFoundError, SourceError, UsageError
from qmd.types import Collection, Config, Document

# All that is made from other files stays out of version control, locks and indexes of other versions too.
_GITIGNORE = b"*\n!.gitignore\n!index.yml\n!index.yaml\n"


def create_project(folder: str, environ: Mapping[str, str]) -> Collection:
    """Make `.qmd/` in an absolute folder: an `index.yml` with the folder as its one collection.

    Returns that collection; nothing is indexed. Raises `UsageError` for the home folder, `ConflictError` for
    a project that is there, `SourceError` or `ConfigError` where the files cannot be written.
    """
    from qmd.config import editing
    from qmd.config.atomic import replace_file

    if is_home(environ, folder):
        raise UsageError(
            "the home folder cannot be a project",
            "go to a folder below it; 'qmd collection add' takes folders from anywhere",
        )
    existing = project_file(folder)
    if existing is not None:
        raise ConflictError(f"{existing} exists already", "add folders to it with 'qmd collection add PATH'")
    settings = os.path.join(folder, PROJECT_FOLDER)
    try:
        os.makedirs(settings, exist_ok=True)
    except OSError as error:
        raise SourceError(
            f"{settings} cannot be made: {error.strerror}", "it is to be a folder, in a folder you may write"
        ) from error
    check_project(folder)
    ignored = os.path.join(settings, ".gitignore")
    if not os.path.lexists(ignored):
        replace_file(ignored, _GITIGNORE)
    collection = Collection(_project_name(folder), folder)
    editing.create_project(os.path.join(settings, "index.yml"), collection)
    return collection


def new_collection(
    path: str, name: str | None, pattern: str, ignore: tuple[str, ...], encoding: str | None
) -> Collection:
    """A folder as a collection; the name defaults to the folder's.

    Raises `SourceError` for a folder that is missing or cannot be listed.
    """
    require_unicode(path)
    folder = os.path.abspath(os.path.expanduser(path))
    if not os.path.isdir(folder):
        state = "is not a folder" if os.path.exists(folder) else "does not exist"
        raise SourceError(f"{path} {state}", "give the path of a folder that holds documents")
    if not os.access(folder, os.R_OK | os.X_OK):
        raise SourceError(f"{path} cannot be read: permission denied", "check the folder's permissions")
    chosen = name if name is not None else os.path.basename(folder)
    return Collection(nfc(chosen), folder, pattern, ignore, encoding=encoding)


def context_place(config: Config, target: str) -> tuple[str | None, str]:
    """(collection or None for everything, prefix) of `/`, a `qmd://` address, or a path in a collection.

    Raises `NotFoundError` for a path in no collection, `CollectionNotFoundError` for an unknown one.
    """
    require_unicode(target)
    if target == "/" or target.startswith("qmd://"):
        collection, prefix = contexts.parse_context_target(target)
        if collection is not None:
            collections_of(config, [collection])
        return collection, prefix
    # No path holds a NUL, and none that does can be asked for.
    place = os.path.realpath(os.path.expanduser(target)) if "\0" not in target else target
    roots = {os.path.realpath(each.path): each.name for each in config.collections.values()}
    for root in sorted(roots, key=len, reverse=True):
        if place == root or place.startswith(root.rstrip(os.sep) + os.sep):
            return roots[root], nfc(place[len(root) :].strip(os.sep).replace(os.sep, "/"))
    raise NotFoundError(
        f"{target} is in no collection",
        "add its folder with 'qmd collection add', or name a place as qmd://collection/path",
    )


def undescribed(config: Config, documents: Iterable[Document]) -> list[tuple[str, int]]:
    """Collections and top folders of documents, without a context: (place as a `qmd://` URI, documents)."""
    counts: Counter[tuple[str, str]] = Counter()
    for document in documents:
        counts[document.collection, ""] += 1
        folder, slash, _ = document.path.partition("/")
        if slash:
            counts[document.collection, folder] += 1
    return [
        (contexts.context_uri(collection, folder), count)
        for (collection, folder), count in counts.items()
        if folder not in config.collections[collection].context
    ]


def _project_name(folder: str) -> str:
    """The folder's name, as far as it can name a collection."""
    name = nfc(os.path.basename(folder)).lstrip(". ")[:MAX_COLLECTION_NAME].strip()
    try:
        validate_collection_name(name)
    except UsageError:
        return "project"
    return name
