"""Files of collections that are shown or sent as they are: images, sounds and films in documents, and PDF."""

from __future__ import annotations

import os
import time
import unicodedata
from collections.abc import Mapping
from functools import lru_cache

from qmd.engine.documents.links import Links
from qmd.errors import NotFoundError
from qmd.sources.paths import absolute_path, entries_of, is_inside
from qmd.store.base import Store
from qmd.text.wording import visible
from qmd.types import Collection, Config

#: Types of files that are sent as they are. Others could be taken for pages.
_TYPES: Mapping[str, str] = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
    "avif": "image/avif",
    "bmp": "image/bmp",
    "ico": "image/x-icon",
    "svg": "image/svg+xml",
    **dict.fromkeys(("mp3", "mpga"), "audio/mpeg"),
    **dict.fromkeys(("ogg", "oga", "opus"), "audio/ogg"),
    "wav": "audio/wav",
    "m4a": "audio/mp4",
    "flac": "audio/flac",
    "mp4": "video/mp4",
    "mov": "video/quicktime",
    "webm": "video/webm",
    "ogv": "video/ogg",
    "pdf": "application/pdf",
}
_MAX_SIZE = 100_000_000
#: Files of a folder that are looked at for an image that is named without its folder, and the seconds that
#: the list is kept.
_MAX_LOOKED_AT = 20_000
_LISTED_FOR = 60


def file_on_disk(store: Store, config: Config, reference: str) -> tuple[str, str]:
    """Return the path and media type of a file of a collection that may be sent as it is.

    `reference` is `collection/path`. The file must be inside the collection's folder with all links followed,
    and belong to the collection or be shown in one of its documents.

    Raises:
        NotFoundError: If there is no such file, or it may not be sent.
    """
    missing = NotFoundError(f"There is no file {visible(reference)[:200]}")
    name, _, path = reference.partition("/")
    collection = config.collections.get(name)
    media_type = _media_type_of(path)
    parts = path.split("/")
    if collection is None or media_type is None or "\0" in path:
        raise missing
    if any(part in ("", "..") or part.startswith(".") for part in parts):
        raise missing
    found = _inside(collection, path)
    if found is None or os.path.getsize(found) > _MAX_SIZE or not _may_be_sent(store, collection, path):
        raise missing
    return found, media_type


def viewable(store: Store, collection: Collection, source: str, target: str | None) -> str | None:
    """Return the path of the file of the document at `source`, or of one that it names, if it may be sent."""
    path = _find(collection, source, target) if target is not None else _existing(collection, source)
    return path if path is not None and _may_be_sent(store, collection, path) else None


def _media_type_of(path: str) -> str | None:
    return _TYPES.get(path.rpartition(".")[2].lower())


def _may_be_sent(store: Store, collection: Collection, path: str) -> bool:
    """Return whether a file belongs to a collection, or is an image or the like in one of its documents."""
    from qmd.sources.rules import exclusion  # most commands send no files

    if exclusion(collection, path) is None and _is_spelled(collection.path, path):
        return True
    if not (_media_type_of(path) or "").startswith(("image/", "audio/", "video/")):
        return False
    embeds = Links(store).embeds(collection.name, path.rpartition("/")[2])
    return any(_find(collection, source, target) == path for source, target in embeds)


def _is_spelled(root: str, path: str) -> bool:
    """Return whether a path is spelled as on the disk: some disks find names in another case as well."""
    for name in path.split("/"):
        if name not in (unicodedata.normalize("NFC", other) for other in entries_of(root)):
            return False
        root = absolute_path(root, name)
    return True


def _inside(collection: Collection, path: str) -> str | None:
    """Return the real path of a regular file if it is inside the collection's folder."""
    root = os.path.realpath(collection.path)
    real = os.path.realpath(absolute_path(root, path))
    return real if is_inside(real, root) and os.path.isfile(real) else None


def _existing(collection: Collection, path: str) -> str | None:
    """Return a path if there is such a file of a type that is sent."""
    return path if _media_type_of(path) is not None and _inside(collection, path) is not None else None


def _find(collection: Collection, source: str, target: str) -> str | None:
    """Return the path of a file that the document at `source` names; None if there is none.

    The name is relative to the document or to the collection. A name without a folder may be in any folder
    that the collection does not leave out, as in Obsidian.
    """
    target = target.partition("?")[0].partition("#")[0]
    if "\0" in target:
        return None
    for base in (os.path.dirname(source), ""):
        path = os.path.normpath(os.path.join(base, target.lstrip("/")))
        if not path.startswith("..") and _existing(collection, path):
            return path
    if "/" in target:
        return None
    listed = _files_below(collection.path, collection.ignore, int(time.monotonic() // _LISTED_FOR))
    return listed.get(target)


@lru_cache(maxsize=8)
def _files_below(root: str, ignore: tuple[str, ...], period: int) -> Mapping[str, str]:
    """Return the paths of files that can be sent, by name, without excluded folders. Kept for a period."""
    found: dict[str, str] = {}
    looked_at = 0
    from qmd.sources.rules import Rules

    rules = Rules(Collection("", root, ignore=ignore))
    for folder, folders, names in os.walk(root):
        below = os.path.relpath(folder, root)
        prefix = "" if below == "." else f"{unicodedata.normalize('NFC', below)}/"
        folders[:] = sorted(each for each in folders if not rules.folder_excluded(each, prefix + each))
        for name in names:
            if _media_type_of(name) is not None:
                found.setdefault(name, prefix + name)
        looked_at += len(names) + len(folders)
        if looked_at > _MAX_LOOKED_AT:
            break
    return found
