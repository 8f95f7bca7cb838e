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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from shlex import quote
from types import MappingProxyType
from typing import Any

from msgspec.structs import replace

from qmd.config.atomic import locked, replace_file
from qmd.config.contexts import context_uri, normalise_prefix
from qmd.config.index_yml import decode, parse, read_bytes, read_file
from qmd.config.paths import PROJECT_FOLDER, check_project, resolve_folder
from qmd.config.schema import SETTINGS
from qmd.config.validate import (
    MAX_SYNONYMS,
    nfc,
    require_unicode,
    validate_collection_name,
    validate_encoding,
    validate_language,
    validate_synonyms,
)
from qmd.config.yaml_text import KeyPath, Value, YamlText
from qmd.errors import CollectionNotFoundError, ConfigError, ConflictError, NotFoundError, UsageError
from qmd.text.tokens import fold
from qmd.types import Collection, Config

_SYNONYMS = ("synonyms",)
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
    with _edit(path) as edit:
        if os.path.lexists(path):
            raise ConflictError(f"{path} already exists.", "add folders to it with: 'qmd add PATH'")
        edit.change(YamlText(_NEW_PROJECT, path).put(("collections", added.name), entry), added)
    return edit.config


def add_collection(path: str, collection: Collection) -> Config:
    """Append a collection to the configuration file at `path`.

    Raises `UsageError` if the name, path, pattern or encoding is invalid, and `ConflictError` if the name
    exists, or another collection has the same folder and pattern.
    """
    return merge(path, [collection])


def merge(
    path: str,
    collections: Iterable[Collection],
    contexts: Iterable[tuple[str | None, str, str]] = (),
    commands: Mapping[str, str] = MappingProxyType({}),
) -> Config:
    """Add collections, contexts and update commands, or none of them if one is refused.

    Args:
        path: The configuration file.
        collections: The collections to append. Raises as `add_collection` does.
        contexts: Contexts as (collection, prefix, text). Raises as `set_context` does.
        commands: Update commands by the name of the collection.
    """
    with _edit(path) as edit:
        for collection in collections:
            _append(edit, collection, path)
        for context in contexts:
            _describe(edit, *context)
        for name, command in commands.items():
            _assign(edit, name, "update", command)
    return edit.config


def _append(edit: _Edit, collection: Collection, path: str) -> None:
    added, entry = _prepare(collection, path)
    if added.name in edit.collections:
        raise ConflictError(
            f"Collection {added.name!r} already exists.",
            f"choose another name, or change it: 'qmd collection set {quote(added.name)}'",
        )
    _refuse_same(edit, added)
    edit.change(edit.file.put(("collections", added.name), entry), added)


def _refuse_same(edit: _Edit, collection: Collection) -> None:
    """Raise `ConflictError` if another collection has the same folder and pattern."""
    for other in edit.collections.values():
        same = _folder_and_pattern(other) == _folder_and_pattern(collection)
        if same and other.name != collection.name:
            raise ConflictError(
                f"Collection {other.name!r} already indexes {collection.path} with {collection.selection}.",
                f"to rename or change it: 'qmd collection set {quote(other.name)} --name NAME'",
            )


def configure(path: str, name: str, new_name: str | None = None, **changes: Any) -> Config:
    """Change settings of a collection, and its name, or nothing if one is refused.

    Args:
        path: The configuration file.
        name: The collection.
        new_name: Its name from now on. Raises as `rename_collection` does.
        changes: Fields of `Collection` that are in `SETTINGS`. Raises as `add_collection` does.
    """
    with _edit(path) as edit:
        existing, _ = edit.collection(name)
        changed = replace(existing, **{field: SETTINGS[field].check(changes[field]) for field in changes})
        _check(changed)
        if changed.selection != existing.selection:
            _refuse_same(edit, changed)
        for field in changes:
            _assign(edit, name, field, getattr(changed, field))
        if new_name is not None and nfc(new_name) != existing.name:
            _rename(edit, name, new_name)
    return edit.config


def remove_collection(path: str, name: str) -> Config:
    """Remove a collection."""
    with _edit(path) as edit:
        existing, keys = edit.collection(name)
        edit.change(edit.file.delete(keys))
        del edit.collections[existing.name]
    return edit.config


def rename_collection(path: str, old: str, new: str) -> Config:
    """Rename a collection in place, with its comments.

    Raises `UsageError` if the new name is invalid, and `ConflictError` if it exists.
    """
    with _edit(path) as edit:
        _rename(edit, old, new)
    return edit.config


def _rename(edit: _Edit, old: str, new: str) -> None:
    new = nfc(new)
    validate_collection_name(new)
    existing, keys = edit.collection(old)
    if new in edit.collections:
        raise ConflictError(f"Collection {new!r} already exists.", "choose another name")
    renamed = replace(existing, name=new)
    others = [renamed if item is existing else item for item in edit.collections.values()]
    edit.change(edit.file.rename(keys, new))
    edit.collections = {item.name: item for item in others}


