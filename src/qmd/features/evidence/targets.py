"""The documents and lines that the citations of a text name."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from qmd.engine.documents.library import Library
from qmd.errors import AmbiguousReferenceError, QmdError, UsageError
from qmd.features.evidence.citations import Citation, shorter_paths
from qmd.features.evidence.types import Lines, Standing
from qmd.types import Document, Section

#: Missing documents for which similar names are looked for: a quarter of a second each at 100,000 names.
_MOST_SIMILAR = 10


class Target(Struct, frozen=True):
    """A citation with its target, or the reason why it has none.

    Attributes:
        citation: The citation.
        document: The document; None if there is none, or several.
        cited: The lines that it names; None for the whole document.
        standing: `absent` or `ambiguous` if the document or the place is not there, `unchecked` if it was not
            looked for, else `holds`.
        message: The fault.
        candidates: The documents that it could name.
    """

    citation: Citation
    document: Document | None = None
    cited: Lines | None = None
    standing: Standing = "holds"
    message: str = ""
    candidates: tuple[str, ...] = ()


class Resolver:
    """Finds the documents and places that the citations of a text name."""

    def __init__(self, library: Library, text: str, folder: str | None) -> None:
        self.library = library
        self._text = text
        self._folder = folder
        self._spaced: dict[str, list[Document]] | None = None
        #: The lines of blocks by their identifiers, of each document.
        self._blocks: dict[int, dict[str, int]] = {}
        self._suggested = 0

    def target(self, citation: Citation) -> Target:
        try:
            found = self._document(citation)
            if found is None:
                return self._missing(citation)
        except AmbiguousReferenceError as error:
            message = f"it could be any of {len(error.candidates)} documents"
            return Target(citation, None, None, "ambiguous", message, error.candidates)
        except QmdError as error:
            return Target(citation, None, None, "absent", error.message)
        citation, document = found
        if not citation.place:
            return Target(citation, document)
        try:
            return self._place(citation, document)
        except QmdError as error:
            return Target(citation, document, None, "absent", error.message)

    def _document(self, citation: Citation) -> tuple[Citation, Document] | None:
        """Return the document of a citation, and the citation with all of its path."""
        if citation.form == "path" and (longer := self._with_spaces(citation)) is not None:
            return longer
        for path in self._paths(citation.path, citation.form):
            document = self.library.find(path)
            if document is not None and self._is_named(citation, document):
                return replace(citation, path=path), document
        if citation.form == "path":
            for path in shorter_paths(citation.path):
                document = self.library.find(path)
                if document is not None and self._is_named(replace(citation, path=path), document):
                    cut = len(citation.path) - len(path)
                    start = citation.start + cut
                    return replace(citation, path=path, start=start, at=start), document
        if citation.form == "wikilink" and (aliased := self.library.aliased(citation.path)) is not None:
            return replace(citation, path=aliased.file), aliased
        # The name of a file may end in `:7`.
        whole = self.library.find(citation.path + citation.place) if citation.place else None
        return None if whole is None else (replace(citation, place=""), whole)

    def _paths(self, path: str, form: str) -> Iterator[str]:
        """Yield the paths that a citation may mean: first from the folder of the text, if it is a link."""
        relative = path.startswith(("./", "../"))
        if self._folder is not None and (relative or (form == "link" and not path.startswith("/"))):
            yield os.path.normpath(os.path.join(self._folder, path))
        if not relative or self._folder is None:
            yield path

    @staticmethod
    def _is_named(citation: Citation, document: Document) -> bool:
        """Return whether a document has the name that a word of the text is, and not only such a title."""
        if citation.form not in ("path", "code") or "/" in citation.path:
            return True
        return document.file.casefold().endswith(citation.path.casefold())

    def _with_spaces(self, citation: Citation) -> tuple[Citation, Document] | None:
        """Return the document whose path ends with a citation, after other words of its path in the text."""
        if self._spaced is None:
            self._spaced = {}
            for document in self.library.with_spaces():
                self._spaced.setdefault(document.file.rpartition(" ")[2], []).append(document)
        end = citation.at + len(citation.path)
        longest: tuple[int, Document] | None = None
        for document in self._spaced.get(citation.path, ()):
            segments = document.file.split("/")
            for number in range(len(segments)):
                written = "/".join(segments[number:])
                if " " in written and self._text.endswith(written, 0, end):
                    if longest is None or len(written) > longest[0]:
                        longest = len(written), document
                    break
        if longest is None:
            return None
        start, document = end - longest[0], longest[1]
        return replace(citation, path=document.file, start=start, at=start), document

    def _place(self, citation: Citation, document: Document) -> Target:
        """Return the lines that the place of a citation names. Raises as `Index.get` if there are none."""
        reference = replace(citation, path=document.file).reference
        fragment = reference[len(document.file) + 1 :] if citation.place.startswith("#") else ""
        if fragment and not citation.lines_only:
            sections = self.library.sections(document)
            if citation.form == "path":
                citation, fragment = self._whole_heading(citation, sections, fragment)
            if fragment.startswith("^"):
                return Target(citation, document, self._of_id(document, fragment))
            section = self.library.section(document, fragment)
            return Target(citation, document, (section.first_line, section.last_line))
        _, first, count = self.library.place(reference)
        if first is None:
            return Target(citation, document)
        return Target(citation, document, (first, first if count is None else first + count - 1))

    def _whole_heading(
        self, citation: Citation, sections: Sequence[Section], fragment: str
    ) -> tuple[Citation, str]:
        """Return a citation with all words of its heading, which may go on after a space."""
        start = citation.to - len(citation.place) + 1
        for heading in sorted((section.heading for section in sections), key=len, reverse=True):
            end = start + len(heading)
            if self._text[start:end].lower() == heading.lower() and not self._text[end : end + 1].isalnum():
                return replace(citation, place=f"#{self._text[start:end]}", to=end, end=end), heading
        return citation, fragment

    def _of_id(self, document: Document, identifier: str) -> Lines:
        """Return the line of a block with an identifier, `^id`."""
        if document.id not in self._blocks:
            lines = enumerate(self.library.text(document).split("\n"), 1)
            # Of equal ones the first counts.
            found = [(line.rstrip().rpartition("^")[2], number) for number, line in lines if "^" in line]
            self._blocks[document.id] = dict(reversed(found))
        number = self._blocks[document.id].get(identifier[1:])
        if number is None:
            raise UsageError(f"{document.file} has no block '{identifier[:60]}'")
        return number, number

    def _missing(self, citation: Citation) -> Target:
        similar: tuple[str, ...] = ()
        if citation.certain and self._suggested < _MOST_SIMILAR:
            self._suggested += 1
            similar = self.library.not_found(citation.path).suggestions
        hint = f"; did you mean {', '.join(similar)}?" if similar else ""
        return Target(citation, None, None, "absent", f"no such document{hint}", similar)
