"""Citations of real text, as they are and mutated, for tests and `bench/citations.py`.

All choices come from a seed, so a run can be repeated.
"""

from __future__ import annotations

import random
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct

#: A sentence of prose: it begins and ends as sentences do, and has no marks of tables and links.
_LATIN = r"[A-Z][^\n.!?\"|<>\[\]{}\\]{25,180}(?:\n[^\n.!?\"|<>\[\]{}\\#>]{5,120})?[.!?](?=\s)"
_CHINESE = r"[\u4e00-\u9fff][^\n。！？「」“”\"|<>\[\]{}\\`]{8,80}[。！？]"
_SENTENCE = re.compile(rf"(?:(?<=\n)|(?<=[.!?] )|(?<=[。！？]))(?:{_LATIN}|{_CHINESE})")
_FENCE = re.compile(r"^```.*?^```|\A---\n.*?^---$", re.M | re.S)
_WORD = re.compile(r"[A-Za-z]{4,}")
_NEGATION = re.compile(r"\b(?:not|never|no|cannot|without)\b ?|n't\b|[不没未无]")
_HAN = re.compile(r"[\u4e00-\u9fff]")
#: How a citation and its quotation stand in a text.
FORMS: tuple[str, ...] = (
    'It says "{quote}" ({at}).',
    "“{quote}” ({at})",
    'According to {at}, "{quote}"',
    "`{at}` says: “{quote}”",
    'As "{quote}" [{mark}] shows.\n\n[{mark}]: {at}',
    "As “{quote}”[^{mark}] shows.\n\n[^{mark}]: {at}",
    "> {block}\n>\n> — {at}",
    "{at} has this:\n\n> {block}",
    "据 {at}：「{quote}」",
    '- "{quote}" — {at}',
    '| "{quote}" | {at} |',
    "[“{quote}”]({at})",
)


class Case(Struct, frozen=True):
    """A citation with a quotation: the text, how it was made, and the document that it cites."""

    text: str
    kind: str
    file: str


class Sentence(Struct, frozen=True):
    """A sentence of a document and its lines."""

    file: str
    text: str
    first: int
    last: int


def sentences(documents: Mapping[str, str]) -> list[Sentence]:
    """Return the sentences of documents outside of code."""
    found = []
    for file, text in documents.items():
        blank = _FENCE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
        for match in _SENTENCE.finditer(f"\n{blank}"):
            first = blank.count("\n", 0, match.start() - 1) + 1
            found.append(Sentence(file, match[0], first, first + match[0].count("\n")))
    return found


