"""Resolving references to documents, and reading documents whole or in part."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

from qmd.config.contexts import context_for
from qmd.config.validate import nfc, require_unicode
from qmd.engine.requests import DEFAULT_MAX_BYTES, unknown_collection
from qmd.engine.retrieval.deadline import Deadline
from qmd.errors import AmbiguousReferenceError, DocumentNotFoundError, QmdError, UsageError
from qmd.sources.patterns import compile_pattern, split_pattern
from qmd.store.base import Store
from qmd.text.uris import is_uri, parse_uri, split_location
from qmd.types import Collection, Config, Document

if TYPE_CHECKING:
    from qmd.models.base import Cancelled

#: Quotes are allowed, because CSV files and shells add them.
_DOCID = re.compile(r"""(["']?)#?([0-9a-fA-F]{6,64})\1""")
_GLOB = re.compile(r"[*?\[{]")
_CANDIDATES = 20
#: A name is similar if at most this share of its characters differ, not counting extensions such as `.md`.
_MAX_DISTANCE = 0.34
_SUGGESTIONS = 3


@dataclass(frozen=True, slots=True)
class Page:
    """A document's text, or some lines of it.

    Attributes:
        first_line: The number of the text's first line, from 1.
        more: The number of lines that follow the text.
        counted: True if the reference itself gives the number of lines (`:from:count`).
    """

    document: Document
    context: str | None
    text: str
    first_line: int
    total_lines: int
    more: int
    counted: bool = False

    @property
    def whole(self) -> bool:
        """True if the text is the whole document, including its last line feed."""
        return self.first_line == 1 and not self.more


@dataclass(frozen=True, slots=True)
class Skipped:
    """A document that was not read because it is larger than the limit."""

    document: Document
    bytes: int

    @property
    def kilobytes(self) -> int:
        """The document's size in kilobytes, at least 1."""
        return max(1, round(self.bytes / 1024))


@dataclass(frozen=True, slots=True)
class Pages:
    """The result of `multi_get`: documents in order, and error messages for names without a document.

    `left_out` are the documents after the total size reached its limit.
    """

    items: tuple[Page | Skipped, ...]
    errors: tuple[str, ...]
    left_out: tuple[Document, ...] = ()


class Library:
    """Finds the documents of an index by reference."""

    def __init__(self, store: Store, config: Config) -> None:
        self._store = store
        self._config = config
        self._names: tuple[dict[str, list[Document]], dict[str, list[Document]]] | None = None

    def get(self, reference: str, from_line: int | None = None, max_lines: int | None = None) -> Page:
        """Return one document, whole or from a line on.

        Args:
            reference: A display path, the unique end of one (from a `/` on), a path on disk inside a
                collection (absolute, or with `./` or `../`), a `qmd://` URI, a docid, or a title. It may end
                in `:from` or `:from:count`, which override the other arguments. Case is ignored if no path
                or title matches exactly.
            from_line: The first line to return, from 1.
            max_lines: The largest number of lines to return.

        Raises:
            DocumentNotFoundError: If no document matches.
            AmbiguousReferenceError: If several documents match.
            UsageError: If the line is past the end.
        """
        _check_lines(from_line, max_lines)
        # A file whose name ends in `:12` wins over line 12 of another file.
        document = self._find(reference)
        if document is None:
            path, start, count = split_location(reference)
            document = self.resolve(path)
            _check_lines(start, count)
            return self._page(document, start or from_line, max_lines, count)
        return self._page(document, from_line, max_lines)

    def multi_get(
        self,
        pattern: str,
        max_lines: int | None = None,
        max_bytes: int | None = DEFAULT_MAX_BYTES,
        cancelled: Cancelled | None = None,
        max_total: int | None = None,
    ) -> Pages:
        """Return the documents that match a glob over display paths or a comma-separated list of references.

        Each document is returned once.

        Args:
            pattern: A glob, or a list of references that `get` accepts.
            max_lines: The largest number of lines of each document.
            max_bytes: Documents larger than this are returned as `Skipped`.
            cancelled: Called before each document; the call ends if it returns true.
            max_total: The largest size of all texts in bytes. From the first document beyond it on,
                documents are only listed in `left_out`.

        Raises:
            DocumentNotFoundError: If nothing matches.
            CancelledError: If the call was cancelled.
        """
        _check_lines(None, max_lines)
        if max_bytes is not None and max_bytes < 1:
            raise UsageError(f"max_bytes must be at least 1, not {max_bytes}")
        if not pattern.strip():
            raise UsageError("the pattern is empty")
        items: list[Page | Skipped] = []
        errors: list[str] = []
        left_out: list[Document] = []
        seen: set[tuple[int, int | None, int | None]] = set()
        room = inf if max_total is None else max_total
        deadline = Deadline(None, cancelled)
        for document, start, count in self._chosen(pattern, errors, deadline):
            deadline.check()
            if (document.id, start, count) in seen:
                continue
            seen.add((document.id, start, count))
            if max_bytes is not None and document.size > max_bytes:
                items.append(Skipped(document, document.size))
                continue
            if left_out:
                left_out.append(document)
                continue
            try:
                page = self._page(document, start, max_lines, count)
            except QmdError as error:
                errors.append(error.message)
                continue
            room -= len(page.text.encode("utf-8", "surrogatepass"))
            if room < 0:
                left_out.append(document)
            else:
                items.append(page)
        if not items and not left_out:
            raise DocumentNotFoundError(
                "; ".join(errors) if errors else f"No documents match: {pattern}",
                hint="see 'qmd ls' for what is indexed",
            )
        return Pages(tuple(items), tuple(errors), tuple(left_out))

    def resolve(self, reference: str) -> Document:
        """Return the document that a reference names. Raises as `get`."""
        document = self._find(reference)
        if document is None:
            raise self._not_found(reference.strip())
        return document

    def _find(self, reference: str) -> Document | None:
        """Return the document that a reference names, or None. Raises `AmbiguousReferenceError`.

        Spaces around a reference are ignored unless they are part of a document's name.
        """
        require_unicode(reference)
        stripped = reference.strip()
        document = self._look_up(reference)
        return self._look_up(stripped) if document is None and stripped != reference else document

    def _look_up(self, reference: str) -> Document | None:
        path = parse_uri(reference) if is_uri(reference) else reference
        exact = self._exact(path)
        if exact is not None:
            return exact
        if _is_on_disk(path) and not is_uri(reference):
            absolute = os.path.abspath(os.path.expanduser(path))
            on_disk = self._absolute(absolute) or self._absolute(os.path.realpath(absolute))
            if on_disk is not None:
                return on_disk
        docid = _DOCID.fullmatch(reference)
        if docid:
            matches = self._visible(self._store.documents.by_hash(docid[2].lower()))[:_CANDIDATES]
            if len({document.hash for document in matches}) > 1:
                names = [f"#{document.hash[:12]} {document.file}" for document in matches]
                raise _ambiguous(reference, names)
            if matches:
                return matches[0]
        if not path.strip("/"):
            return None
        matches = (
            self._visible(self._store.documents.ending_with(path))
            or self._linked(path)
            or self._by_name(path)
        )
        if len(matches) > 1:
            raise _ambiguous(reference, [document.file for document in matches[:_CANDIDATES]])
        return matches[0] if matches else None

    def _linked(self, path: str) -> list[Document]:
        """Return the document that a symbolic link leads to, which is indexed under its own path."""
        for collection, absolute in paths_on_disk(self._config, path):
            root, real = os.path.realpath(collection.path), os.path.realpath(absolute)
            if real.startswith(root.rstrip("/") + "/"):
                document = self._store.documents.find(collection.name, nfc(real[len(root.rstrip("/")) + 1 :]))
                if document is not None:
                    return [document]
        return []

    def _by_name(self, name: str) -> list[Document]:
        """Return documents whose path ends with `name`, otherwise those with this title, ignoring case."""
        if self._names is None:
            # Read all documents once, because `multi_get` may look up many names.
            self._names = {}, {}
            for document in self._visible(self._store.documents.listing()):
                file_name = document.path.rpartition("/")[2]
                for by_name, key in zip(self._names, (file_name, document.title), strict=True):
                    by_name.setdefault(key.casefold(), []).append(document)
        files, titles = self._names
        folded = nfc(name).strip("/").casefold()
        by_path = [
            document
            for document in files.get(folded.rpartition("/")[2], ())
            if f"/{document.file}".casefold().endswith(f"/{folded}")
        ]
        return by_path or titles.get(folded, [])

    def listing(self, target: str | None) -> list[Document]:
        """List the documents of a collection or below a folder: `notes`, `notes/work`, `qmd://notes/work`.

        Raises:
            CollectionNotFoundError: If there is no such collection.
            DocumentNotFoundError: If the folder contains no documents.
        """
        require_unicode(target or "")
        path = (parse_uri(target) if is_uri(target) else target).strip("/") if target else ""
        if not path:
            return self._visible(self._store.documents.listing())
        collection, _, folder = path.partition("/")
        if collection not in self._config.collections:
            raise unknown_collection(self._config, collection)
        documents = list(self._store.documents.listing(collection, folder))
        if folder and not documents:
            raise DocumentNotFoundError(f"no documents in {path}", hint=f"see 'qmd ls {collection}'")
        return documents

    def _chosen(
        self, pattern: str, errors: list[str], deadline: Deadline
    ) -> Iterator[tuple[Document, int | None, int | None]]:
        """Yield (document, first line, number of lines) for a pattern of `multi_get`."""
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

    def _named(self, name: str, errors: list[str]) -> Iterator[tuple[Document, int | None, int | None]]:
        """Yield the documents of one list item: a reference with or without lines, or a glob."""
        start = count = None
        try:
            document = self._find(name)
            if document is None and _GLOB.search(name):
                yield from self._matching(name, errors)
                return
            if document is None:
                name, start, count = split_location(name)
                document = self._find(name) if start is not None else None
        except AmbiguousReferenceError as error:
            errors.append(error.message)
            return
        if document is None:
            # No similar names are suggested, because finding them for a long list would take too long.
            errors.append(_missing(name))
        else:
            yield document, start, count

    def _matching(self, glob: str, errors: list[str]) -> Iterator[tuple[Document, None, None]]:
        """Yield the documents whose paths, with or without the collection, match a glob."""
        matches = compile_pattern(glob.removeprefix("qmd://"))
        empty = True
        for document in self._visible(self._store.documents.listing()):
            if matches(document.file) or matches(document.path):
                empty = False
                yield document, None, None
        if empty:
            errors.append(f"No documents match: {glob}")

    def _most_pieces(self) -> int:
        """Return the largest number of pieces that splitting at commas makes of one path."""
        return 1 + max(
            (
                document.path.count(",")
                for document in self._visible(self._store.documents.path_contains(","))
            ),
            default=0,
        )

    def _try(self, reference: str) -> Document | None:
        """Return the document if the reference names exactly one."""
        if not reference:
            return None
        try:
            return self._find(reference)
        except AmbiguousReferenceError:
            return None

    def _page(
        self, document: Document, from_line: int | None, max_lines: int | None, count: int | None = None
    ) -> Page:
        """Return some lines of a document. A `count` from the reference overrides `max_lines`."""
        text = self._store.documents.texts([document.id]).get(document.id)
        if text is None:
            raise self._not_found(document.file)
        context = context_for(self._config, document.collection, document.path)
        lines = text.split("\n")
        # A line feed at the end of a file does not begin another line.
        total = len(lines) - 1 if len(lines) > 1 and not lines[-1] else len(lines)
        start = from_line or 1
        if start > total:
            raise UsageError(f"{document.file} has {total} lines: there is no line {start}")
        limit = max_lines if count is None else count
        end = total if limit is None else min(total, start - 1 + limit)
        part = text if (start, end) == (1, total) else "\n".join(lines[start - 1 : end])
        return Page(document, context, part, start, total, total - end, count is not None)

    def _exact(self, path: str) -> Document | None:
        collection, _, rest = path.strip("/").partition("/")
        if rest and collection in self._config.collections:
            return self._store.documents.find(collection, rest)
        return None

    def _absolute(self, path: str) -> Document | None:
        """Return the document of a file on disk, from the collection with the deepest matching root."""
        collections = sorted(self._config.collections.values(), key=lambda item: -len(item.path))
        for collection in collections:
            for root in (collection.path, os.path.realpath(collection.path)):
                if path.startswith(root.rstrip("/") + "/"):
                    document = self._store.documents.find(collection.name, path[len(root.rstrip("/")) + 1 :])
                    if document is not None:
                        return document
        return None

    def _visible(self, documents: Iterable[Document]) -> list[Document]:
        """Return the documents of configured collections."""
        return [document for document in documents if document.collection in self._config.collections]

    def _not_found(self, reference: str) -> DocumentNotFoundError:
        similar = self._similar(reference)
        return DocumentNotFoundError(
            _missing(reference),
            similar,
            "see 'qmd ls' for what is indexed" if not similar else None,
        )

    def _similar(self, reference: str) -> tuple[str, ...]:
        """Return up to three display paths with similar file names, ignoring case, most similar first."""
        from rapidfuzz import process
        from rapidfuzz.distance import OSA

        query = (parse_uri(reference) if is_uri(reference) else reference).strip("/").lower()
        files = [document.file for document in self._visible(self._store.documents.listing())]
        names = [_stem(file.rpartition("/")[2].lower()) for file in files]
        similar = process.extract(
            _stem(query.rpartition("/")[2]),
            names,
            scorer=OSA.normalized_distance,
            score_cutoff=_MAX_DISTANCE,
            limit=None,
        )
        # Sort by the distance of as many path segments as the query has, so that its folders count too.
        segments = query.count("/") + 1

        def distance(file: str) -> float:
            return OSA.normalized_distance(query, "/".join(file.lower().split("/")[-segments:]))

        return tuple(sorted((files[index] for _, _, index in similar), key=distance)[:_SUGGESTIONS])


def paths_on_disk(config: Config, path: str) -> Iterator[tuple[Collection, str]]:
    """Yield (collection, absolute path) of existing files with a display path or path in a collection.

    Paths with segments such as `..` match nothing.
    """
    if not {"", ".", ".."}.isdisjoint(path.split("/")):
        return
    name, _, rest = path.partition("/")
    named = config.collections.get(name)
    candidates = [(named, rest)] if named is not None and rest else []
    candidates += [(collection, path) for collection in config.collections.values()]
    for collection, relative in candidates:
        absolute = os.path.join(collection.path, relative)
        if os.path.lexists(absolute):
            yield collection, absolute


def _stem(name: str) -> str:
    return name.rpartition(".")[0] or name


def _is_on_disk(path: str) -> bool:
    """Return whether a path can only be a path on disk: absolute, or beginning with `./` or `../`."""
    return os.path.isabs(os.path.expanduser(path)) or path.startswith(("./", "../"))


def _check_lines(from_line: int | None, max_lines: int | None) -> None:
    if from_line is not None and from_line < 1:
        raise UsageError(f"lines are counted from 1: there is no line {from_line}")
    if max_lines is not None and max_lines < 1:
        raise UsageError(f"the number of lines must be at least 1, not {max_lines}")


def _missing(reference: str) -> str:
    return f"Document not found: {reference}"


def _ambiguous(reference: str, candidates: Sequence[str]) -> AmbiguousReferenceError:
    return AmbiguousReferenceError(
        f"{reference} could be any of: {', '.join(candidates)}",
        tuple(candidates),
        "give more of the path, or more digits of the docid",
    )
