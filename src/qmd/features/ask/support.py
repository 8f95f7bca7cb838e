"""Whether a quotation supports a sentence, as far as words can tell.

That the quotation stands in the document is proven before. Here a sentence is refused that says more than it:
other numbers, names with signs such as addresses, or words. It is strict: a true sentence may be refused.
"""

from __future__ import annotations

from qmd.features.evidence.verbatim import AFTERWARDS, VerbatimWords, is_negation
from qmd.text.languages import detect, is_stop_word
from qmd.text.query import parse
from qmd.text.regex import lazy

#: Fewer words prove nothing.
LEAST_WORDS = 3
#: The share of the words of a sentence that its passage or the question must have, in the same language, and
#: of its signs in Chinese and Japanese. Chosen by tests/features/ask/support.json, in four languages: of 51
#: true sentences 50 are kept, and 2 of 49 wrong ones; with half of all words it was 37 and 4.
_WORDS, _SIGNS = 0.42, 0.55
#: Han and katakana; hiragana are endings, which texts about anything have in common.
_SIGN = lazy(r"[\u30a1-\u30fa\u3400-\u9fff]")
_UNSPACED = lazy(r"[\u3041-\u30ff\u3400-\u9fff]")
_NUMBER = lazy(r"\d{1,40}")
#: A word with a sign inside: an address, a path, a version, a time, a decimal.
_SIGNED = lazy(r"\w[^\s\w]{0,2}[./:@\\]\S")
_SPACES = lazy(r"\s{1,20}")


def is_supported(sentence: str, quote: str, passage: str, question: str) -> bool:
    """Tell whether a sentence says no more than a quotation in its passage.

    Args:
        sentence: The sentence.
        quote: Words that stand in the passage.
        passage: The passage.
        question: What was asked, whose words the sentence may repeat.
    """
    if not sentence or len(VerbatimWords(quote)) < LEAST_WORDS:
        return False
    if not {*_NUMBER.findall(sentence)} <= {*_NUMBER.findall(quote)}:
        return False
    known = passage.casefold()
    signed = (word.strip("\"'()[]{}<>.,;:!?`*") for word in _SPACES.split(sentence))
    if any(_SIGNED.search(word) and word.casefold() not in known for word in signed):
        return False
    if _languages_differ(sentence, passage):
        return True
    if _is_negative(sentence) != _is_negative(quote):
        return False
    language = detect(passage)
    words, there, asked = (_words(text, language) for text in (sentence, passage, question))
    least = _SIGNS if _SIGN.search(sentence) else _WORDS
    return bool(words & there) and len(words & (there | asked)) >= least * len(words)


def _is_negative(text: str) -> bool:
    words = VerbatimWords(text).folded
    return any(map(is_negation, words)) or any(negation in "".join(words) for negation in AFTERWARDS)


def _words(text: str, language: str | None) -> set[str]:
    """Return the words of a text, without negations and stop words, and signs of scripts without spaces."""
    return {*_SIGN.findall(text)} | {
        word
        for word in _terms(text)
        if not (_UNSPACED.search(word) or is_negation(word) or (language and is_stop_word(word, language)))
    }


def _languages_differ(sentence: str, passage: str) -> bool:
    """Tell whether both languages are known, or the scripts, and differ."""
    ours, theirs = detect(sentence), detect(passage)
    if ours and theirs:
        return ours != theirs
    return sentence.isascii() != passage.isascii() and _terms(sentence).isdisjoint(_terms(passage))


def _terms(text: str) -> set[str]:
    return {token for term in parse(text).terms for token in term.tokens}
