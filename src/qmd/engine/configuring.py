"""The methods of `Index` that change its configuration: collections, and the contexts that describe them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypedDict, Unpack

from msgspec.structs import replace

from qmd.config import contexts, editing
from qmd.config.paths import marks_path
from qmd.config.validate import nfc, require_unicode
from qmd.engine.access.rules import Rule, rule_of_setting
from qmd.engine.calls import check_values
from qmd.engine.indexing import scan
from qmd.engine.indexing.alike import describe_alike
from qmd.engine.indexing.record import ScanRecord
from qmd.engine.indexing.unread import describe_left
from qmd.engine.indexing.update import refuse_to_empty
from qmd.engine.marks import rename_collection
from qmd.engine.parts import Part
from qmd.engine.places import context_target
from qmd.engine.requests import collections_of
from qmd.errors import SourceError
from qmd.sources.clone import work_tree
from qmd.sources.formats import registry
from qmd.sources.left_out import left_out
from qmd.text.wording import plural, visible
from qmd.types import DEFAULT_PATTERN, Collection, Document, EmbedMode

#: The fields of a collection that say which files it has and how they are read.
SELECTING = ("pattern", "formats", "ignore", "gitignore", "ocr", "encoding", "language")
#: The most documents with the same text that are named.
_NAMED = 3
#: The methods that are short for `configure`, and their fields.
_SETTERS = {
    "include_collection": "include_by_default",
    "set_agents": "agents",
    "set_gitignore": "gitignore",
    "set_pattern": "pattern",
    "set_recency": "recency",
    "set_update_command": "update",
    "set_weight": "weight",
}


class CollectionChanges(TypedDict, total=False):
    """The settings of a collection; see `Collection`."""

    pattern: str
    formats: Sequence[str]
    ignore: Sequence[str]
    gitignore: bool
    ocr: bool
    update: str | None
    include_by_default: bool
    encoding: str | None
    language: str | None
    weight: float
    recency: float | None
    watch: bool
    embed: EmbedMode | None
    agents: bool


class ConfigurationMethods(Part):
    """Add, change and remove collections and their descriptions."""

    _rules: Mapping[str, Rule] = {
        "add_collection": Rule(changes=True, action="add one"),
        "change_collection": Rule(changes=True, collections="name", action="change what is indexed"),
        # A removed collection could not be added again.
        "remove_collection": Rule(changes=True, collections="name", action="remove one"),
        # The new name would be outside the permissions.
        "rename_collection": Rule(changes=True, collections="old", action="rename one"),
        **dict.fromkeys(("add_context", "remove_context"), Rule(changes=True, place="target")),
        **{method: rule_of_setting(field) for method, field in _SETTERS.items()},
    }

    def add_collection(
        self,
        path: str | os.PathLike[str],
        name: str | None = None,
        *,
        pattern: str | None = None,
        formats: Sequence[str] = (),
        ignore: Sequence[str] = (),
        gitignore: bool | None = None,
        ocr: bool | None = None,
        encoding: str | None = None,
        language: str | None = None,
        on_progress: scan.OnProgress | None = None,
    ) -> scan.ScanReport:
        """Add a folder as a collection and index it. On an error nothing has changed.

        Args:
            path: The folder.
            name: The name; by default that of the folder.
            pattern: A glob that files must match; by default all files of the formats, and Markdown files if
                there are no formats.
            formats: The formats to read, such as `pdf`; `all` stands for every format.
            ignore: Globs of files to leave out.
            gitignore: Whether to leave out the files that git ignores; by default in a work tree of git.
            ocr: Whether `recognize` reads pictures and scanned pages.
            encoding: The charset of files that are not UTF-8.
            language: The language of texts that do not state one, such as `de`; by default it is detected.
            on_progress: Called with collection, files done and files in total.

        Raises:
            UsageError: A name of a format, the pattern or a glob is invalid.
            SourceError: The folder cannot be listed.
            ConflictError: The name or the folder is taken.
            StoreError: The index cannot be written.
            BusyError: Another process is writing the index.
        """
        workspace, config_path = self._workspace, self._workspace.locations.config
        folder = _readable_folder(os.fspath(path))
        name = nfc(name if name is not None else os.path.basename(folder))
        if gitignore is None:
            gitignore = work_tree(folder) is not None
        new = Collection(name, folder, encoding=encoding, language=language, gitignore=gitignore)
        collection = selecting(new, pattern=pattern, formats=formats, ignore=ignore, ocr=ocr)
        # Refuse an unusable pattern before anything is written.
        scan.check(collection)
        refuse_to_empty(workspace)
        written = workspace.edit(editing.add_collection, collection)
        workspace.configuration.trust.approve_typed(name, "path")
        report = scan.scan(
            workspace.store,
            written.collections[name],
            on_progress,
            owner=config_path,
            processes=workspace.settings.threads,
        )
        root = workspace.store.collections.last_root(collection.name)
        report.notices += [
            *describe_left(collection, root),
            *left_out(collection),
            *_twins(workspace.store.documents.listing(collection.name)),
            *describe_alike(collection, ScanRecord.read(root).alike),
        ]
        workspace.store.documents.refresh_statistics()
        return report

    def change_collection(
        self,
        name: str,
        *,
        new_name: str | None = None,
        pattern: str | None = None,
        formats: Sequence[str] | None = None,
        ignore: Sequence[str] | None = None,
        gitignore: bool | None = None,
        ocr: bool | None = None,
        encoding: str | None = None,
        language: str | None = None,
        on_progress: scan.OnProgress | None = None,
    ) -> scan.ScanReport:
        """Change what a collection has, and index that. On an error nothing has changed.

        Args:
            name: The collection.
            new_name: Its name from now on.
            pattern: A glob that files must match, in place of the present one.
            formats: The formats to read; none for Markdown alone.
            ignore: Globs of files to leave out; none to leave out nothing.
            gitignore: Whether to leave out the files that git ignores.
            ocr: Whether `recognize` reads pictures and scanned pages.
            encoding: The charset of files that are not UTF-8; "" for none.
            language: The language of texts that do not state one; "" to detect it.
            on_progress: Called with collection, files done and files in total.

        Raises:
            CollectionNotFoundError: There is no such collection.
            UsageError: A name, the pattern or a glob is invalid.
            SourceError: The folder cannot be listed.
            ConflictError: The new name is taken, or another collection has the same folder and pattern.
        """
        workspace = self._workspace
        (selected,) = collections_of(workspace.config, [nfc(name)])
        existing = workspace.config.collections[selected]
        changed = selecting(
            existing,
            pattern=pattern,
            formats=formats,
            ignore=ignore,
            gitignore=gitignore,
            ocr=ocr,
            encoding=encoding,
            language=language,
        )
        scan.check(changed)
        fields = {each: getattr(changed, each) for each in SELECTING}
        edit = partial(editing.configure, **fields)
        if new_name is not None and nfc(new_name) != existing.name:
            with workspace.editing(edit, name, new_name) as written:
                self._rename_in_index(existing.name, nfc(new_name))
        else:
            written = workspace.edit(edit, name, new_name)
        now = written.collections[nfc(existing.name if new_name is None else new_name)]
        report = scan.scan(
            workspace.store, now, on_progress, owner=workspace.locations.config, allow_empty=True
        )
        report.notices += describe_left(now, workspace.store.collections.last_root(now.name))
        workspace.store.documents.refresh_statistics()
        return report

    def remove_collection(self, name: str) -> int:
        """Remove a collection; its files stay. Return the number of documents that left the index."""
        workspace = self._workspace
        collections_of(workspace.configuration.read(), [name])
        with workspace.editing(editing.remove_collection, name):
            removed = workspace.store.collections.remove(name)
        workspace.sync()
        return removed

    def rename_collection(self, old: str, new: str) -> None:
        """Rename a collection. Raises `ConflictError` if the new name is taken."""
        workspace = self._workspace
        collections_of(workspace.configuration.read(), [old])
        with workspace.editing(editing.rename_collection, old, nfc(new)):
            self._rename_in_index(nfc(old), nfc(new))

    def _rename_in_index(self, old: str, new: str) -> None:
        """Give the documents and the marks of a collection its new name, which the configuration has."""
        workspace = self._workspace
        workspace.store.collections.rename(old, new)
        workspace.sync()
        if os.path.lexists(marks_path(workspace.locations.config)):
            rename_collection(workspace, old, new)

    def configure(self, name: str, /, **changes: Unpack[CollectionChanges]) -> None:
        """Change settings of a collection. Those that concern its files count from the next update on.

        Args:
            name: The collection.
            changes: The new values, by the names of the attributes of `Collection`.

        Raises:
            CollectionNotFoundError: There is no such collection.
            UsageError: A value is invalid.
            ConflictError: Another collection has the same folder and pattern.
        """
        if unknown := changes.keys() - CollectionChanges.__annotations__.keys():
            raise TypeError(f"configure() got an unexpected keyword argument '{min(unknown)}'")
        check_values(CollectionChanges.__annotations__, changes)
        workspace = self._workspace
        collections_of(workspace.config, [nfc(name)])
        if "pattern" in changes:
            scan.check(replace(workspace.config.collections[nfc(name)], pattern=changes["pattern"]))
        workspace.edit(partial(editing.configure, **changes), name)
        if "update" in changes:
            workspace.configuration.trust.approve_typed(nfc(name), "update")

    def include_collection(self, name: str, include: bool = True) -> None:
        """Let searches that name no collection cover this one, or not: `configure` in short."""
        self.configure(name, include_by_default=include)

    def set_gitignore(self, name: str, gitignore: bool) -> None:
        """Leave out the files that git ignores, or not: `configure` in short."""
        self.configure(name, gitignore=gitignore)

    def set_agents(self, name: str, agents: bool) -> None:
        """Let agents have the documents of a collection, or not: `configure` in short."""
        self.configure(name, agents=agents)

    def set_weight(self, name: str, weight: float) -> None:
        """Set how much a collection counts, 0.01 to 100: `configure` in short."""
        self.configure(name, weight=weight)

    def set_recency(self, name: str, days: float | None) -> None:
        """Set the half-life of scores in days; 0 for none, None for the index's: `configure` in short."""
        self.configure(name, recency=days)

    def set_pattern(self, name: str, pattern: str) -> None:
        """Set the globs that files must match: `configure` in short."""
        self.configure(name, pattern=pattern)

    def set_update_command(self, name: str, command: str | None) -> None:
        """Set the shell command that `update` runs first; None for none: `configure` in short."""
        self.configure(name, update=command)

    def add_context(self, target: str, text: str) -> str:
        """Describe everything (`/`), a collection, or a folder in one; return the place as a `qmd://` URI.

        `target` is `/`, `qmd://collection/path`, or the path of a folder or file in a collection.
        """
        workspace, place = self._workspace, context_target(self._workspace.config, target)
        workspace.edit(editing.set_context, *place, text)
        uri = contexts.context_uri(*place)
        workspace.configuration.trust.approve_typed(uri, "context")
        return uri

    def remove_context(self, target: str) -> str:
        """Remove a description. Raises `NotFoundError` if there is none."""
        place = context_target(self._workspace.config, target)
        self._workspace.edit(editing.remove_context, *place)
        return contexts.context_uri(*place)


