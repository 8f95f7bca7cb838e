"""Collections and the copy of the configuration: the rules that all stores share."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Any, TypeAlias

import msgspec

from qmd.config.index_yml import digest, parse, read_bytes
from qmd.config.validate import require_unicode
from qmd.errors import ConfigError, ConflictError
from qmd.store import base
from qmd.types import Config
from qmd.types.clock import now

#: The stored fields of a collection: name, path, pattern, updated_at and root.
Fields: TypeAlias = dict[str, Any]


class StoredCollections(base.Collections):
    """Collections as rows with ids. A store supplies the rows."""

    #: The fields of `qmd.types.Collection` that the store has.
    _configured: tuple[str, ...] = ("name", "path", "pattern")

    @abstractmethod
    def _writing(self) -> AbstractContextManager[object]:
        """Begin a transaction, if the store has transactions."""

    @abstractmethod
    def _rows(self, strong: bool = False) -> dict[int, Fields]:
        """Return the fields of each collection by id. `strong` sees all earlier writes of other processes."""

    @abstractmethod
    def _add(self, fields: Fields, taken: Iterable[int]) -> None:
        """Store a new collection. `taken` has the ids of the others."""

    @abstractmethod
    def _put(self, identity: int, fields: Fields) -> None:
        """Replace the fields of a collection."""

    @abstractmethod
    def _drop(self, identity: int) -> int:
        """Delete a collection with its documents and return the number of documents."""

    @abstractmethod
    def _config(self, strong: bool = False) -> tuple[str | None, str | None]:
        """Return the digest of the configuration of the last `sync`, and its packed copy."""

    @abstractmethod
    def _put_config(self, config: Config, packed: str) -> None:
        """Store the digest of a configuration and its packed copy, the digest last."""

    @abstractmethod
    def _forget_config(self) -> None:
        """Delete the digest, so that the next `sync` compares everything."""

    def sync(self, config: Config, *, drop: bool = False) -> None:
        require_unicode(config.path)
        stored, packed = self._config(strong=True)
        # The copy of a version with other configuration fields differs, and is replaced.
        if stored == config.digest and packed is not None and _unpack(packed, config.path) == config:
            return
        with self._writing():
            # Another process may have changed the file, and synced, while this one waited.
            if (data := read_bytes(config.path)) and digest(data) != config.digest:
                config = parse(data, config.path)
            rows = self._rows(strong=True)
            new_names = _renamed(rows.values(), config)
            if not drop:
                self._refuse_other_owner(config, new_names)
            for identity, fields in rows.items():
                if fields["name"] not in config.collections and fields["name"] not in new_names:
                    self._drop(identity)
            ids = {new_names.get(fields["name"], fields["name"]): key for key, fields in rows.items()}
            for collection in config.collections.values():
                fields = {field: getattr(collection, field) for field in self._configured}
                identity = ids.get(collection.name, 0)
                if not identity:
                    self._add({**fields, "updated_at": None}, rows)
                elif rows[identity] | fields != rows[identity]:
                    self._put(identity, rows[identity] | fields)
            self._put_config(config, msgspec.json.encode(config).decode())

    def _refuse_other_owner(self, config: Config, new_names: Mapping[str, str]) -> None:
        """Raise `ConfigError` if collections of another configuration, with documents, would be removed."""
        owner = _other_owner(self._config(strong=True)[1], config)
        if owner is None:
            return
        kept = new_names.keys() | config.collections.keys()
        names = [name for name, stats in self.stats().items() if stats.documents and name not in kept]
        if names:
            raise ConfigError(
                f"this index belongs to {owner}: {config.path} would remove from it what is indexed of "
                f"{', '.join(sorted(names))}",
                "use another index with --index NAME; to remove it, run 'qmd update --allow-empty'",
            )

    def config_copy(self, path: str, digest: str) -> Config | None:
        stored, packed = self._config()
        copy = _unpack(packed, path) if stored == digest and packed is not None else None
        # This version may know more than an earlier one.
        return None if copy is None or copy.unknown_keys else copy

    def last_scans(self) -> Mapping[str, str | None]:
        return {fields["name"]: fields["updated_at"] for fields in self._rows().values()}

    def last_root(self, collection: str) -> str | None:
        for fields in self._rows().values():
            if fields["name"] == collection:
                return fields.get("root")
        return None

    def rename(self, old: str, new: str) -> None:
        with self._writing():
            by_name = {fields["name"]: (key, fields) for key, fields in self._rows(strong=True).items()}
            if old not in by_name:
                return  # another process read the new configuration and renamed it
            if new in by_name:
                raise ConflictError(f"a collection named {new} already exists")
            identity, fields = by_name[old]
            self._put(identity, fields | {"name": new})
            self._forget_config()

    def remove(self, name: str) -> int:
        with self._writing():
            for identity, fields in self._rows(strong=True).items():
                if fields["name"] == name:
                    self._forget_config()
                    return self._drop(identity)
        return 0

    def finish_scan(self, collection: str, root: str = "") -> None:
        with self._writing():
            for identity, fields in self._rows(strong=True).items():
                if fields["name"] == collection:
                    self._put(identity, fields | {"updated_at": now(), "root": root or None})


def _unpack(text: str, path: str) -> Config | None:
    """Return a packed configuration, or None if it is damaged or belongs to another file or version."""
    try:
        config = msgspec.json.decode(text, type=Config)
    except ValueError:
        return None
    return config if config.path == path else None


def _other_owner(packed: str | None, config: Config) -> str | None:
    """Return the path of the configuration of the last `sync`, if it is another file than `config`."""
    try:
        owner = msgspec.json.decode(packed or "{}").get("path")
    except (AttributeError, ValueError):
        return None
    if not isinstance(owner, str) or "\0" in owner:
        return None
    return owner if os.path.realpath(owner) != os.path.realpath(config.path) else None


def _renamed(rows: Iterable[Fields], config: Config) -> dict[str, str]:
    """Return the new names of collections that were renamed in the configuration only, by their old names.

    The file was edited by hand, or a command was killed before it reached the index. A renamed collection has
    the same folder and pattern.
    """
    existing = list(rows)
    names = {fields["name"] for fields in existing}
    added = [collection for collection in config.collections.values() if collection.name not in names]
    new_names: dict[str, str] = {}
    for fields in existing:
        place = fields["path"], fields["pattern"]
        match = next((new for new in added if (new.path, new.pattern) == place), None)
        if fields["name"] not in config.collections and match is not None:
            added.remove(match)
            new_names[fields["name"]] = match.name
    return new_names
