"""Tell what became of the passages of a pack: whether each holds, has moved, has changed or is gone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from qmd.engine.documents.citing import address_of
from qmd.engine.documents.library import Library
from qmd.engine.packing.markdown import escaped
from qmd.engine.packing.reading import Cited, read_pack
from qmd.engine.parts import Part
from qmd.errors import NotFoundError
from qmd.store.values import Scope
from qmd.text import tokens
from qmd.text.anchors import span, split_anchor
from qmd.text.query import parse
from qmd.text.standing import digest, holds
from qmd.text.uris import is_uri, parse_uri, split_location
from qmd.text.wording import visible
from qmd.types import Document
from qmd.types.citations import Lines, Verdict

Standing = Literal["holds", "moved", "changed", "gone"]
_STANDINGS: dict[str, Standing] = {
    "holds": "holds",
    "moved": "moved",
    "ambiguous": "moved",
    "inexact": "changed",
    "changed": "changed",
    "absent": "gone",
}
#: Words of a passage by which it is looked for in other documents, and how many of these are read.
_WORDS, _OTHERS = 40, 5


class PassageCheck(Struct, frozen=True):
    """What became of a passage: where it stands now, or how the nearest text differs."""

    number: int
    address: str
    standing: Standing
    now: str = ""  #: The address where it stands now, if it has moved
    difference: str = ""  #: What differs, as `[-in the pack-] {+in the document+}`


class PackMethods(Part):
    """Check packs."""

    def verify_pack(self, text: str) -> tuple[PassageCheck, ...]:
        """Tell whether the passages of a pack, in Markdown or JSON, still stand where it says.

        A passage that moved to another document is found by its words. Raises `UsageError` if the text is no
        pack.
        """
        verifier = _Verifier(self._workspace.store, self._workspace.config)
        return tuple(verifier.checked(number, cited) for number, cited in enumerate(read_pack(text), 1))


class _Verifier(Library):
    """Finds the passages of packs in the documents of an index."""

    def checked(self, number: int, cited: Cited) -> PassageCheck:
        document = self._document(cited.file)
        verdict = Verdict("absent") if document is None else self._verdict(cited, document)
        standing = _STANDINGS[verdict.standing]
        if standing in ("holds", "changed") or document is None or verdict.lines is None:
            moved = next(self._elsewhere(cited), "") if standing == "gone" else ""
            return PassageCheck(
                number, cited.address, "moved" if moved else standing, moved, visible(verdict.difference)
            )
        now = address_of(document, verdict.lines, self.anchors(document))
        return PassageCheck(number, cited.address, standing, visible(now))

    def _document(self, file: str) -> Document | None:
        """Return the document at a path as a pack shows it."""
        if is_uri(file):
            file = parse_uri(file)
        collection, _, path = file.partition("/")
        if collection in self._config.collections:
            found = self._store.documents.find(collection, path)
            if found is not None:
                return found
        if "\\" not in file:
            return None
        return next((each for each in self.visible() if visible(each.file) == file), None)

    def _verdict(self, cited: Cited, document: Document) -> Verdict:
        try:
            text = self.text(document)
        except NotFoundError:
            return Verdict("absent")
        return holds(escaped(text), self._lines(cited, document, text), digest(cited.text), cited.text)

    def _lines(self, cited: Cited, document: Document, text: str) -> Lines:
        """Return the lines of the place that a pack names; (0, 0) if they are no longer there."""
        address = split_anchor(f"x:{cited.place}")
        if address is not None:
            return span(self.anchors(document), *address[1:], text.count("\n") + 1) or (0, 0)
        _, first, count = split_location(f"x:{cited.place}")
        return (first, first + (count or 1) - 1) if first else (0, 0)

    def _elsewhere(self, cited: Cited) -> Iterator[str]:
        """Yield the addresses of other documents in which the passage stands."""
        query = parse(" ".join(tokens.words(cited.text)[:_WORDS]))
        scope = Scope(tuple(self._config.collections), None, self._config.population)
        matches = self._store.lexical.search(query, scope, _OTHERS, longer=False).matches
        for document in self._store.documents.by_id([match.document for match in matches]).values():
            verdict = self._verdict(cited, document)
            if verdict.standing in ("holds", "moved") and verdict.lines is not None:
                yield visible(address_of(document, verdict.lines, self.anchors(document)))
