"""BM25 over sparse vectors: Milvus selects candidates, and their stored frequencies give the exact scores.

A query runs in two steps, as on SQLite. Candidates: the best few hundred documents by the inner product with
the idf of the terms (see `weights`), and the best documents that have all terms, selected by a filter.
Scores: BM25 with the true frequencies and lengths, for the candidates alone. Milvus cannot see whether words
are next to each other, so phrases are searched in the texts of the candidates.

The vocabulary does not record collections. If the statistics come from some collections only (a population),
words with a common prefix are therefore searched in the texts too. The result then does not depend on words
of other collections.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from qmd.features.milvus.client import HEAVY, MAX_ROWS, Row, StoreClient, literal, quoted
from qmd.features.milvus.documents import Documents, Totals
from qmd.features.milvus.field_rows import ADDRESS, FieldRows, read_structures, read_texts, structure_of
from qmd.features.milvus.parts import MilvusPart, Shared
from qmd.features.milvus.schema import DOCUMENTS, LIVE, TERM_FIELDS, TERMS, dimension
from qmd.features.milvus.weights import frequency
from qmd.ranking import bm25
from qmd.store import base
from qmd.store.lexical import (
    ALL_FIRST,
    LONG_TEXT,
    POOL,
    POOL_FACTOR,
    below_words,
    in_order,
    longer_idf,
    longer_terms,
    numbered_name,
    with_scattered,
)
from qmd.store.values import LexicalMatch, LexicalMatches, Scope
from qmd.text.extraction import searched_title
from qmd.text.layout import Places, indexed
from qmd.text.query import LexicalQuery, Term, name_shares, with_stops_apart
from qmd.text.tokens import terms as terms_of
from qmd.text.values import fold

#: A term in fewer documents is counted by listing them, in one call for all rare terms of a query.
_LISTED = 1_000
#: A document with its score, and whether it has all required terms.
_Scored: TypeAlias = tuple[int, float, bool]
#: The most documents whose texts are searched to count a phrase. Higher counts are estimated from them.
_PHRASE_SAMPLE = 2_000
#: The most words that a prefix stands for.
_EXPANSIONS = 4_000


class _Pattern(Struct, frozen=True):
    """Adjacent tokens. If `prefix` is set, the last one matches by its beginning."""

    tokens: tuple[str, ...]
    prefix: bool = False

    def count(self, tokens: Sequence[str]) -> int:
        """Return the number of occurrences in the tokens of a field."""
        head, last = self.tokens[:-1], self.tokens[-1]
        width = len(head)
        return sum(
            1
            for at in range(width, len(tokens))
            if (tokens[at].startswith(last) if self.prefix else tokens[at] == last)
            and tuple(tokens[at - width : at]) == head
        )


class _QueryTerm(Struct):
    """A query term with its forms, its dimensions and its statistics.

    `dimensions` has one entry for each token: a document with the term has at least one dimension of each.
    """

    term: Term
    forms: tuple[_Pattern, ...]
    dimensions: tuple[tuple[int, ...], ...]
    documents: int = 0
    idf: float = 0.0
    #: Whether the dimensions may belong to words outside the population.
    is_ambiguous: bool = False

    @property
    def needs_text(self) -> bool:
        """True if matches have to be verified in the texts of documents."""
        return len(self.dimensions) > 1 or self.is_ambiguous

    @property
    def is_possible(self) -> bool:
        """True if every token is in the index."""
        return all(self.dimensions)

    def condition(self) -> str:
        """Return a filter for documents that may have the term."""
        return " and ".join(f"({_any_of(group)})" for group in self.dimensions)

    def may_be_in(self, weights: Mapping[int, float]) -> bool:
        """Return whether a document with these weights has every token."""
        return all(any(key in weights for key in group) for group in self.dimensions)


class Lexical(MilvusPart, base.Lexical):
    """Full-text search."""

    def __init__(self, shared: Shared, documents: Documents) -> None:
        super().__init__(shared)
        self._documents = documents

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
        totals = self._documents.totals(scope.population)
        found = self._filters.of(scope) if query.terms and totals.documents else None
        if found is None:
            return LexicalMatches((), 0.0, {})
        population = self._state.within(scope.population) if scope.population is not None else None
        all_first = all_first or len(query.required) <= ALL_FIRST
        search = _MilvusSearch(
            self._client, self._documents, self._field_rows, totals, found.documents, population, all_first
        )
        matches = search.run(query, limit, longer)
        return self._placed(matches, query, matches.matches[:placed]) if placed else matches

    def _placed(
        self, found: LexicalMatches, query: LexicalQuery, first: Sequence[LexicalMatch]
    ) -> LexicalMatches:
        """Return matches of which the first know what their best place lacks, as on SQLite."""
        ids = [match.document for match in first if match.tier != "longer"]
        columns = ["title", "length", *ADDRESS]
        rows = {
            row["id"]: row
            for row in (self._live("id", ids, columns) if len(query.terms) > 1 else ())
            if row["length"] > LONG_TEXT
        }
        names = {document: terms_of(name) for document, name in _names(self._field_rows, rows).items()}
        terms = [term for term in query.terms if term.tokens in found.idf]
        tokens = dict.fromkeys(token for term in terms for form in term.forms for token in _keys(term, form))
        by_end = sorted(tokens, key=lambda token: token.endswith("*"))
        known = self._documents.placed([*rows], by_end)
        places = {
            document: [
                (found.idf[term.tokens], at)
                for term in terms
                # What the name has, all places are about.
                if not term.covered(names[document])
                and (
                    at := [
                        *chain.from_iterable(
                            _starts(_keys(term, form), each.places or {}) for form in term.forms
                        )
                    ]
                )
            ]
            for document, each in known.items()
        }
        known_structures = {
            document: each.structure for document, each in known.items() if len(places[document]) > 1
        }
        return with_scattered(found, query, places, known_structures)

    def matching(self, query: LexicalQuery, scope: Scope, limit: int | None = None) -> list[int]:
        every = limit or self._documents.totals(None).documents
        return [match.document for match in self.search(query, scope, every, longer=False).matches]

    def existing(self, terms: Sequence[str], scope: Scope) -> dict[str, int]:
        every = Scope(
            scope.collections if scope.population is None else scope.population, without=scope.without
        )
        rows = self._client.among(TERMS, "term", terms, ["term"]) if terms else ()
        counts = {
            row["term"]: len(self.matching(LexicalQuery((Term((row["term"],), (row["term"],)),)), every))
            for row in rows
        }
        return {term: count for term, count in counts.items() if count}

    def beginning(self, beginning: str, limit: int) -> list[str]:
        where = f"term like {quoted(beginning + '%')}"
        return sorted(row["term"] for row in self._client.query(TERMS, where, ["term"], limit=limit))


class _MilvusSearch(Struct):
    """One search. `population` is the filter for the documents that supply the statistics; None for all."""

    _client: StoreClient
    _documents: Documents
    _rows: FieldRows
    _totals: Totals
    _scope_filter: str
    _population: str | None
    #: Whether documents with all required terms come before all others.
    _all_first: bool
    #: The tokens of the documents whose texts were read, by field.
    _fields: dict[int, tuple[list[str], ...]] = field(default_factory=dict)
    #: The highest possible score.
    _bound: float = 0.0

    @property
    def _counted(self) -> str:
        return self._population or LIVE

    def run(self, query: LexicalQuery, limit: int, longer: bool) -> LexicalMatches:
        query = with_stops_apart(query, self._is_found)
        terms = [self._resolve(term) for term in query.terms]
        self._count(terms)
        for entry in terms:
            entry.idf = entry.term.weight * bm25.idf(self._totals.documents, entry.documents)
        idfs = {entry.term.tokens: entry.idf for entry in terms}
        negative = [entry for term in query.negative if (entry := self._resolve(term)).is_possible]
        bound = self._bound = bm25.bound([entry.idf for entry in terms])
        matches = self._ranked(query, terms, negative, limit)
        if longer and len(matches) < limit:
            documents = {match.document for match in matches}
            matches += self._longer(query, negative, limit - len(matches), documents)
        return LexicalMatches(tuple(matches), bound, idfs, self._totals.documents)

    def _ranked(
        self, query: LexicalQuery, terms: Sequence[_QueryTerm], negative: Sequence[_QueryTerm], limit: int
    ) -> list[LexicalMatch]:
        present = [entry for entry in terms if entry.documents]
        if not present:
            return []
        required = [entry for entry in terms if not entry.term.part]
        rows, scored = self._scored_exactly(present, required, negative, limit)
        with_all = {document for document, _, has_all_terms in scored if has_all_terms}
        if any(entry.term.synonyms for entry in required):
            scored = self._below_words(scored, rows, required)
        first = with_all if self._all_first else ()
        return [
            LexicalMatch(document, score, "all" if document in with_all else "any")
            for document, score in in_order((row[:2] for row in scored), query, self._named_of, limit, first)
        ]

    def _scored_exactly(
        self,
        present: Sequence[_QueryTerm],
        required: Sequence[_QueryTerm],
        negative: Sequence[_QueryTerm],
        limit: int,
    ) -> tuple[dict[int, Row], list[_Scored]]:
        """Return the rows of candidates, and their scores."""
        all_possible = all(entry.documents for entry in required)
        pool = min(MAX_ROWS, max(POOL, POOL_FACTOR * limit))
        while True:
            rows: dict[int, Row] = {}
            if all_possible:
                has_all = " and ".join(f"({entry.condition()})" for entry in required)
                rows |= self._candidates(present, negative, pool, has_all)
            full = len(rows) >= pool
            if not (self._all_first and full):
                candidates = self._candidates(present, negative, pool)
                full = full or len(candidates) >= pool
                rows |= candidates
            scored = self._scored(rows, present, negative, required if all_possible else ())
            # Some candidates have the words of a phrase in other places: then search for more candidates.
            if len(scored) >= limit or not full or pool >= MAX_ROWS:
                return rows, scored
            pool = min(MAX_ROWS, 4 * pool)

    def _below_words(
        self, scored: Sequence[_Scored], rows: Mapping[int, Row], required: Sequence[_QueryTerm]
    ) -> list[_Scored]:
        """Return scores by which synonyms of words are below these words."""
        own = [self._resolve(entry.term.without_synonyms) for entry in required]

        def mask(terms: Sequence[_QueryTerm], document: int) -> int:
            has = (self._frequency(entry, document, rows[document]) > 0 for entry in terms)
            return sum(found << at for at, found in enumerate(has))

        has = {document: (mask(own, document), mask(required, document)) for document, *_ in scored}
        scores = dict(below_words([row[:2] for row in scored], has))
        return [(document, scores[document], has_all) for document, _, has_all in scored]

    def _named_of(self, documents: Sequence[int]) -> dict[int, tuple[str, str]]:
        """Return the display paths and the titles of documents."""
        found = self._documents.by_id(documents)
        return {document: (each.file, each.title) for document, each in found.items()}

    def _longer(
        self, query: LexicalQuery, negative: Sequence[_QueryTerm], limit: int, matched: Collection[int]
    ) -> list[LexicalMatch]:
        """Return documents, other than `matched`, with longer words that start with words of the query."""
        terms = [entry for term in longer_terms(query) if (entry := self._resolve(term)).is_possible]
        if not terms:
            return []
        for entry in terms:
            entry.idf = longer_idf(self._totals.documents)
        self._bound = bm25.bound([entry.idf for entry in terms])
        pool = min(MAX_ROWS, max(POOL, limit + len(matched)))
        rows = self._candidates(terms, negative, pool)
        scored = (row[:2] for row in self._scored(rows, terms, negative, ()) if row[0] not in matched)
        return [LexicalMatch(*row, "longer") for row in in_order(scored, query, self._named_of, limit)]

    def _is_found(self, term: Term) -> bool:
        self._count([entry := self._resolve(term)])
        return entry.documents > 0

    def _resolve(self, term: Term) -> _QueryTerm:
        forms = (_Pattern(term.tokens, term.prefix), *map(_Pattern, term.alternatives))
        last = dict.fromkeys(dimension(form.tokens[-1]) for form in forms if not form.prefix)
        for form in forms:
            if form.prefix:
                last |= dict.fromkeys(dimension(word) for word in self._words(form.tokens[-1]))
        if len(forms) > 1:
            # The forms include endings of a word that are not in the index.
            endings = [form.tokens[-1] for form in forms if not form.prefix]
            existing = {row["term"] for row in self._client.among(TERMS, "term", endings, ["term"])}
            missing = {dimension(ending) for ending in endings if ending not in existing}
            last = {key: None for key in last if key not in missing}
        # The joined form of words with hyphens has fewer tokens: it is in the place of each.
        head = [
            tuple(dict.fromkeys(dimension(form.tokens[: at + 1][-1]) for form in forms))
            for at in range(len(term.tokens) - 1)
        ]
        is_ambiguous = self._population is not None and any(form.prefix for form in forms)
        is_ambiguous |= any(len(form.tokens) > len(term.tokens) for form in forms) or bool(term.synonyms)
        return _QueryTerm(term, forms, (*head, tuple(last)), is_ambiguous=is_ambiguous)

    def _words(self, prefix: str) -> list[str]:
        """Return the terms of the index that start with `prefix`."""
        where = f"term like {quoted(prefix + '%')}"
        if self._population is None:
            rows: Iterable[Row] = self._client.query(TERMS, where, ["term"], limit=_EXPANSIONS)
        else:
            rows = self._client.all(TERMS, where, ["term"], reading="fresh")
        words = [row["term"] for row in rows]
        return words if len(words) <= _EXPANSIONS else self._of_population(words)[:_EXPANSIONS]

    def _of_population(self, words: Sequence[str]) -> list[str]:
        """Return the words of the population, sorted, so that other words cannot use up the limit."""
        dimensions: set[int] = set()
        fields = [f"terms_{at}" for at in range(TERM_FIELDS)]
        for row in self._client.all(DOCUMENTS, self._counted, fields, reading="fresh", page=HEAVY):
            dimensions.update(int(key) for field in fields for key in row[field])
        return sorted(word for word in words if dimension(word) in dimensions)

    def _count(self, terms: Sequence[_QueryTerm]) -> None:
        """Set the number of documents of the index, or of the population, that have each term."""
        single = [entry for entry in terms if not entry.needs_text and len(entry.dimensions[0]) == 1]
        vectors = [{entry.dimensions[0][0]: 1.0} for entry in single]
        if single:
            listed = self._client.search(DOCUMENTS, "weights", vectors, self._counted, _LISTED, ["id"])
            for entry, rows in zip(single, listed, strict=True):
                entry.documents = len(rows)
        for entry in terms:
            if not entry.is_possible:
                continue
            if entry.needs_text:
                entry.documents = self._count_in_texts(entry)
            elif len(entry.dimensions[0]) > 1 or entry.documents >= _LISTED:
                where = f"({entry.condition()}) and {self._counted}"
                entry.documents = self._client.count(DOCUMENTS, where)

    def _count_in_texts(self, entry: _QueryTerm) -> int:
        """Count the documents whose text has a phrase. High counts are estimated from a sample."""
        where = f"({entry.condition()}) and {self._counted}"
        fields = [*ADDRESS, "title"]
        rows = {row["id"]: row for row in self._client.query(DOCUMENTS, where, fields, limit=_PHRASE_SAMPLE)}
        self._load_tokens(rows)
        matching = sum(1 for document in rows if self._frequency_in_text(entry.forms, document))
        if len(rows) < _PHRASE_SAMPLE:
            return matching
        return max(1, matching * self._client.count(DOCUMENTS, where) // len(rows)) if matching else 0

    def _candidates(
        self, terms: Sequence[_QueryTerm], negative: Sequence[_QueryTerm], pool: int, has_all: str = ""
    ) -> dict[int, Row]:
        """Return the best documents of the scope by inner product, as rows with the fields for scoring."""
        vector: dict[int, float] = {}
        for entry in terms:
            for group in entry.dimensions:
                for key in group:
                    vector[key] = max(vector.get(key, 0.0), entry.idf / len(entry.dimensions))
        where = self._scope_filter
        if has_all:
            where += f" and {has_all}"
        for entry in negative:
            if not entry.needs_text:
                where += f" and not ({entry.condition()})"
        fields = [*ADDRESS, "length", "weights", "title"]
        (rows,) = self._client.search(DOCUMENTS, "weights", [vector], where, pool, fields)
        return {row["id"]: row for score, row in rows if score > 0}

    def _scored(
        self,
        rows: Mapping[int, Row],
        terms: Sequence[_QueryTerm],
        negative: Sequence[_QueryTerm],
        required: Sequence[_QueryTerm],
    ) -> list[_Scored]:
        """Return (document, BM25, whether it has all required terms) of documents with any of the terms."""
        excluded = [entry for entry in negative if entry.needs_text]
        unverified = {
            document: row
            for document, row in rows.items()
            if any(entry.needs_text and entry.may_be_in(row["weights"]) for entry in (*terms, *excluded))
        }
        self._load_tokens(unverified)
        names = _names(self._rows, rows)
        scored, own = [], numbered_name([entry.term for entry in required]) or "\n"
        for document, row in rows.items():
            if any(
                entry.may_be_in(row["weights"]) and self._frequency_in_text(entry.forms, document)
                for entry in excluded
            ):
                continue
            frequencies = {id(entry): self._frequency(entry, document, row) for entry in terms}
            norm = bm25.length_norm(row["length"], self._totals.length / self._totals.documents)
            score = sum(
                bm25.term_score(idf, count, norm)
                for entry in terms
                if frequencies[id(entry)]
                for idf, forms in entry.term.divided(entry.idf, entry.forms)
                if (
                    count := frequencies[id(entry)]
                    if forms is entry.forms
                    else self._frequency_in_text(forms, document)
                )
            )
            if any(frequencies.values()):
                called = own in fold(names[document]).split("\n")
                score = self._bound if called else self._named(score, terms, terms_of(names[document]))
                has_all = bool(required) and all(frequencies.get(id(entry)) for entry in required)
                scored.append((document, score, has_all))
        return scored

    def _named(self, score: float, terms: Sequence[_QueryTerm], name: Sequence[str]) -> float:
        """Return the score of a document with its name."""
        weighted = (
            (replace(entry.term, alternatives=(*forms[1:],)), bm25.bound([idf]))
            for entry in terms
            for idf, forms in entry.term.divided(entry.idf, entry.term.forms)
        )
        return bm25.named(score, self._bound, *name_shares(weighted, self._bound, name))

    def _frequency(self, entry: _QueryTerm, document: int, row: Row) -> float:
        """Return the frequency of a term in a document, weighted by field."""
        weights: Mapping[int, float] = row["weights"]
        if not entry.may_be_in(weights):
            return 0.0
        if entry.needs_text:
            return self._frequency_in_text(entry.forms, document)
        length = row["length"]
        return sum(frequency(weights[key], length) for key in entry.dimensions[0] if key in weights)

    def _frequency_in_text(self, forms: Sequence[_Pattern], document: int) -> float:
        """Return how often the words of any form are next to each other, weighted by field."""
        return sum(
            weight * form.count(tokens)
            for tokens, weight in zip(self._fields.get(document, ()), bm25.FIELD_WEIGHTS, strict=False)
            for form in forms
        )

    def _load_tokens(self, rows: Mapping[int, Row]) -> None:
        """Read the texts of documents and keep their tokens."""
        unread = {document: row for document, row in rows.items() if document not in self._fields}
        contents = {row["content"] for row in unread.values()}
        texts, known = read_texts(self._client, contents), read_structures(self._client, contents)
        names = _names(self._rows, unread)
        for document, row in unread.items():
            body = texts.get(row["content"], "")
            structure = structure_of(known.get(row["content"]), body)
            forms = indexed(names[document], body, row["path"], structure)
            self._fields[document] = tuple(form.split() for form in forms)


def _keys(term: Term, form: Sequence[str]) -> list[str]:
    """Return the tokens of a form of a term, with `*` behind the beginning of a word."""
    return [*form[:-1], f"{form[-1]}*"] if term.prefix and form == term.tokens else [*form]


def _starts(tokens: Sequence[str], places: Places) -> list[int]:
    """Return the places at which tokens follow each other."""
    first, *others = (set(places[token]) for token in tokens)
    for after, following in enumerate(others, 1):
        first &= {at - after for at in following}
    return sorted(first)


def _names(field_rows: FieldRows, rows: Mapping[int, Row]) -> dict[int, str]:
    """Return the names of documents."""
    fields = field_rows.fields(rows.values())
    return {
        document: searched_title(row["title"], fields[document], row["path"])
        for document, row in rows.items()
    }


def _any_of(dimensions: Sequence[int]) -> str:
    """Return a filter for documents with any of these terms."""
    by_field: dict[int, list[int]] = {}
    for key in dimensions:
        by_field.setdefault(key % TERM_FIELDS, []).append(key)
    return " or ".join(
        f"array_contains(terms_{at}, {keys[0]})"
        if len(keys) == 1
        else f"array_contains_any(terms_{at}, {literal(keys)})"
        for at, keys in by_field.items()
    )
