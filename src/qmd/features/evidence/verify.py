"""Tell the standing of the passages of a pack: if each holds, has moved, has changed or is gone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Literal

from msgspec import Struct

from qmd.engine.access.rules import Rule
from qmd.engine.deadline import Deadline
from qmd.engine.documents.library import Library
from qmd.engine.parts import Part
from qmd.engine.workspace import Workspace
from qmd.errors import NotFoundError, SourceError
from qmd.features.evidence.citing import SECONDS, address_of
from qmd.features.evidence.edited import Edited
from qmd.features.evidence.markdown import Cited, read_pack
from qmd.features.evidence.standing import Rows, holds
from qmd.features.evidence.types import Lines, Verdict
from qmd.store.values import Scope
from qmd.text import tokens
from qmd.text.anchors import span, split_anchor
from qmd.text.digest import passage_hash
from qmd.text.query import parse
from qmd.text.uris import is_uri, parse_uri, split_location
from qmd.text.wording import escaped, visible
from qmd.types import Document

Standing = Literal["holds", "moved", "changed", "gone", "unchecked"]
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
#: The most documents that are kept while they are compared.
_READ = 20


class PassageCheck(Struct, frozen=True):
    """The standing of a passage: its place now, or the difference from the nearest text."""

    number: int
    address: str
    standing: Standing
    now: str = ""  #: The address where it stands now, if it has moved
    difference: str = ""  #: What differs, as `[-in the pack-] {+in the document+}`


class VerificationMethods(Part):
    """The method of `Index` that checks packs."""

    _rules: Mapping[str, Rule] = {"verify_pack": Rule()}

    def verify_pack(self, text: str, *, timeout: float = SECONDS) -> tuple[PassageCheck, ...]:
        """Tell whether the passages of a pack, in Markdown or JSON, still stand where it says.

        A passage that moved to another document is found by its words. A file that was edited since it was
        indexed is read as it is now. After `timeout` seconds the passages that are left are not checked.
        Raises `UsageError` if the text is no pack.
        """
        verifier, deadline = _Verifier(self._workspace), Deadline(timeout)
        # Each document is read once, for all its passages.
        passages = sorted(enumerate(read_pack(text), 1), key=lambda each: each[1].file)
        checks = [
            PassageCheck(number, cited.address, "unchecked")
            if deadline.passed()
            else verifier.checked(number, cited)
            for number, cited in passages
        ]
        return tuple(sorted(checks, key=lambda check: check.number))


class _Verifier(Library):
    """Finds the passages of packs in the documents of an index."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace.store, workspace.config, Edited(workspace))
        self._rows = lru_cache(_READ)(lambda document: Rows(escaped(self.text(document))))

    def checked(self, number: int, cited: Cited) -> PassageCheck:
        document = self._document(cited.file)
        if passage_hash(cited.text)[: len(cited.hash)] != cited.hash:
            return PassageCheck(number, cited.address, "changed", difference="its hash is of another text")
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
            rows = self._rows(document)
            return holds(rows, self._lines(cited, document, rows.total), cited.text)
        except (NotFoundError, SourceError):
            return Verdict("absent")

    def _lines(self, cited: Cited, document: Document, total: int) -> Lines:
        """Return the lines of the place that a pack names; (0, 0) if they are no longer there."""
        address = split_anchor(f"x:{cited.place}")
        if address is not None:
            return span(self.anchors(document), *address[1:], total) or (0, 0)
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
