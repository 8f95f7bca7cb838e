"""Writing `index.yml`: each change keeps the user's comments, order, quotes and indentation.

A change reads, checks, edits and replaces the file under its lock, so that changes made at once are all
kept. Every function returns the configuration as it then is. Besides what it names, each raises `ConfigError`
for a file that is broken, cannot be written or cannot be edited, `BusyError` when another process holds the
lock for long, and `UsageError` for text that is not Unicode.
"""

# os.path throughout, see `paths`.

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeAlias

from qmd.config.atomic import locked, replace_file
from qmd.config.contexts import context_uri, normalise_prefix
from qmd.config.index_yml import decode, parse, read_bytes
from qmd.config.paths import PROJECT_FOLDER, check_project, resolve_folder
from qmd.config.validate import nfc, require_unicode, validate_collection_name, validate_encoding
from qmd.config.yaml_text import Keys, Value, YamlText
from qmd.errors import CollectionNotFoundError, ConfigError, ConflictError, NotFoundError, UsageError
from qmd.types import Collection, Config

# From the file as it is: the new text, and the configuration it must read as.
_Change: TypeAlias = Callable[[Config, YamlText], tuple[str, Config]]

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
    """Make the file of a project, with one collection.

    Raises `UsageError` as `add_collection` does, `ConflictError` where there is a file already.
    """
    added, entry = _new(collection, path)

    def change(config: Config, file: YamlText) -> tuple[str, Config]:
        if os.path.lexists(path):
            raise ConflictError(f"{path} exists already.", "Add folders to it with: qmd collection add PATH")
        edited = YamlText(_NEW_PROJECT, path).put(("collections", added.name), entry)
        return edited, replace(config, collections={added.name: added})

    return _edit(path, change)


def add_collection(path: str, collection: Collection) -> Config:
    """Add `collection` at the end.

    Raises `UsageError` for a name, a path, a pattern or an encoding that cannot be one, `ConflictError` where
    the name, or the folder with the same pattern, is taken.
    """
    added, entry = _new(collection, path)

    def change(config: Config, file: YamlText) -> tuple[str, Config]:
        if added.name in config.collections:
            raise ConflictError(
                f"Collection {added.name!r} already exists.", "Choose another name, or remove that one first."
            )
        for other in config.collections.values():
            if _place(other) == _place(added):
                raise ConflictError(
                    f"Collection {other.name!r} already has {added.path} with {added.pattern}.",
                    "Rename that collection, or choose another pattern.",
                )
        edited = file.put(("collections", added.name), entry)
        return edited, _with(config, added)

    return _edit(path, change)


def remove_collection(path: str, name: str) -> Config:
    """Remove a collection; raises `CollectionNotFoundError`."""

    def change(config: Config, file: YamlText) -> tuple[str, Config]:
        collection = _known(config, name)
        edited = file.delete(_place_of(file, collection.name))
        others = {key: value for key, value in config.collections.items() if key != collection.name}
        return edited, replace(config, collections=others)

    return _edit(path, change)


def rename_collection(path: str, old: str, new: str) -> Config:
    """Give a collection another name; it keeps its place and its comments.

    Raises `UsageError` for a name that cannot be one, `CollectionNotFoundError`, and `ConflictError` where
    the new name is taken.
    """
    new = nfc(new)
    validate_collection_name(new)

    def change(config: Config, file: YamlText) -> tuple[str, Config]:
        collection = _known(config, old)
        if new in config.collections:
            raise ConflictError(f"Collection {new!r} already exists.", "Choose another name.")
        edited = file.rename(_place_of(file, collection.name), new)
        values = [
            replace(each, name=new) if each is collection else each for each in config.collections.values()
        ]
        return edited, replace(config, collections={each.name: each for each in values})

    return _edit(path, change)


def set_context(path: str, collection: str | None, prefix: str, text: str) -> Config:
    """Set the text for a folder of a collection, or for everything where `collection` is None.

    Raises `UsageError` for a blank text, `CollectionNotFoundError`.
    """
    if not text.strip():
        raise UsageError("The context is empty.", "Say in a sentence what the documents are about.")
    prefix = normalise_prefix(prefix)

    def change(config: Config, file: YamlText) -> tuple[str, Config]:
        if collection is None:
            return file.put(("global_context",), text), replace(config, global_context=text)
        found = _known(config, collection)
        place = (*_place_of(file, found.name), "context")
        keys = {normalise_prefix(key): key for key in file.keys(place)}
        context = {**found.context, prefix: text}
        if keys:
            edited = file.put((*place, keys.get(prefix, "/" + prefix)), text)
        else:
            # A single text for the whole collection, or nothing yet: from now on a mapping.
            edited = file.put(place, {"/" + key: value for key, value in context.items()})
        return edited, _with(config, replace(found, context=context))

    return _edit(path, change)