def selecting(
    collection: Collection,
    *,
    pattern: str | None = None,
    formats: Sequence[str] | None = None,
    ignore: Sequence[str] | None = None,
    gitignore: bool | None = None,
    ocr: bool | None = None,
    encoding: str | None = None,
    language: str | None = None,
) -> Collection:
    """Return a collection that selects and reads files in another way; what is None stays as it is.

    Without a pattern of their own, formats select all their files, and Markdown files are selected if there
    are no formats. Raises `UsageError` for an unknown format.
    """
    if formats is not None:
        chosen = tuple(dict.fromkeys(item.strip().lower() for item in formats if item.strip()))
        registry.check_names(chosen)
        collection = replace(collection, formats=chosen)
        if pattern is None and collection.pattern in ("", DEFAULT_PATTERN):
            pattern = "" if chosen else DEFAULT_PATTERN
    given = {
        "pattern": pattern,
        "ignore": None if ignore is None else tuple(filter(None, ignore)),
        "gitignore": gitignore,
        "ocr": ocr,
        "encoding": encoding,
        "language": language,
    }
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    changes |= {name: changes[name] or None for name in ("encoding", "language") if name in changes}
    return replace(collection, **changes)


def _twins(documents: Iterable[Document]) -> Iterator[str]:
    """Yield a line that names documents with the same text, if there are any."""
    firsts: dict[str, str] = {}
    same = [
        (each.path, first)
        for each in documents
        if (first := firsts.setdefault(each.hash, each.path)) != each.path
    ]
    if same:
        named = ", ".join(f"{visible(path)} = {visible(first)}" for path, first in same[:_NAMED])
        more = f" and {len(same) - _NAMED:,} more" if len(same) > _NAMED else ""
        number = plural(len(same), "document")
        yield f"{number} with the text of others ({named}{more}): --fold shows each text once"


def _readable_folder(path: str) -> str:
    """Return the absolute path of a folder. Raises `SourceError` if it is missing or cannot be listed."""
    require_unicode(path)
    folder = os.path.abspath(os.path.expanduser(path))
    if not os.path.isdir(folder):
        state = "is not a folder" if os.path.exists(folder) else "does not exist"
        raise SourceError(f"{path} {state}", "give the path of a folder that contains documents")
    if not os.access(folder, os.R_OK | os.X_OK):
        raise SourceError(f"{path} cannot be read: permission denied", "check the folder's permissions")
    return folder
