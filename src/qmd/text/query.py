"""Parse lexical queries and query documents of several lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from qmd.errors import QueryError
from qmd.text import filters, letters, tokens
from qmd.text.regex import lazy
from qmd.text.seen import seen_markdown
from qmd.types import SearchType, TypedSearch

_PIECE = lazy(r'(?P<minus>-?)(?:"(?P<quoted>[^"]*)"(?P<star>\*?)|(?P<plain>[^\s"]+))')
#: A word of at least two characters, which a leading minus excludes. `--flag`, `-h` and `-n,` exclude
#: nothing, because they are common in texts about command lines.
_EXCLUDED = lazy(r"[^\W_][\w./@:-]*[^\W_]\*?")
#: The maximum number of terms in a query; more are ignored.
MAX_TERMS = 256
#: The maximum number of lines in a query document.
MAX_LINES = 50

#: Words without a subject: removed from queries, but indexed.
ENGLISH_STOP_WORDS = frozenset(
    """
    a about after all also am an and any are as at be because been before being between both but by can could
    did do does doing during each every for from further had has have having he her here him his how i if in
    into is it its itself just me more most my of off on once only or other our out over own same she should
    so some such than that the their them then there these they this those through to too under until up very
    was we were what when where which while who whom whose why will with would you your
    i'm i've i'd i'll it's that's what's who's where's there's how's you're you've we're we've they're isn't
    aren't wasn't weren't don't doesn't didn't can't couldn't won't wouldn't shouldn't hasn't haven't
    """.split()
)

_QUESTION_LIST = """
    为什么 為什麼 是什么 是什麼 什么 什麼 怎么样 怎麼樣 怎么办 怎麼辦 怎么 怎麼 怎样 怎樣 如何 哪些 哪个 哪個
    哪里 哪裡 哪儿 多少 是否 能否 可否 请问 請問 有没有 有沒有 吗 嗎 呢
    使用 进行 進行 可以 能够 能夠 需要 通过 通過 应该 應該
    どうやって どのように どうすれば ですか ますか でしょうか について とは なぜ
