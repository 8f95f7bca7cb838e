"""Finding documents by what a user or an agent calls them, and cutting pages out of them (M20–M33)."""

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

#: In quotes too, as CSV and shells have it.
_DOCID = re.compile(r"""(["']?)#?([0-9a-fA-F]{6,64})\1""")
_GLOB = re.compile(r"[*?\[{]")
_CANDIDATES = 20
#: A name is similar if at most this share of its characters differ, endings such as `.md` left aside.
_NEAR = 0.34
_SUGGESTIONS = 3


@dataclass(frozen=True, slots=True)
class Page:
    """A document's text, or some lines of it.

    `first_line` is the text's first line; `more` lines follow it. `counted`: the reference itself gives the
    number of lines.
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
        """Whether the text is the whole document, its last line feed included."""
        return self.first_line == 1 and not self.more


@dataclass(frozen=True, slots=True)
class Skipped:
    """A document that was larger than asked for, and was not read."""

    document: Document
    bytes: int

    @property
    def kilobytes(self) -> int:
        """Its size, at least 1."""
        return max(1, round(self.bytes / 1024))


@dataclass(frozen=True, slots=True)
class Pages:
    """What a `multi_get` found, in order, and what it could not find.

    `left_out` are the documents from the first on that would have made all of it too large.
    """

    items: tuple[Page | Skipped, ...]
    errors: tuple[str, ...]
    left_out: tuple[Document, ...] = ()


class Library:
    """The documents of an index, by name."""

    def __init__(self, store: Store, config: Config) -> None:
        self._store = store
        self._config = config
        self._names: tuple[dict[str, list[Document]], dict[str, list[Document]]] | None = None

    def get(self, reference: str, from_line: int | None = None, max_lines: int | None = None) -> Page:
        """One document, whole or from a line on.

        `reference`: a display path, a path unique by its end (at a `/`), a path on disk inside a collection
        (absolute, or with `./` or `../`), a `qmd://` URI, a docid, or a title; it may end in `:from` or
        `:from:count`, which win over the arguments. Paths and titles are also found in another case, where
        nothing has them as they are written.

        Raises `DocumentNotFoundError`, `AmbiguousReferenceError`, or `UsageError` for a line past the end.
        """
        _check_lines(from_line, max_lines)
        # A file whose own name ends in :12 is found first.
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
        """Many documents: a glob over display paths, or a comma-separated list of anything `get` takes.

        A document that is named twice comes once. Documents above `max_bytes` are named but not read, and so
        are all from the first on that would bring their texts together above `max_total` bytes. Raises
        `DocumentNotFoundError` where nothing matched, and `CancelledError` once `cancelled` is true.
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
        """The one document that a reference names. Raises as `get` does."""
        document = self._find(reference)
        if document is None:
            raise self._not_found(reference.strip())
        return document

    def _find(self, reference: str) -> Document | None:
        """The one document that a reference names, if any. Raises `AmbiguousReferenceError`.

        Spaces around a reference are part of it if there is a document with them, else they are ignored.
        """
        require_unicode(reference)
        stripped = reference.strip()
        found = self._look_up(reference)
        return self._look_up(stripped) if found is None and stripped != reference else found

    def _look_up(self, reference: str) -> Document | None:
        path = parse_uri(reference) if is_uri(reference) else reference
        exact = self._exact(path)
        if exact is not None:
            return exact
        if _is_on_disk(path) and not is_uri(reference):
            place = os.path.abspath(os.path.expanduser(path))
            inside = self._absolute(place) or self._absolute(os.path.realpath(place))
            if inside is not None:
                return inside
        docid = _DOCID.fullmatch(reference)
        if docid:
            found = self._visible(self._store.by_hash(docid[2].lower()))[:_CANDIDATES]
            if len({document.hash for document in found}) > 1:
                raise _ambiguous(reference, [f"#{document.hash[:12]} {document.file}" for document in found])
            if found:
                return found[0]
        if not path.strip("/"):
            return None
        found = self._visible(self._store.ending_with(path)) or self._linked(path) or self._by_name(path)
        if len(found) > 1:
            raise _ambiguous(reference, [document.file for document in found[:_CANDIDATES]])
        return found[0] if found else None

    def _linked(self, path: str) -> list[Document]:
        """The document that a symbolic link in a collection leads to; it is indexed under its own path."""
        for collection, place in paths_on_disk(self._config, path):
            root, real = os.path.realpath(collection.path), os.path.realpath(place)
            if real.startswith(root.rstrip("/") + "/"):
                document = self._store.find(collection.name, nfc(real[len(root.rstrip("/")) + 1 :]))
                if document is not None:
                    return [document]
        return []

    def _by_name(self, name: str) -> list[Document]:
        """Documents whose path ends with `name` in any case; where there are none, those with it as title."""
        if self._names is None:
            # All of them once: a list of names asks for each.
            self._names = {}, {}
            for document in self._visible(self._store.listing()):
                last = document.path.rpartition("/")[2]
                for known, key in zip(self._names, (last, document.title), strict=True):
                    known.setdefault(key.casefold(), []).append(document)
        files, titles = self._names
        folded = nfc(name).strip("/").casefold()
        ending = [
            document
            for document in files.get(folded.rpartition("/")[2], ())
            if f"/{document.file}".casefold().endswith(f"/{folded}")
        ]
        return ending or titles.get(folded, [])

    def listing(self, target: str | None) -> list[Document]:
        """Documents of a collection, or below a folder of one: `notes`, `notes/work`, `qmd://notes/work`.

        Raises `CollectionNotFoundError`, and `DocumentNotFoundError` for a folder that holds nothing.
        """
        require_unicode(target or "")
        path = (parse_uri(target) if is_uri(target) else target).strip("/") if target else ""
        if not path:
            return self._visible(self._store.listing())
        collection, _, under = path.partition("/")
        if collection not in self._config.collections:
            raise unknown_collection(self._config, collection)
        found = list(self._store.listing(collection, under))
        if under and not found:
            raise DocumentNotFoundError(f"nothing under {path}", hint=f"see 'qmd ls {collection}'")
        return found

    def _chosen(
        self, pattern: str, errors: list[str], deadline: Deadline
    ) -> Iterator[tuple[Document, int | None, int | None]]:
        """The documents of a pattern, with the lines that its references ask for."""
        names = split_pattern(pattern)
        # A name may hold commas itself: the longest run of pieces that is a document wins.
        longest = self._most_pieces() if len(names) > 1 else 1
        at = 0
        while at < len(names):
            deadline.check()
            for to in range(min(len(names), at + longest), at + 1, -1):
                document = self._try(", ".join(names[at:to])) or self._try(",".join(names[at:to]))
                if document is not None:
                    yield document, None, None
                    break
            else:
                to = at + 1
                yield from self._named(names[at], errors)
            at = to

    def _named(self, name: str, errors: list[str]) -> Iterator[tuple[Document, int | None, int | None]]:
        """The documents of one piece of a list: a reference with or without lines, or a glob."""
        start = count = None
        try:
            found = self._find(name)
            if found is None and _GLOB.search(name):
                yield from self._matching(name, errors)
                return
            if found is None:
                name, start, count = split_location(name)
                found = self._find(name) if start is not None else None
        except AmbiguousReferenceError as error:
            errors.append(error.message)
            return
        if found is None:
            # Looking for similar names takes longer than all the rest: a list of names has none suggested.
            errors.append(_missing(name))
        else:
            yield found, start, count

    def _matching(self, glob: str, errors: list[str]) -> Iterator[tuple[Document, None, None]]:
        """The documents whose paths match a glob, with or without the collection."""
        matches = compile_pattern(glob.removeprefix("qmd://"))
        matched = False
        for document in self._visible(self._store.listing()):
            if matches(document.file) or matches(document.path):
                matched = True
                yield document, None, None
        if not matched:
            errors.append(f"No documents match: {glob}")

    def _most_pieces(self) -> int:
        """Into how many pieces a comma-separated list can cut one name."""
        return 1 + max(
            (document.path.count(",") for document in self._visible(self._store.path_contains(","))),
            default=0,
        )

    def _try(self, reference: str) -> Document | None:
        """The document, where exactly one answers to the reference."""
        if not reference:
            return None
        try:
            return self._find(reference)
        except AmbiguousReferenceError:
            return None

    def _page(
        self, document: Document, from_line: int | None, max_lines: int | None, count: int | None = None
    ) -> Page:
        """Some lines of a document; `count` is what the reference says of `max_lines`, and wins over it."""
        text = self._store.texts([document.id]).get(document.id)
        if text is None:
            raise self._not_found(document.file)
        context = context_for(self._config, document.collection, document.path)
        lines = text.split("\n")
        # The line feed at the end of a file ends its last line; it begins no other.
        total = len(lines) - 1 if len(lines) > 1 and not lines[-1] else len(lines)
        start = from_line or 1
        if start > total:
            raise UsageError(f"{document.file} has {total} lines: there is no line {start}")
        most = max_lines if count is None else count
        end = total if most is None else min(total, start - 1 + most)
        part = text if (start, end) == (1, total) else "\n".join(lines[start - 1 : end])
        return Page(document, context, part, start, total, total - end, count is not None)

    def _exact(self, path: str) -> Document | None:
        collection, _, rest = path.strip("/").partition("/")
        if rest and collection in self._config.collections:
            return self._store.find(collection, rest)
        return None

    def _absolute(self, path: str) -> Document | None:
        """A file on disk, by the collection whose root is above it; the deepest root wins."""
        roots = sorted(self._config.collections.values(), key=lambda each: -len(each.path))
        for collection in roots:
            for root in (collection.path, os.path.realpath(collection.path)):
                if path.startswith(root.rstrip("/") + "/"):
                    document = self._store.find(collection.name, path[len(root.rstrip("/")) + 1 :])
                    if document is not None:
                        return document
        return None

    def _visible(self, documents: Iterable[Document]) -> list[Document]:
        """Documents of collections that the configuration still has."""
        return [document for document in documents if document.collection in self._config.collections]

    def _not_found(self, reference: str) -> DocumentNotFoundError:
        similar = self._similar(reference)
        return DocumentNotFoundError(
            _missing(reference),
            similar,
            "see 'qmd ls' for what is indexed" if not similar else None,
        )

    def _similar(self, reference: str) -> tuple[str, ...]:
        """The three most similar display paths, in upper or lower case; none whose name is another one."""
        from rapidfuzz import process
        from rapidfuzz.distance import OSA

        wanted = (parse_uri(reference) if is_uri(reference) else reference).strip("/").lower()
        files = [document.file for document in self._visible(self._store.listing())]
        names = [_stem(file.rpartition("/")[2].lower()) for file in files]
        near = process.extract(
            _stem(wanted.rpartition("/")[2]),
            names,
            scorer=OSA.normalized_distance,
            score_cutoff=_NEAR,
            limit=None,
        )
        # Of names alike, those in a folder like the one that was named come first.
        segments = wanted.count("/") + 1

        def distance(file: str) -> float:
            return OSA.normalized_distance(wanted, "/".join(file.lower().split("/")[-segments:]))

        return tuple(sorted((files[index] for _, _, index in near), key=distance)[:_SUGGESTIONS])


def paths_on_disk(config: Config, path: str) -> Iterator[tuple[Collection, str]]:
    """Yield files by a display path, or by their path in a collection: collections with absolute paths.

    Only what exists is yielded. Segments such as `..` name nothing.
    """
    if not {"", ".", ".."}.isdisjoint(path.split("/")):
        return
    name, _, rest = path.partition("/")
    named = config.collections.get(name)
    readings = [(named, rest)] if named is not None and rest else []
    for collection, inside in (*readings, *((each, path) for each in config.collections.values())):
        place = os.path.join(collection.path, inside)
        if os.path.lexists(place):
            yield collection, place


def _stem(name: str) -> str:
    return name.rpartition(".")[0] or name


def _is_on_disk(path: str) -> bool:
    """Whether a path can only be meant as one on disk: absolute, or from the current folder on."""
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
