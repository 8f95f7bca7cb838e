"""Reading documents whole or in part, and listing them."""

from __future__ import annotations

from collections.abc import Container, Sequence
from math import inf
from typing import TYPE_CHECKING
from urllib.parse import unquote

from msgspec import Struct

from qmd.config.contexts import context_for
from qmd.config.validate import require_unicode
from qmd.engine.deadline import Deadline
from qmd.engine.documents.references import References
from qmd.engine.requests import unknown_collection
from qmd.errors import DocumentNotFoundError, NotFoundError, QmdError, UsageError
from qmd.sources.formats.registry import media_types
from qmd.store.values import LEFT_OUT
from qmd.text.anchors import anchor_at
from qmd.text.authorship import author_key
from qmd.text.outline import find_section, sections
from qmd.text.uris import is_uri, parse_uri, split_fragment, split_location
from qmd.types import Anchor, Author, Document, Section

if TYPE_CHECKING:
    from qmd.models.base import Cancelled


class Page(Struct, frozen=True):
    """A document's text, or some lines of it."""

    document: Document
    context: str | None
    text: str
    first_line: int  #: The number of the text's first line, from 1
    total_lines: int
    more: int  #: The number of lines that follow the text
    counted: bool = False  #: True if the reference itself gives the number of lines (`:from:count`)
    anchor: Anchor | None = None  #: The place in the source file that the first line comes from
    source_type: str = ""  #: The media type of the source file; "" if it is not known
    media_type: str = "text/markdown"  #: The media type of the text
    anchors: tuple[Anchor, ...] = ()  #: The places in the source file, by the lines of the whole document

    @property
    def whole(self) -> bool:
        """True if the text is the whole document, including its last line feed."""
        return self.first_line == 1 and not self.more


class Skipped(Struct, frozen=True):
    """A document that was not read because it is larger than the limit."""

    document: Document
    bytes: int

    @property
    def kilobytes(self) -> int:
        """The document's size in kilobytes, at least 1."""
        return max(1, round(self.bytes / 1024))


class Pages(Struct, frozen=True):
    """The result of `multi_get`: documents in order, and error messages for names without a document.

    `left_out` are the documents after the total size reached its limit.
    """

    items: tuple[Page | Skipped, ...]
    errors: tuple[str, ...]
    left_out: tuple[Document, ...] = ()