""".split()
#: Longest first, so that 为什么 is removed before 什么.
_QUESTION_WORDS = lazy("|".join(sorted(_QUESTION_LIST, key=len, reverse=True)))
#: Chinese characters without a subject of their own, and the common words that contain one.
_FUNCTION_CHARACTERS = lazy(
    "(?P<word>"
    + "|".join(
        """
        了解 了结 为了 除了 和平 和谐 和约 共和 饱和 总和 调和 温和 缓和 中和 求和
        亲和 柔和 是否 是非 于是 还是 总是 但是 要是 可是 存在 在线 现在 正在 所在
        在职 在校 在内 在场 实在 内在 外在 潜在 自在 目的 的确 标的 的士 参与 与否
        给与 赠与 授与 及时 及格 及早 普及 涉及 以及 提及 顾及 波及 埃及 危及 遍及
        谁知 几何 几乎 几率 茶几 了然 明了 和諧 共和 飽和 總和 調和 溫和 緩和 實在
        內在 潛在 總是 參與 贈與 幾何 幾乎
        """.split()
    )
    + ")|[的了和是在与與及谁誰几幾]"
)
_KANA = lazy("[\u3041-\u30ff]")
_LETTERS_OR_DIGITS = lazy(r"\d+|[^\W\d_]+")
#: The same of words with signs, as those of vowels in Hindi.
_SIGNED_LETTERS = lazy(rf"\d+|[^\W\d_](?:[^\W\d_]|[{tokens.MARKS}])*")
#: Words up to this length have `ae`, `oe`, `ue` mostly as they are: poet, shoe, value.
_SHORT = 5
#: A number of a version, whose first part may be written with `v`.
_VERSION = lazy(r"v?\d{1,3}")
#: The beginning of the hash of a commit, as git prints it.
_HASH = lazy(r"(?=[a-f]{0,39}\d)(?=\d{0,39}[a-f])[0-9a-f]{7,39}")
#: What a synonym is worth of a word of the query (measured by bench/synonyms.py). A document without the word
#: is below those with it in any case; see `store.records.below_words`.
_SYNONYM = 0.5
#: The most parts of a word that is also searched apart: `b2b` is, an identifier of many parts is not.
_MAX_PARTS = 3

Found = TypeVar("Found")


class Term(Struct, frozen=True):
    """A term of a query: index terms that must be adjacent."""

    tokens: tuple[str, ...]
    words: tuple[str, ...]  # as typed, folded but not stemmed
    prefix: bool = False  # the last token also matches terms that start with it
    part: bool = False  # a part of a joined word, which affects the ranking but is not required
    quoted: bool = False
    alternatives: tuple[tuple[str, ...], ...] = ()  # other lists of tokens that match as well
    in_names: bool = False  # only in titles and paths
    weight: float = 1.0  # relative to a word of the query; less for a word that was added to it
    synonyms: frozenset[tuple[str, ...]] = frozenset()  # the alternatives that count less than the word

    @property
    def forms(self) -> tuple[tuple[str, ...], ...]:
        """The lists of tokens that match."""
        return (self.tokens, *self.alternatives)

    @property
    def without_synonyms(self) -> Term:
        """The term that only its own forms match."""
        own = tuple(form for form in self.alternatives if form not in self.synonyms)
        return replace(self, alternatives=own, synonyms=frozenset())

    @property
    def is_single(self) -> bool:
        """True if only one token matches."""
        return len(self.tokens) == 1 and not self.prefix

    def divided(self, weight: float, matches: Sequence[Found]) -> Iterator[tuple[float, Sequence[Found]]]:
        """Yield the parts of a weight, and the forms that have each: a synonym has only one of two.

        Args:
            weight: The weight of the term in a document that matches all its forms.
            matches: What a store knows of each of the forms.
        """
        if not self.synonyms:
            yield weight, matches
            return
        words = [found for form, found in zip(self.forms, matches, strict=True) if form not in self.synonyms]
        yield (1.0 - _SYNONYM) * weight, words
        yield _SYNONYM * weight, matches

    def covered(self, words: Sequence[str]) -> set[int]:
        """Return the places of all tokens of a text that the term matches."""
        places: set[int] = set()
        for number, form in enumerate(self.forms):
            prefix, width = self.prefix and not number, len(form)
            covers = covered_places(form)
            for at in range(len(words) - width + 1):
                last = words[at + width - 1]
                ends = last.startswith(form[-1]) if prefix else last == form[-1]
                if ends and tuple(words[at : at + width - 1]) == form[:-1]:
                    places.update(range(at, at + covers))
        return places


def covered_places(form: Sequence[str]) -> int:
    """Return the number of a text's tokens that a match covers.

    A bigram also covers the token after it, which begins with its last character.
    """
    return len(form) + (len(form[-1]) == 2 and tokens.is_unspaced(form[-1]))


def name_shares(
    terms: Iterable[tuple[Term, float]], total: float, name: Sequence[str]
) -> tuple[float, float]:
    """Return the share of a query in a name, and the share of the name in the query, each 0..1.

    Args:
        terms: The terms of the query with their weights.
        total: The weight of all terms, more than 0.
        name: The tokens of the name.
    """
    places: set[int] = set()
    in_name = 0.0
    for term, weight in terms:
        if covered := term.covered(name):
            places |= covered
            in_name += weight
    return in_name / total, len(places) / max(1, len(name))


class LexicalQuery(Struct, frozen=True):
    """A parsed query. If it has no positive terms, the result is empty."""

    terms: tuple[Term, ...]
    negative: tuple[Term, ...] = ()

    @property
    def required(self) -> tuple[Term, ...]:
        """The terms that a document must have to match all terms."""
        return tuple(term for term in self.terms if not term.part)


def parse(text: str) -> LexicalQuery:
    """Parse a lexical query, from which filters were taken. Never fails: invalid syntax counts as text."""
    positive: list[Term] = []
    stops: list[Term] = []
    negative: list[Term] = []
    for match in _PIECE.finditer(text.translate(filters.QUOTES)):
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


_STAR = lazy(r"(?<=\w)\*(?!\S)")
_UNFINISHED = lazy(r"(?:^|\s)([^\W_][\w'’.-]*)\Z")


def as_typed(text: str) -> str:
    """Return a query that is still being typed, with `*` after its last word if that may be unfinished.

    A filter, a quoted or excluded word, a word without a subject after others, a single character and a word
    of an unspaced script stay as they are.
    """
    match = _UNFINISHED.search(text)
    if match is None or text.translate(filters.QUOTES).count('"') % 2:
        return text
    word = match[1]
    stops = word.lower() in ENGLISH_STOP_WORDS and match.start(1)
    return text if len(word) < 2 or stops or tokens.is_unspaced(tokens.fold(word)[-1]) else text + "*"


def as_prose(text: str) -> str:
    """Return a query as a model should read it: without `*` after the beginnings of words."""
    return _STAR.sub("", text)


def _plain(piece: str, stops: list[Term] | None = None) -> Iterator[Term]:
    """Yield the terms of an unquoted piece. Append stop words to `stops` instead, if it is given."""
    prefix = piece.endswith("*")
    if stops is not None and not prefix and not piece.isascii() and (rest := _unasked(piece)) != piece:
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
        if stops is not None and not prefix and len(words) == 1 and words[0] in ENGLISH_STOP_WORDS:
            stops.append(_word(words))
            continue
        parts = [*chain.from_iterable(map(_letters_and_digits, words))]
        yield _joined(group, words, parts, prefix and last and not tokens.is_symbols(group[0]))
        if max(len(words), len(parts)) > 1:
            yield from _singly(words, parts)


def _joined(group: Sequence[str], words: tuple[str, ...], parts: Sequence[str], prefix: bool) -> Term:
    """Return the term of words that are written as one."""
    if prefix:
        return _beginning(words)
    if len(words) == 1 and not words[0].isalpha() and _HASH.fullmatch(words[0]):
        return replace(_longer(words), alternatives=(tuple(tokens.terms(words[0])),))
    return replace(_word(words), alternatives=(*_spellings(words, parts), *_letters(group)))


def _letters_and_digits(word: str) -> list[str]:
    """Return the runs of letters and of digits of a folded word."""
    if word.isalpha():
        return [word]
    if word.isascii() or word.isalnum():
        return _LETTERS_OR_DIGITS.findall(word)
    return _SIGNED_LETTERS.findall(word)


def _unasked(piece: str) -> str:
    """Return an unspaced run without question words."""
    rest = _QUESTION_WORDS.sub(" ", piece)
    if _KANA.search(rest):
        return rest
    return _FUNCTION_CHARACTERS.sub(lambda match: match["word"] or " ", rest)


def _singly(words: Sequence[str], parts: Sequence[str]) -> Iterator[Term]:
    """Yield the words of a group, and the parts of its words, by themselves."""
    # A part of one character says too little by itself, unless it was typed as a word.
    singly = dict.fromkeys((*words, *(part for part in parts if len(part) > 1)))
    for word in singly if len(words) > 1 else [*singly][1:]:
        yield Term(tuple(tokens.terms(word)), (word,), part=True)


def _spellings(words: Sequence[str], parts: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Return other spellings of joined words: together, and apart between letters and digits.

    So `GPT4` also finds `GPT-4` and `GPT 4`, and the other way round, and `2.10.1` finds `v2.10.1`.
    """
    together = "".join(words)
    spellings = list[tuple[str, ...]]()
    if len(words) > 1 and _VERSION.fullmatch(words[0]) and "".join(words[1:]).isdigit():
        spellings.append((words[0][1:] if words[0][0] == "v" else f"v{words[0]}", *words[1:]))
    written = tuple(term for word in words for term in tokens.terms(word))
    if 1 < len(parts) <= _MAX_PARTS and together.isalnum():
        spellings.append(tuple(tokens.terms(together)))
        spellings.append(tuple(term for part in parts for term in tokens.terms(part)))
    return tuple(spelling for spelling in dict.fromkeys(spellings) if spelling and spelling != written)


