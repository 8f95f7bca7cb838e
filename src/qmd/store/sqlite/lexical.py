"""BM25 over FTS5, planned so that common words do not cost a scan of the whole index.

The `bm25()` of FTS5 reads the whole posting list of every phrase to get its document frequency, and scores
every match. So a query runs in two steps. Candidates: the best few hundred documents by `bm25()` over the
selective terms, and the best documents that have all required terms. Scores: BM25 with our idf over all
terms, for the candidates alone. Common terms are then only looked up in these rows.

`bm25()` counts in the whole table. If the statistics come from some collections only (a population), its
formula is computed here instead, row by row, with counts from the id ranges of these collections. The cost
grows with the number of matching documents in them.
"""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Sequence

import apsw

from qmd.ranking import bm25
from qmd.store import base
from qmd.store.sqlite.database import Database, state_of
from qmd.store.sqlite.match import expression, phrases, without
from qmd.store.sqlite.scope_filter import (
    DocumentFilter,
    collection_ids,
    filter_of,
    ranges,
    row_condition,
    with_ids,
)
from qmd.store.sqlite.selectivity import COMMON_FROM, COMMON_SHARE, Weighted, attempts, split
from qmd.store.values import LexicalMatch, LexicalMatches, Scope
from qmd.text.query import LexicalQuery, Term, longer_words

#: The minimum number of candidates that are scored exactly, and the number for each requested document.
_POOL, _POOL_FACTOR = 100, 3
#: Documents with all terms are ranked first only up to this many terms. With more, having all of them is a
#: sign of length, not of relevance.
_ALL_FIRST = 6

_WEIGHTS = ", ".join(str(weight) for weight in bm25.FIELD_WEIGHTS)
#: The idf in `bm25()` of FTS5 for a phrase in more than half of the documents.
_LEAST_IDF = 1e-6


def _any(entries: Sequence[Weighted]) -> str:
    return " OR ".join(expression(entry.term) for entry in entries)


def _all(entries: Sequence[Weighted]) -> str:
    return " AND ".join(expression(entry.term) for entry in entries)


