"""Edit `index.yml` and keep the user's comments, order, quotes and indentation.

An edit reads, checks, changes and replaces the file under a lock, so concurrent edits do not overwrite each
other. Every public function returns the new configuration. In addition to its own exceptions it raises:

- `ConfigError` if the file is broken, cannot be written or cannot be edited;
- `BusyError` if another process holds the lock for too long;
- `UsageError` if a text is not valid Unicode.
"""

# os.path instead of pathlib, see `paths`.

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from qmd.config.atomic import locked, replace_file
from qmd.config.contexts import context_uri, normalise_prefix
from qmd.config.index_yml import decode, parse, read_bytes
from qmd.config.paths import PROJECT_FOLDER, check_project, resolve_folder
from qmd.config.validate import nfc, require_unicode, validate_collection_name, validate_encoding
from qmd.config.yaml_text import KeyPath, Value, YamlText
from qmd.errors import CollectionNotFoundError, ConfigError, ConflictError, NotFoundError, UsageError
from qmd.types import Collection, Config

# Takes the current configuration and text; returns the new text and the configuration it must parse to.
_Change: TypeAlias = Callable[[Config, YamlText], tuple[str, Config]]
# The same for one collection and its keys in the file; None removes the collection.
_CollectionChange: TypeAlias = Callable[[YamlText, KeyPath, Collection], tuple[str, Collection | None]]

_NEW_PROJECT = """\
# What qmd indexes in this project. Paths begin at the project's folder.
# Keep this file in version control; the index beside it is made from it.
#
# A collection may also have, for example:
#     ignore: ["drafts/**"]
#     context:
#       /meetings: Minutes of the weekly meetings
"""


def create_project(path: str, collection: Collection) -> Config:
    """Create the configuration file of a project, with one collection. Raises as `add_collection` does."""
    added, entry = _prepare(collection, path)

    def change(config: Config, file: YamlText) -> tuple[str, Config]:
        if os.path.lexists(path):
            raise ConflictError(f"{path} already exists.", "Add folders to it with: qmd collection add PATH")
        edited = YamlText(_NEW_PROJECT, path).put(("collections", added.name), entry)
        return edited, replace(config, collections={added.name: added})

    return _edit(path, change)


def add_collection(path: str, collection: Collection) -> Config:
    """Append a collection to the configuration file at `path`.

    Raises `UsageError` if the name, path, pattern or encoding is invalid, and `ConflictError` if the name
    exists, or another collection has the same folder and pattern.
    """
    added, entry = _prepare(collection, path)

    def change(config: Config, file: YamlText) -> tuple[str, Config]:
        if added.name in config.collections:
            raise ConflictError(
                f"Collection {added.name!r} already exists.",
                "Choose another name, or remove the existing collection first.",
            )
        for other in config.collections.values():
            if _folder_and_pattern(other) == _folder_and_pattern(added):
                raise ConflictError(
                    f"Collection {other.name!r} already indexes {added.path} with {added.pattern}.",
                    f"Rename collection {other.name!r}, or choose another pattern.",
                )
        edited = file.put(("collections", added.name), entry)
        return edited, replace(config, collections={**config.collections, added.name: added})

    return _edit(path, change)


def remove_collection(path: str, name: str) -> Config:
    """Remove a collection."""
    return _edit_collection(path, name, lambda file, key_path, collection: (file.delete(key_path), None))


def rename_collection(path: str, old: str, new: str) -> Config:
    """Rename a collection in place, with its comments.

    Raises `UsageError` if the new name is invalid, and `ConflictError` if it exists.
    """
    new = nfc(new)
    validate_collection_name(new)

    def change(config: Config, file: YamlText) -> tuple[str, Config]:
        collection = _existing(config, old)
        if new in config.collections:
            raise ConflictError(f"Collection {new!r} already exists.", "Choose another name.")
        edited = file.rename(_key_path_of(file, collection.name), new)
        renamed = replace(collection, name=new)
        others = [renamed if item is collection else item for item in config.collections.values()]
        return edited, replace(config, collections={item.name: item for item in others})

    return _edit(path, change)


