"""BM25 over FTS5, planned so that common words do not cost a scan of the whole index.

The `bm25()` of FTS5 reads the whole posting list of every phrase to get its document frequency, and scores
every match. So a query runs in two steps. Candidates: the best few hundred documents by `bm25()` over the
selective terms, and the best documents that have all required terms. Scores: BM25 with our idf over all
terms, for the candidates alone. Common terms are then only looked up in these rows.

`bm25()` counts in the whole table. If the statistics come from some collections only (a population), its
formula is computed here, row by row, with counts from their id ranges. The cost grows with their matches.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any

import apsw
from msgspec import Struct
from msgspec.structs import replace

from qmd.ranking import bm25
from qmd.store import base
from qmd.store.lexical import (
    ALL_FIRST,
    POOL,
    POOL_FACTOR,
    below_words,
    in_order,
    longer_idf,
    longer_terms,
    numbered_name,
    with_scattered,
)
from qmd.store.sqlite.database import LISTED, Cache, Database, SqlitePart, listed
from qmd.store.sqlite.scope_filter import (
    COLLECTIONS,
    DocumentFilter,
    filter_of,
    ranges,
    row_condition,
    with_ids,
)
from qmd.store.sqlite.scorer import Places, Ranges, Scorer
from qmd.store.sqlite.structures import of_documents
from qmd.store.sqlite.terms import (
    COMMON_FROM,
    COMMON_SHARE,
    WeightedTerm,
    attempts,
    expression,
    phrase,
    phrases,
    split,
    without,
)
from qmd.store.values import LexicalMatch, LexicalMatches, Scope
from qmd.text.query import LexicalQuery, Term, covered_places, with_stops_apart

#: So many times the candidates are looked at for equal scores, which would be chosen by their ids.
_TIED = 4
#: The most counts that each thread keeps.
_COUNTS = 10_000
_WEIGHTS = ", ".join(str(weight) for weight in bm25.FIELD_WEIGHTS)
#: The idf in `bm25()` of FTS5 for a phrase in more than half of the documents.
_LEAST_IDF = 1e-6
#: Sorts after every character of a term.
_LAST = "\U0010ffff"


def _any(entries: Sequence[WeightedTerm]) -> str:
    return " OR ".join(expression(entry.term) for entry in entries)


def _all(entries: Sequence[WeightedTerm]) -> str:
    return " AND ".join(expression(entry.term) for entry in entries)


class Lexical(SqlitePart, base.Lexical):
    """Full-text search with a `Scorer` for each thread."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._local = threading.local()
        self._counts = Cache(_COUNTS)

    def search(
        self,
        query: LexicalQuery,
        scope: Scope,
        limit: int,
        *,
        longer: bool = True,
        all_first: bool = False,
        placed: int = 0,
    ) -> LexicalMatches:
        with self._database.snapshot() as db:
            scorer: Scorer | None = getattr(self._local, "scorer", None)
            if scorer is None or scorer.db is not db:
                scorer = self._local.scorer = Scorer(db)
            documents = with_ids(db, filter_of(self._database, scope))
            population = self._ranges(scope.population)
            count, scorer.average = scorer.totals(population, scope.without)
            if not query.terms or not count or documents.is_empty:
                return LexicalMatches((), 0.0, {})
            all_first = all_first or len(query.required) <= ALL_FIRST
            query = self._with_found_forms(db, query)
            counts = self._counted(db, population, scope.without)
            query = with_stops_apart(query, lambda term: counts.of(expression(term)) > 0)
            scorer.places = {} if placed else None
            found = _SqliteSearch(db, scorer, query, documents, limit, counts, count, all_first).run(longer)
            return _placed(self._database, query, found, placed, scorer.places) if scorer.places else found

    def matching(self, query: LexicalQuery, scope: Scope, limit: int | None = None) -> list[int]:
        return [row[0] for row in self._matching("SELECT rowid FROM ({})", query, scope, limit)]

    def count(self, query: LexicalQuery, scope: Scope, limit: int) -> int:
        return sum(row[0] for row in self._matching("SELECT count(*) FROM ({})", query, scope, limit))

    def _matching(
        self, outer: str, query: LexicalQuery, scope: Scope, limit: int | None
    ) -> list[tuple[int, ...]]:
        """Return the rows of a query around one that finds the documents with any of the terms."""
        with self._database.snapshot() as db:
            documents = with_ids(db, filter_of(self._database, scope))
            if not query.terms or documents.is_empty:
                return []
            filters, bound = row_condition(documents)
            terms = self._with_found_forms(db, query).terms
            match = without(_any([WeightedTerm(term, 0, 0.0) for term in terms]), query.negative)
            inner = f"SELECT rowid FROM documents_fts WHERE documents_fts MATCH ? {filters} LIMIT ?"
            return list(db.execute(outer.format(inner), (match, *bound, -1 if limit is None else limit)))

    def existing(self, terms: Sequence[str], scope: Scope) -> dict[str, int]:
        if not terms:
            return {}
        with self._database.snapshot() as db:
            names = scope.population
            population = self._ranges(scope.collections if names is None and scope.without else names)
            counts = self._counted(db, population, scope.without)
            return {term: count for term, count in counts.of_terms(terms).items() if count}

    def beginning(self, beginning: str, limit: int) -> list[str]:
        with self._database.snapshot() as db:
            query = "SELECT term FROM documents_terms WHERE term >= ? AND term < ? LIMIT ?"
            return [term for (term,) in db.execute(query, (beginning, beginning + _LAST, limit))]

    def _ranges(self, population: Sequence[str] | None) -> Ranges | None:
        """Return the ranges of a population; None for the whole table, whose statistics FTS5 has."""
        if population is None:
            return None
        names = dict(self._database.once(COLLECTIONS))
        if {*names} <= {*population}:
            return None
        return tuple(ranges([names[name] for name in population if name in names]))

    def _with_found_forms(self, db: apsw.Connection, query: LexicalQuery) -> LexicalQuery:
        """Return a query without the forms that no document has, which FTS5 would look for several times.

        A word in two parts is one, such as `op en` for `open`.
        """
        whole = self._counted(db, None, ())
        terms = [
            replace(
                term,
                alternatives=tuple(
                    form
                    for form in term.alternatives
                    if (whole.of(phrase(form)) if len(form) > 1 else whole.of_terms(form)[form[0]])
                ),
            )
            if term.alternatives
            else term
            for term in query.terms
        ]
        return replace(query, terms=tuple(terms))

    def _counted(self, db: apsw.Connection, population: Ranges | None, left_out: tuple[int, ...]) -> _Counts:
        known = self._counts.of(db)
        others = known.setdefault((population, left_out), {})
        if len(others) >= _COUNTS:
            others.clear()
        return _Counts(db, known, others, population, left_out)