class Lexical(base.Lexical):
    """Full-text search with an `_Engine` for each thread."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._local = threading.local()

    def search(self, query: LexicalQuery, scope: Scope, limit: int, *, longer: bool = True) -> LexicalMatches:
        with self._database.snapshot() as db:
            engine: _Engine | None = getattr(self._local, "engine", None)
            if engine is None or engine.db is not db:
                engine = self._local.engine = _Engine(db)
            population = None
            if scope.population is not None:
                population = collection_ids(self._database, scope.population)
            documents = with_ids(db, filter_of(self._database, scope))
            return engine.search(query, documents, limit, longer, population)


class _Engine:
    """Full-text search on one connection. Registers the scoring functions and caches totals."""

    def __init__(self, db: apsw.Connection) -> None:
        self.db = db
        self._idf: Sequence[float] = ()
        self._owner: Sequence[int] = ()
        self._average = 0.0
        #: The ranges of rows that supply the statistics; None for the whole table.
        self._population: tuple[tuple[int, int], ...] | None = None
        self._phrase_idf: Sequence[float] = ()
        self._cached_totals: tuple[object, dict[object, tuple[int, float]]] = (None, {})
        db.register_fts5_function("qmd_bm25", self._score_row)
        db.register_fts5_function("qmd_rank", self._rank_row)
        db.register_fts5_function("qmd_totals", _totals)
        db.register_fts5_function("qmd_length", _length)

    def search(
        self,
        query: LexicalQuery,
        documents: DocumentFilter,
        limit: int,
        longer: bool = True,
        population: Sequence[int] | None = None,
    ) -> LexicalMatches:
        """Return the best `limit` documents with raw BM25 scores.

        `population` has the ids of the collections that supply the statistics; None for the whole index.
        """
        self._population = None if population is None else tuple(ranges(population))
        count, self._average = self._totals()
        if not query.terms or not count or documents.is_empty:
            return LexicalMatches((), 0.0, {})
        weighted = [self._weigh(term, count) for term in query.terms]
        bound = bm25.bound([entry.idf for entry in weighted])
        idfs = {entry.term.tokens: entry.idf for entry in weighted}
        matches: list[LexicalMatch] = []
        found: set[int] = set()
        for entries in attempts(weighted, count):
            ranked = self._ranked(query, entries, count, documents, limit)
            # With only some of the terms, no document comes before those with all terms in their texts.
            wanted = ("all", "any") if entries is weighted else ("all",)
            new = [each for each in ranked if each.document not in found and each.tier in wanted]
            matches += new[: limit - len(matches)]
            found.update(match.document for match in matches)
            if len(matches) == limit:
                break
        if longer and len(matches) < limit:
            matches += self._longer(query, count, documents, limit - len(matches), found)
        return LexicalMatches(tuple(matches), bound, idfs)

    def _ranked(
        self,
        query: LexicalQuery,
        weighted: Sequence[Weighted],
        count: int,
        documents: DocumentFilter,
        limit: int,
    ) -> list[LexicalMatch]:
        present = [entry for entry in weighted if entry.documents]
        if not present:
            return []
        selective, common = split(present, count)
        # The idf of FTS5 differs most from ours for common terms. With rare terms alone the order is almost
        # the same, so fewer candidates are enough.
        commonest = max(entry.documents for entry in present)
        rare = count >= COMMON_FROM and commonest <= COMMON_SHARE * count
        pool = max(0 if rare else _POOL, _POOL_FACTOR * limit)
        required = [entry for entry in weighted if not entry.term.part]
        has_all: set[int] = set()
        if all(entry.documents for entry in required):
            has_all = set(self._with_all(required, query.negative, documents, pool))
        if len(required) <= _ALL_FIRST and len(has_all) >= limit:
            candidates = list(has_all)  # no other document can be in the result
        elif documents.ids is not None:
            candidates = list(documents.ids)  # few enough to score all that match
        else:
            candidates = self._candidates(selective, query.negative, documents, pool)
            if len(candidates) < limit and common:
                # The selective terms found too few documents, so search for the common ones too.
                selective, common = list(present), []
                candidates = self._candidates(selective, query.negative, documents, pool)
            candidates = [*candidates, *has_all.difference(candidates)]
        scored = self._scores(candidates, selective, common, query.negative)
        if documents.ids is not None and len(scored) < limit and common:
            scored = self._scores(candidates, present, (), query.negative)
        first = has_all if len(required) <= _ALL_FIRST else set()
        scored.sort(key=lambda row: (row[0] not in first, -row[1], row[0]))
        return [
            LexicalMatch(document, score, "all" if document in has_all else "any")
            for document, score in scored[:limit]
        ]

    def _with_all(
        self, required: Sequence[Weighted], negative: Sequence[Term], documents: DocumentFilter, pool: int
    ) -> list[int]:
        """Return documents with every required term. If there are many, the best by the rarer terms."""
        rare = sorted(required, key=lambda entry: entry.documents)
        lead = [entry for entry in rare if entry.documents <= 4 * rare[0].documents][:4]
        if len(lead) == len(rare) or documents.ids is not None:
            return self._candidates(rare, negative, documents, pool, joined=_all)
        # Rank documents that have all terms by the rare ones. Scoring the common ones would read their whole
        # posting lists.
        among = without(_all(rare), negative)
        return self._candidates(lead, (), documents, pool, joined=_all, among=among)

    def _candidates(
        self,
        entries: Sequence[Weighted],
        negative: Sequence[Term],
        documents: DocumentFilter,
        pool: int,
        joined: Callable[[Sequence[Weighted]], str] = _any,
        among: str | None = None,
    ) -> list[int]:
        """Return the best `pool` matching documents, or all of them if a filter leaves few documents."""
        match = joined(entries)
        filters, bound = row_condition(documents)
        if among is not None:
            filters += " AND +rowid IN (SELECT rowid FROM documents_fts WHERE documents_fts MATCH ?)"
            bound = (*bound, among)
        if documents.ids is None:
            filters += f" ORDER BY {self._order(entries)} LIMIT ?"
            bound = (*bound, pool)
        rows = self.db.execute(
            f"SELECT rowid FROM documents_fts WHERE documents_fts MATCH ? {filters}",
            (without(match, negative), *bound),
        )
        return [row[0] for row in rows]

    def _scores(
        self,
        candidates: Sequence[int],
        selective: Sequence[Weighted],
        common: Sequence[Weighted],
        negative: Sequence[Term] = (),
    ) -> list[tuple[int, float]]:
        """Return the exact scores over all terms of the candidates that match."""
        if not candidates:
            return []
        entries = [*selective, *common]
        match = _any(entries)
        if common:
            # Only rows with a selective term are candidates.
            match = f"({match}) AND ({_any(selective)})"
        low, high = min(candidates), max(candidates)
        self._owner = [at for at, entry in enumerate(entries) for _ in phrases(entry.term)]
        self._idf = [entry.idf for entry in entries]
        rows = self.db.execute(
            "SELECT rowid, qmd_bm25(documents_fts) FROM documents_fts WHERE documents_fts MATCH ? "
            "AND rowid BETWEEN ? AND ? AND +rowid IN (SELECT value FROM json_each(?))",
            (without(match, negative), low, high, json.dumps(list(candidates))),
        )
        return [(row[0], row[1]) for row in rows]

    def _longer(
        self, query: LexicalQuery, count: int, documents: DocumentFilter, limit: int, matched: set[int]
    ) -> list[LexicalMatch]:
        """Return documents, other than `matched`, with longer words that start with words of the query."""
        terms = [longer for term in query.terms if (longer := longer_words(term)) is not None]
        if not terms:
            return []
        idf = bm25.idf(count, max(1, count // 50))
        # Without stems: they are shorter than the word and would match words that do not start with it.
        entries = [Weighted(term._replace(alternatives=()), 1, idf) for term in terms]
        matches: list[LexicalMatch] = []
        for each in attempts(entries, count):
            candidates = self._candidates(each, query.negative, documents, limit + len(matched))
            scored = self._scores([row for row in candidates if row not in matched], each, ())
            scored.sort(key=lambda row: (-row[1], row[0]))
            matches += [LexicalMatch(*row, "longer") for row in scored[: limit - len(matches)]]
            if len(matches) == limit:
                break
            matched = matched.union(match.document for match in matches)
        return matches

    def _weigh(self, term: Term, count: int) -> Weighted:
        frequency = self.frequency(term)
        return Weighted(term, frequency, bm25.idf(count, frequency))

    def frequency(self, term: Term) -> int:
        """Return the number of documents with a term; for common terms of the whole index, the last count."""
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
        """Return the number of matching documents of the population."""
        # FTS5 itself applies a single range, so it reads only the rows of the range.
        return sum(
            int(row[0])
            for low, high in self._population or ()
            for row in self.db.execute(
                "SELECT count(*) FROM documents_fts WHERE documents_fts MATCH ? AND rowid BETWEEN ? AND ?",
                (match, low, high),
            )
        )

    def _order(self, entries: Sequence[Weighted]) -> str:
        """Return the SQL expression that orders the matches of some terms."""
        if self._population is None:
            return f"bm25(documents_fts, {_WEIGHTS})"
        documents, _ = self._totals()
        counts = [self._count(match) for entry in entries for match in phrases(entry.term)]
        self._phrase_idf = [
            max(_LEAST_IDF, math.log((documents - count + 0.5) / (count + 0.5))) for count in counts
        ]
        return "qmd_rank(documents_fts)"

    def _totals(self) -> tuple[int, float]:
        """Return the number of documents of the population and their average length in terms."""
        if self._population is not None:
            return self._totals_within(self._population)
        row = self.db.execute("SELECT qmd_totals(documents_fts) FROM documents_fts LIMIT 1").fetchone()
        if row is None:
            return 0, 0.0
        count, terms = map(int, str(row[0]).split())
        return count, terms / count

    def _totals_within(self, population: tuple[tuple[int, int], ...]) -> tuple[int, float]:
        """Return the totals of some ranges of rows. Cached until the index changes."""
        state = state_of(self.db)
        if self._cached_totals[0] != state:
            self._cached_totals = (state, {})
        cache = self._cached_totals[1]
        if population not in cache:
            count = terms = 0
            for low, high in population:
                for (length,) in self.db.execute(
                    "SELECT qmd_length(documents_fts) FROM documents_fts WHERE rowid BETWEEN ? AND ?",
                    (low, high),
                ):
                    count, terms = count + 1, terms + int(length)
            cache[population] = count, terms / count if count else 0.0
        return cache[population]

    def _rank_row(self, api: apsw.FTS5ExtensionApi, *_: apsw.SQLiteValue) -> float:
        """Return the result of `bm25()` for the current row, with the same rounding. Called by SQLite."""
        norm = bm25.K1 * (1 - bm25.B + bm25.B * api.column_size(-1) / self._average)
        title, body, path = bm25.FIELD_WEIGHTS
        score = 0.0
        for at, idf in enumerate(self._phrase_idf):
            titles, bodies, paths = api.phrase_locations(at)
            frequency = title * len(titles) + body * len(bodies) + path * len(paths)
            score += idf * ((frequency * (bm25.K1 + 1.0)) / (frequency + norm))
        return -1.0 * score

    def _score_row(self, api: apsw.FTS5ExtensionApi, *_: apsw.SQLiteValue) -> float:
        """Return the BM25 score of the current row. Called by SQLite."""
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
    """Return the numbers of documents and terms of the whole index, stored by FTS5. Called by SQLite."""
    return f"{api.row_count} {api.column_total_size(-1)}"


def _length(api: apsw.FTS5ExtensionApi, *_: apsw.SQLiteValue) -> int:
    """Return the length of the current document in terms. Called by SQLite."""
    return api.column_size(-1)
