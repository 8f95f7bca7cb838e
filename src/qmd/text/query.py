"""What a user types: the grammar of lexical queries (E22, E23) and query documents (E45)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from qmd.errors import QueryError
from qmd.text import filters, stopwords, tokens
from qmd.types import SearchType, TypedSearch

_PIECE = re.compile(r'(?P<minus>-?)(?:"(?P<quoted>[^"]*)"(?P<star>\*?)|(?P<plain>[^\s"]+))')
#: What a leading minus excludes: a clean word of two letters or more. `--flag`, `-h` and `-n,` are text, as
#: prose about command lines has them.
_EXCLUDED = re.compile(r"[^\W_][\w./@:-]*[^\W_]\*?")
#: The most words of one query that are looked at; what a longer text adds is its tail.
MAX_TERMS = 256
#: The most lines of a query document.
MAX_LINES = 50


@dataclass(frozen=True, slots=True)
class Term:
    """Index terms that must stand side by side. `prefix`: the last one may go on.

    `words` are what was typed, folded but not stemmed. `part`: a part of a joined word that is also looked
    for on its own, to rank by, never required. `alternatives`: other tokens for which the term is also found.
    """

    tokens: tuple[str, ...]
    words: tuple[str, ...]
    prefix: bool = False
    part: bool = False
    quoted: bool = False
    alternatives: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class LexicalQuery:
    """A parsed query: what to find and what to leave out. No positive term: an empty answer."""

    terms: tuple[Term, ...]
    negative: tuple[Term, ...] = ()

    @property
    def required(self) -> tuple[Term, ...]:
        """The terms that a document with 'all terms' has."""
        return tuple(term for term in self.terms if not term.part)


def parse(text: str) -> LexicalQuery:
    """Read a query; its filters are left aside. Never fails: what is not grammar is text."""
    positive: list[Term] = []
    stops: list[Term] = []
    negative: list[Term] = []
    words, _ = filters.split(text)
    for match in _PIECE.finditer(words.translate(filters.QUOTES)):
        quoted, plain = match["quoted"], match["plain"]
        if quoted is not None:
            phrase = _phrase(quoted, prefix=bool(match["star"]))
            if phrase:
                (negative if match["minus"] else positive).append(phrase)
        elif match["minus"] and (_EXCLUDED.fullmatch(plain) or tokens.is_symbols(plain)):
            negative.extend(term for term in _plain(plain) if not term.part)
        else:
            positive.extend(_plain(plain, stops))
        if len(positive) + len(negative) + len(stops) > MAX_TERMS:
            break
    return LexicalQuery(_unique(positive or stops)[:MAX_TERMS], _unique(negative)[:MAX_TERMS])


def _plain(piece: str, stops: list[Term] | None = None) -> Iterator[Term]:
    """The terms of one unquoted piece; stop words go to `stops` where that is given."""
    prefix = piece.endswith("*")
    if stops is not None and not prefix:
        # Question words inside an unspaced run are cut out of it, unless nothing would be left.
        rest = stopwords.QUESTIONS.sub(" ", piece)
        if rest != piece:
            if not tokens.words(rest):
                stops.extend(_plain(piece))
                return
            piece = rest
    groups = tokens.groups(piece)
    for at, group in enumerate(groups):
        last = at == len(groups) - 1
        if len(group) == 1 and tokens.is_unspaced(group[0]):
            yield from _run(group[0], prefix and last)
            continue
        words = tuple(tokens.fold(word) for word in group)
        if stops is not None and not prefix and len(words) == 1 and words[0] in stopwords.ENGLISH:
            stops.append(_word(words, False))
            continue
        yield _word(words, prefix and last and not tokens.is_symbols(group[0]))
        if len(words) > 1:
            for word in words:
                yield Term(tuple(tokens.terms(word)), (word,), part=True)


def _run(run: str, prefix: bool) -> Iterator[Term]:
    """An unspaced run: its bigrams, each a term; a single character is the prefix of one."""
    folded = tokens.fold(run)
    if len(folded) == 1:
        yield Term((folded,), (folded,), prefix=True)
        return
    for bigram in tokens.bigrams(folded)[:-1]:
        yield Term((bigram,), (bigram,))
    if prefix:
        yield Term((folded[-1],), (folded[-1],), prefix=True, part=True)


def _word(words: tuple[str, ...], prefix: bool) -> Term:
    if prefix:
        # The index holds stems, so the last word stays as typed; and the stem of a longer word may be
        # shorter than what was typed (performanc* → perform).
        head = tuple(term for word in words[:-1] for term in tokens.terms(word))
        endings = tuple((*head, ending) for ending in _completions(words[-1]))
        return Term((*head, words[-1]), words, prefix=True, alternatives=endings)
    return Term(tuple(term for word in words for term in tokens.terms(word)), words)


def _phrase(text: str, prefix: bool) -> Term | None:
    """A quoted text: its terms side by side."""
    found = tokens.words(text)
    if not found:
        return None
    words = tuple(tokens.fold(word) for word in found)
    parts = tokens.terms(text)
    alternatives: tuple[tuple[str, ...], ...] = ()
    if tokens.is_unspaced(words[-1]):
        if len(words[-1]) == 1:
            prefix = True  # the character may stand anywhere in a run but at its end
        elif not prefix:
            parts = parts[:-1]
            # A space between two runs says little: the text may have them as one.
            joined = tokens.terms(_gaps().sub("", text))[:-1]
            alternatives = (tuple(joined),) if joined != parts else ()
    elif tokens.is_symbols(words[-1]):
        prefix = False
    elif prefix:
        parts[-1] = words[-1]
    return Term(tuple(parts), words, prefix=prefix, quoted=True, alternatives=alternatives)


@cache
def _gaps() -> re.Pattern[str]:
    return re.compile(rf"(?<=[{tokens.UNSPACED}])\s+(?=[{tokens.UNSPACED}])")


_ENDINGS = ("e", "es", "ed", "ing", "s", "y", "ies", "ly", "al", "ion", "ions", "er", "ity", "ment")


def _completions(word: str) -> tuple[str, ...]:
    """Stems of words that begin with `word` but are shorter than it."""
    if not word.isascii():
        return ()
    stems = {tokens.stem(word + ending) for ending in ("", *_ENDINGS)}
    return tuple(sorted(stem for stem in stems if not stem.startswith(word) and len(stem) > 2))


def longer_words(term: Term) -> Term | None:
    """The term that a plain word becomes when longer words that begin with it are to be found as well."""
    if term.prefix or term.quoted or term.part or tokens.stands_alone(term.words[-1]):
        return None
    if len(term.words[-1]) < 2:
        return None
    return _word(term.words, True)


def _unique(found: list[Term]) -> tuple[Term, ...]:
    seen: dict[tuple[tuple[str, ...], bool], Term] = {}
    for term in found:
        if term.tokens:
            key = (term.tokens, term.prefix)
            if key not in seen or (seen[key].part and not term.part):
                seen[key] = term
    return tuple(seen.values())


@dataclass(frozen=True, slots=True)
class QueryDocument:
    """A query of several lines (E45). `expand` set: a plain question, and nothing else is."""

    expand: str | None = None
    searches: tuple[TypedSearch, ...] = ()
    intent: str | None = None


_LINE = re.compile(r"\s*(lex|vec|hyde|intent|expand)\s*:(.*)", re.IGNORECASE | re.DOTALL)


def parse_document(text: str) -> QueryDocument:
    """Read a query document. Raises `QueryError` naming the line."""
    # Not splitlines(): to it, some control characters end a line.
    written = re.split(r"\r\n?|\n", text)
    lines = [(number, line) for number, line in enumerate(written, 1) if line.strip()]
    if len(lines) > MAX_LINES:
        raise QueryError(f"the query has {len(lines)} lines; it may have {MAX_LINES}", "leave some out")
    if not lines:
        raise QueryError(
            "the query is empty", "give some words, or lines that begin with lex:, vec: or hyde:"
        )
    searches: list[TypedSearch] = []
    intent: str | None = None
    expand: str | None = None
    for number, line in lines:
        match = _LINE.match(line)
        if match is None:
            if len(lines) == 1:
                return QueryDocument(expand=line.strip())
            raise QueryError(
                f"line {number}: begins with none of lex:, vec:, hyde:, intent:, expand:",
                "a query of several lines gives each line a type; a plain query is one line",
            )
        kind, value = match[1].lower(), match[2].strip()
        if not value:
            raise QueryError(f"line {number}: nothing after '{kind}:'")
        if kind == "intent":
            if intent is not None:
                raise QueryError(f"line {number}: a second intent:", "only one intent: line is allowed")
            intent = value
        elif kind == "expand":
            if len(lines) > 1:
                raise QueryError(f"line {number}: expand: stands alone", "leave the other lines out")
            expand = value
        else:
            searches.append(TypedSearch(_kind(kind), value))
    if intent is not None and not searches:
        raise QueryError(
            "line 1: intent: searches nothing itself", "add at least one lex:, vec: or hyde: line"
        )
    return QueryDocument(expand=expand, searches=tuple(searches), intent=intent)


_EXCLUSION = re.compile(r'(?:^|\s)(-[\w"]\S*)')


def refuse_exclusions(searches: Iterable[TypedSearch]) -> None:
    """Raise `QueryError` for a search by meaning that leaves words out: vectors cannot."""
    for search in searches:
        exclusion = _EXCLUSION.search(search.query) if search.type != "lex" else None
        if exclusion is not None:
            raise QueryError(
                f"{search.type}: cannot leave out {exclusion[1]!r}",
                f"add a line with words to find and to leave out: 'lex: words {exclusion[1]}'",
            )


def _kind(text: str) -> SearchType:
    match text:
        case "lex" | "vec" | "hyde":
            return text
    raise AssertionError(text)
