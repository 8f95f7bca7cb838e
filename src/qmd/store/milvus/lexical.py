"""BM25 over sparse vectors: candidates from Milvus, their exact scores from the frequencies in them.

A query runs in two steps, as on SQLite. *Candidates*: the best few hundred by inner product with the terms'
idf (`weights`), and the best of those that have all terms, which a filter finds. *Scores*: BM25 with the true
frequencies and lengths, for the candidates alone. What Milvus cannot see, whether words stand side by side,
is looked up in the candidates' texts.

The vocabulary does not say in which collection a word is. So if statistics are to come from some collections
only (a population), words that begin alike are looked up in the texts too. Then it makes no difference which
words of other collections the vocabulary has.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from qmd.ranking import bm25
from qmd.store.base import LexicalMatch, LexicalMatches
from qmd.store.milvus.client import HEAVY, MOST, Client, Row, literal, quoted
from qmd.store.milvus.documents import DocumentsPart, Totals
from qmd.store.milvus.ids import dimension
from qmd.store.milvus.schema import DOCUMENTS, TERM_FIELDS, TERMS
from qmd.store.milvus.weights import frequency
from qmd.text.phrases import Pattern, patterns
from qmd.text.query import LexicalQuery, Term, longer_words
from qmd.text.tokens import terms as terms_of

#: The fewest candidates that are scored exactly, and how many for each document asked for.
_POOL, _POOL_FACTOR = 100, 3
#: With more terms than this, documents with all of them are ranked among the others.
_ALL_FIRST = 6
#: A term in fewer documents is counted by listing them: all such terms of a query in one call.
_LISTED = 1_000
#: So many documents with the words of a phrase are looked into, to know how many have it.
_LOOKED_INTO = 2_000
#: So many words are taken for those that begin alike.
_EXPANSIONS = 4_000


@dataclass(slots=True)
class _Looked:
    """A query term with what the index knows of it: its forms, and the dimensions that each token stands for.

    `dimensions` has an entry a token; of a document with the term, each has at least one of its own.
    """

    term: Term
    forms: tuple[Pattern, ...]
    dimensions: tuple[tuple[int, ...], ...]
    documents: int = 0
    idf: float = 0.0
    #: Whether its dimensions may be those of other words.
    is_vague: bool = False

    @property
    def is_phrase(self) -> bool:
        """Whether texts have to be looked into: for words side by side, or for the words themselves."""
        return len(self.dimensions) > 1 or self.is_vague

    @property
    def is_possible(self) -> bool:
        """Whether every token of it is in the index."""
        return all(self.dimensions)

    def condition(self) -> str:
        """What a document with the term fulfils."""
        return " and ".join(f"({_any_of(each)})" for each in self.dimensions)


class Lexical:
    """One search. Holds the fields of the documents that it looked into."""

    def __init__(
        self,
        store: DocumentsPart,
        client: Client,
        totals: Totals,
        within: str,
        population: str | None = None,
    ) -> None:
        self._store = store
        self._client = client
        self._totals = totals
        self._average = totals.length / totals.documents
        self._within = within
        self._population = population
        #: What the documents fulfil that statistics are taken from.
        self._counted = population or "live == true"
        self._fields: dict[int, tuple[list[str], list[str], list[str]]] = {}

    def search(self, query: LexicalQuery, limit: int, longer: bool) -> LexicalMatches:
        """The best `limit` documents, with raw BM25, its bound, and whether each has all required terms."""
        looked = [self._look_up(term) for term in query.terms]
        self._count(looked)
        for entry in looked:
            entry.idf = bm25.idf(self._totals.documents, entry.documents)
        idfs = {entry.term.tokens: entry.idf for entry in looked}
        negative = [each for term in query.negative if (each := self._look_up(term)).is_possible]
        matches = self._ranked(looked, negative, limit)
        if longer and len(matches) < limit:
            found = {match.document for match in matches}
            matches += self._longer(query, negative, limit - len(matches), found)
        return LexicalMatches(tuple(matches), bm25.bound([entry.idf for entry in looked]), idfs)

    def _ranked(
        self, looked: Sequence[_Looked], negative: Sequence[_Looked], limit: int
    ) -> list[LexicalMatch]:
        known = [entry for entry in looked if entry.documents]
        if not known:
            return []
        required = [entry for entry in looked if not entry.term.part]
        all_possible = all(entry.documents for entry in required)
        pool = min(MOST, max(_POOL, _POOL_FACTOR * limit))
        while True:
            rows: dict[int, Row] = {}
            if all_possible:
                everything = " and ".join(f"({entry.condition()})" for entry in required)
                rows |= self._candidates(known, negative, pool, everything)
            full = len(rows) >= pool
            if not (len(required) <= _ALL_FIRST and full):
                found = self._candidates(known, negative, pool)
                full = full or len(found) >= pool
                rows |= found
            scored = self._scored(rows, known, negative, required if all_possible else ())
            # Some candidates only have the words of a phrase somewhere: then look further.
            if len(scored) >= limit or not full or pool >= MOST:
                break
            pool = min(MOST, 4 * pool)
        first = len(required) <= _ALL_FIRST
        scored.sort(key=lambda row: (not (first and row[2]), -row[1], row[0]))
        return [
            LexicalMatch(document, score, "all" if has_all else "any")
            for document, score, has_all in scored[:limit]
        ]

    def _longer(
        self, query: LexicalQuery, negative: Sequence[_Looked], limit: int, found: Collection[int]
    ) -> list[LexicalMatch]:
        """Documents that hold longer words beginning with the query's plain words."""
        terms = [longer for term in query.terms if (longer := longer_words(term)) is not None]
        # Stems shorter than the word would bring other words in; here only longer ones are wanted.
        looked = [self._look_up(replace(term, alternatives=())) for term in terms]
        looked = [entry for entry in looked if entry.is_possible]
        if not looked:
            return []
        documents = self._totals.documents
        for entry in looked:
            entry.idf = bm25.idf(documents, max(1, documents // 50))
        pool = min(MOST, max(_POOL, limit + len(found)))
        rows = self._candidates(looked, negative, pool)
        scored = [row for row in self._scored(rows, looked, negative, ()) if row[0] not in found]
        scored.sort(key=lambda row: (-row[1], row[0]))
        return [LexicalMatch(document, score, "longer") for document, score, _ in scored[:limit]]

    # -- terms ---------------------------------------------------------------------------------------------

    def _look_up(self, term: Term) -> _Looked:
        """A term's forms and dimensions."""
        forms = tuple(patterns(term))
        last = dict.fromkeys(dimension(form.tokens[-1]) for form in forms if not form.prefix)
        for form in forms:
            if form.prefix:
                last |= dict.fromkeys(dimension(word) for word in self._words(form.tokens[-1]))
        if len(forms) > 1:
            # Other endings of a word are listed whether the index has them or not.
            last = dict.fromkeys(self._existing(forms, last))
        # All forms have the same number of tokens.
        head = [
            tuple(dict.fromkeys(dimension(form.tokens[at]) for form in forms))
            for at in range(len(term.tokens) - 1)
        ]
        vague = self._population is not None and any(form.prefix for form in forms)
        return _Looked(term, forms, (*head, tuple(last)), is_vague=vague)

    def _existing(self, forms: Sequence[Pattern], last: Iterable[int]) -> list[int]:
        endings = [form.tokens[-1] for form in forms if not form.prefix]
        known = {str(row["term"]) for row in self._client.among(TERMS, "term", endings, ["term"])}
        missing = {dimension(ending) for ending in endings if ending not in known}
        return [each for each in last if each not in missing]

    def _words(self, beginning: str) -> list[str]:
        """The terms of the index that begin so."""
        where = f"term like {quoted(beginning + '%')}"
        if self._population is None:
            rows: Iterable[Row] = self._client.query(TERMS, where, ["term"], limit=_EXPANSIONS)
        else:
            rows = self._client.all(TERMS, where, ["term"], reading="fresh")
        words = [str(row["term"]) for row in rows]
        return words if len(words) <= _EXPANSIONS else self._of_population(words)[:_EXPANSIONS]

    def _of_population(self, words: Sequence[str]) -> list[str]:
        """The words that are in the population, in order: those of others must not take their place."""
        known: set[int] = set()
        fields = [f"terms_{at}" for at in range(TERM_FIELDS)]
        for row in self._client.all(DOCUMENTS, self._counted, fields, reading="fresh", page=HEAVY):
            known.update(int(each) for field in fields for each in row[field])
        return sorted(word for word in words if dimension(word) in known)

    def _count(self, looked: Sequence[_Looked]) -> None:
        """In how many documents of the index, or of the population, each term occurs."""
        single = [entry for entry in looked if not entry.is_phrase and len(entry.dimensions[0]) == 1]
        vectors = [{entry.dimensions[0][0]: 1.0} for entry in single]
        listed = (
            self._client.search(DOCUMENTS, "weights", vectors, self._counted, _LISTED, ["id"])
            if single
            else []
        )
        for entry, found in zip(single, listed, strict=True):
            entry.documents = len(found)
        for entry in looked:
            if not entry.is_possible:
                continue
            if entry.is_phrase:
                entry.documents = self._count_phrase(entry)
            elif len(entry.dimensions[0]) > 1 or entry.documents >= _LISTED:
                where = f"({entry.condition()}) and {self._counted}"
                entry.documents = self._client.count(DOCUMENTS, where)

    def _count_phrase(self, entry: _Looked) -> int:
        """Documents in which the words stand side by side; of very many, estimated from some."""
        where = f"({entry.condition()}) and {self._counted}"
        fields = ["id", "title", "path", "content"]
        rows = {
            int(row["id"]): row for row in self._client.query(DOCUMENTS, where, fields, limit=_LOOKED_INTO)
        }
        self._look_into(rows)
        having = sum(1 for each in rows if self._in_text(entry, each))
        if len(rows) < _LOOKED_INTO:
            return having
        return max(1, having * self._client.count(DOCUMENTS, where) // len(rows)) if having else 0

    # -- documents -----------------------------------------------------------------------------------------

    def _candidates(
        self, entries: Sequence[_Looked], negative: Sequence[_Looked], pool: int, everything: str = ""
    ) -> dict[int, Row]:
        """The best documents of the scope by inner product, as rows with what scoring needs."""
        vector: dict[int, float] = {}
        for entry in entries:
            for group in entry.dimensions:
                for each in group:
                    vector[each] = max(vector.get(each, 0.0), entry.idf / len(entry.dimensions))
        where = self._within
        if everything:
            where += f" and {everything}"
        for entry in negative:
            if not entry.is_phrase:
                where += f" and not ({entry.condition()})"
        fields = ["id", "length", "weights", "title", "path", "content"]
        (found,) = self._client.search(DOCUMENTS, "weights", [vector], where, pool, fields)
        return {int(row["id"]): row for score, row in found if score > 0}

    def _scored(
        self,
        rows: Mapping[int, Row],
        entries: Sequence[_Looked],
        negative: Sequence[_Looked],
        required: Sequence[_Looked],
    ) -> list[tuple[int, float, bool]]:
        """(document, BM25, whether it has all of `required`) of those with any term and none to avoid."""
        avoided = [entry for entry in negative if entry.is_phrase]
        possible = {
            document: row
            for document, row in rows.items()
            if any(entry.is_phrase and _may_have(entry, row["weights"]) for entry in (*entries, *avoided))
        }
        self._look_into(possible)
        scored = []
        for document, row in rows.items():
            if any(_may_have(each, row["weights"]) and self._in_text(each, document) for each in avoided):
                continue
            found = {id(entry): self._frequency(entry, document, row) for entry in entries}
            norm = bm25.length_norm(int(row["length"]), self._average)
            score = sum(
                bm25.term_score(entry.idf, often, norm) for entry in entries if (often := found[id(entry)])
            )
            if any(found.values()):
                has_all = bool(required) and all(found.get(id(each)) for each in required)
                scored.append((document, score, has_all))
        return scored

    def _frequency(self, entry: _Looked, document: int, row: Row) -> float:
        """How often a document has a term, weighted by field."""
        weights: Mapping[int, float] = row["weights"]
        if not _may_have(entry, weights):
            return 0.0
        if entry.is_phrase:
            return self._in_text(entry, document)
        length = int(row["length"])
        return sum(frequency(weights[each], length) for each in entry.dimensions[0] if each in weights)

    def _in_text(self, entry: _Looked, document: int) -> float:
        """How often the words of a term stand side by side in a document, weighted by field."""
        return sum(
            weight * form.count(tokens)
            for tokens, weight in zip(self._fields.get(document, ()), bm25.FIELD_WEIGHTS, strict=False)
            for form in entry.forms
        )

    def _look_into(self, rows: Mapping[int, Row]) -> None:
        """Get the tokens of documents whose words have to be seen in order."""
        unknown = {document: row for document, row in rows.items() if document not in self._fields}
        texts = self._store.contents({int(row["content"]) for row in unknown.values()})
        for document, row in unknown.items():
            body = texts.get(int(row["content"]), "")
            self._fields[document] = (terms_of(row["title"]), terms_of(body), terms_of(row["path"]))


def _may_have(entry: _Looked, weights: Mapping[int, float]) -> bool:
    """Whether a document with these weights has every token of a term."""
    return all(any(each in weights for each in group) for group in entry.dimensions)


def _any_of(dimensions: Sequence[int]) -> str:
    """The condition that a document has one of these terms."""
    by_field: dict[int, list[int]] = {}
    for each in dimensions:
        by_field.setdefault(each % TERM_FIELDS, []).append(each)
    return " or ".join(
        f"array_contains(terms_{at}, {found[0]})"
        if len(found) == 1
        else f"array_contains_any(terms_{at}, {literal(found)})"
        for at, found in by_field.items()
    )