def remove_context(path: str, collection: str | None, prefix: str) -> Config:
    """Remove a text; raises `CollectionNotFoundError`, and `NotFoundError` where there is no such context."""
    prefix = normalise_prefix(prefix)

    def change(config: Config, file: YamlText) -> tuple[str, Config]:
        if collection is None:
            if config.global_context is None:
                raise _no_context(None, "")
            return file.delete(("global_context",)), replace(config, global_context=None)
        found = _known(config, collection)
        if prefix not in found.context:
            raise _no_context(found.name, prefix)
        place = (*_place_of(file, found.name), "context")
        keys = {normalise_prefix(key): key for key in file.keys(place)}
        edited = file.delete((*place, keys[prefix]) if len(keys) > 1 else place)
        context = {key: value for key, value in found.context.items() if key != prefix}
        return edited, _with(config, replace(found, context=context))

    return _edit(path, change)


def set_include(path: str, name: str, include: bool) -> Config:
    """Say whether a collection is searched when none is named; raises `CollectionNotFoundError`."""

    def change(config: Config, file: YamlText) -> tuple[str, Config]:
        collection = _known(config, name)
        if collection.include_by_default == include:
            return str(file), config
        edited = file.put((*_place_of(file, collection.name), "includeByDefault"), include)
        return edited, _with(config, replace(collection, include_by_default=include))

    return _edit(path, change)


def set_update_command(path: str, name: str, command: str | None) -> Config:
    """Set the shell command that runs before a collection is scanned; None or a blank one removes it.

    Raises `CollectionNotFoundError`.
    """
    command = command if command and command.strip() else None

    def change(config: Config, file: YamlText) -> tuple[str, Config]:
        collection = _known(config, name)
        if collection.update == command:
            return str(file), config
        place = (*_place_of(file, collection.name), "update")
        edited = file.delete(place) if command is None else file.put(place, command)
        return edited, _with(config, replace(collection, update=command))

    return _edit(path, change)


def _new(collection: Collection, path: str) -> tuple[Collection, Mapping[str, Value]]:
    """A collection as the file at `path` will say it: read back, and as it is to be written.

    Raises `UsageError` for what cannot be a collection.
    """
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


def _edit(path: str, change: _Change) -> Config:
    settings = os.path.dirname(os.path.abspath(path))
    if os.path.basename(settings) == PROJECT_FOLDER:
        check_project(os.path.dirname(settings))
    with locked(path) as target:
        data = read_bytes(path)
        before = parse(data, path)
        text, expected = change(before, YamlText(decode(data, path), path))
        try:
            edited = text.encode()
        except UnicodeEncodeError as error:
            raise UsageError("What is to be written is not Unicode.", "Use UTF-8 names.") from error
        after = _read_back(edited, path, expected)
        if edited != data:
            replace_file(target, edited)
        return after


def _read_back(data: bytes, path: str, expected: Config) -> Config:
    """Read the edited file: an edit that says anything else than was meant never replaces the old one."""
    try:
        after = parse(data, path)
    except ConfigError as error:
        raise _cannot_edit(path) from error
    same = replace(after, digest=expected.digest) == expected
    if not same or list(after.collections) != list(expected.collections):
        raise _cannot_edit(path)
    return after


def _cannot_edit(path: str) -> ConfigError:
    return ConfigError(
        f"{path}: the way this file is written does not allow the change to be made by the program.",
        "Make the change in the file by hand; nothing was changed.",
    )


def _known(config: Config, name: str) -> Collection:
    require_unicode(name)
    collection = config.collections.get(nfc(name))
    if collection is None:
        names = ", ".join(config.collections)
        hint = f"Known collections: {names}" if names else "Add one with: qmd collection add PATH"
        raise CollectionNotFoundError(f"Collection not found: {name}", hint)
    return collection


def _place_of(text: YamlText, name: str) -> Keys:
    """The keys of a collection as the file spells them."""
    return ("collections", next(key for key in text.keys(("collections",)) if nfc(key) == name))


def _with(config: Config, collection: Collection) -> Config:
    return replace(config, collections={**config.collections, collection.name: collection})


def _no_context(collection: str | None, prefix: str) -> NotFoundError:
    return NotFoundError(f"No context for {context_uri(collection, prefix)}", "See: qmd context list")


def _place(collection: Collection) -> tuple[str, str]:
    return os.path.realpath(collection.path), collection.pattern


def _written_path(folder: str, path: str) -> str:
    """A collection's folder as the file at `path` has it: absolute, or as given where it begins with `~`.

    Within a project it is relative to the project, so that the file holds for everyone who checks it out.
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