class Library(References):
    """Reads and lists the documents of an index. Its methods are documented in `Index`."""

    def get(self, reference: str, from_line: int | None = None, max_lines: int | None = None) -> Page:
        _check_lines(from_line, max_lines)
        # A file whose name ends in `:12` wins over line 12 of another file.
        document = self.find(reference)
        if document is None:
            document, fragment = self._with_section(reference)
            if document is not None:
                section = self._section(document, fragment)
                return self._page(
                    document, section.first_line, None, section.last_line - section.first_line + 1
                )
            document, start, count = self._with_anchor(reference)
            if document is None:
                path, start, count = split_location(reference)
                document = self.resolve(path)
                _check_lines(start, count)
            return self._page(document, start or from_line, max_lines, count)
        return self._page(document, from_line, max_lines)

    def outline(self, reference: str) -> tuple[Document, tuple[Section, ...]]:
        document = self.resolve(reference)
        return document, self._sections(document)

    def _with_section(self, reference: str) -> tuple[Document | None, str]:
        """Split `path#heading` into document and heading; (None, "") if it is not such a reference."""
        path, fragment = split_fragment(reference)
        if not path or not fragment:
            return None, ""
        return self.find(path), unquote(fragment) if is_uri(reference) else fragment

    def _section(self, document: Document, fragment: str) -> Section:
        known = self._sections(document)
        found = find_section(known, fragment)
        if found is None:
            from difflib import get_close_matches

            close = get_close_matches(fragment, [section.heading for section in known], n=1)
            suggestion = f"did you mean '{close[0]}'? " if close else ""
            raise UsageError(
                f"{document.file} has no section '{fragment[:60]}'",
                f"{suggestion}see 'qmd outline {document.file}'",
            )
        return found

    def _sections(self, document: Document) -> tuple[Section, ...]:
        return sections(self._text(document))

    def multi_get(
        self,
        pattern: str,
        max_lines: int | None,
        max_bytes: int | None,
        cancelled: Cancelled | None,
        max_total: int | None,
        passing: Container[int] | None = None,
    ) -> Pages:
        _check_lines(None, max_lines)
        if max_bytes is not None and max_bytes < 1:
            raise UsageError(f"max_bytes must be at least 1, not {max_bytes}")
        if not pattern.strip():
            raise UsageError("the pattern is empty")
        require_unicode(pattern)
        items: list[Page | Skipped] = []
        errors: list[str] = []
        left_out: list[Document] = []
        room = inf if max_total is None else max_total
        deadline = Deadline(None, cancelled)
        seen: set[tuple[int, int | None, int | None]] = set()
        for document, start, count in self.locate(pattern, errors, deadline):
            deadline.check()
            if (document.id, start, count) in seen:
                continue
            seen.add((document.id, start, count))
            if passing is not None and document.id not in passing:
                continue
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
            missing = f"No documents match: {pattern}"
            missing += "" if passing is None else " (with these filters)"
            raise DocumentNotFoundError(
                "; ".join(errors) if errors else missing,
                hint="see 'qmd ls' for what is indexed",
            )
        return Pages(tuple(items), tuple(errors), tuple(left_out))

    def listing(self, target: str | None) -> list[Document]:
        require_unicode(target or "")
        collection, folder = split_target(target)
        if not collection:
            return self.visible()
        if collection not in self._config.collections:
            raise unknown_collection(self._config, collection)
        documents = list(self._documents.listing(collection, folder))
        if folder and not documents:
            raise DocumentNotFoundError(
                f"no documents in {collection}/{folder}", hint=f"see 'qmd ls {collection}'"
            )
        return documents

    def authors(self, collections: Sequence[str]) -> list[Author]:
        # If documents spell an author's name differently, the first document's spelling is used.
        by_key: dict[str, tuple[str, list[str]]] = {}
        for collection in collections:
            documents = list(self._documents.listing(collection))
            fields = self._store.fields.of([document.id for document in documents if document.author])
            for document in documents:
                # The document has the first author, and its field all of them.
                for author in map(str, fields.get(document.id, {}).get("author", ())):
                    _, dates = by_key.setdefault(author_key(author), (author, []))
                    dates.append(document.date)
        authors = [Author(name, len(dates), min(dates), max(dates)) for name, dates in by_key.values()]
        return sorted(authors, key=lambda author: author.name)

    def _text(self, document: Document) -> str:
        """Return the text of a document. Raises `NotFoundError` if a portable file was made without it."""
        text = self._documents.texts([document.id]).get(document.id)
        if text is None:
            raise self.not_found(document.file)
        if not text:
            raise NotFoundError(f"there is no text of {document.file}: {LEFT_OUT}")
        return text

    def _page(
        self, document: Document, from_line: int | None, max_lines: int | None, count: int | None = None
    ) -> Page:
        """Return some lines of a document. A `count` from the reference overrides `max_lines`."""
        text = self._text(document)
        context = context_for(self._config, document.collection, document.path)
        # A line feed at the end of a file does not begin another line.
        total = text.count("\n") + (not text.endswith("\n"))
        start = from_line or 1
        if start > total:
            raise UsageError(f"{document.file} has {total} lines: there is no line {start}")
        limit = max_lines if count is None else count
        end = total if limit is None else min(total, start - 1 + limit)
        part = text if (start, end) == (1, total) else "\n".join(text.split("\n", end)[start - 1 : end])
        anchors = self._store.fields.anchors([document.id]).get(document.id, [])
        collection = self._config.collections.get(document.collection)
        media_type, source_type = media_types(document.path, collection)
        return Page(
            document,
            context,
            part,
            start,
            total,
            total - end,
            count is not None,
            anchor_at(anchors, start),
            source_type,
            media_type,
            tuple(anchors),
        )


def split_target(target: str | None) -> tuple[str, str]:
    """Split the target of a listing, `notes/work`, into collection and folder; "" stands for all."""
    path = (parse_uri(target) if is_uri(target) else target).strip("/") if target else ""
    collection, _, folder = path.partition("/")
    return collection, folder


def _check_lines(from_line: int | None, max_lines: int | None) -> None:
    if from_line is not None and from_line < 1:
        raise UsageError(f"lines are counted from 1: there is no line {from_line}")
    if max_lines is not None and max_lines < 1:
        raise UsageError(f"the number of lines must be at least 1, not {max_lines}")