def set_context(path: str, collection: str | None, prefix: str, text: str) -> Config:
    """Set the context of the folder `prefix` in a collection; "" is the whole collection.

    If `collection` is None, set the global context. Raises `UsageError` if the text is blank.
    """
    if not text.strip():
        raise UsageError("The context is empty.", "Describe the documents in one sentence.")
    prefix = normalise_prefix(prefix)

    def change_global(config: Config, file: YamlText) -> tuple[str, Config]:
        return file.put(("global_context",), text), replace(config, global_context=text)

    def change(file: YamlText, key_path: KeyPath, existing: Collection) -> tuple[str, Collection]:
        key_path = (*key_path, "context")
        keys = {normalise_prefix(key): key for key in file.keys(key_path)}
        context = {**existing.context, prefix: text}
        if keys:
            edited = file.put((*key_path, keys.get(prefix, "/" + prefix)), text)
        else:
            # The collection has no context yet, or a single text, which becomes an entry of a mapping.
            edited = file.put(key_path, {"/" + key: value for key, value in context.items()})
        return edited, replace(existing, context=context)

    return _edit(path, change_global) if collection is None else _edit_collection(path, collection, change)


def remove_context(path: str, collection: str | None, prefix: str) -> Config:
    """Remove a context. Arguments as in `set_context`. Raises `NotFoundError` if the folder has none."""
    prefix = normalise_prefix(prefix)

    def change_global(config: Config, file: YamlText) -> tuple[str, Config]:
        if config.global_context is None:
            raise _no_context(None, "")
        return file.delete(("global_context",)), replace(config, global_context=None)

    def change(file: YamlText, key_path: KeyPath, existing: Collection) -> tuple[str, Collection]:
        context = dict(existing.context)
        if context.pop(prefix, None) is None:
            raise _no_context(existing.name, prefix)
        key_path = (*key_path, "context")
        keys = {normalise_prefix(key): key for key in file.keys(key_path)}
        edited = file.delete((*key_path, keys[prefix]) if len(keys) > 1 else key_path)
        return edited, replace(existing, context=context)

    return _edit(path, change_global) if collection is None else _edit_collection(path, collection, change)


def set_include(path: str, name: str, include: bool) -> Config:
    """Include a collection in searches that name no collection, or exclude it."""
    return _set_field(path, name, "include_by_default", "includeByDefault", include)


def set_update_command(path: str, name: str, command: str | None) -> Config:
    """Set the shell command that runs before a collection is scanned; None or "" removes it."""
    return _set_field(path, name, "update", "update", command if command and command.strip() else None)


def _set_field(path: str, name: str, field: str, key: str, value: str | bool | None) -> Config:
    def change(file: YamlText, key_path: KeyPath, existing: Collection) -> tuple[str, Collection]:
        if getattr(existing, field) == value:
            return str(file), existing
        key_path = (*key_path, key)
        edited = file.delete(key_path) if value is None else file.put(key_path, value)
        changed: dict[str, Any] = {field: value}
        return edited, replace(existing, **changed)

    return _edit_collection(path, name, change)


def _prepare(collection: Collection, path: str) -> tuple[Collection, Mapping[str, Value]]:
    """Check a collection and return it as it will be parsed from the file at `path`, with its YAML entry."""
    name = nfc(collection.name)
    validate_collection_name(name)
    if collection.encoding is not None:
        validate_encoding(collection.encoding)
    if not collection.path.strip() or "\0" in collection.path or not collection.pattern.strip():
        raise UsageError(
            "A collection needs a folder and a pattern.", "For example: qmd collection add ~/notes"
        )
    written = _written_path(collection.path, path)
    context = {normalise_prefix(prefix): text for prefix, text in collection.context.items() if text.strip()}
    added = replace(collection, name=name, path=resolve_folder(written, path), context=context)
    return added, _entry_of(added, written)