def set_context(path: str, collection: str | None, prefix: str, text: str) -> Config:
    """Set the context of the folder `prefix` in a collection; "" is the whole collection.

    If `collection` is None, set the global context. Raises `UsageError` if the text is blank.
    """
    return merge(path, (), [(collection, prefix, text)])


def _describe(edit: _Edit, collection: str | None, prefix: str, text: str) -> None:
    if not text.strip():
        raise UsageError("The context is empty.", "describe the documents in one sentence")
    if collection is None:
        edit.change(edit.file.put(("global_context",), text))
        edit.global_context = text
        return
    prefix = normalise_prefix(prefix)
    existing, keys = edit.collection(collection)
    keys = (*keys, "context")
    context = {**existing.context, prefix: text}
    spelled = edit.prefixes(keys)
    # Without keys, the collection has no context yet, or one text, which becomes an entry.
    entries: Value = {"/" + key: value for key, value in context.items()}
    where = (*keys, spelled.get(prefix, "/" + prefix)) if spelled else keys
    edit.change(edit.file.put(where, text if spelled else entries), replace(existing, context=context))


def remove_context(path: str, collection: str | None, prefix: str) -> Config:
    """Remove a context. Arguments as in `set_context`. Raises `NotFoundError` if the folder has none."""
    prefix = normalise_prefix(prefix)
    with _edit(path) as edit:
        if collection is None:
            if edit.global_context is None:
                raise _no_context(None, "")
            edit.change(edit.file.delete(("global_context",)))
            edit.global_context = None
        else:
            existing, keys = edit.collection(collection)
            context = dict(existing.context)
            if context.pop(prefix, None) is None:
                raise _no_context(existing.name, prefix)
            keys = (*keys, "context")
            spelled = edit.prefixes(keys)
            edited = edit.file.delete((*keys, spelled[prefix]) if len(spelled) > 1 else keys)
            edit.change(edited, replace(existing, context=context))
    return edit.config


def add_synonyms(path: str, word: str, others: Sequence[str], *, one_way: bool = False) -> Config:
    """Give a word synonyms, beside those that it has.

    Raises `UsageError` if one is invalid, and `ConflictError` if the word has some of the other direction.
    """
    require_unicode(word, *others)
    added = validate_synonyms(word, others, one_way=one_way)
    with _edit(path) as edit:
        existing = next((each for each in edit.synonyms if each.words[0] == added.words[0]), None)
        if existing is not None:
            if existing.one_way != one_way:
                ways = "one way" if existing.one_way else "both ways"
                hint = f"remove them first: 'qmd synonyms remove {quote(added.words[0])}'"
                raise ConflictError(f"{added.words[0]!r} has synonyms that go {ways}", hint)
            added = validate_synonyms(word, (*existing.others, *added.others), one_way=one_way)
        key = next((key for key in edit.file.keys(_SYNONYMS) if key.split() == added.words[0].split()), None)
        rest = [each for each in added.others if each != added.words[0]]
        found = rest if rest[1:] else rest[0]
        edit.change(
            edit.file.put((*_SYNONYMS, key or added.words[0]), {"finds": found} if one_way else found)
        )
        edit.synonyms = (
            tuple(added if each is existing else each for each in edit.synonyms)
            if existing
            else (*edit.synonyms, added)
        )
        if len(edit.synonyms) > MAX_SYNONYMS:
            raise UsageError(f"there are {MAX_SYNONYMS:,} entries already, the most that may be")
    return edit.config


def remove_synonyms(path: str, word: str) -> Config:
    """Remove what a word finds: the entries with it. Raises `NotFoundError` if there is none."""
    with _edit(path) as edit:
        named = {fold(" ".join(word.split()))}
        removed = [each for each in edit.synonyms if named.intersection(map(fold, each.words))]
        if not removed:
            raise NotFoundError(f"{word!r} has no synonyms", "'qmd synonyms' lists them")
        edit.synonyms = tuple(each for each in edit.synonyms if each not in removed)
        if not edit.synonyms:
            edit.change(edit.file.delete(_SYNONYMS))
        for each in removed if edit.synonyms else ():
            key = next(key for key in edit.file.keys(_SYNONYMS) if key.split() == each.words[0].split())
            edit.change(edit.file.delete((*_SYNONYMS, key)))
    return edit.config


def _assign(edit: _Edit, name: str, field: str, value: Any) -> None:
    """Write a setting of a collection, if it differs."""
    setting = SETTINGS[field]
    existing, keys = edit.collection(name)
    written, text = setting.key in edit.file.keys(keys), setting.write(value)
    # A pattern that is not written is another one if there are formats.
    if getattr(existing, field) != value or (field == "pattern" and text is not None and not written):
        keys = (*keys, setting.key)
        changed = replace(existing, **{field: value})
        if text is not None:
            edit.change(edit.file.put(keys, text), changed)
        else:
            edit.change(edit.file.delete(keys) if written else edit.text, changed)