def _letters(words: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Return the terms of words, as typed, with `ae` for `ä` and the like, and the other way in a phrase.

    In the index a word with `ä` has both terms, but the second is not among the words beside it.
    """
    forms = [tuple(tokens.second_form(word) or tokens.stem(tokens.fold(word)) for word in words)]
    if len(words) > 1:
        forms.append(tuple(tokens.stem(_in_one(tokens.fold(word))) for word in words))
    written = tuple(tokens.stem(tokens.fold(word)) for word in words)
    return tuple(form for form in dict.fromkeys(forms) if form != written and all(map(str.isalnum, form)))


def _in_one(word: str) -> str:
    """Return what a folded word may be written for. English words with two vowels are mostly short."""
    return letters.in_one(word) if len(word) > _SHORT else word


def _run(run: str, prefix: bool) -> Iterator[Term]:
    """Yield the bigrams of an unspaced run as terms. A single character is the prefix of a bigram."""
    folded = tokens.fold(run)
    if len(folded) == 1:
        yield Term((folded,), (folded,), prefix=True)
        return
    for bigram in tokens.bigrams(folded)[:-1]:
        yield Term((bigram,), (bigram,))
    if prefix:
        yield Term((folded[-1],), (folded[-1],), prefix=True, part=True)


def _word(words: tuple[str, ...]) -> Term:
    return Term(tuple(term for word in words for term in tokens.terms(word)), words)


def _longer(words: tuple[str, ...]) -> Term:
    # The index contains stems, so the last word is not stemmed.
    return Term(
        (*(term for word in words[:-1] for term in tokens.terms(word)), words[-1]), words, prefix=True
    )


def _beginning(words: tuple[str, ...]) -> Term:
    """Return the term of joined words of which the last is a beginning.

    The stem of a longer word may be shorter than its beginning (performanc* → perform).
    """
    longer = _longer(words)
    stems = _completions(words[-1])
    return replace(longer, alternatives=tuple((*longer.tokens[:-1], stem) for stem in stems))


def with_stops_apart(query: LexicalQuery, is_found: Callable[[Term], bool]) -> LexicalQuery:
    """Return a query in which words without a subject are apart from the beginnings that they complete.

    They may be stems (willi* → will), but are in most documents. So they count as much as the others only if
    no document has these.
    """
    terms: list[Term] = []
    for term in query.terms:
        stops = (
            [form for form in term.alternatives if len(form) == 1 and form[0] in ENGLISH_STOP_WORDS]
            if term.prefix
            else []
        )
        others = tuple(form for form in term.alternatives if form not in stops)
        if stops and is_found(other := replace(term, alternatives=others)):
            terms += [other, *(Term(form, form, part=True, weight=_WEAK) for form in stops)]
        else:
            terms.append(term)
    return replace(query, terms=tuple(terms))


def _phrase(text: str, prefix: bool) -> Term | None:
    """Return a quoted text as one term; None if it has no words. Markup in it is not seen, as in texts."""
    text = seen_markdown(text)[0]
    words = tuple(tokens.fold(word) for word in tokens.words(text))
    if not words:
        return None
    parts = tokens.terms(text)
    alternatives: tuple[tuple[str, ...], ...] = ()
    if tokens.is_unspaced(words[-1]):
        if len(words[-1]) == 1:
            prefix = True  # the character may be anywhere in a run except at its end
        elif not prefix:
            parts = parts[:-1]
            # The text may have two runs without the space between them.
            joined = tokens.terms(_GAPS.sub("", text))[:-1]
            alternatives = (tuple(joined),) if joined != parts else ()
    elif not prefix and not any(map(tokens.stands_alone, words)):
        alternatives = _letters(tokens.words(text))
    elif tokens.is_symbols(words[-1]):
        prefix = False
    elif prefix:
        parts[-1] = words[-1]
        alternatives = tuple((*parts[:-1], stem) for stem in _completions(words[-1]))
    return Term(tuple(parts), words, prefix=prefix, quoted=True, alternatives=alternatives)


_GAPS = lazy(rf"(?<=[{tokens.UNSPACED}])\s+(?=[{tokens.UNSPACED}])")
#: The tails of English endings: one of them makes of every beginning of a word one with the stem of the word.
_TAILS = frozenset(
    ending[at:]
    for ending in """
        able ible ing tion ation ality ility ement eous fulness iveness ism er ative ize ally ics ed ted led
        es
    """.split()
    for at in range(len(ending) + 1)
)
#: The weight of a word without a subject that may be the stem of a longer one.
_WEAK = 0.1


def _completions(word: str) -> list[str]:
    """Return stems of words that start with `word`, if the stems do not."""
    if not word.isascii():
        return []
    return sorted({stem for tail in _TAILS if not (stem := tokens.stem(word + tail)).startswith(word)})


def longer_words(term: Term) -> Term | None:
    """Return a term that matches longer words; None if the term cannot have one.

    It has no stems, which are shorter than the word and would match words that do not start with it.
    """
    last = term.words[-1]
    if term.prefix or term.quoted or term.part or tokens.stands_alone(last) or len(last) < 2:
        return None
    return _longer(term.words)


def _unique(terms: list[Term]) -> tuple[Term, ...]:
    seen: dict[tuple[tuple[str, ...], bool], Term] = {}
    for term in terms:
        if term.tokens:
            key = (term.tokens, term.prefix)
            if key not in seen or (seen[key].part and not term.part):
                seen[key] = term
    return tuple(seen.values())


_FOREIGN = lazy(
    r"(?P<quoted>\"[^\"]*\")|(?<!\S)(?:(?P<operator>AND|OR|NOT)(?=\s+(?P<next>\S+))"
    r"|(?P<regex>/(?=\S)[^/]*[\\\[\](){}*+?^$|][^/]*/[a-z]*)(?!\S))"
)
_ADVICE = {
    "NOT": "NOT is a word here: -{word} leaves out the documents that have it",
    "AND": "AND is a word here: write the words alone, and documents with all of them come first",
    "OR": "OR is a word here: write the words alone, and documents with any of them are found",
    "": "{word} is text here: word* finds words that begin so, and quotes find words that stand together",
}


def foreign_operators(text: str) -> list[str]:
    """Return the replacement of each operator of other search engines in a query, once.

    In a text of capitals alone they are words.
    """
    if "/" not in text and not any(word in text for word in _ADVICE if word):
        return []
    found = [match for match in _FOREIGN.finditer(text) if not match["quoted"]]
    rest = text
    for match in found:
        rest = rest.replace(match[0], "", 1)
    return [
        *dict.fromkeys(
            _ADVICE[match["operator"] or ""].format(word=(match["next"] or match["regex"])[:60])
            for match in found
            if match["regex"] or (not rest.isupper() and (match["operator"] == "NOT" or match.start()))
        )
    ]


class QueryDocument(Struct, frozen=True):
    """A query document: typed searches and an intent, or a plain question to expand."""

    expand: str | None = None
    searches: tuple[TypedSearch, ...] = ()
    intent: str | None = None


_SEARCHES: dict[str, SearchType] = {"lex": "lex", "vec": "vec", "hyde": "hyde"}
_LINE = lazy(r"\s*(lex|vec|hyde|intent|expand)\s*:(.*)", re.IGNORECASE | re.DOTALL)


def parse_document(text: str) -> QueryDocument:
    """Parse a query document. Raises `QueryError`, which names the line, if it is invalid."""
    # Not splitlines(), because it also splits at some control characters.
    written = re.split(r"\r\n?|\n", text)
    lines = [(number, line) for number, line in enumerate(written, 1) if line.strip()]
    if len(lines) > MAX_LINES:
        raise QueryError(f"the query has {len(lines)} lines; the maximum is {MAX_LINES}", "remove some lines")
    if not lines:
        raise QueryError(
            "the query is empty", "enter some words, or lines that begin with lex:, vec: or hyde:"
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
                f"line {number}: does not begin with lex:, vec:, hyde:, intent: or expand:",
                "in a query of several lines, every line needs a type; a plain query has one line",
            )
        kind, value = match[1].lower(), match[2].strip()
        if not value:
            raise QueryError(f"line {number}: nothing after '{kind}:'")
        if kind == "intent":
            if intent is not None:
                raise QueryError(f"line {number}: a second intent:", "use only one intent: line")
            intent = value
        elif kind == "expand":
            if len(lines) > 1:
                raise QueryError(
                    f"line {number}: expand: cannot be combined with other lines", "remove the other lines"
                )
            expand = value
        else:
            searches.append(TypedSearch(_SEARCHES[kind], value))
    if intent is not None and not searches:
        raise QueryError("line 1: intent: alone is not a search", "add at least one lex:, vec: or hyde: line")
    return QueryDocument(expand=expand, searches=tuple(searches), intent=intent)


_EXCLUSION = lazy(r'(?:^|\s)(-[\w"]\S*)')


def refuse_exclusions(searches: Iterable[TypedSearch]) -> None:
    """Raise `QueryError` if a vector search excludes words, because only lexical searches can."""
    for search in searches:
        exclusion = _EXCLUSION.search(search.query) if search.type != "lex" else None
        if exclusion is not None:
            raise QueryError(
                f"{search.type}: cannot exclude {exclusion[1]!r}",
                f"add a line with words to find and to exclude: 'lex: words {exclusion[1]}'",
            )
