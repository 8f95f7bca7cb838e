"""Search for other forms of the words of a query, in the languages of the documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from qmd.store.base import Lexical, Store
from qmd.store.values import Scope
from qmd.text import widening
from qmd.text.languages import asked_in
from qmd.text.query import LexicalQuery
from qmd.text.question import Question
from qmd.text.widening import Forms, forms_in
from qmd.types import Config, Stage

#: The stage that tells which words were added.
FORMS = "forms"
#: The most forms of a word, and terms with one beginning. The index has terms of other collections as
#: well: for a limited key, which must not notice these, so many that they take no place from its own.
_MOST_FORMS, _MOST_TERMS, _MOST_OF_ALL = 8, 200, 10_000
#: The most words that a stage names.
_MOST_NAMED = 8


def widened(
    store: Store, config: Config, scope: Scope, question: Question, languages: Sequence[str]
) -> tuple[Question, Stage | None]:
    """Return a query that other forms of its words match too, and a stage that says which were added.

    Words that the user has quoted stay as they are, and so do all words of an English query, whose forms have
    the same term.
    """
    query = question.terms
    words = [word for term in query.terms if not term.quoted for word in term.words]
    asked = asked_in(words, frozenset(languages))
    forms = [each for name in ([asked] if asked else languages) if (each := forms_in(name))]
    if not forms:
        return question, None
    if asked:
        query = widening.without_stop_words(query, asked)
    everywhere = replace(scope, collections=(*config.collections,), where=None)
    same = _same_word(store.lexical, everywhere, query, forms)
    divided = _divided(store.lexical, everywhere, query, same, forms)
    # Those of joined words are hardly ever the same by chance.
    alone = {} if any(each.joints for each in forms) else {widening.term_of(word): word for word in same}
    less = {alone[term] for term in store.lexical.existing([*alone], everywhere)}
    query = widening.widened(query, same, divided, less)
    if query == question.terms:
        return question, None
    added = [*dict.fromkeys(term for others in (*same.values(), *divided.values()) for term in others)]
    more = f" and {len(added) - _MOST_NAMED} more" if len(added) > _MOST_NAMED else ""
    said = f"also searched for {', '.join(added[:_MOST_NAMED])}{more}"
    return replace(question, read_as=query), Stage(FORMS, "ran", said) if added else None


def _same_word(
    lexical: Lexical, everywhere: Scope, query: LexicalQuery, forms: Sequence[Forms]
) -> dict[str, list[str]]:
    """Return the other forms of the words of a query that documents have."""
    limit = _MOST_TERMS if everywhere.population is None else _MOST_OF_ALL
    terms = [
        term
        for beginning in widening.beginnings(query, forms)
        for term in lexical.beginning(beginning, limit)
    ]
    same = widening.same_word(query, terms, forms)
    seen = lexical.existing([*{term for others in same.values() for term in others}], everywhere)
    return {
        word: kept
        for word, others in same.items()
        if (kept := [term for term in others if term in seen][:_MOST_FORMS])
    }


def _divided(
    lexical: Lexical,
    everywhere: Scope,
    query: LexicalQuery,
    same: Mapping[str, object],
    forms: Sequence[Forms],
) -> dict[str, tuple[str, str]]:
    """Return the parts of the compounds of a query of which no document has a form."""
    words = [word for word in widening.compounds(query, forms) if word not in same]
    terms = {word: widening.term_of(word) for word in words}
    seen = lexical.existing([*terms.values()], everywhere) if terms else {}
    found: dict[str, tuple[str, str]] = {}
    for word in words:
        if terms[word] not in seen:
            divisions = [*widening.parts(word, forms)]
            known = lexical.existing(
                [*dict.fromkeys(part for each in divisions for part in each)], everywhere
            )
            if division := next((each for each in divisions if all(part in known for part in each)), None):
                found[word] = division
    return found
