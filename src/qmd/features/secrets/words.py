"""Keyword search in which the words of secrets find nothing.

The index has the words of secrets, so that people find them. For an agent, a word that only secrets have is
one that no document has, and a document does not count for a word that it has in a secret alone. Words of
letters, and those that many documents have, are not looked after: they say too little.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from qmd.ranking import bm25
from qmd.store.lexical import longer_terms
from qmd.store.values import LexicalMatch, LexicalMatches, Scope
from qmd.text.layout import indexed, of_markdown
from qmd.text.predicates import Among, Not, both
from qmd.text.query import LexicalQuery, Term

if TYPE_CHECKING:
    from qmd.features.secrets.masker import Masker
    from qmd.store.base import Store

#: A word in more documents is no secret. For fewer, the documents are read.
RARE = 20
#: Words of letters of at least this length may be a part of a key.
_LONG = 12
#: A word that no document has.
_NOWHERE = "\ue000nowhere"


class SecretWords:
    """Searches a store without the words of secrets."""

    def __init__(self, store: Store, masker: Callable[[], Masker]) -> None:
        self._store = store
        self._masker = masker

    def search(
        self, query: LexicalQuery, scope: Scope, limit: int, *, longer: bool, all_first: bool, placed: int
    ) -> LexicalMatches:
        """Search as `Lexical.search`, by the words that an agent can read."""
        lexical = self._store.lexical

        def run(query: LexicalQuery, scope: Scope, limit: int) -> LexicalMatches:
            return lexical.search(
                query, scope, limit, longer=longer, all_first=all_first, placed=min(placed, limit)
            )

        found = run(query, scope, limit)
        secret = self._secret(query, scope, found)
        if secret:
            query, scope, tainted = self._readable(query, scope, secret)
            found = run(query, scope, limit)
            matches = [each for each in found.matches if each.document not in tainted]
            for document, terms in tainted.items():
                # A document counts with the words that can be read in it.
                where = both(scope.where, Among((document,), ""))
                matches += run(_without(query, terms), replace(scope, where=where), 1).matches
            order = {"all": 0, "any": 1, "longer": 2}
            matches.sort(key=lambda each: (order[each.tier], -each.score, each.document))
            found = replace(found, matches=tuple(matches[:limit]))
        return replace(found, matches=tuple(self._seen_longer(query, found.matches)))

    def matching(self, query: LexicalQuery, scope: Scope, limit: int | None = None) -> list[int]:
        """Return as `Lexical.matching`, by the words that an agent can read."""
        secret = self._secret(query, scope, None)
        if not secret:
            return self._store.lexical.matching(query, scope, limit)
        query, scope, tainted = self._readable(query, scope, secret)
        documents = self._store.lexical.matching(query, scope, limit)
        return [
            document
            for document in documents
            if document not in tainted
            or self._store.lexical.matching(
                _without(query, tainted[document]),
                replace(scope, where=both(scope.where, Among((document,), ""))),
            )
        ]

    def is_seen(self, word: str, scope: Scope) -> bool:
        """Tell whether a term is not one that only secrets have."""
        term = Term((word,), (word,))
        return not _may_be_secret(term) or bool(self.matching(LexicalQuery((term,)), scope))

    def _secret(
        self, query: LexicalQuery, scope: Scope, found: LexicalMatches | None
    ) -> dict[Term, tuple[list[int], list[int]]]:
        """Return the terms that secrets have, with the documents that show each, and those that hide it."""
        doubtful = [term for term in (*query.terms, *query.negative) if _may_be_secret(term)]
        if not doubtful:
            return {}
        least = 0.0
        if found is not None:
            count = self._store.fields.count(Scope(scope.population or scope.collections))
            least = bm25.idf(count, RARE)
        secret: dict[Term, tuple[list[int], list[int]]] = {}
        everywhere = Scope(scope.population or scope.collections)
        for term in doubtful:
            if found is not None and term not in query.negative and found.idf.get(term.tokens, least) < least:
                continue
            documents = self._store.lexical.matching(LexicalQuery((term,)), everywhere)
            if 0 < len(documents) <= RARE:
                read = self._read(documents, (term,))
                unread = [document for document in documents if document not in read]
                if unread:
                    secret[term] = [*read], unread
        return secret

    def _readable(
        self, query: LexicalQuery, scope: Scope, secret: dict[Term, tuple[list[int], list[int]]]
    ) -> tuple[LexicalQuery, Scope, dict[int, list[Term]]]:
        """Return a query and a scope without secret terms, and the documents that have others in secrets."""
        nowhere = [term for term, (read, _) in secret.items() if not read]
        tainted: dict[int, list[Term]] = {}
        for term, (read, unread) in secret.items():
            if read and term in query.negative:
                scope = replace(scope, where=both(scope.where, Not(Among(tuple(read), ""))))
            elif read:
                for document in unread:
                    tainted.setdefault(document, []).append(term)
        negative = tuple(term for term in query.negative if term not in secret)
        return replace(_without(query, nowhere), negative=negative), scope, tainted

    def _seen_longer(self, query: LexicalQuery, matches: Sequence[LexicalMatch]) -> list[LexicalMatch]:
        """Return the matches without those whose longer words cannot be read."""
        longer = [match.document for match in matches if match.tier == "longer"]
        if not longer:
            return list(matches)
        read = self._read(longer, longer_terms(query))
        return [match for match in matches if match.tier != "longer" or match.document in read]

    def _read(self, ids: Sequence[int], terms: Sequence[Term]) -> dict[int, bool]:
        """Return the documents in which one of some terms can be read."""
        masker = self._masker()
        documents, texts = self._store.documents.by_id(ids), self._store.documents.texts(ids)
        shown = {each.id: each for each in masker.documents([*documents.values()])}
        read: dict[int, bool] = {}
        for document, text in texts.items():
            masked = masker.text(text)
            if masked == text and shown.get(document) == documents.get(document):
                read[document] = True
            elif document in shown:
                forms = indexed(shown[document].title, masked, shown[document].path, of_markdown(masked))
                if any(term.covered(form.split()) for form in forms for term in terms):
                    read[document] = True
        return read


def _without(query: LexicalQuery, terms: Sequence[Term]) -> LexicalQuery:
    """Return a query in which some terms are words that no document has."""
    return replace(
        query,
        terms=tuple(
            replace(term, tokens=(f"{_NOWHERE}{number}",), prefix=False, alternatives=())
            if term in terms
            else term
            for number, term in enumerate(query.terms)
        ),
    )


def _may_be_secret(term: Term) -> bool:
    """Tell whether a term can be a part of a key or a password: it has digits, or is long, or a part."""
    return (
        term.prefix
        or term.part
        or any(
            len(word) >= _LONG or any(sign.isdigit() for sign in word) for form in term.forms for word in form
        )
    )
