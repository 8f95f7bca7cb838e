"""Taking over the collections and contexts of tobi/qmd, whose files are only read.

Both programs read the same `index.yml` in the same places, so usually there is nothing to copy. An index of
tobi/qmd has copies of its collections, which count if there is no `index.yml`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from qmd.config import editing
from qmd.config.contexts import context_uri
from qmd.config.index_yml import load
from qmd.config.locations import Locations, locate
from qmd.config.schema import WRITTEN_BY_TOBI
from qmd.config.validate import validate_collection_name
from qmd.errors import NotFoundError, UsageError
from qmd.features.migration.tobi_index import TobiIndex, is_tobi, read
from qmd.types import Collection, Config

#: `shared`: both programs read it from the same file. `added`, or to be added. `same` as here. `differs`: it
#: stays as it is here. `conflict`: another collection here has the same folder and pattern.
Action: TypeAlias = Literal["shared", "added", "same", "differs", "conflict"]

#: The parts by which two definitions of a collection are compared, with their names in messages.
_COMPARED = {
    "path": "path",
    "pattern": "pattern",
    "ignore": "ignore",
    "include_by_default": "includeByDefault",
    "update": "update command",
}


class MigratedCollection(Struct, frozen=True):
    """A collection of tobi/qmd, and its outcome.

    Attributes:
        name: Its name.
        path: Its folder.
        pattern: Its pattern.
        action: The step that was done, or is to be done.
        differences: The differences from the collection of this name here, a phrase each.
        update: Its update command there; None if there is none.
        update_added: Whether the command was, or is to be, taken over.
        contexts: The addresses of the contexts that were taken over.
    """

    name: str
    path: str
    pattern: str
    action: Action
    differences: tuple[str, ...] = ()
    update: str | None = None
    update_added: bool = False
    contexts: tuple[str, ...] = ()


class Migration(Struct, frozen=True):
    """The result of a migration.

    Attributes:
        index: The index of tobi/qmd; None if there is none.
        config: The `index.yml` of tobi/qmd; None if there is none.
        target: The `index.yml` of this program.
        shared: Whether both programs read the same `index.yml`.
        changed: Whether something was, or with a dry run would be, written to `target`.
        collections: The collections of tobi/qmd.
        notes: Other differences, a line each.
    """

    index: str | None
    config: str | None
    target: str
    shared: bool
    changed: bool
    collections: tuple[MigratedCollection, ...]
    notes: tuple[str, ...] = ()


#: More collections are taken over only if the user agrees, and more than the second number never.
MANY, MOST = 100, 1_000


def doubtful(done: Migration, environ: Mapping[str, str]) -> list[MigratedCollection]:
    """Return the new collections that the user may not want: all if they are many.

    Otherwise those of hidden folders, which hold keys and settings, and of folders that are not below the
    user's own.
    """
    added = [each for each in done.collections if each.action == "added"]
    if len(added) > MANY:
        return added
    home = os.path.realpath(environ.get("HOME") or os.path.expanduser("~"))

    def is_doubtful(folder: str) -> bool:
        path = os.path.realpath(folder)
        below = os.path.relpath(path, home)
        return path == home or any(part.startswith(".") for part in below.split(os.sep))

    return [each for each in added if is_doubtful(each.path)]


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
        index: The index file of tobi/qmd; by default its index of this name.
        config: The `index.yml` of tobi/qmd; by default the one beside a named index file, else the one that
            both programs use.
        environ: Environment variables; by default those of the process.
        dry_run: Only report the steps.
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
    old = read(index_file) if index_file is not None else TobiIndex({}, None)
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
    if len(collections) > MOST:
        raise UsageError(
            f"there are {len(collections):,} collections, and more than {MOST:,} are not taken over",
            "leave out those that you do not need in the old index.yml",
        )
    results = [plan.add(collection) for collection in collections.values()]
    plan.describe_all(global_context, notes)
    if plan.changes and not dry_run:
        editing.merge(target, plan.collections, plan.contexts, plan.commands)
    return Migration(index_file, config_file, target, shared, plan.changes, tuple(results), tuple(notes))


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
        """Plan to take a collection over, or the missing part of it."""
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
        index = locations.index if is_tobi(locations.index) else None
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


def _notes(written: Config, old: TobiIndex, shared: bool) -> list[str]:
    """Say the rest that an `index.yml` contains, and that its index has besides."""
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


def _place(collection: Collection) -> tuple[str, str]:
    return os.path.realpath(collection.path), collection.selection


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    return "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
