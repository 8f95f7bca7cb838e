"""Resolving references to documents: paths, addresses, docids, titles, and lists and globs of them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from qmd.config.validate import nfc, require_unicode
from qmd.engine.deadline import Deadline
from qmd.errors import AmbiguousReferenceError, DocumentNotFoundError, UsageError
from qmd.sources.patterns import compile_pattern, split_pattern
from qmd.store.base import Store
from qmd.text.anchors import span, split_anchor
from qmd.text.link_targets import file_title
from qmd.text.regex import lazy
from qmd.text.similar import similar_paths
from qmd.text.uris import SCHEME, is_uri, parse_uri, split_fragment, split_location
from qmd.types import Anchor, Collection, Config, Document

#: A document, its first line, and the number of lines, as far as a reference names them.
Location: TypeAlias = tuple[Document, int | None, int | None]

#: Quotes are allowed, because CSV files and shells add them.
_DOCID = lazy(r"""(["']?)#?([0-9a-fA-F]{6,64})\1""")
_GLOB = lazy(r"[*?\[{]")
_CANDIDATES = 20
_SUGGESTIONS = 3


class References:
    """Finds the documents of an index by reference; `Index.get` lists the kinds."""

    def __init__(self, store: Store, config: Config) -> None:
        self._store = store
        self._documents = store.documents
        self._config = config
        self._names: tuple[dict[str, list[Document]], ...] | None = None
        #: Former paths with their collections, the collections, and the paths that they have now.
        self._former: list[tuple[str, str, str]] | None = None

    def resolve(self, reference: str) -> Document:
        """Return the document that a reference names. Raises as `Index.get`."""
        document = self.find(reference)
        if document is None:
            raise self.not_found(reference.strip())
        return document

    def find(self, reference: str) -> Document | None:
        """Return the document that a reference names, or None. Raises `AmbiguousReferenceError`.

        Spaces around a reference are ignored unless they are part of a document's name.
        """
        require_unicode(reference)
        stripped = reference.strip()
        document = self._look_up(reference)
        return self._look_up(stripped) if document is None and stripped != reference else document

    def locate(self, pattern: str, errors: list[str], deadline: Deadline) -> Iterator[Location]:
        """Yield the documents of a pattern of `Index.multi_get`, and add the errors of its references."""
        pieces = split_pattern(pattern)
        # A name may contain commas, so the longest run of pieces that names a document wins.
        longest = self._most_pieces() if len(pieces) > 1 else 1
        start = 0
        while start < len(pieces):
            deadline.check()
            for end in range(min(len(pieces), start + longest), start + 1, -1):
                run = pieces[start:end]
                document = self._try(", ".join(run)) or self._try(",".join(run))
                if document is not None:
                    yield document, None, None
                    break
            else:
                end = start + 1
                yield from self._named(pieces[start], errors)
            start = end

    def not_found(self, reference: str) -> DocumentNotFoundError:
        """Return the error for a reference without a document, with similar names."""
        name = (parse_uri(reference) if is_uri(reference) else reference).strip("/")
        kind = "collection" if name in self._config.collections else "folder"
        if kind == "collection" or any(each.file.startswith(f"{name}/") for each in self.visible()):
            listed = f"it is a {kind}: 'qmd ls {name}' lists its documents"
            return DocumentNotFoundError(f"{_missing(reference)} (multi-get takes {name}/**)", (), listed)
        path, heading = split_fragment(reference)
        similar = self._similar(reference) or (self._similar(path) if heading else ())
        hint = None if similar else "see 'qmd ls' for what is indexed"
        return DocumentNotFoundError(self._missing(reference), similar, hint)

    def _missing(self, reference: str) -> str:
        """Return the message for a reference without a document, which says so if it is one of several."""
        collection = reference.removeprefix(SCHEME).strip("/")
        if collection in self._config.collections:
            return f"{_missing(reference)} (multi-get takes {collection}/**)"
        pieces = split_pattern(reference)
        if _GLOB.search(reference) or (len(pieces) > 1 and any(map(self._try, pieces))):
            return f"{_missing(reference)} (multi-get takes patterns and lists)"
        return _missing(reference)

    def visible(self, documents: Iterable[Document] | None = None) -> list[Document]:
        """Return the documents, by default all, that are in configured collections."""
        documents = self._documents.listing() if documents is None else documents
        return [document for document in documents if document.collection in self._config.collections]

    def _look_up(self, reference: str) -> Document | None:
        path = parse_uri(reference) if is_uri(reference) else reference
        # The name of a file may look encoded: somebody may write `qmd://notes/100%25.md` for `100%25.md`.
        for spelling in dict.fromkeys((path, reference[len(SCHEME) :] if is_uri(reference) else path)):
            collection, _, rest = spelling.strip("/").partition("/")
            if rest and nfc(collection) in self._config.collections:
                exact = self._documents.find(nfc(collection), nfc(rest))
                if exact is not None:
                    return exact
        if _is_on_disk(path) and not is_uri(reference):
            absolute = os.path.abspath(os.path.expanduser(path))
            on_disk = self._absolute(absolute) or self._absolute(os.path.realpath(absolute))
            if on_disk is not None:
                return on_disk
        if (identified := self._by_docid(reference)) is not None or not path.strip("/"):
            return identified
        matches = self.visible(self._documents.ending_with(path)) or self._linked(path) or self._by_name(path)
        matches = matches or self._renamed(path)
        if len(matches) > 1:
            raise _ambiguous(reference, [document.file for document in matches[:_CANDIDATES]])
        return matches[0] if matches else None

    def _by_docid(self, reference: str) -> Document | None:
        docid = _DOCID.fullmatch(reference)
        matches = self.visible(self._documents.by_hash(docid[2].lower()))[:_CANDIDATES] if docid else []
        if len({document.hash for document in matches}) > 1:
            raise _ambiguous(reference, [f"#{item.hash[:12]} {item.file}" for item in matches])
        return matches[0] if matches else None

    def _absolute(self, path: str) -> Document | None:
        """Return the document of a file on disk, from the collection with the deepest matching root."""
        for collection in sorted(self._config.collections.values(), key=lambda item: -len(item.path)):
            for root in (collection.path, os.path.realpath(collection.path)):
                relative = _below(nfc(root), nfc(path))
                document = self._documents.find(collection.name, relative) if relative is not None else None
                if document is not None:
                    return document
        return None

    def _linked(self, path: str) -> list[Document]:
        """Return the document that a symbolic link leads to, which is indexed under its own path."""
        for collection, absolute in paths_on_disk(self._config, path):
            relative = _below(os.path.realpath(collection.path), os.path.realpath(absolute))
            document = self._documents.find(collection.name, nfc(relative)) if relative is not None else None
            if document is not None:
                return [document]
        return []

    def _renamed(self, path: str) -> list[Document]:
        """Return the documents that had a path, or one that ends so, before their files were renamed."""
        from qmd.engine.indexing.record import ScanRecord  # names are mostly those of today

        if self._former is None:
            self._former = [
                (f"{name}/{former}", name, now)
                for name in self._config.collections
                for former, now in ScanRecord.read(self._store.collections.last_root(name)).renamed.items()
            ]
        ending = f"/{nfc(path).strip('/')}"
        found = [
            self._documents.find(name, now)
            for former, name, now in self._former
            if f"/{former}".endswith(ending)
        ]
        return [document for document in found if document is not None]

    def _by_name(self, name: str) -> list[Document]:
        """Return the documents whose path ends with `name`, ignoring case.

        If there are none, those with this title, then those whose path ends so without its suffix.
        """
        if self._names is None:
            # Read all documents once, because `multi_get` may look up many names.
            self._names = {}, {}, {}
            for document in self.visible():
                file_name = document.path.rpartition("/")[2]
                for by_name, key in zip(
                    self._names, (file_name, file_title(document.path), document.title), strict=True
                ):
                    by_name.setdefault(key.casefold(), []).append(document)
        folded = nfc(name).strip("/").casefold()
        folder, _, last = folded.rpartition("/")
        files, stems, titles = (
            names.get(key, []) for names, key in zip(self._names, (last, last, folded), strict=True)
        )
        below = [
            [item for item in named if f"/{item.file}".casefold().rpartition("/")[0].endswith(f"/{folder}")]
            if folder
            else named
            for named in (files, stems)
        ]
        return below[0] or titles or below[1]

    def _named(self, name: str, errors: list[str]) -> Iterator[Location]:
        """Yield the documents of one list item: a reference with or without lines, or a glob."""
        start = count = None
        try:
            document = self.find(name)
            if document is None and _GLOB.search(name):
                yield from self._matching(name, errors)
                return
            if document is None:
                document, start, count = self.with_anchor(name)
            if document is None:
                name, start, count = split_location(name)
                document = self.find(name) if start is not None else None
        except UsageError as error:
            errors.append(error.message)
            return
        except AmbiguousReferenceError as error:
            errors.append(error.message)
            return
        if document is None:
            # No similar names are suggested, because finding them for a long list would take too long.
            errors.append(self._missing(name))
        else:
            yield document, start, count

    def with_anchor(self, reference: str) -> Location | tuple[None, None, None]:
        """Return the document of `path:p12` or `path:p12-14`, its first line and the number of lines.

        Raises `UsageError` if the document has no such place, or no text there.
        """
        address = split_anchor(reference)
        document = self.find(address[0]) if address else None
        if address is None or document is None:
            return None, None, None
        _, kind, first, last = address
        anchors = self._store.fields.anchors([document.id]).get(document.id, [])
        text = self._documents.texts([document.id]).get(document.id, "")
        lines = span(anchors, kind, first, last, text.count("\n") + (not text.endswith("\n")))
        if lines is None:
            raise _no_place(document, anchors, reference)
        if lines[1] < lines[0]:
            where = f"{first:,}" if first == last else f"{first:,} to {last:,}"
            raise UsageError(f"{anchors[0].kind} {where} of {document.file} has no text")
        return document, lines[0], lines[1] - lines[0] + 1

    def _matching(self, glob: str, errors: list[str]) -> Iterator[Location]:
        """Yield the documents whose paths, with or without the collection, match a glob."""
        matches = compile_pattern(glob.removeprefix("qmd://"))
        empty = True
        for document in self.visible():
            if matches(document.file) or matches(document.path):
                empty = False
                yield document, None, None
        if empty:
            errors.append(f"No documents match: {glob}")

    def _most_pieces(self) -> int:
        """Return the largest number of pieces that splitting at commas makes of one path."""
        with_commas = self.visible(self._documents.path_contains(","))
        return 1 + max((document.path.count(",") for document in with_commas), default=0)

    def _try(self, reference: str) -> Document | None:
        """Return the document if the reference names exactly one."""
        try:
            return self.find(reference) if reference else None
        except AmbiguousReferenceError:
            return None

    def _similar(self, reference: str) -> tuple[str, ...]:
        """Return up to three display paths with similar file names, most similar first."""
        path = (parse_uri(reference) if is_uri(reference) else reference).strip("/")
        return similar_paths(path, [document.file for document in self.visible()], _SUGGESTIONS)


def paths_on_disk(config: Config, path: str) -> Iterator[tuple[Collection, str]]:
    """Yield (collection, absolute path) of existing files with a display path or path in a collection.

    Paths with segments such as `..` match nothing.
    """
    if not {"", ".", ".."}.isdisjoint(path.split("/")):
        return
    name, _, rest = path.partition("/")
    named = config.collections.get(nfc(name))
    candidates = [(named, rest)] if named is not None and rest else []
    candidates += [(collection, path) for collection in config.collections.values()]
    for collection, relative in candidates:
        absolute = os.path.join(collection.path, relative)
        if os.path.lexists(absolute):
            yield collection, absolute


def _below(root: str, path: str) -> str | None:
    """Return a path relative to a folder; None if it is not below the folder."""
    prefix = root.rstrip("/") + "/"
    return path[len(prefix) :] if path.startswith(prefix) else None


def _is_on_disk(path: str) -> bool:
    """Return whether a path can only be a path on disk: absolute, or beginning with `./` or `../`."""
    return os.path.isabs(os.path.expanduser(path)) or path.startswith(("./", "../"))


def _missing(reference: str) -> str:
    return f"Document not found: {reference}"


def _ambiguous(reference: str, candidates: list[str]) -> AmbiguousReferenceError:
    return AmbiguousReferenceError(
        f"{reference} could be any of: {', '.join(candidates)}",
        tuple(candidates),
        "give more of the path, or more digits of the docid",
    )


def _no_place(document: Document, anchors: Sequence[Anchor], reference: str) -> UsageError:
    """Return the error for a reference to a page, cell or the like that does not exist."""
    place = reference.rpartition(":")[2]
    if not anchors:
        return UsageError(f"{document.file} has no pages or other places: there is no '{place}'")
    first, last = anchors[0], anchors[-1]
    return UsageError(
        f"{document.file} has no '{place}': it has {first.kind} {first.value:,} to {last.value:,}",
        f"for example: qmd get '{document.file}:{first.address}'",
    )
