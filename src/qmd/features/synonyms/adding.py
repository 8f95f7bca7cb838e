"""Add synonyms to the words of a query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from qmd.text.filters import QUOTES
from qmd.text.query import LexicalQuery, Term, parse
from qmd.text.question import Question
from qmd.text.tokens import fold
from qmd.text.wording import plain, plural
from qmd.types import Synonyms

#: The most words of a query that get synonyms, and the most that are named.
_MOST_WORDS, _MOST_NAMED = 16, 8
#: So many letters at the beginning of a word, all its forms have in common.
_BEGINNING = 2


def with_synonyms(synonyms: Sequence[Synonyms], question: Question) -> tuple[Question, str | None]:
    """Return a question that the synonyms of its words match as well, and what to say of that.

    Quoted words, beginnings of words and excluded words stay as they are.
    """
    query, text = question.terms, fold(question.words)
    added: dict[Term, set[tuple[str, ...]]] = {}
    said: list[str] = []
    also: dict[str, None] = {}
    for entry in synonyms:
        for word in entry.words:
            if not any(part[:_BEGINNING] in text for part in fold(word).split()):
                continue  # quicker than to parse it
            found = _found(query, word)
            others = [other for other in entry.others if other != word] if found else []
            forms = {form for other in others for form in _forms(other)}
            if forms and len(added.keys() | found) <= _MOST_WORDS:
                said.append(f"{plain(word)} -> {', '.join(map(plain, others))}")
                also |= dict.fromkeys(others)
                for term in found:
                    added.setdefault(term, set()).update(forms)
    if not added:
        return question, None
    terms = tuple(_with_forms(term, added.get(term, set())) for term in query.terms)
    more = [f"and {plural(len(said) - _MOST_NAMED, 'other')}"] if len(said) > _MOST_NAMED else []
    changed = replace(question, read_as=replace(query, terms=terms), also=(*also,))
    return changed, "; ".join((*said[:_MOST_NAMED], *more))


def _found(query: LexicalQuery, word: str) -> set[Term]:
    """Return the terms of a query that are a word, or several one after the other; none if it has it not."""
    asked = [term for term in query.required if term.weight == 1.0]
    wanted = [term.tokens for term in parse(word).required]
    for at in range(len(asked) - len(wanted) + 1):
        found = asked[at : at + len(wanted)]
        if [term.tokens for term in found] == wanted and not any(_stays(term) for term in found):
            return {*found}
    return set()


def _stays(term: Term) -> bool:
    return term.quoted or (term.prefix and len(term.words[-1]) > 1)


def _forms(word: str) -> Iterator[tuple[str, ...]]:
    """Yield the lists of tokens by which a text has a word, or several one after the other."""
    quoted = parse('"' + word.translate(QUOTES).replace('"', " ") + '"').terms
    alone = parse(word).required
    for term in (*quoted, *(alone if len(alone) == 1 else ())):
        yield from () if term.prefix else term.forms


def _with_forms(term: Term, forms: set[tuple[str, ...]]) -> Term:
    """Return a term that other forms match as well, unless they are its own."""
    new = frozenset(forms.difference(term.forms))
    return replace(term, alternatives=(*term.alternatives, *sorted(new)), synonyms=new) if new else term