def _prepare(collection: Collection, path: str) -> tuple[Collection, Mapping[str, Value]]:
    """Check a collection and return it as it will be parsed from the file at `path`, with its YAML entry."""
    name = nfc(collection.name)
    validate_collection_name(name)
    _check(collection)
    written = _written_path(collection.path, path)
    context = {normalise_prefix(prefix): text for prefix, text in collection.context.items() if text.strip()}
    added = replace(collection, name=name, path=resolve_folder(written, path), context=context)
    return added, _entry_of(added, written)


def _check(collection: Collection) -> None:
    """Raise `UsageError` if the folder, pattern, encoding or language of a collection is invalid."""
    if collection.encoding is not None:
        validate_encoding(collection.encoding)
    if collection.language is not None:
        validate_language(collection.language)
    if (
        not collection.path.strip()
        or "\0" in collection.path
        or not (collection.pattern.strip() or collection.formats)
    ):
        raise UsageError("A collection needs a folder and a pattern.", "for example: 'qmd add ~/notes'")


class _Edit:
    """A locked file with its configuration, and the text and configuration that it will have."""

    def __init__(self, config: Config, text: str) -> None:
        self.config = config
        self.text = text
        self.collections = dict(config.collections)
        self.global_context = config.global_context
        self.synonyms = config.synonyms

    @cached_property
    def file(self) -> YamlText:
        """The text with the changes so far."""
        return YamlText(self.text, self.config.path)

    def change(self, text: str, collection: Collection | None = None) -> None:
        """Set the new text, and a collection that differs or is new in it."""
        self.text = text
        vars(self).pop("file", None)
        if collection is not None:
            self.collections[collection.name] = collection

    def collection(self, name: str) -> tuple[Collection, KeyPath]:
        """Return a collection and its keys as the file spells them, or raise `CollectionNotFoundError`."""
        require_unicode(name)
        collection = self.collections.get(nfc(name))
        if collection is None:
            names = ", ".join(self.collections)
            hint = f"known collections: {names}" if names else "add one with: 'qmd add PATH'"
            raise CollectionNotFoundError(f"Collection not existing: {name}", hint)
        key = next(key for key in self.file.keys(("collections",)) if nfc(key) == collection.name)
        return collection, ("collections", key)

    def prefixes(self, keys: KeyPath) -> dict[str, str]:
        """Return the keys of a mapping of contexts as the file spells them, by prefix."""
        return {normalise_prefix(key): key for key in self.file.keys(keys)}


@contextmanager
def _locked(path: str) -> Iterator[str]:
    """Hold the lock of the file, unless it is that of a project and a link leads out of it."""
    settings = os.path.dirname(os.path.abspath(path))
    if os.path.basename(settings) == PROJECT_FOLDER:
        check_project(os.path.dirname(settings))
    with locked(path, reentrant=True) as target:
        yield target


@contextmanager
def undone_on_error(path: str) -> Iterator[None]:
    """Hold the lock of the file, and make its content what it was before if the block raises."""
    with _locked(path) as target:
        before = read_file(path)
        try:
            yield
        except BaseException:
            if before is None:
                with suppress(FileNotFoundError):
                    os.unlink(target)
            elif read_file(path) != before:
                replace_file(target, before)
            raise


@contextmanager
def _edit(path: str) -> Iterator[_Edit]:
    """Lock and read the file, and write the text that the caller sets if it means what the caller expects."""
    with _locked(path) as target:
        data = read_bytes(path)
        edit = _Edit(parse(data, path), decode(data, path))
        yield edit
        try:
            edited = edit.text.encode()
        except UnicodeEncodeError as error:
            raise UsageError("The configuration would not be valid UTF-8.", "use UTF-8 names") from error
        expected = replace(
            edit.config,
            collections=edit.collections,
            global_context=edit.global_context,
            synonyms=edit.synonyms,
        )
        edit.config = _read_back(edited, path, expected)
        if edited != data:
            replace_file(target, edited)


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
            "the file was not changed; edit it by hand",
        )
    return after


def _no_context(collection: str | None, prefix: str) -> NotFoundError:
    return NotFoundError(
        f"No context for {context_uri(collection, prefix)}", "list the contexts with: 'qmd context list'"
    )


def _folder_and_pattern(collection: Collection) -> tuple[str, str]:
    return os.path.realpath(collection.path), collection.selection


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
    """Return the entry of a collection in the file: what is not the default."""
    texts = {
        setting.key: setting.write(value)
        for field, setting in SETTINGS.items()
        if (value := getattr(collection, field)) != getattr(_DEFAULTS, field) or field == "pattern"
    }
    return {"path": written} | {key: value for key, value in texts.items() if value is not None}


#: A collection whose settings are the defaults.
_DEFAULTS = Collection("", "")