#: The documents with an alias.
_CALLED = (
    "SELECT df.document_id FROM field_values v JOIN document_fields df ON df.value_id = v.id "
    "WHERE v.field_id = (SELECT id FROM field_names WHERE name = 'alias') AND v.type = 'text' AND v.key = ?"
)


class _Counts(Struct):
    """The numbers of documents that match, counted once until the index changes.

    Attributes:
        terms: The counts of terms in the whole table.
        matches: The counts of expressions.
        population: The ranges of rows that are counted; None for the whole table.
        without: Rows that are left out.
    """

    db: apsw.Connection
    terms: dict[Any, Any]
    matches: dict[str, int]
    population: Ranges | None
    without: tuple[int, ...]

    def of_terms(self, terms: Sequence[str]) -> dict[str, int]:
        """Return the number of documents with each of some terms; for common ones of all, the last count."""
        missing = [term for term in terms if term not in self.terms]
        if missing:
            # Counting common terms reads their posting lists.
            found = dict.fromkeys(missing, 0) | dict(
                self.db.execute(
                    f"SELECT term, documents FROM common_terms WHERE term IN {LISTED}", (listed(missing),)
                )
            )
            rest = [term for term in missing if not found[term]]
            rows = self.db.execute(
                "SELECT t.term, t.doc FROM json_each(?) each "
                "CROSS JOIN documents_terms t ON t.term = each.value",
                (listed(rest),),
            )
            self.terms |= found | dict(rows if rest else ())
        counts = {term: self.terms[term] for term in terms}
        if self.population is None and not self.without:
            return counts
        return {term: count and self.of(phrase((term,))) for term, count in counts.items()}

    def of(self, match: str) -> int:
        """Return the number of documents that match an expression."""
        if match not in self.matches:
            self.matches[match] = self._count(match)
        return self.matches[match]

    def _count(self, match: str) -> int:
        left_out = f" AND +rowid NOT IN {LISTED}" if self.without else ""
        query = f"SELECT count(*) FROM documents_fts WHERE documents_fts MATCH ?{left_out}"
        bound = (match, listed(self.without))[: 2 if left_out else 1]
        if self.population is None:
            return int(self.db.execute(query, bound).get)
        # FTS5 itself applies a single range, so it reads only the rows of the range.
        query += " AND rowid BETWEEN ? AND ?"
        return sum(self.db.execute(query, (*bound, *ends)).get for ends in self.population)


