"""New, changed and deleted files that no scan has seen yet, by the times of their folders."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from qmd.engine.access.rules import Rule
from qmd.engine.parts import Part
from qmd.engine.requests import collections_of
from qmd.store.base import Store
from qmd.store.records import parts_of_record
from qmd.text.dates import of_mtime
from qmd.types import Collection, Fingerprint

if TYPE_CHECKING:
    from qmd.sources.rules import Rules

#: Where a record of a scan has the folders and the time: see `ScanRecord`.
_FOLDERS = slice(12, 14)


class FreshnessMethods(Part):
    """Tell which files on disk are not as they were indexed."""

    _rules: Mapping[str, Rule] = {"changed_on_disk": Rule(action="ask about files on disk")}

    def changed_on_disk(self, collections: Sequence[str] = ()) -> dict[str, tuple[str, tuple[str, ...]]]:
        """Return since when each collection has changed on disk (ISO 8601), and the paths that differ.

        Only the folders that had documents are asked for their time, which changes with the names in them: a
        file whose content was replaced in place is not found. Collections without a change are left out.
        """
        store, config = self._workspace.store, self._workspace.config
        found = {}
        for name in collections_of(config, collections):
            folders, began = _remembered(store.collections.last_root(name))
            times = [(folder, _changed(config.collections[name], folder)) for folder in folders]
            if later := [(folder, moment) for folder, moment in times if moment > began]:
                paths = tuple(_differing(store, config.collections[name], began, later))
                if paths:
                    first = min(moment for _, moment in later)
                    found[name] = f"{of_mtime(first)}+00:00", paths
        return found


def _remembered(root: str | None) -> tuple[Sequence[str], int]:
    if not root:
        return (), 0
    folders, began = parts_of_record(root)[_FOLDERS] or ((), 0)
    return folders, began


def _changed(collection: Collection, folder: str) -> int:
    try:
        return os.stat(os.path.join(collection.path, folder)).st_mtime_ns
    except OSError:  # the folder above has changed, and says it
        return 0


def _differing(
    store: Store, collection: Collection, began: int, folders: Sequence[tuple[str, int]]
) -> Iterator[str]:
    from qmd.sources.rules import Rules  # most searches find no change

    indexed, rules = store.documents.manifest(collection.name), Rules(collection)
    by_folder: dict[str, set[str]] = {}
    for path in indexed:
        by_folder.setdefault(path.rpartition("/")[0], set()).add(path)
    for folder, _ in folders:
        present = set()
        with suppress(OSError), os.scandir(os.path.join(collection.path, folder)) as entries:
            for entry in entries:
                path = unicodedata.normalize("NFC", f"{folder}/{entry.name}" if folder else entry.name)
                present.add(path)
                if _differs(entry, path, rules, indexed, began):
                    yield path
        yield from sorted(
            path for path in by_folder.get(folder, ()) if "#" not in path and path not in present
        )


def _differs(
    entry: os.DirEntry[str], path: str, rules: Rules, indexed: Mapping[str, tuple[int, ...]], began: int
) -> bool:
    """Return whether a file of the collection is not as it was indexed, or a folder is new."""
    from qmd.sources.left_out import holds

    status = entry.stat(follow_symlinks=False)
    if max(status.st_mtime_ns, status.st_ctime_ns) <= began:
        return False
    if entry.is_dir(follow_symlinks=False):
        is_new = not any(known.startswith(f"{path}/") for known in indexed)
        return is_new and not rules.folder_excluded(entry.name, path) and holds(rules, entry.path, path)
    return not rules.file_excluded(entry.name, path) and indexed.get(path) != Fingerprint.of(status)
