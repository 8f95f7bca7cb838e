"""BM25 over FTS5, planned so that common words do not cost a scan of everything (E20–E25).

FTS5's own `bm25()` reads the whole posting list of every phrase to learn its document frequency, and scores
every match. So a query runs in two steps. *Candidates*: the best few hundred by `bm25()` over the terms that
select, and, where the query asks for all terms, the best of those that have all. *Scores*: BM25 with our idf
over all terms, for the candidates alone; common terms are then looked up at those rows only.

`bm25()` counts in the whole table. If the statistics are to come from some collections only (a population),
its formula is worked out here instead, row by row, and all counts are made in these collections' ranges. That
costs more, in proportion to the documents that match in them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import apsw

from qmd.ranking import bm25
from qmd.store.base import LexicalMatch, LexicalMatches
from qmd.store.sqlite.database import state_of
from qmd.store.sqlite.scope_filter import Within, ranges, row_condition
from qmd.text.query import LexicalQuery, Term, longer_words

#: A term in more than this share of the documents is common, in an index of at least this many documents.
COMMON_SHARE = 0.02
COMMON_FROM = 4_000
#: Terms that select are enough candidates' source when they hold this share of the query's idf.
_SELECTING = 0.25
#: The fewest candidates that are scored exactly, and how many for each document asked for.
_POOL, _POOL_FACTOR = 100, 3
#: With more terms than this, having all of them by chance is a sign of length, not of relevance: documents
#: with all terms are then sure to be candidates, but are ranked by BM25 among the others.
_ALL_FIRST = 6

_WEIGHTS = ", ".join(str(weight) for weight in bm25.FIELD_WEIGHTS)
#: What FTS5's `bm25()` takes for the idf of a phrase that is in more than half of the documents.
_LEAST_IDF = 1e-6


@dataclass(slots=True)
class _Weighted:
    """A query term with what the index knows of it."""

    term: Term
    documents: int
    idf: float


def phrase(tokens: Iterable[str], prefix: bool = False) -> str:
    """An FTS5 string: quoted, so that nothing typed is syntax."""
    text = " ".join(tokens).replace('"', '""')
    return f'"{text}" *' if prefix else f'"{text}"'


def expression(term: Term) -> str:
    """A term as an FTS5 expression."""
    own, *others = phrases(term)
    return f"({' OR '.join((own, *others))})" if others else own


def phrases(term: Term) -> list[str]:
    """The FTS5 phrases of a term's expression, in order."""
    return [phrase(term.tokens, term.prefix), *map(phrase, term.alternatives)]


def _any(entries: Sequence[_Weighted]) -> str:
    return " OR ".join(expression(entry.term) for entry in entries)


def _all(entries: Sequence[_Weighted]) -> str:
    return " AND ".join(expression(entry.term) for entry in entries)