def _placed(
    database: Database, query: LexicalQuery, found: LexicalMatches, count: int, places: Mapping[int, Places]
) -> LexicalMatches:
    """Return matches of which the first know what their best place lacks, as far as they have layouts."""
    # A single term has no place without the others.
    several = [
        each.document
        for each in found.matches[:count]
        if each.tier != "longer" and len(places.get(each.document, ())) > 1
    ]
    return with_scattered(found, query, places, of_documents(database, several)) if several else found


class _SqliteSearch(Struct):
    """One search.

    Attributes:
        counts: The numbers of documents of the population that match.
        count: The number of its documents.
        all_first: Whether documents with all required terms come before all others.
    """

    db: apsw.Connection
    scorer: Scorer
    query: LexicalQuery
    documents: DocumentFilter
    limit: int
    counts: _Counts
    count: int
    all_first: bool

    def run(self, longer: bool) -> LexicalMatches:
        """Return the best documents with raw BM25 scores."""
        weighted = [self._weigh(term) for term in self.query.terms]
        bound = self.scorer.bound = bm25.bound([entry.idf for entry in weighted])
        idfs = {entry.term.tokens: entry.idf for entry in weighted}
        matches: list[LexicalMatch] = []
        found: set[int] = set()
        for entries in attempts(weighted, self.count):
            ranked = self._ranked(entries)
            # With only some of the terms, no document comes before those with all terms in their texts.
            wanted = ("all", "any") if entries is weighted else ("all",)
            new = [each for each in ranked if each.document not in found and each.tier in wanted]
            matches += new[: self.limit - len(matches)]
            found.update(match.document for match in matches)
            if len(matches) == self.limit:
                break
        if longer and len(matches) < self.limit:
            matches += self._longer(self.limit - len(matches), found)
        return LexicalMatches(tuple(matches), bound, idfs, self.count)

    def _ranked(self, weighted: Sequence[WeightedTerm]) -> list[LexicalMatch]:
        present = [entry for entry in weighted if entry.documents]
        if not present:
            return []
        pool = self._pool(present)
        required = [entry for entry in weighted if not entry.term.part]
        has_all: set[int] = set()
        if all(entry.documents for entry in required):
            has_all = set(self._with_all(required, pool))
        # Synonyms may not crowd out the words: their documents are candidates in any case.
        direct: list[WeightedTerm] = []
        if any(entry.term.synonyms for entry in required):
            direct = [replace(entry, term=entry.term.without_synonyms) for entry in required]
            has_all.update(self._with_all(direct, pool) if has_all else ())
        scored = self._scored(present, direct, has_all, pool)
        if direct:
            scored = self._below_words(scored, required)
        if name := numbered_name(self.query.required):
            called = {document for (document,) in self.db.execute(_CALLED, (name,))}
            scored = [(each, self.scorer.bound if each in called else score) for each, score in scored]
        first = has_all if self.all_first else set()
        return [
            LexicalMatch(document, score, "all" if document in has_all else "any")
            for document, score in in_order(scored, self.query, self._names, self.limit, first)
        ]

    def _pool(self, present: Sequence[WeightedTerm]) -> int:
        """Return how many documents are scored exactly."""
        # The idf of FTS5 differs most from ours for common terms. With rare terms alone the order is almost
        # the same, so fewer candidates are enough.
        commonest = max(entry.documents for entry in present)
        rare = self.count >= COMMON_FROM and commonest <= COMMON_SHARE * self.count
        return max(0 if rare else POOL, POOL_FACTOR * self.limit)

    def _scored(
        self,
        present: Sequence[WeightedTerm],
        direct: Sequence[WeightedTerm],
        has_all: set[int],
        pool: int,
    ) -> list[tuple[int, float]]:
        """Return the scores of the documents that may be in the result.

        Args:
            present: The terms that documents have.
            direct: The required terms without their synonyms, if one has any.
            has_all: Documents with all required terms.
            pool: The number of documents to score exactly.
        """
        selective, common = split(present, self.count)
        few = self.documents.ids
        if self.all_first and len(has_all) >= self.limit:
            candidates = list(has_all)  # no other document can be in the result
        elif few is not None:
            candidates = list(few)  # few enough to score all that match
        else:
            candidates = self._candidates(selective, pool)
            if len(candidates) < self.limit and common:
                # The selective terms found too few documents, so search for the common ones too.
                selective, common = list(present), []
                candidates = self._candidates(selective, pool)
            more = self._candidates(direct, pool) if direct else ()
            candidates = [*dict.fromkeys((*candidates, *has_all, *more))]
        scored = self._scores(candidates, selective, common)
        if few is not None and len(scored) < self.limit and common:
            scored = self._scores(candidates, present)
        return scored

    def _below_words(
        self, scored: list[tuple[int, float]], required: Sequence[WeightedTerm]
    ) -> list[tuple[int, float]]:
        """Return scores by which synonyms of words are below these words."""
        has = {document: (0, 0) for document, _ in scored}
        query = f"SELECT rowid FROM documents_fts WHERE documents_fts MATCH ? AND +rowid IN {LISTED}"

        def having(term: Term) -> set[int]:
            return {row for (row,) in self.db.execute(query, (expression(term), listed([*has])))}

        for at, entry in enumerate(required):
            own, any_form = having(entry.term.without_synonyms), having(entry.term)
            for each, (words, found) in has.items():
                has[each] = words | (each in own) << at, found | (each in any_form) << at
        return below_words(scored, has)

    def _with_all(self, required: Sequence[WeightedTerm], pool: int) -> list[int]:
        """Return documents with every required term. If there are many, the best by the rarer terms."""
        rare = sorted(required, key=lambda entry: entry.documents)
        lead = [entry for entry in rare if entry.documents <= 4 * rare[0].documents][:4]
        # Most often they are few, and need no ranking.
        has_all = self._candidates(rare, pool + 1, joined=_all, is_ranked=False)
        if len(has_all) <= pool or self.documents.ids is not None:
            return has_all
        # Rank documents that have all terms by the rare ones. Scoring the common ones would read their whole
        # posting lists.
        return self._candidates(lead, pool, joined=_all, among=_all(rare) if lead != rare else None)

    def _candidates(
        self,
        entries: Sequence[WeightedTerm],
        pool: int,
        joined: Callable[[Sequence[WeightedTerm]], str] = _any,
        among: str | None = None,
        *,
        is_ranked: bool = True,
    ) -> list[int]:
        """Return the best `pool` matching documents, or all of them if a filter leaves few documents.

        They are ranked by the terms of `entries`, unless any will do; `among` is another expression that they
        match.
        """
        match = joined(entries)
        filters, bound = row_condition(self.documents)
        if among is None:
            match = without(match, self.query.negative)
        else:
            filters += " AND +rowid IN (SELECT rowid FROM documents_fts WHERE documents_fts MATCH ?)"
            bound = (*bound, without(among, self.query.negative))
        order = "0"
        if self.documents.ids is None:
            order = self._order(entries) if is_ranked else order
            filters += " ORDER BY 2 LIMIT ?" if is_ranked else " LIMIT ?"
            bound = (*bound, _TIED * pool if is_ranked else pool)
        rows: list[Any] = self.db.execute(
            f"SELECT rowid, {order} FROM documents_fts WHERE documents_fts MATCH ? {filters}", (match, *bound)
        ).fetchall()
        if self.documents.ids is not None:
            return [row for row, _ in rows]
        if is_ranked and pool < len(rows) and rows[pool - 1][1] == rows[pool][1]:
            tied = [(row, 0.0) for row, score in rows if score == rows[pool][1]]
            rows = [each for each in rows if each[1] < rows[pool][1]]
            rows += in_order(tied, self.query, self._names, pool - len(rows))
        return [row for row, _ in rows[:pool]]

    def _names(self, documents: Sequence[int]) -> dict[int, tuple[str, str]]:
        """Return the display paths and the titles of documents."""
        rows = self.db.execute(
            "SELECT d.id, c.name || '/' || d.path, d.title FROM documents d "
            f"JOIN collections c ON c.id = d.collection_id WHERE d.id IN {LISTED}",
            (listed(documents),),
        )
        return {document: (file, title) for document, file, title in rows}

    def _scores(
        self,
        candidates: Sequence[int],
        selective: Sequence[WeightedTerm],
        common: Sequence[WeightedTerm] = (),
    ) -> list[tuple[int, float]]:
        """Return the exact scores over all terms of the candidates that match."""
        if not candidates:
            return []
        entries = [*selective, *common]
        match = without(_any(entries), self.query.negative)
        if common:
            # Only rows with a selective term are candidates. What is left out stands inside: with NOT above
            # an AND of quotations, FTS5 loses places of terms.
            match = f"({_any(entries)}) AND ({without(_any(selective), self.query.negative)})"
        numbers = count()
        self.scorer.terms = [
            part
            for entry in entries
            for part in entry.term.divided(
                entry.idf, [(next(numbers), covered_places(form)) for form in entry.term.forms]
            )
        ]
        rows = self.db.execute(
            "SELECT rowid, qmd_bm25(documents_fts) FROM documents_fts WHERE documents_fts MATCH ? "
            f"AND rowid BETWEEN ? AND ? AND +rowid IN {LISTED}",
            (
                match,
                min(candidates),
                max(candidates),
                listed(candidates),
            ),
        )
        return list(rows)

    def _longer(self, limit: int, matched: set[int]) -> list[LexicalMatch]:
        """Return documents, other than `matched`, with longer words that start with words of the query."""
        idf = longer_idf(self.count)
        entries = [WeightedTerm(term, 1, idf) for term in longer_terms(self.query)]
        self.scorer.bound = bm25.bound([entry.idf for entry in entries])
        matches: list[LexicalMatch] = []
        for each in attempts(entries, self.count) if entries else ():
            candidates = self._candidates(each, limit + len(matched))
            scored = self._scores([row for row in candidates if row not in matched], each)
            ranked = in_order(scored, self.query, self._names, limit - len(matches))
            matches += [LexicalMatch(*row, "longer") for row in ranked]
            if len(matches) == limit:
                break
            matched = matched.union(match.document for match in matches)
        return matches

    def _weigh(self, term: Term) -> WeightedTerm:
        frequency = self._frequency(term)
        return WeightedTerm(term, frequency, term.weight * bm25.idf(self.count, frequency))

    def _frequency(self, term: Term) -> int:
        """Return the number of documents with any form of a word, or with another spelling if none has it."""
        if not term.is_single or term.synonyms or any(len(form) == 1 for form in term.alternatives):
            return self.counts.of(expression(term))
        count = self.counts.of_terms(term.tokens)[term.tokens[0]]
        return count or (self.counts.of(expression(term)) if term.alternatives else 0)

    def _order(self, entries: Sequence[WeightedTerm]) -> str:
        """Return the SQL expression that orders the matches of some terms."""
        if self.counts.population is None:
            return f"bm25(documents_fts, {_WEIGHTS})"
        counts = [self.counts.of(match) for entry in entries for match in phrases(entry.term)]
        self.scorer.phrase_idf = [
            max(_LEAST_IDF, math.log((self.count - count + 0.5) / (count + 0.5))) for count in counts
        ]
        return "qmd_rank(documents_fts)"
