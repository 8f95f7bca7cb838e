"""Look up the document or file that a user asks `qmd why` about."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from shlex import quote

from msgspec import Struct

from qmd.config.validate import nfc
from qmd.engine.access.rules import Rule
from qmd.engine.documents.references import References, paths_on_disk
from qmd.engine.documents.stated import unread_since
from qmd.engine.indexing.unread import name_lines
from qmd.engine.parts import Part
from qmd.engine.workspace import Workspace
from qmd.errors import AmbiguousReferenceError, DocumentNotFoundError, QmdError, SourceError, UsageError
from qmd.sources.paths import is_inside
from qmd.sources.patterns import compile_pattern
from qmd.sources.reading import source_at
from qmd.store.base import Store
from qmd.text.uris import is_uri, parse_uri, split_location
from qmd.text.wording import plural
from qmd.types import DEFAULT_PATTERN, UTF_8, Collection, Config, Document


class Absence(Struct, frozen=True):
    """The reason why a file is not in the index, and a hint how to add it."""

    reason: str
    hint: str | None = None


class Lookup(Struct, frozen=True):
    """Looks up documents in the index and files on disk.

    `refused` maps collections to folders that a project's configuration names without the user's approval.
    """

    store: Store
    config: Config
    references: References
    refused: Mapping[str, str]

    def find(self, reference: str) -> Document | str:
        """Return the document that a reference names, or the absolute path of a file that is not indexed.

        `reference` is anything that `get` accepts, or a path on disk. Raises `UsageError` if it names a
        folder, otherwise as `References.resolve`.
        """
        absolute = os.path.abspath(os.path.expanduser(reference))
        on_disk = not is_uri(reference) and os.path.lexists(absolute)
        is_file = on_disk and not os.path.isdir(absolute)
        if is_file:
            for spelling in (absolute, os.path.realpath(absolute)):
                try:
                    return self.references.resolve(spelling)
                except DocumentNotFoundError:
                    continue
        try:
            document = self._resolve(reference)
        except (DocumentNotFoundError, AmbiguousReferenceError):
            if is_file:
                return absolute
            if on_disk:
                raise UsageError(f"{reference} is a folder", "name a file in it") from None
            below = self._below(reference)
            if below is None:
                raise
            return below
        # A file with exactly this path wins over a document whose path only ends with it.
        return absolute if is_file and document.file != reference else document

    def absence(self, path: str) -> Absence:
        """Explain why no collection contains the file at an absolute path."""
        candidates = list(self._collections_above(path))
        if not candidates:
            return self._outside(path)
        absences: list[Absence] = []
        for collection, relative in candidates:
            try:
                source_at(collection, relative)
            except SourceError as error:
                reason = f"the collection '{collection.name}' leaves it out: {error.message}"
                absences.append(Absence(reason, error.hint))
            else:
                return self._not_scanned(collection)
        return Absence("; ".join(absence.reason for absence in absences), absences[0].hint)

    def differences(self, document: Document) -> list[str]:
        """Describe how a document's file differs from the indexed text."""
        try:
            source = source_at(self.config.collections[document.collection], document.path)
        except SourceError as error:
            since = unread_since(self.store, document)
            stays = f"; what was indexed before stays, since {since}" if since else ""
            return [f"the file cannot be indexed any more: {error.message}{stays}"]
        if source.hash != document.hash:
            return ["the file has changed since it was indexed: run 'qmd update'"]
        notes = []
        decoding = source.decoding
        if decoding.charset != UTF_8.charset:
            doubt = ", which is a guess: if letters are wrong, set the collection's 'encoding'"
            notes.append(f"the file is read as {decoding.charset}{doubt if decoding.doubtful else ''}")
        if decoding.lines:
            more = "" if decoding.invalid <= len(decoding.lines) else " and others"
            notes.append(f"bytes do not fit the encoding in {name_lines(decoding.lines)}{more}")
        if decoding.zeros:
            notes.append(f"the file has {plural(decoding.zeros, 'NUL byte')}, indexed as spaces")
        # The text of Markdown contains all that it omits; see `Explainer`.
        if "format" in source.fields:
            notes += [f"left out: {phrase}" for phrase in source.omitted]
        return notes

    def _below(self, reference: str) -> str | None:
        """Return the absolute path of the file that the reference would name if the file were indexed."""
        path = parse_uri(reference) if is_uri(reference) else reference
        files = (
            file
            for spelling in dict.fromkeys((path, split_location(path)[0]))
            for _, file in paths_on_disk(self.config, spelling)
            if not os.path.isdir(file)
        )
        return next(files, None)

    def _resolve(self, reference: str) -> Document:
        """Resolve a reference as `get` does, ignoring line numbers after the path."""
        try:
            return self.references.resolve(reference)
        except DocumentNotFoundError:
            path, line, _ = split_location(reference)
            if line is None:
                raise
            return self.references.resolve(path)

    def _outside(self, path: str) -> Absence:
        for name, folder in self.refused.items():
            if is_inside(os.path.realpath(path), folder):
                return Absence(
                    f"its collection '{name}' is outside the project", "approve it: qmd project trust"
                )
        hint = f"add it: qmd add {_as_arguments(path)}"
        return Absence("no collection contains its folder", hint)

    def _not_scanned(self, collection: Collection) -> Absence:
        stats = self.store.collections.stats().get(collection.name)
        scanned = stats is not None and stats.updated_at is not None
        reason = "it is new since the last update" if scanned else "its collection has not been indexed yet"
        return Absence(reason, f"run 'qmd update -c {collection.name}'")

    def _collections_above(self, path: str) -> Iterator[tuple[Collection, str]]:
        """Yield the collections that contain a file, deepest first, with its path in each."""
        for collection in sorted(self.config.collections.values(), key=lambda item: -len(item.path)):
            root = os.path.realpath(collection.path)
            for file, folder in ((path, collection.path), (path, root), (os.path.realpath(path), root)):
                if is_inside(file, folder):
                    yield collection, nfc(file[len(folder) :].strip(os.sep).replace(os.sep, "/"))
                    break


def _as_arguments(path: str) -> str:
    """Return a file's folder as shell arguments, with a mask if the default pattern excludes the file."""
    folder, name = os.path.split(path)
    if compile_pattern(DEFAULT_PATTERN)(name):
        return quote(folder)
    ending = os.path.splitext(name)[1]
    return f"{quote(folder)} --mask {quote(f'**/*{ending}' if ending else name)}"


def lookup_in(workspace: Workspace) -> Lookup:
    """Return the lookup for an index."""
    unapproved = workspace.configuration.trust.unapproved({"path"})
    refused = {request.name: request.value for request in unapproved}
    store, config = workspace.store, workspace.config
    return Lookup(store, config, References(store, config), refused)


class AbsenceMethods(Part):
    """Explain why files are not in the index."""

    _rules: Mapping[str, Rule] = {"absence": Rule(action="ask about files on disk")}

    def absence(self, reference: str) -> Absence | None:
        """Explain why a file on disk is not in the index; None if the reference names no such file.

        `reference` is a path on disk, or what `get` would take if the file were indexed.
        """
        lookup = lookup_in(self._workspace)
        try:
            match = lookup.find(reference)
        except QmdError:  # neither a document nor a file
            return None
        return lookup.absence(match) if isinstance(match, str) else None