class Lexical:
    """Full-text search on one connection at a time; keeps the connection's scoring functions, and totals."""

    def __init__(self, db: apsw.Connection) -> None:
        self.db = db
        self._idf: Sequence[float] = ()
        self._owner: Sequence[int] = ()
        self._average = 0.0
        #: The ranges of rows that statistics are taken from; None: the whole table.
        self._population: tuple[tuple[int, int], ...] | None = None
        self._phrase_idf: Sequence[float] = ()
        self._known_totals: tuple[object, dict[object, tuple[int, float]]] = (None, {})
        db.register_fts5_function("qmd_bm25", self._score_row)
        db.register_fts5_function("qmd_rank", self._rank_row)
        db.register_fts5_function("qmd_totals", _totals)
        db.register_fts5_function("qmd_length", _length)

    def search(
        self,
        query: LexicalQuery,
        within: Within,
        limit: int,
        longer: bool = True,
        population: Sequence[int] | None = None,
    ) -> LexicalMatches:
        """The best `limit` documents, with raw BM25, its bound, and whether each has all required terms.

        `population` are the ids of the collections that statistics are taken from; None: the whole index.
        """
        self._population = None if population is None else tuple(ranges(population))
        documents, self._average = self._totals()
        if not query.terms or not documents or within.is_empty:
            return LexicalMatches((), 0.0, {})
        weighted = [self._weigh(term, documents) for term in query.terms]
        bound = bm25.bound([entry.idf for entry in weighted])
        known = [entry for entry in weighted if entry.documents]
        idfs = {entry.term.tokens: entry.idf for entry in weighted}
        if not known:
            matches: list[LexicalMatch] = []
        else:
            matches = self._ranked(query, weighted, known, documents, within, limit)
        if longer and len(matches) < limit:
            matches += self._longer(
                query, documents, within, limit - len(matches), {m.document for m in matches}
            )
        return LexicalMatches(tuple(matches), bound, idfs)

    def _ranked(
        self,
        query: LexicalQuery,
        weighted: Sequence[_Weighted],
        known: Sequence[_Weighted],
        documents: int,
        within: Within,
        limit: int,
    ) -> list[LexicalMatch]:
        selecting, common = _split(known, documents)
        # FTS5's idf differs from ours by the more, the commoner a term is: of rare ones alone the order is
        # all but ours.
        commonest = max(entry.documents for entry in known)
        rare = documents >= COMMON_FROM and commonest <= COMMON_SHARE * documents
        pool = max(0 if rare else _POOL, _POOL_FACTOR * limit)
        required = [entry for entry in weighted if not entry.term.part]
        has_all: set[int] = set()
        if all(entry.documents for entry in required):
            has_all = set(self._with_all(required, query.negative, within, pool))
        if len(required) <= _ALL_FIRST and len(has_all) >= limit:
            candidates = list(has_all)  # nothing else can come into the answer
        else:
            candidates = self._candidates(selecting, query.negative, within, pool)
            if len(candidates) < limit and common:
                # The terms that select gave too few: the common ones have to be scanned after all.
                selecting, common = list(known), []
                candidates = self._candidates(selecting, query.negative, within, pool)
            candidates = [*candidates, *has_all.difference(candidates)]
        scored = self._scores(candidates, selecting, common)
        first = has_all if len(required) <= _ALL_FIRST else set()
        scored.sort(key=lambda row: (row[0] not in first, -row[1], row[0]))
        return [
            LexicalMatch(document, score, "all" if document in has_all else "any")
            for document, score in scored[:limit]
        ]

    def _with_all(
        self, required: Sequence[_Weighted], negative: Sequence[Term], within: Within, pool: int
    ) -> list[int]:
        """Documents with every required term, the best by their rarer terms where there are many."""
        rare = sorted(required, key=lambda entry: entry.documents)
        lead = [entry for entry in rare if entry.documents <= 4 * rare[0].documents][:4]
        if len(lead) == len(rare) or within.few is not None:
            return self._candidates(rare, negative, within, pool, joined=_all)
        # Ranking by the rare terms, among the documents that have all: scoring the common ones would read
        # their whole posting lists.
        among = _without(_all(rare), negative)
        return self._candidates(lead, (), within, pool, joined=_all, among=among)

    def _candidates(
        self,
        entries: Sequence[_Weighted],
        negative: Sequence[Term],
        within: Within,
        pool: int,
        joined: Callable[[Sequence[_Weighted]], str] = _any,
        among: str | None = None,
    ) -> list[int]:
        """The best `pool` of the documents that match; where a filter lets few through, all of them."""
        match = joined(entries)
        filters, bound = row_condition(within)
        if among is not None:
            filters += " AND +rowid IN (SELECT rowid FROM documents_fts WHERE documents_fts MATCH ?)"
            bound = (*bound, among)
        if within.few is None:
            filters += f" ORDER BY {self._order(entries)} LIMIT ?"
            bound = (*bound, pool)
        rows = self.db.execute(
            f"SELECT rowid FROM documents_fts WHERE documents_fts MATCH ? {filters}",
            (_without(match, negative), *bound),
        )
        return [row[0] for row in rows]

    def _scores(
        self,
        candidates: Sequence[int],
        selecting: Sequence[_Weighted],
        common: Sequence[_Weighted],
    ) -> list[tuple[int, float]]:
        """Exact scores of the candidates over all terms."""
        if not candidates:
            return []
        entries = [*selecting, *common]
        match = _any(entries)
        owners = [at for at, entry in enumerate(entries) for _ in phrases(entry.term)]
        low, high = min(candidates), max(candidates)
        self._owner = owners
        self._idf = [entry.idf for entry in entries]
        rows = self.db.execute(
            "SELECT rowid, qmd_bm25(documents_fts) FROM documents_fts WHERE documents_fts MATCH ? "
            "AND rowid BETWEEN ? AND ? AND +rowid IN (SELECT value FROM json_each(?))",
            (self._narrowed(match, selecting, common), low, high, json.dumps(list(candidates))),
        )
        return [(row[0], row[1]) for row in rows]

    def _narrowed(self, match: str, selecting: Sequence[_Weighted], common: Sequence[_Weighted]) -> str:
        """With common terms in the query, walk the rows of the selecting ones and seek the others there."""
        return f"({match}) AND ({_any(selecting)})" if common else match

    def _longer(
        self, query: LexicalQuery, documents: int, within: Within, limit: int, found: set[int]
    ) -> list[LexicalMatch]:
        """Documents that hold longer words beginning with the query's plain words."""
        terms = [longer for term in query.terms if (longer := longer_words(term)) is not None]
        if not terms:
            return []
        # Stems shorter than the word would bring other words in; here only longer ones are wanted.
        terms = [replace(term, alternatives=()) for term in terms]
        entries = [_Weighted(term, 1, bm25.idf(documents, max(1, documents // 50))) for term in terms]
        pool = limit + len(found)
        candidates = [
            row for row in self._candidates(entries, query.negative, within, pool) if row not in found
        ]
        scored = self._scores(candidates, entries, ())
        scored.sort(key=lambda row: (-row[1], row[0]))
        return [LexicalMatch(document, score, "longer") for document, score in scored[:limit]]

    def _weigh(self, term: Term, documents: int) -> _Weighted:
        count = self.frequency(term)
        return _Weighted(term, count, bm25.idf(documents, count))

    def frequency(self, term: Term) -> int:
        """In how many documents a term occurs; for common single terms of the index, as of the last count."""
        if self._population is not None:
            return self._count(expression(term))
        if len(term.tokens) == 1 and not term.prefix:
            row = self.db.execute("SELECT documents FROM common_terms WHERE term = ?", term.tokens).fetchone()
            if row is None:
                row = self.db.execute(
                    "SELECT doc FROM documents_terms WHERE term = ?", term.tokens
                ).fetchone()
            return int(row[0]) if row else 0
        row = self.db.execute(
            "SELECT count(*) FROM documents_fts WHERE documents_fts MATCH ?", (expression(term),)
        ).fetchone()
        return int(row[0]) if row else 0

    def _count(self, match: str) -> int:
        """How many documents of the population match."""
        # A range at a time reaches into FTS5, so that no more is read than what is in it.
        return sum(
            int(row[0])
            for low, high in self._population or ()
            for row in self.db.execute(
                "SELECT count(*) FROM documents_fts WHERE documents_fts MATCH ? AND rowid BETWEEN ? AND ?",
                (match, low, high),
            )
        )

    def _order(self, entries: Sequence[_Weighted]) -> str:
        """The SQL to order the matches of some terms by."""
        if self._population is None:
            return f"bm25(documents_fts, {_WEIGHTS})"
        documents, _ = self._totals()
        found = [self._count(each) for entry in entries for each in phrases(entry.term)]
        self._phrase_idf = [
            max(_LEAST_IDF, math.log((documents - count + 0.5) / (count + 0.5))) for count in found
        ]
        return "qmd_rank(documents_fts)"

    def _totals(self) -> tuple[int, float]:
        """The number of documents of the population, and their average length in terms."""
        if self._population is not None:
            return self._totals_within(self._population)
        row = self.db.execute("SELECT qmd_totals(documents_fts) FROM documents_fts LIMIT 1").fetchone()
        if row is None:
            return 0, 0.0
        count, terms = map(int, str(row[0]).split())
        return count, terms / count

    def _totals_within(self, population: tuple[tuple[int, int], ...]) -> tuple[int, float]:
        """The same of some ranges of rows; counted once for each state of the index."""
        state = state_of(self.db)
        if self._known_totals[0] != state:
            self._known_totals = (state, {})
        known = self._known_totals[1]
        if population not in known:
            count = terms = 0
            for low, high in population:
                for (length,) in self.db.execute(
                    "SELECT qmd_length(documents_fts) FROM documents_fts WHERE rowid BETWEEN ? AND ?",
                    (low, high),
                ):
                    count, terms = count + 1, terms + int(length)
            known[population] = count, terms / count if count else 0.0
        return known[population]

    def _rank_row(self, api: apsw.FTS5ExtensionApi, *_: apsw.SQLiteValue) -> float:
        """What `bm25()` gives the row at hand, operation by operation; called by SQLite."""
        norm = bm25.K1 * (1 - bm25.B + bm25.B * api.column_size(-1) / self._average)
        title, body, path = bm25.FIELD_WEIGHTS
        score = 0.0
        for at, idf in enumerate(self._phrase_idf):
            titles, bodies, paths = api.phrase_locations(at)
            frequency = title * len(titles) + body * len(bodies) + path * len(paths)
            score += idf * ((frequency * (bm25.K1 + 1.0)) / (frequency + norm))
        return -1.0 * score

    def _score_row(self, api: apsw.FTS5ExtensionApi, *_: apsw.SQLiteValue) -> float:
        """BM25 of the row at hand; called by SQLite."""
        norm = bm25.length_norm(api.column_size(-1), self._average)
        title, body, path = bm25.FIELD_WEIGHTS
        frequencies = [0.0] * len(self._idf)
        for at, owner in enumerate(self._owner):
            titles, bodies, paths = api.phrase_locations(at)
            frequencies[owner] += title * len(titles) + body * len(bodies) + path * len(paths)
        return sum(
            bm25.term_score(weight, frequency, norm)
            for weight, frequency in zip(self._idf, frequencies, strict=True)
            if frequency
        )


def _totals(api: apsw.FTS5ExtensionApi, *_: apsw.SQLiteValue) -> str:
    """Documents and terms of the whole index, which FTS5 keeps count of; called by SQLite."""
    return f"{api.row_count} {api.column_total_size(-1)}"


def _length(api: apsw.FTS5ExtensionApi, *_: apsw.SQLiteValue) -> int:
    """The length of a document in terms; called by SQLite."""
    return api.column_size(-1)


def _without(match: str, negative: Sequence[Term]) -> str:
    if not negative:
        return match
    return f"({match}) NOT ({' OR '.join(expression(term) for term in negative)})"


def _split(known: Sequence[_Weighted], documents: int) -> tuple[list[_Weighted], list[_Weighted]]:
    """(terms that select, common terms). Common ones that carry most of the query select too."""
    if documents < COMMON_FROM:
        return list(known), []
    by_rarity = sorted(known, key=lambda entry: entry.documents)
    enough = _SELECTING * sum(entry.idf for entry in known)
    selecting: list[_Weighted] = []
    gathered = 0.0
    for entry in by_rarity:
        if entry.documents > COMMON_SHARE * documents and gathered >= enough:
            break
        selecting.append(entry)
        gathered += entry.idf
    return selecting, by_rarity[len(selecting) :]