class Generator:
    """Makes citations of some documents."""

    def __init__(self, documents: Mapping[str, str], seed: int) -> None:
        self._documents = documents
        self._flat = {file: _flat(text) for file, text in documents.items()}
        self._sentences = sentences(documents)
        self._files = sorted({sentence.file for sentence in self._sentences})
        assert len(self._files) > 1, "a citation of another file needs two documents"
        self._random = random.Random(seed)
        self._number = 0
        self.mutations: Mapping[str, Callable[[Sentence], tuple[str, str] | None]] = {
            "lines": self._lines,
            "word": self._word,
            "negation added": self._negation_added,
            "negation removed": self._negation_removed,
            "number": self._numbered,
            "other file": self._other_file,
            "no such file": self._no_file,
            "words left out": self._left_out,
            "words added": self._added,
            "words in another order": self._reordered,
        }

    def right(self, count: int) -> Iterator[Case]:
        """Yield citations that hold, as people write them: with other typography, wraps and ellipses."""
        for _ in range(count):
            sentence = self._random.choice(self._sentences)
            yield self._case("right", sentence, self._as_written(sentence.text), self._at(sentence))

    def wrong(self, count: int) -> Iterator[Case]:
        """Yield citations that do not hold, of each kind in turn."""
        made, kinds = 0, list(self.mutations)
        while made < count:
            kind = kinds[made % len(kinds)]
            sentence = self._random.choice(self._sentences)
            mutated = self.mutations[kind](sentence)
            if mutated is None:
                continue
            quote, at = mutated
            file = at.partition(":")[0].partition("#")[0]
            # The mutation may by chance make what stands there.
            if kind != "lines" and _flat(quote).strip(".!?。！？ ") in self._flat.get(file, ""):
                continue
            made += 1
            yield self._case(kind, sentence, self._as_written(quote, shorten=False), at)

    def _case(self, kind: str, sentence: Sentence, quote: str, at: str) -> Case:
        self._number += 1
        forms = [form for form in FORMS if not ("(" in quote and "{quote}](" in form)]
        form = self._random.choice(forms)
        if "「" in form:
            quote = quote.replace("「", "").replace("」", "")
        block = quote.replace("\n", "\n> ")
        text = form.format(quote=quote, at=at, block=block, mark=f"n{self._number}")
        return Case(text, kind, sentence.file)

    def _at(self, sentence: Sentence, lines: tuple[int, int] | None = None) -> str:
        first, last = lines or (sentence.first, sentence.last)
        if first == last:
            return f"{sentence.file}:{first}"
        return self._random.choice(
            (f"{sentence.file}:{first}-{last}", f"{sentence.file}:{first}:{last - first + 1}")
        )

    def _as_written(self, quote: str, *, shorten: bool = True) -> str:
        """Return a quotation with some of the differences that are none."""
        choose = self._random.random
        if choose() < 0.5:
            quote = " ".join(quote.split("\n"))
        if choose() < 0.2:
            quote = quote.replace(" ", "\n", 1) if choose() < 0.5 else quote.replace(" ", "  ")
        if choose() < 0.3:
            quote = re.sub(r"\*\*|`", "", quote)
        if choose() < 0.2:
            quote = unicodedata.normalize("NFD", quote)
        if choose() < 0.3:
            quote = quote.replace("'", "’").replace(" - ", " — ")
        if choose() < 0.3:
            quote = quote.rstrip(".")
        words = quote.split(" ")
        if shorten and choose() < 0.2 and len(words) > 8 and "`" not in quote and "(" not in quote:
            start = self._random.randrange(2, len(words) - 4)
            end = start + self._random.randrange(1, 3)
            left_out, edge = words[start:end], words[start - 1 : start] + words[end : end + 1]
            if not _NEGATION.search(" ".join(left_out)) and all(each.isalpha() for each in left_out + edge):
                words[start:end] = [self._random.choice(("...", "…", "[...]", "[…]"))]
                quote = " ".join(words)
        return quote

    def _lines(self, sentence: Sentence) -> tuple[str, str] | None:
        total = self._documents[sentence.file].count("\n")
        shift = self._random.choice((-20, -7, -3, -2, -1, 1, 2, 3, 7, 20))
        lines = sentence.first + shift, sentence.last + shift
        flat = _flat("\n".join(self._documents[sentence.file].split("\n")[max(lines[0] - 1, 0) : lines[1]]))
        if lines[0] < 1 or lines[1] > total or _flat(sentence.text).strip(".!?。！？ ") in flat:
            return None
        return sentence.text, self._at(sentence, lines)

    def _word(self, sentence: Sentence) -> tuple[str, str] | None:
        """Exchange a word for one of another sentence."""
        pattern = _HAN if _HAN.match(sentence.text) else _WORD
        own = list(pattern.finditer(sentence.text))
        others = pattern.findall(self._random.choice(self._sentences).text)
        if not own or not others:
            return None
        match, other = self._random.choice(own), self._random.choice(others)
        if other.casefold() == match[0].casefold():
            return None
        return sentence.text[: match.start()] + other + sentence.text[match.end() :], self._at(sentence)

    def _negation_added(self, sentence: Sentence) -> tuple[str, str] | None:
        text = sentence.text
        if _HAN.match(text):
            at = self._random.randrange(2, len(text) - 2)
            return text[:at] + self._random.choice("不没未") + text[at:], self._at(sentence)
        match = re.search(r"\b(?:is|are|was|can|may|must|does|do|will|has|have)\b", text)
        if match is None:
            return None
        return f"{text[: match.end()]} not{text[match.end() :]}", self._at(sentence)

    def _negation_removed(self, sentence: Sentence) -> tuple[str, str] | None:
        found = list(_NEGATION.finditer(sentence.text))
        if not found:
            return None
        match = self._random.choice(found)
        text = sentence.text[: match.start()] + sentence.text[match.end() :]
        return text, self._at(sentence)

    def _numbered(self, sentence: Sentence) -> tuple[str, str] | None:
        """Change a number, or add one."""
        found = list(re.finditer(r"\d", sentence.text))
        if found:
            match = self._random.choice(found)
            digit = str((int(match[0]) + self._random.randrange(1, 10)) % 10)
            return sentence.text[: match.start()] + digit + sentence.text[match.end() :], self._at(sentence)
        at = sentence.text.find(" ", len(sentence.text) // 2)
        number = self._random.randrange(2, 999)
        if at < 0:
            at = len(sentence.text) // 2
        return f"{sentence.text[:at]} {number}{sentence.text[at:]}", self._at(sentence)

    def _other_file(self, sentence: Sentence) -> tuple[str, str] | None:
        file = self._random.choice(self._files)
        if _flat(sentence.text).strip(".!?。！？ ") in self._flat[file]:
            return None
        line = self._random.randrange(1, self._documents[file].count("\n") + 1)
        return sentence.text, self._random.choice((file, f"{file}:{line}"))

    def _no_file(self, sentence: Sentence) -> tuple[str, str] | None:
        stem, dot, suffix = sentence.file.rpartition(".")
        return (
            sentence.text,
            f"{stem}-{self._random.choice(('2019', 'draft', 'summary'))}{dot}{suffix}:{sentence.first}",
        )

    def _left_out(self, sentence: Sentence) -> tuple[str, str] | None:
        words = sentence.text.split(" ")
        if len(words) < 6:
            return None
        at = self._random.randrange(1, len(words) - 1)
        if not re.search(r"\w", words[at]):
            return None
        return " ".join(words[:at] + words[at + 1 :]), self._at(sentence)

    def _added(self, sentence: Sentence) -> tuple[str, str] | None:
        words = sentence.text.split(" ")
        if len(words) < 4:
            return None
        at = self._random.randrange(1, len(words))
        word = self._random.choice(("always", "safely", "rarely", "all", "only", "automatically"))
        return " ".join([*words[:at], word, *words[at:]]), self._at(sentence)

    def _reordered(self, sentence: Sentence) -> tuple[str, str] | None:
        words = sentence.text.split(" ")
        if len(words) < 6:
            return None
        at = self._random.randrange(0, len(words) - 2)
        if words[at].casefold() == words[at + 1].casefold():
            return None
        words[at], words[at + 1] = words[at + 1], words[at]
        return " ".join(words), self._at(sentence)


def _flat(text: str) -> str:
    """Return a text as words only: what a mutation must not produce by chance."""
    return " ".join(re.sub(r"[*`_>#]", "", text).split()).casefold()


def drafts(cases: Sequence[Case], size: int = 250) -> Iterator[tuple[str, Sequence[Case]]]:
    """Yield texts with several citations each, a paragraph for each, and the citations."""
    for at in range(0, len(cases), size):
        part = cases[at : at + size]
        yield "\n\n".join(f"{case.text}\n\nA paragraph between." for case in part), part
