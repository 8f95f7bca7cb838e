"""Tell which words of a query no document has, and search for the words that they may mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from msgspec.structs import replace

from qmd.engine.retrieval.search import Search
from qmd.store.values import LexicalMatches, Scope
from qmd.text import spelling, tokens
from qmd.text.query import LexicalQuery, Term
from qmd.text.question import Question
from qmd.text.similar import similarity
from qmd.text.wording import plain
from qmd.types import Stage

#: The stage that tells of words that no document has.
SPELLING = "spelling"
#: The most words of a query that are corrected, that this is tried with, and the most spellings of each that
#: are searched.
_MOST_WORDS, _MOST_TRIED, _MOST_SPELLINGS = 3, 12, 4
#: The least share of letters, in their order, that a word has in common with what it may mean.
_ALIKE = 0.8


def respelled(search: Search, question: Question, found: LexicalMatches | None) -> Question | None:
    """Return the query with other words for those that no document has, if nothing was found; else None.

    A stage says which words were replaced, or may be meant.
    """
    matches = found.matches if found else ()
    if any(match.tier == "all" for match in matches):
        return None
    text = question.words
    # What is said of a condition in brackets that is text names the filter that it may mean.
    told = {word for each in question.brackets for word in tokens.words(question.text[each.start : each.end])}
    checked = [(at, word) for at, word in spelling.words_to_check(text) if word not in told]
    others = dict(islice(_replacements(search, [word for _, word in checked]), _MOST_WORDS))
    if not others:
        return None
    for at, word in reversed(checked):
        text = text[:at] + others.get(word, word) + text[at + len(word) :]
    words = " or ".join(f'"{plain(word)}"' for word in others)
    meant = " and ".join(f'"{plain(other)}"' for other in others.values())
    if matches:
        search.stages.append(Stage(SPELLING, "ran", f"No document has {words}: did you mean {meant}?"))
        return None
    search.stages.append(Stage(SPELLING, "ran", f"No document has {words}: searched for {meant}"))
    if not search.config.synonyms:
        return Question(text)
    from qmd.engine.retrieval.own_words import add_own_words

    added: list[Stage] = []
    meaning = add_own_words(search.config, Question(text), added)
    search.stages += [stage for stage in added if stage not in search.asked.stages]
    return meaning


def _replacements(search: Search, words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the words that no document has, with what they may mean."""
    everywhere = replace(search.scope, collections=(*search.config.collections,), where=None)
    stems = {word: tokens.stem(tokens.fold(word)) for word in words}
    # One look-up for all words, as most are there.
    present = search.store.lexical.existing([*dict.fromkeys(stems.values())], everywhere)
    for word in islice((word for word, stem in stems.items() if stem not in present), _MOST_TRIED):
        other = _meant(search, word) if _is_absent(search, word) else None
        # Stems are looked up, and those of rather different words may be alike.
        if other and similarity(tokens.fold(word), tokens.fold(other)) >= _ALIKE:
            yield word, other


def _is_absent(search: Search, word: str) -> bool:
    """Tell whether no document that the caller may see has a word, or a longer one."""
    everywhere = replace(search.scope, collections=(*search.config.collections,), where=None)
    question = Question(word)
    known = search.store.lexical.existing([*tokens.terms_of(word), *question.spellings], everywhere)
    return not search.store.lexical.search(question.knowing(known).terms, everywhere, 1).matches


def _meant(search: Search, word: str) -> str | None:
    """Return the word that is likely meant by another, as documents in the scope have it; None if none is."""
    folded = tokens.fold(word)
    for costs in (spelling.edits(folded), spelling.edits_twice(folded)):
        for term in spelling.ranked(costs, _documents(search, costs))[:_MOST_SPELLINGS]:
            if written := _written(search, word, term):
                return written
    return None


def _documents(search: Search, costs: Mapping[str, float]) -> dict[str, int]:
    terms = [*dict.fromkeys(map(tokens.stem, costs))]
    scope = Scope(search.scope.collections, population=search.scope.population)
    return search.store.lexical.existing(terms, scope)


def _written(search: Search, word: str, term: str) -> str | None:
    """Return the word with a term that a document in the scope has, and that is most like another word."""
    query = LexicalQuery((Term((term,), (term,)),))
    matches = search.store.lexical.search(query, search.scope, 1, longer=False).matches
    ids = [match.document for match in matches]
    documents = search.store.documents.by_id(ids).values()
    texts = [*search.store.documents.texts(ids).values()]
    return spelling.closest(word, term, [*texts, *(f"{each.title}\n{each.path}" for each in documents)])
