"""Taking over the collections and contexts of tobi/qmd, whose files are only read.

Both programs read the same `index.yml` in the same places, so usually there is nothing to copy. An index of
tobi/qmd has copies of its collections, which count if there is no `index.yml`.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import apsw

from qmd.config import editing
from qmd.config.contexts import context_uri, normalise_prefix
from qmd.config.index_yml import load
from qmd.config.paths import Locations, locate, resolve_folder
from qmd.config.schema import WRITTEN_BY_TOBI
from qmd.config.validate import validate_collection_name
from qmd.engine.index import open_index
from qmd.errors import ConfigError, ConflictError, ForeignIndexError, NotFoundError, QmdError, StoreError
from qmd.store.sqlite.opening import connect_frozen, is_database
from qmd.store.sqlite.schema import APPLICATION_ID
from qmd.types import DEFAULT_PATTERN, Collection, Config

#: `shared`: both programs read it from the same file. `added`, or to be added. `same` as here. `differs`: it
#: stays as it is here. `conflict`: another collection here has the same folder and pattern.
Action: TypeAlias = Literal["shared", "added", "same", "differs", "conflict"]

_COLLECTIONS = (
    "SELECT name, path, pattern, ignore_patterns, include_by_default, update_command, context "
    "FROM store_collections ORDER BY name"
)
#: What two definitions of a collection are compared by, and what messages call it.
_COMPARED = {
    "path": "path",
    "pattern": "pattern",
    "ignore": "ignore",
    "include_by_default": "includeByDefault",
    "update": "update command",
}


@dataclass(frozen=True, slots=True)
class MigratedCollection:
    """A collection of tobi/qmd, and what became of it.

    Attributes:
        name: Its name.
        path: Its folder.
        pattern: Its pattern.
        action: What was done, or is to be done.
        differences: What differs from the collection of this name here, a phrase each.
        update: Its update command there; None if there is none.
        update_added: Whether the command was, or is to be, taken over.
        contexts: The addresses of the contexts that were taken over.
        documents: The number of documents in the index of tobi/qmd; None without such an index.
        documents_here: The number of documents in the index of this program; None if it is not indexed yet.
        only_there: Documents that only the index of tobi/qmd has.
        only_here: Documents that only the index of this program has.
    """

    name: str
    path: str
    pattern: str
    action: Action
    differences: tuple[str, ...] = ()
    update: str | None = None
    update_added: bool = False
    contexts: tuple[str, ...] = ()
    documents: int | None = None
    documents_here: int | None = None
    only_there: tuple[str, ...] = ()
    only_here: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Migration:
    """The result of a migration.

    Attributes:
        index: The index of tobi/qmd; None if there is none.
        config: The `index.yml` of tobi/qmd; None if there is none.
        target: The `index.yml` of this program.
        shared: Whether both programs read the same `index.yml`.
        changed: Whether something was, or with a dry run would be, written to `target`.
        collections: The collections of tobi/qmd.
        notes: What else differs, a line each.
    """

    index: str | None
    config: str | None
    target: str
    shared: bool
    changed: bool
    collections: tuple[MigratedCollection, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Old:
    """The index of tobi/qmd: its copies of the collections, and the paths of its documents by collection."""

    collections: Mapping[str, Collection]
    global_context: str | None
    documents: Mapping[str, frozenset[str]]


def migrate(
    name: str | None = None,
    index: str | None = None,
    config: str | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    dry_run: bool = False,
    with_commands: bool = False,
) -> Migration:
    """Take over collections and contexts of tobi/qmd that the configuration here does not have.

    Collections and contexts that are here already stay as they are, so it can be repeated. If one of the new
    ones is refused, nothing is written. The files of tobi/qmd are not changed.

    Args:
        name: The name of the index to migrate to, as with `--index`.
        index: The index file of tobi/qmd; by default where it has the index of this name.
        config: The `index.yml` of tobi/qmd; by default the one beside a named index file, else the one that
            both programs use.
        environ: Environment variables; by default those of the process.
        dry_run: Only report what would be done.
        with_commands: Also take over update commands, which `qmd update` runs in a shell.

    Raises:
        NotFoundError: If there is nothing of tobi/qmd.
        ForeignIndexError: If the index file is not one of tobi/qmd.
        ConfigError: If an `index.yml` is broken.
        UsageError: If a name, folder or context cannot be used here.
        StoreError: If the index file cannot be read.
    """
    variables = os.environ if environ is None else environ
    locations = locate(name, variables, os.getcwd())
    index_file, config_file = _files(locations, index, config)
    old = _read(index_file) if index_file is not None else _Old({}, None, {})
    target = locations.config
    shared = config_file is not None and os.path.realpath(config_file) == os.path.realpath(target)
    notes: list[str] = []
    if config_file is not None:
        written = load(config_file)
        notes += _notes(written, old, shared)
        collections, global_context = written.collections, written.global_context
    else:
        collections, global_context = old.collections, old.global_context
    plan = _Plan(load(target), shared, with_commands)
    results = [plan.add(collection) for collection in collections.values()]
    plan.describe_all(global_context, notes)
    if plan.changes and not dry_run:
        editing.merge(target, plan.collections, plan.contexts, plan.commands)
    here = _documents(name, environ, results)
    return Migration(
        index_file,
        config_file,
        target,
        shared,
        plan.changes,
        tuple(_compared(item, old.documents, here, index_file is not None) for item in results),
        tuple(notes),
    )


class _Plan:
    """The collections, contexts and update commands that are to be added to a configuration."""

    def __init__(self, config: Config, shared: bool, with_commands: bool) -> None:
        self._config = config
        self._shared = shared
        self._with_commands = with_commands
        self.collections: list[Collection] = []
        self.contexts: list[tuple[str | None, str, str]] = []
        self.commands: dict[str, str] = {}

    @property
    def changes(self) -> bool:
        return bool(self.collections or self.contexts or self.commands)

    def add(self, old: Collection) -> MigratedCollection:
        """Plan to take a collection over, or what is missing of it."""
        result = MigratedCollection(old.name, old.path, old.selection, "shared", update=old.update)
        if self._shared:
            return result
        present = self._config.collections.get(old.name)
        if present is None:
            twins = [each.name for each in self._config.collections.values() if _place(each) == _place(old)]
            if twins:
                reason = f"'{twins[0]}' has the same folder and pattern"
                return replace(result, action="conflict", differences=(reason,))
            validate_collection_name(old.name)
            self.collections.append(old if self._with_commands else replace(old, update=None))
            uris = tuple(context_uri(old.name, prefix) for prefix in old.context)
            taken = self._with_commands and old.update is not None
            return replace(result, action="added", update_added=taken, contexts=uris)
        if self._with_commands and old.update and present.update is None:
            self.commands[old.name] = old.update
            present = replace(present, update=old.update)
        differences = [
            f"{word}: {_shown(getattr(old, field))} there, {_shown(getattr(present, field))} here"
            for field, word in _COMPARED.items()
            if getattr(old, field) != getattr(present, field)
        ]
        added = []
        for prefix, text in old.context.items():
            uri = context_uri(old.name, prefix)
            if prefix not in present.context:
                added.append(uri)
                self.contexts.append((old.name, prefix, text))
            elif present.context[prefix] != text:
                differences.append(f"the context of {uri}")
        action: Action = "differs" if differences else "same"
        return replace(
            result,
            action=action,
            differences=tuple(differences),
            update_added=old.name in self.commands,
            contexts=tuple(added),
        )

    def describe_all(self, text: str | None, notes: list[str]) -> None:
        """Plan to take the context of all documents over."""
        if self._shared or text is None or text == self._config.global_context:
            return
        if self._config.global_context is None:
            self.contexts.append((None, "", text))
            notes.append(f"the context of all documents: {text}")
        else:
            notes.append("the context of all documents differs; it stays as it is here")


def _files(locations: Locations, index: str | None, config: str | None) -> tuple[str | None, str | None]:
    """Return the index file and the `index.yml` of tobi/qmd, None for each that does not exist."""
    if index is not None and not os.path.isfile(index):
        raise NotFoundError(f"{index} is not there, or is no file", "name the index.sqlite of tobi/qmd")
    if config is not None and not os.path.isfile(config):
        raise NotFoundError(f"{config} is not there, or is no file", "name the index.yml of tobi/qmd")
    if index is None and config is None:
        index = locations.index if _is_tobi(locations.index) else None
        config = locations.config if os.path.isfile(locations.config) else None
        if index is None:
            raise NotFoundError(
                f"there is no index of tobi/qmd at {locations.index}",
                "name its index.sqlite, or its index.yml with --config",
            )
    elif index is not None and config is None:
        beside = os.path.splitext(index)[0] + ".yml"
        usual = os.path.realpath(index) == os.path.realpath(locations.index)
        config = locations.config if usual and os.path.isfile(locations.config) else beside
        config = config if os.path.isfile(config) else None
    index = None if index is None else os.path.abspath(index)
    return index, None if config is None else os.path.abspath(config)


def _is_tobi(path: str) -> bool:
    """Return whether a file is a database that this program has not made."""
    if not os.path.isfile(path) or not is_database(path):
        return False
    with open(path, "rb") as file:
        return int.from_bytes(file.read(72)[68:72], "big") != APPLICATION_ID


def _read(path: str) -> _Old:
    """Read the index of tobi/qmd. Raises `ForeignIndexError` if it is something else."""
    if not _is_tobi(path):
        known = "was made by this program" if is_database(path) else "is not an index"
        raise ForeignIndexError(f"{path} {known}", "name the index.sqlite of tobi/qmd")
    try:
        with _opened(path) as db:
            try:
                rows = list(db.execute(_COLLECTIONS))
                values = dict(db.execute("SELECT key, value FROM store_config"))
                documents: dict[str, set[str]] = {}
                for name, file in db.execute("SELECT collection, path FROM documents WHERE active = 1"):
                    documents.setdefault(str(name), set()).add(str(file))
            except apsw.SQLError as error:
                raise ForeignIndexError(
                    f"{path} is not an index of tobi/qmd 2: {error}", "open it with tobi/qmd 2 once"
                ) from error
    except (apsw.Error, UnicodeDecodeError) as error:
        raise StoreError(f"{path} cannot be read: {error}") from error
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror or error}") from error
    collections = {str(row[0]): _collection(path, *row) for row in rows}
    text = values.get("global_context")
    found = {name: frozenset(files) for name, files in documents.items()}
    return _Old(collections, text if isinstance(text, str) and text.strip() else None, found)


@contextmanager
def _opened(path: str) -> Iterator[apsw.Connection]:
    """Open an index of tobi/qmd without writing beside it.

    The changes in a write-ahead log can only be read by writing, so then a copy is opened.
    """
    with tempfile.TemporaryDirectory(prefix="qmd-migrate-") as folder:
        if os.path.exists(f"{path}-wal") and os.path.getsize(f"{path}-wal"):
            copy = os.path.join(folder, "index.sqlite")
            for ending in ("", "-wal"):
                shutil.copyfile(path + ending, copy + ending)
            db = apsw.Connection(copy, apsw.SQLITE_OPEN_READWRITE)
        else:
            db = connect_frozen(path)
        with closing(db):
            db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
            db.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
            db.config(apsw.SQLITE_DBCONFIG_ENABLE_VIEW, 0)
            yield db


def _collection(
    index: str, name: Any, path: Any, pattern: Any, ignore: Any, include: Any, update: Any, context: Any
) -> Collection:
    contexts = _json(context, dict)
    return Collection(
        str(name),
        resolve_folder(str(path), index),
        str(pattern or DEFAULT_PATTERN),
        tuple(map(str, _json(ignore, list))),
        {normalise_prefix(str(prefix)): str(text) for prefix, text in contexts.items() if str(text).strip()},
        update=str(update) if update else None,
        include_by_default=include != 0,
    )


def _json(text: Any, kind: type) -> Any:
    """Return a stored list or mapping; an empty one if there is none, or it is something else."""
    try:
        value = json.loads(text) if isinstance(text, str) else None
    except ValueError:
        value = None
    return value if isinstance(value, kind) else kind()


def _notes(written: Config, old: _Old, shared: bool) -> list[str]:
    """Say what else an `index.yml` contains, and what its index has besides."""
    notes = [
        f"the {role} model '{model}' is used here too, if it can be had: see 'qmd models'"
        if shared
        else f"the {role} model '{model}' is not taken over: set it under 'models:' in index.yml"
        for role in ("embed", "rerank", "generate")
        if (model := getattr(written.models, role)) is not None and model not in WRITTEN_BY_TOBI
    ]
    if written.editor_uri is not None and not shared:
        notes.append(f"editor_uri '{written.editor_uri}' is not taken over: set it in index.yml")
    keys = ", ".join(f"'{key.key}'" for key in written.unknown_keys)
    notes += [f"{written.path} has unknown keys, which have no effect here: {keys}"] if keys else []
    dropped = sorted(old.collections.keys() - written.collections.keys())
    if dropped:
        names = ", ".join(dropped)
        notes.append(f"only in the old index and no longer in index.yml, so not taken over: {names}")
    return notes


def _documents(
    name: str | None, environ: Mapping[str, str] | None, results: list[MigratedCollection]
) -> dict[str, frozenset[str]]:
    """Return the paths of the documents that are indexed here, by collection, without unscanned ones."""
    try:
        with open_index(name=name, environ=environ) as index:
            scanned = {item.name for item in index.status().collections if item.last_updated}
            return {
                item.name: frozenset(document.path for document in index.documents(item.name))
                for item in results
                if item.name in scanned
            }
    except (ConfigError, ConflictError):
        raise
    except QmdError:
        return {}


def _compared(
    item: MigratedCollection,
    there: Mapping[str, frozenset[str]],
    here: Mapping[str, frozenset[str]],
    has_index: bool,
) -> MigratedCollection:
    """Return a collection with the documents that only one of the indexes has."""
    old, new = there.get(item.name, frozenset()), here.get(item.name)
    item = replace(item, documents=len(old) if has_index else None)
    if new is None:
        return item
    if not has_index:
        return replace(item, documents_here=len(new))
    return replace(
        item,
        documents_here=len(new),
        only_there=tuple(sorted(old - new)),
        only_here=tuple(sorted(new - old)),
    )


def _place(collection: Collection) -> tuple[str, str]:
    return os.path.realpath(collection.path), collection.selection


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    return "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
