"""The places that contexts describe: all collections, one of them, or a path in one."""

from __future__ import annotations

import os

from qmd.config.contexts import parse_context_target
from qmd.config.validate import nfc, require_unicode
from qmd.engine.requests import collections_of
from qmd.errors import NotFoundError
from qmd.sources.paths import is_inside
from qmd.types import Config


def context_target(config: Config, target: str) -> tuple[str | None, str]:
    """Return the collection (None for all) and the path in it that a target names; see `Index.add_context`.

    Raises `NotFoundError` if a path is in no collection, and `CollectionNotFoundError`.
    """
    require_unicode(target)
    if target == "/" or target.startswith("qmd://"):
        collection, prefix = parse_context_target(target)
        if collection is not None:
            collections_of(config, [collection])
        return collection, prefix
    name, _, prefix = nfc(target).partition("/")
    if name in config.collections and not os.path.lexists(target):
        return name, prefix.strip("/")
    # `realpath` raises for a path with a NUL, which can be in no collection.
    path = os.path.realpath(os.path.expanduser(target)) if "\0" not in target else target
    roots = {os.path.realpath(collection.path): collection.name for collection in config.collections.values()}
    for root in sorted(roots, key=len, reverse=True):
        if is_inside(path, root):
            return roots[root], nfc(path[len(root) :].strip(os.sep).replace(os.sep, "/"))
    raise NotFoundError(
        f"{'the current folder' if target == '.' else target} is in no collection",
        "add its folder with 'qmd add', or give an address such as qmd://collection/path",
    )
