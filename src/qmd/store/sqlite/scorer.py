"""BM25 of single rows, as functions that SQLite calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import apsw

from qmd.ranking import bm25
from qmd.store.lexical import LONG_TEXT
from qmd.store.sqlite.database import LISTED, Cache, listed
from qmd.store.sqlite.schema import COLLECTION_SHIFT

_TITLE, _BODY, _PATH = bm25.FIELD_WEIGHTS
_K1, _B, _REST, _MOST = bm25.K1, bm25.B, 1 - bm25.B, bm25.K1 + 1.0

if TYPE_CHECKING:
    from array import array

#: The bits of a row that are its number in its collection.
_NUMBER = (1 << COLLECTION_SHIFT) - 1
#: Ranges of rows, both ends included.
Ranges: TypeAlias = tuple[tuple[int, int], ...]
#: The idf of the terms that a text has, and their places among its terms.
Places: TypeAlias = list[tuple[float, list[int]]]


class Scorer:
    """The functions that a connection calls for each row, with the values of the present search.

    Attributes:
        average: The average length of documents in terms.
        terms: The idf of each term, and the number and width of its phrases, for `qmd_bm25`.
        bound: The highest possible score.
        phrase_idf: The idf of each phrase, for `qmd_rank`.
        places: The terms of each long text that was scored, if they are asked for.
        lengths: The lengths of the documents of the population by number in their collection, for `qmd_rank`.
    """

    def __init__(self, db: apsw.Connection) -> None:
        self.db = db
        self.average = 0.0
        self.terms: Sequence[tuple[float, Sequence[tuple[int, int]]]] = ()
        self.bound = 0.0
        self.phrase_idf: Sequence[float] = ()
        self.places: dict[int, Places] | None = None
        self.lengths: Mapping[int, array[int]] = {}
        self._totals = Cache()
        db.register_fts5_function("qmd_bm25", self._score_row)
        db.register_fts5_function("qmd_rank", self._rank_row)
        db.register_fts5_function("qmd_totals", _totals)
        db.register_fts5_function("qmd_length", _length)

    def totals(self, population: Ranges | None, without: Sequence[int] = ()) -> tuple[int, float]:
        """Return the number of documents of a population and their average length in terms."""
        count, average, self.lengths = self._totals_of(population)
        if not without:
            return count, average
        query = f"SELECT qmd_length(documents_fts) FROM documents_fts WHERE rowid IN {LISTED}"
        lengths = [int(length) for (length,) in self.db.execute(query, (listed(without),))]
        left = count - len(lengths)
        return left, (average * count - sum(lengths)) / max(1, left)

    def _totals_of(self, population: Ranges | None) -> tuple[int, float, Mapping[int, array[int]]]:
        cache: dict[Ranges | None, tuple[int, float, Mapping[int, array[int]]]] = self._totals.of(self.db)
        if population not in cache:
            cache[population] = self._whole() if population is None else self._parts(population)
        return cache[population]

    def _whole(self) -> tuple[int, float, Mapping[int, array[int]]]:
        totals = self.db.execute("SELECT qmd_totals(documents_fts) FROM documents_fts LIMIT 1").get
        count, terms = map(int, totals.split()) if totals else (0, 0)
        return count, terms / max(1, count), {}

    def _parts(self, population: Ranges) -> tuple[int, float, Mapping[int, array[int]]]:
        """Read the lengths of all documents once, because SQLite looks each up in a table."""
        from array import array  # most searches start without it

        lengths: dict[int, array[int]] = {}
        count = total = 0
        query = "SELECT rowid, qmd_length(documents_fts) FROM documents_fts WHERE rowid BETWEEN ? AND ?"
        for row, length in (each for ends in population for each in self.db.execute(query, ends)):
            of_collection = lengths.setdefault(row >> COLLECTION_SHIFT, array("I"))
            number = row & _NUMBER
            of_collection.extend([0] * (number + 1 - len(of_collection)))
            of_collection[number] = length
            count, total = count + 1, total + length
        return count, total / max(1, count), lengths

    def _rank_row(self, api: apsw.FTS5ExtensionApi, *_: apsw.SQLiteValue) -> float:
        """Return the result of `bm25()` for the current row, with the same rounding. Called by SQLite."""
        row = api.rowid
        length = self.lengths[row >> COLLECTION_SHIFT][row & _NUMBER]
        norm = _K1 * (_REST + _B * length / self.average)
        score = 0.0
        for at, idf in enumerate(self.phrase_idf):
            titles, bodies, paths = api.phrase_locations(at)
            frequency = _TITLE * len(titles) + _BODY * len(bodies) + _PATH * len(paths)
            score += idf * ((frequency * _MOST) / (frequency + norm))
        return -1.0 * score

    def _score_row(self, api: apsw.FTS5ExtensionApi, *_: apsw.SQLiteValue) -> float:
        """Return the BM25 score of the current row. Called by SQLite."""
        norm = bm25.length_norm(api.column_size(-1), self.average)
        score = in_name = 0.0
        places: list[int] = []
        in_text: Places | None = None
        if self.places is not None and api.column_size(1) > LONG_TEXT:
            in_text = self.places[api.rowid] = []
        for idf, forms in self.terms:
            frequency = 0.0
            before = len(places)
            found: list[int] = []
            for phrase, width in forms:
                titles, bodies, paths = api.phrase_locations(phrase)
                frequency += _BODY * len(bodies)
                if bodies and in_text is not None:
                    found += bodies
                if paths:
                    frequency += _PATH * len(paths)
                if titles:
                    frequency += _TITLE * len(titles)
                    places += titles if width == 1 else _covered(titles, width)
            # What the name has, all places are about.
            if found and in_text is not None and len(places) == before:
                in_text.append((idf, found))
            if frequency:
                score += bm25.term_score(idf, frequency, norm)
            if len(places) > before:
                in_name += idf
        if not places:
            return score
        query_share = bm25.bound([in_name]) / self.bound
        return bm25.named(score, self.bound, query_share, len(set(places)) / api.column_size(0))


def _covered(places: Sequence[int], width: int) -> list[int]:
    """Return the places of all tokens of phrases that start at these places."""
    return [place + token for place in places for token in range(width)]


def _totals(api: apsw.FTS5ExtensionApi, *_: apsw.SQLiteValue) -> str:
    """Return the numbers of documents and terms of the whole index, stored by FTS5. Called by SQLite."""
    return f"{api.row_count} {api.column_total_size(-1)}"


def _length(api: apsw.FTS5ExtensionApi, *_: apsw.SQLiteValue) -> int:
    """Return the length of the current document in terms. Called by SQLite."""
    return api.column_size(-1)