def _edit_collection(path: str, name: str, change: _CollectionChange) -> Config:
    """Change one collection. Raises `CollectionNotFoundError` if there is no collection of this name."""

    def change_file(config: Config, file: YamlText) -> tuple[str, Config]:
        collection = _existing(config, name)
        edited, changed = change(file, _key_path_of(file, collection.name), collection)
        collections = {**config.collections}
        if changed is None:
            del collections[collection.name]
        else:
            collections[collection.name] = changed
        return edited, replace(config, collections=collections)

    return _edit(path, change_file)


def _edit(path: str, change: _Change) -> Config:
    settings = os.path.dirname(os.path.abspath(path))
    if os.path.basename(settings) == PROJECT_FOLDER:
        check_project(os.path.dirname(settings))
    with locked(path) as target:
        data = read_bytes(path)
        text, expected = change(parse(data, path), YamlText(decode(data, path), path))
        try:
            edited = text.encode()
        except UnicodeEncodeError as error:
            raise UsageError("The configuration would not be valid UTF-8.", "Use UTF-8 names.") from error
        after = _read_back(edited, path, expected)
        if edited != data:
            replace_file(target, edited)
        return after


def _read_back(data: bytes, path: str, expected: Config) -> Config:
    """Parse the edited file and fail unless it equals the expected configuration."""
    try:
        after = parse(data, path)
    except ConfigError:
        after = None
    if (
        after is None
        or replace(after, digest=expected.digest) != expected
        or list(after.collections) != list(expected.collections)
    ):
        raise ConfigError(
            f"{path}: qmd cannot make this change because of the layout of the file.",
            "The file was not changed. Edit it by hand.",
        )
    return after


def _existing(config: Config, name: str) -> Collection:
    require_unicode(name)
    collection = config.collections.get(nfc(name))
    if collection is None:
        names = ", ".join(config.collections)
        hint = f"Known collections: {names}" if names else "Add one with: qmd collection add PATH"
        raise CollectionNotFoundError(f"Collection not existing: {name}", hint)
    return collection


def _key_path_of(text: YamlText, name: str) -> KeyPath:
    """Return the keys of a collection as the file spells them."""
    return ("collections", next(key for key in text.keys(("collections",)) if nfc(key) == name))


def _no_context(collection: str | None, prefix: str) -> NotFoundError:
    return NotFoundError(
        f"No context for {context_uri(collection, prefix)}", "List the contexts with: qmd context list"
    )


def _folder_and_pattern(collection: Collection) -> tuple[str, str]:
    return os.path.realpath(collection.path), collection.pattern


def _written_path(folder: str, path: str) -> str:
    """Return a folder as it is written to the file at `path`: absolute, or unchanged if it starts with `~`.

    A folder inside a project is written relative to the project, because other people check the file out too.
    """
    if folder.startswith("~"):
        return folder
    absolute = os.path.abspath(folder)
    settings = os.path.dirname(os.path.abspath(path))
    project = os.path.dirname(settings)
    inside = absolute == project or absolute.startswith(project + os.sep)
    if inside and os.path.basename(settings) == PROJECT_FOLDER:
        return os.path.relpath(absolute, project)
    return absolute


def _entry_of(collection: Collection, written: str) -> Mapping[str, Value]:
    entry: dict[str, Value] = {"path": written, "pattern": collection.pattern}
    if collection.ignore:
        entry["ignore"] = list(collection.ignore)
    if collection.context:
        entry["context"] = {"/" + prefix: text for prefix, text in collection.context.items()}
    if collection.update is not None:
        entry["update"] = collection.update
    if not collection.include_by_default:
        entry["includeByDefault"] = False
    if collection.encoding is not None:
        entry["encoding"] = collection.encoding
    return entry
