"""Reading documents whole or in part, and listing them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import Protocol, Unpack

from msgspec.structs import replace

from qmd.config.contexts import context_for
from qmd.config.validate import nfc, require_unicode
from qmd.engine.access.rules import READ, Rule
from qmd.engine.deadline import Deadline
from qmd.engine.documents import files
from qmd.engine.documents.fields import check_fields, explain_empty, filtered
from qmd.engine.documents.fitting import Limit, as_json, fit_page, fit_pages, most_bytes
from qmd.engine.documents.freshness import FreshnessMethods
from qmd.engine.documents.links import Links
from qmd.engine.documents.notes import notes_of
from qmd.engine.documents.pages import Page, Pages, Skipped
from qmd.engine.documents.references import Location, References
from qmd.engine.documents.stated import unread_since
from qmd.engine.documents.structures import structures
from qmd.engine.parts import Part
from qmd.engine.requests import DEFAULT_MAX_BYTES, FilterOptions, collections_of, unknown_collection
from qmd.errors import DocumentNotFoundError, NotFoundError, QmdError, UsageError
from qmd.search_options import ALL
from qmd.sources.formats.registry import file_of, media_types
from qmd.store.base import Store
from qmd.store.values import LEFT_OUT, Scope
from qmd.text.anchors import anchor_at
from qmd.text.authorship import author_key
from qmd.text.data_uris import with_names
from qmd.text.dates import of_mtime
from qmd.text.layout import of_markdown
from qmd.text.outline import find_section, sections
from qmd.text.predicates import Comparison, both
from qmd.text.similar import did_you_mean
from qmd.text.spans import inside
from qmd.text.uris import is_uri, split_fragment, split_lines, split_listing, split_location
from qmd.text.wording import inert
from qmd.types import Anchor, Author, Commit, Config, Document, Hit, Section, SourceText
from qmd.types.cancelling import Cancelled
from qmd.types.notes import Stale, first
from qmd.types.structure import Structure


class DocumentMethods(Part, rule=READ):
    """List, find and read documents."""

    _rules: Mapping[str, Rule] = {"refresh": Rule(changes=True)}

    def documents(self, target: str | None = None, **filters: Unpack[FilterOptions]) -> list[Document]:
        """List the documents of a collection or a folder in one, `notes/work`; all if `target` is None.

        `filters` limit the list to documents that pass them; see `search`. Raises `CollectionNotFoundError`,
        and `DocumentNotFoundError` for a folder without documents.
        """
        require_unicode(target or "")
        store, config = self._workspace.store, self._workspace.config
        collection, folder = split_listing(nfc(target or ""))
        if not collection:
            documents = References(store, config).visible()
        elif collection not in config.collections:
            raise unknown_collection(config, collection)
        else:
            documents = list(store.documents.listing(collection, folder))
        if folder and not documents:
            raise DocumentNotFoundError(
                f"no documents in {collection}/{folder}", hint=f"see 'qmd ls {collection}'"
            )
        passing = self._passing(filters)
        return documents if passing is None else [item for item in documents if item.id in passing]

    def recent(self, limit: int = 10) -> list[Document]:
        """List the documents whose files changed last, newest first.

        If all these files were written at once, as by `git clone`, these are the documents with the latest
        dates that are not in the future.
        """
        store, names = self._workspace.store, [*self._workspace.config.collections]
        documents = store.documents.changed_last(names, limit)
        if not at_once(documents):
            return documents
        until = Comparison("date", "lte", of_mtime(documents[0].modified_ns))
        dated = store.fields.newest(Scope(tuple(names), until), limit)
        by_id = store.documents.by_id(dated)
        return [by_id[each] for each in dated if each in by_id]

    def titles_of(self, references: Sequence[str]) -> dict[str, str]:
        """Return the titles of documents by display path, without missing ones."""
        finder = References(self._workspace.store, self._workspace.config)
        documents = [finder.find(reference) for reference in references]
        return {document.file: document.title for document in documents if document is not None}

    def get(
        self,
        reference: str,
        *,
        from_line: int | None = None,
        max_lines: int | None = None,
        tokens: int | None = None,
        as_of: str | None = None,
    ) -> Page:
        """Return one document, whole or from a line on.

        Args:
            reference: A display path, the unique end of one (from a `/` on), a path on disk inside a
                collection (absolute, or with `./` or `../`), a `qmd://` URI, a docid, a title, or the
                name of a file without its suffix. It may end in `:from` or `:from:count`, or in the
                heading of a section, `#Restoring` or `#Backups/Restoring`, which override the other
                arguments. Case is ignored if no path or title matches exactly.
            from_line: The first line to return, from 1.
            max_lines: The largest number of lines to return.
            tokens: The largest number of tokens of the text and its names. `note` names the omissions.
            as_of: A date, also a relative one: return the text at the end of that day, from git.

        Raises:
            DocumentNotFoundError: If no document matches.
            NotFoundError: If the file is in no clone of git, or has no commit up to the date.
            SourceError: If git fails, or the file cannot be read.
            AmbiguousReferenceError: If several documents match.
            UsageError: If the line is past the end, or the document has no such section.
            TokensError: If the names alone have more tokens.
        """
        _check_lines(from_line, max_lines)
        library = self._library
        if as_of is not None:
            from qmd.engine.documents.history import Past, renamed

            library = Library(self._workspace.store, self._workspace.config, Past(self._workspace, as_of))
        try:
            document, start, count = library.place(reference)
        except DocumentNotFoundError:
            former = renamed(self._workspace, reference) if as_of is not None else None
            if former is None:
                raise
            document, start, count = former, None, None
        page = library.page(document, start or from_line, max_lines, count)
        if tokens is None:
            return page
        limit = Limit(tokens, "tokens")
        return fit_page(page, limit, lambda made: made, lambda made: as_json([made], made.note))

    def history(self, reference: str, *, limit: int = 20) -> list[Commit]:
        """List the last commits of the file of a document, newest first, also from before it was renamed.

        Raises:
            NotFoundError: If no document matches, or the file is in no clone of git, or in no commit.
            SourceError: If git cannot be run or fails.
        """
        from qmd.engine.documents.history import history

        return history(self._workspace, self._library.resolve(reference), limit)

    def multi_get(
        self,
        pattern: str,
        *,
        max_lines: int | None = None,
        max_bytes: int | None = DEFAULT_MAX_BYTES,
        cancelled: Cancelled | None = None,
        max_total: int | None = None,
        tokens: int | None = None,
        **filters: Unpack[FilterOptions],
    ) -> Pages:
        """Return the documents that match a glob over display paths or a list of references, each once.

        Args:
            pattern: A glob, or a comma-separated list of references that `get` accepts.
            max_lines: The largest number of lines of each document.
            max_bytes: Documents larger than this are returned as `Skipped`.
            cancelled: Called before each document; the call ends if it returns true.
            max_total: The largest size of all texts in bytes. From the first document beyond it on,
                documents are only listed in `left_out`.
            tokens: The largest number of tokens of all texts and names. `note` names the omissions.
            filters: Return only documents that pass these; see `search`.

        Raises:
            DocumentNotFoundError: If nothing matches.
            CancelledError: If the call was cancelled.
            UsageError: If a filter is wrong, or names a field that no document has.
            TokensError: If `tokens` is too small for any answer.
        """
        passing = self._passing(filters)
        if passing is not None and not passing:
            raise DocumentNotFoundError(self.explain_no_documents(**filters))
        _check_lines(None, max_lines)
        _check_pattern(pattern, max_bytes)
        items: list[Page | Skipped] = []
        errors: list[str] = []
        left_out: list[Document] = []
        if max_total is None and tokens is not None:
            max_total = most_bytes(tokens)
        room = inf if max_total is None else max_total
        deadline, library = Deadline(None, cancelled), self._library
        located = dict.fromkeys(library.locate(pattern, errors, deadline))
        for document, start, count in located:
            deadline.check()
            if passing is not None and document.id not in passing:
                continue
            if max_bytes is not None and document.size > max_bytes:
                items.append(Skipped(document, document.size))
                continue
            if left_out:
                left_out.append(document)
                continue
            try:
                page = library.page(document, start, max_lines, count)
            except QmdError as error:
                errors.append(error.message)
                continue
            shown = page.text if tokens is None else with_names(page.text)
            room -= len(shown.encode("utf-8", "surrogatepass"))
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
        pages = Pages(tuple(items), tuple(errors), tuple(left_out))
        if tokens is None:
            return pages
        limit = Limit(tokens, "tokens")
        return fit_pages(pages, limit, lambda made: made, lambda made: as_json(made.items, made.note))

    def refresh(
        self, shown: Iterable[Hit | Page | Skipped] = (), *, collections: Sequence[str] | None = None
    ) -> bool:
        """Read the files anew that are gone or have changed, by the notes of results or documents.

        Args:
            shown: The results or documents.
            collections: Also read the files of these collections that `changed_on_disk` finds.

        Returns:
            Whether there were any, so that the results should be asked for again.

        Raises:
            QmdError: If a collection cannot be scanned.
        """
        from qmd.engine.indexing.update import UpdateMethods  # searches start without it

        stale: dict[str, set[str]] = {}
        if collections is not None:
            changed = FreshnessMethods(self._workspace).changed_on_disk(collections)
            stale |= {name: {*paths} for name, (_, paths) in changed.items()}
        for item in shown:
            if not isinstance(item, Skipped) and first(item.notes, Stale) is not None:
                document = item if isinstance(item, Hit) else item.document
                stale.setdefault(document.collection, set()).add(file_of(document.path))
        for collection, paths in stale.items():
            if error := UpdateMethods(self._workspace).rescan(collection, sorted(paths)).error:
                raise error
        return bool(stale)

    def authors(self, collections: Sequence[str] = ()) -> list[Author]:
        """List the authors in collections (those searched by default, if none is named), by name.

        Spellings that differ only in case are one author. Raises `CollectionNotFoundError`.
        """
        # If documents spell an author's name differently, the first document's spelling is used.
        store = self._workspace.store
        by_key: dict[str, tuple[str, list[str]]] = {}
        for collection in collections_of(self._workspace.config, collections):
            documents = list(store.documents.listing(collection))
            fields = store.fields.of([document.id for document in documents if document.author])
            for document in documents:
                # The document has the first author, and its field all of them.
                for author in map(str, fields.get(document.id, {}).get("author", ())):
                    _, dates = by_key.setdefault(author_key(author), (author, []))
                    dates.append(document.date)
        authors = [Author(name, len(dates), min(dates), max(dates)) for name, dates in by_key.values()]
        return sorted(authors, key=lambda author: author.name)

    def outline(self, reference: str) -> tuple[Document, tuple[Section, ...]]:
        """Return a document and its sections, in order. Raises as `get`."""
        library = self._library
        document = library.resolve(reference)
        return document, library.sections(document)

    def file_on_disk(self, reference: str) -> tuple[str, str]:
        """Return the path on disk and the media type of a PDF that is indexed, or an image in a document.

        `reference` is `collection/path`. Raises `NotFoundError` for any other file.
        """
        return files.file_on_disk(self._workspace.store, self._workspace.config, reference)

    def viewable_file(self, document: Document, target: str | None = None) -> str | None:
        """Return the reference of a document's file, or of one that it links to, for `file_on_disk`.

        None if there is no such file, or it is refused there.
        """
        collection = self._workspace.config.collections[document.collection]
        path = files.viewable(self._workspace.store, collection, document.path, target)
        return None if path is None else f"{collection.name}/{path}"

    def explain_no_documents(self, target: str | None = None, **filters: Unpack[FilterOptions]) -> str:
        """Say how many documents pass each filter, for filters with which `documents` returns nothing.

        Raises `UsageError` if a filter names a field that no document has.
        """
        store = self._workspace.store
        collection, folder = split_listing(target)
        scope = filtered(
            self._workspace, [collection] if collection else [*self._workspace.config.collections], filters
        )
        check_fields(store, self._workspace.config, scope.where)
        inside = Comparison("path", "prefix", folder) if folder else None
        return explain_empty(store, replace(scope, where=both(inside, scope.where)))

    def _passing(self, filters: FilterOptions) -> frozenset[int] | None:
        """Return the ids of the documents that pass filters; None if no filter is given."""
        if not any(filters.values()):
            return None
        scope = filtered(self._workspace, [*self._workspace.config.collections], filters)
        return frozenset(self._workspace.store.fields.newest(scope, ALL))

    @property
    def _library(self) -> Library:
        return Library(self._workspace.store, self._workspace.config)


class Version(Protocol):
    """The texts of documents at another time than when they were indexed."""

    def of(self, document: Document) -> tuple[Commit | None, SourceText | None]:
        """Return the commit and the text of a document; None for the text that was indexed."""


#: Sections that an error lists.
_LISTED = 12
#: Files that were written within so many nanoseconds were not edited one by one.
_AT_ONCE = 10_000_000_000


def at_once(documents: Sequence[Document]) -> bool:
    """Return whether the files of documents were written at once, so that their times say nothing."""
    times = [document.modified_ns for document in documents]
    return len(times) > 2 and max(times) - min(times) < _AT_ONCE


class Library(References):
    """Finds the documents of an index, and reads them, as they were indexed, or in another `version`."""

    def __init__(self, store: Store, config: Config, version: Version | None = None) -> None:
        super().__init__(store, config)
        self._version = version
        self._others: dict[int, tuple[Commit | None, SourceText | None]] = {}
        self._sections: dict[int, tuple[Section, ...]] = {}
        #: What was read last, by the document's id: a text may be large, and several methods need it.
        self._last_text: dict[int, str] = {}
        self._last_structure: dict[int, Structure] = {}

    def place(self, reference: str) -> Location:
        """Return the document of a reference, and the lines that it names. Raises as `Index.get`."""
        # A file whose name ends in `:12` wins over line 12 of another file.
        document = self.find(reference)
        if document is not None:
            return document, None, None
        document, start, count = self.with_anchor(reference)
        if document is not None:
            return document, start, count
        path, start, count = split_location(reference)
        document = self.resolve(path)
        _check_lines(start, count)
        return document, start, count

    def with_anchor(self, reference: str) -> Location | tuple[None, None, None]:
        """Return the same also for `path#heading`, and for the lines `path#L10-L20`."""
        document, fragment = self.with_section(reference)
        if document is None:
            return super().with_anchor(reference)
        lines = split_lines(fragment)
        if lines is not None and find_section(self.sections(document), fragment) is None:
            _check_lines(*lines)
            return document, *lines
        section = self.section(document, fragment)
        return document, section.first_line, section.last_line - section.first_line + 1

    def with_section(self, reference: str) -> tuple[Document | None, str]:
        """Split `path#heading` into document and heading; (None, "") if it is not such a reference."""
        path, fragment = split_fragment(reference)
        if not path or not fragment:
            return None, ""
        if is_uri(reference):
            from urllib.parse import unquote

            fragment = unquote(fragment)
        return self.find(path), fragment

    def section(self, document: Document, fragment: str) -> Section:
        known = self.sections(document)
        found = find_section(known, fragment)
        if found is None:
            names = [inert(section.heading) for section in known]
            more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
            listed = ", ".join(f"'{name[:60]}'" for name in names[:_LISTED])
            raise UsageError(
                f"{document.file} has no section '{fragment[:60]}'",
                f"{did_you_mean(fragment, names)}it has {listed}{more}" if names else "it has no headings",
            )
        return found

    def sections(self, document: Document) -> tuple[Section, ...]:
        if document.id not in self._sections:
            self._sections[document.id] = sections(self.text(document), self.structure(document))
        return self._sections[document.id]

    def with_spaces(self) -> list[Document]:
        """Return the documents with a space in their path."""
        return self.visible(self._documents.path_contains(" "))

    def aliased(self, target: str) -> Document | None:
        """Return the document of an alias, as a wikilink in the first collection that has it leads to it."""
        links = Links(self._store)
        for name in self._config.collections:
            if (path := links.named(name, target)) is not None:
                return self._documents.find(name, path)
        return None

    def _other(self, document: Document) -> tuple[Commit | None, SourceText | None]:
        if self._version is None:
            return None, None
        if document.id not in self._others:
            self._others[document.id] = self._version.of(document)
        return self._others[document.id]

    def anchors(self, document: Document) -> Sequence[Anchor]:
        """Return the places in the source file of a document."""
        source = self._other(document)[1]
        if source is not None:
            return source.anchors
        return self._store.fields.anchors([document.id]).get(document.id, ())

    def title(self, document: Document) -> str:
        """Return the title of a document. Raises as `text`."""
        source = self._other(document)[1]
        return document.title if source is None else source.title

    def text(self, document: Document) -> str:
        """Return the text of a document. Raises `NotFoundError` if a portable file was made without it."""
        if document.id not in self._last_text:
            self._last_text = {document.id: self._read(document)}
        return self._last_text[document.id]

    def _read(self, document: Document) -> str:
        source = self._other(document)[1]
        if source is not None:
            return source.text
        text = self._documents.texts([document.id]).get(document.id)
        if text is None:
            raise self.not_found(document.file)
        if not text:
            raise NotFoundError(f"there is no text of {document.file}: {LEFT_OUT}")
        return text

    def structure(self, document: Document) -> Structure:
        """Return the structure of the text of a document. Raises as `text`."""
        if document.id not in self._last_structure:
            source = self._other(document)[1]
            self._last_structure = (
                structures(self._store, {document.id: self.text(document)})
                if source is None
                else {document.id: source.structure or of_markdown(source.text)}
            )
        return self._last_structure[document.id]

    def page(
        self, document: Document, from_line: int | None, max_lines: int | None, count: int | None = None
    ) -> Page:
        """Return some lines of a document. A `count` from the reference overrides `max_lines`."""
        text = self.text(document)
        context = context_for(self._config, document.collection, document.path)
        # A line feed at the end of a file does not begin another line.
        total = text.count("\n") + (not text.endswith("\n"))
        start = from_line or 1
        if start > total:
            raise UsageError(f"{document.file} has {total} lines: there is no line {start}")
        limit = max_lines if count is None else count
        end = total if limit is None else min(total, start - 1 + limit)
        part = text.split("\n", start - 1)[-1] if start > 1 else text
        before = len(text) - len(part)
        if (start, end) != (1, total):
            lines = part.split("\n", end - start + 1)
            part = "\n".join(lines[: end - start + 1])
        anchors = self.anchors(document)
        collection = self._config.collections.get(document.collection)
        media_type, source_type = media_types(document.path, collection)
        commit, source = self._other(document)
        notes = notes_of(self._store, self._config, [document])[document.id]
        if source is not None:
            document = replace(document, title=source.title, hash=source.hash)
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
            inside(self.structure(document).verbatim_spans(), before, before + len(part)),
            notes=tuple(note for note in notes if source is None or not isinstance(note, Stale)),
            commit=commit,
            unread_since="" if commit is not None else unread_since(self._store, document),
        )


def _check_pattern(pattern: str, max_bytes: int | None) -> None:
    if max_bytes is not None and max_bytes < 1:
        raise UsageError(f"max_bytes must be at least 1, not {max_bytes}")
    if not pattern.strip():
        raise UsageError("the pattern is empty")
    require_unicode(pattern)


def _check_lines(from_line: int | None, max_lines: int | None) -> None:
    if from_line is not None and from_line < 1:
        raise UsageError(f"lines are counted from 1: there is no line {from_line}")
    if max_lines is not None and max_lines < 1:
        raise UsageError(f"the number of lines must be at least 1, not {max_lines}")
