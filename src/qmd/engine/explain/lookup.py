"""What a user points at for `why`: a document of the index, or a file on disk and what keeps it out."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from shlex import quote

from qmd.config.validate import nfc
from qmd.engine.documents.library import Library, places_of
from qmd.errors import AmbiguousReferenceError, DocumentNotFoundError, SourceError, UsageError
from qmd.sources.patterns import compile_pattern
from qmd.sources.rules import is_inside
from qmd.sources.single import source_at
from qmd.store.base import Store
from qmd.text.uris import is_uri, parse_uri, split_location
from qmd.types import DEFAULT_PATTERN, Collection, Config, Document


@dataclass(frozen=True, slots=True)
class Absence:
    """Why a file is not in the index, and what to do about that."""

    reason: str
    hint: str | None = None


class Presence:
    """The index's documents and the disk's files, side by side.

    `refused` are the folders, by collection, that a project asks for without having been approved.
    """

    def __init__(self, store: Store, config: Config, library: Library, refused: Mapping[str, str]) -> None:
        self._store = store
        self._config = config
        self._library = library
        self._refused = refused

    def find(self, reference: str) -> Document | str:
        """The document that a reference names, or the absolute path of a file that is not indexed.

        `reference` is anything that `get` takes, or a file on disk. Raises as `Library.resolve` does where it
        is neither, `UsageError` for a folder.
        """
        place = os.path.abspath(os.path.expanduser(reference))
        on_disk = not is_uri(reference) and os.path.lexists(place)
        if on_disk and not os.path.isdir(place):
            for spelling in (place, os.path.realpath(place)):
                try:
                    return self._library.resolve(spelling)
                except DocumentNotFoundError:
                    continue
        try:
            document = self._resolve(reference)
        except (DocumentNotFoundError, AmbiguousReferenceError):
            if on_disk and os.path.isdir(place):
                raise UsageError(f"{reference} is a folder", "name a file in it") from None
            if on_disk:
                return place
            below = self._below(reference)
            if below is None:
                raise
            return below
        # The end of another document's path is a poorer reading than the file of that very name.
        return place if on_disk and not os.path.isdir(place) and document.file != reference else document

    def absence(self, path: str) -> Absence:
        """Why no collection has the file at an absolute path."""
        holders = list(self._holders(path))
        if not holders:
            return self._outside(path)
        kept_out: list[Absence] = []
        for collection, relative in holders:
            try:
                source_at(collection, relative)
            except SourceError as error:
                reason = f"the collection '{collection.name}' leaves it out: {error.message}"
                kept_out.append(Absence(reason, error.hint))
            else:
                return self._not_scanned(collection)
        return Absence("; ".join(each.reason for each in kept_out), kept_out[0].hint)

    def differences(self, document: Document) -> list[str]:
        """How a document's file differs from what was indexed, in words."""
        try:
            source = source_at(self._config.collections[document.collection], document.path)
        except SourceError as error:
            return [f"the file is no longer as it was indexed: {error.message}"]
        if source.hash != document.hash:
            return ["the file has changed since it was indexed: run 'qmd update'"]
        if source.zeros:
            return [f"the file has {source.zeros:,} NUL byte(s), which are indexed as spaces"]
        return []

    def _below(self, reference: str) -> str | None:
        """The absolute path of a file that this reference would name if the file were indexed."""
        path = parse_uri(reference) if is_uri(reference) else reference
        found = (
            place
            for spelling in dict.fromkeys((path, split_location(path)[0]))
            for _, place in places_of(self._config, spelling)
            if not os.path.isdir(place)
        )
        return next(found, None)

    def _resolve(self, reference: str) -> Document:
        """As `get` reads it: lines after the path are left aside."""
        try:
            return self._library.resolve(reference)
        except DocumentNotFoundError:
            path, line, _ = split_location(reference)
            if line is None:
                raise
            return self._library.resolve(path)

    def _outside(self, path: str) -> Absence:
        for name, folder in self._refused.items():
            if is_inside(os.path.realpath(path), folder):
                return Absence(f"its collection '{name}' is outside the project", "approve it: qmd trust")
        return Absence("no collection has its folder", f"add it: qmd collection add {_as_arguments(path)}")

    def _not_scanned(self, collection: Collection) -> Absence:
        known = self._store.collection_stats().get(collection.name)
        scanned = known is not None and known.updated_at is not None
        reason = "it is new since the last update" if scanned else "its collection has not been indexed yet"
        return Absence(reason, f"run 'qmd update -c {collection.name}'")

    def _holders(self, path: str) -> Iterator[tuple[Collection, str]]:
        """The collections whose folder a file is in, the deepest first, with its path there."""
        for collection in sorted(self._config.collections.values(), key=lambda each: -len(each.path)):
            root = os.path.realpath(collection.path)
            for place, top in (
                (path, collection.path),
                (path, root),
                (os.path.realpath(path), root),
            ):
                if is_inside(place, top):
                    yield collection, nfc(place[len(top) :].strip(os.sep).replace(os.sep, "/"))
                    break


def _as_arguments(path: str) -> str:
    """A file's folder, with the mask that takes the file where the default does not."""
    folder, name = os.path.split(path)
    if compile_pattern(DEFAULT_PATTERN)(name):
        return quote(folder)
    ending = os.path.splitext(name)[1]
    return f"{quote(folder)} --mask {quote(f'**/*{ending}' if ending else name)}"
