"""What a user points at on the disk, as collections and places in them."""

from __future__ import annotations

import os

from qmd.config import contexts
from qmd.config.names import nfc
from qmd.engine.requests import collections_of
from qmd.errors import NotFoundError, SourceError
from qmd.types import Collection, Config


def new_collection(
    path: str, name: str | None, pattern: str, ignore: tuple[str, ...], encoding: str | None
) -> Collection:
    """A folder as a collection; the name defaults to the folder's.

    Raises `SourceError` for a folder that is missing or cannot be listed.
    """
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
    if target == "/" or target.startswith("qmd://"):
        collection, prefix = contexts.parse_context_target(target)
        if collection is not None:
            collections_of(config, [collection])
        return collection, prefix
    place = os.path.realpath(os.path.expanduser(target))
    roots = {os.path.realpath(each.path): each.name for each in config.collections.values()}
    for root in sorted(roots, key=len, reverse=True):
        if place == root or place.startswith(root.rstrip(os.sep) + os.sep):
            return roots[root], nfc(place[len(root) :].strip(os.sep).replace(os.sep, "/"))
    raise NotFoundError(
        f"{target} is in no collection",
        "add its folder with 'qmd collection add', or name a place as qmd://collection/path",
    )
