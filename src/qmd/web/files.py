"""Files of collections that the page shows or sends: images beside documents, and PDF."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from functools import lru_cache

from qmd.engine.index import Index
from qmd.errors import NotFoundError
from qmd.text.uris import encode_path
from qmd.text.visible import visible
from qmd.types import Document

#: Types of files that are sent as they are. Others could be taken for pages.
FILE_TYPES: Mapping[str, str] = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
    "avif": "image/avif",
    "bmp": "image/bmp",
    "ico": "image/x-icon",
    "svg": "image/svg+xml",
    "pdf": "application/pdf",
}
MAX_FILE = 100_000_000
#: Files of a folder that are looked at for an image that is named without its folder, and the seconds that
#: the list is kept.
_MAX_LOOKED_AT = 20_000
_LISTED_FOR = 60


def file_on_disk(index: Index, reference: str) -> tuple[str, str]:
    """Return the path and media type of a file of a collection that may be sent as it is.

    `reference` is `collection/path`. The file must be inside the collection's folder with all links followed.

    Raises:
        NotFoundError: If there is no such file, or it may not be sent.
    """
    missing = NotFoundError(f"There is no file {visible(reference)[:200]}")
    name, _, path = reference.partition("/")
    collection = index.config.collections.get(name)
    media_type = FILE_TYPES.get(_suffix(path))
    parts = path.split("/")
    if collection is None or media_type is None or "\0" in path:
        raise missing
    if any(part in ("", "..") or part.startswith(".") for part in parts):
        raise missing
    root = os.path.realpath(collection.path)
    found = _inside(root, os.path.join(root, *parts))
    if found is None or os.path.getsize(found) > MAX_FILE:
        raise missing
    return found, media_type


def _inside(root: str, path: str) -> str | None:
    """Return the real path of a regular file if it is inside a folder."""
    real = os.path.realpath(path)
    return real if real.startswith(os.path.join(root, "")) and os.path.isfile(real) else None


def find_file(root: str, folder: str, target: str) -> str | None:
    """Return the path below `root` of a file that a document in `folder` names; None if there is none.

    The name is relative to the document or to the root. A name without a folder may be anywhere, as in
    Obsidian.
    """
    if "\0" in target or _suffix(target) not in FILE_TYPES:
        return None
    for base in (folder, ""):
        path = os.path.normpath(os.path.join(base, target.lstrip("/")))
        if not path.startswith("..") and _inside(root, os.path.join(root, path)) is not None:
            return path
    return _files_below(root, int(time.monotonic() // _LISTED_FOR)).get(target) if "/" not in target else None


@lru_cache(maxsize=8)
def _files_below(root: str, period: int) -> Mapping[str, str]:
    """Return the paths of files that can be sent, by name, without hidden folders. Kept for a period."""
    found: dict[str, str] = {}
    looked_at = 0
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        for name in names:
            if _suffix(name) in FILE_TYPES:
                found.setdefault(name, os.path.relpath(os.path.join(folder, name), root))
        looked_at += len(names) + len(folders)
        if looked_at > _MAX_LOOKED_AT:
            break
    return found


def _suffix(path: str) -> str:
    return path.rpartition(".")[2].lower()


def original(document: Document) -> str | None:
    """Return the address of the file of a document if browsers can show it."""
    return f"/file/{encode_path(document.file)}" if _suffix(document.path) in FILE_TYPES else None
