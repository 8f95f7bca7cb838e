"""What a model writes is read in pieces, and compared with the words that it quotes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from msgspec import Struct
from msgspec.json import decode

from qmd.features.ask.draft import Draft, DraftReader
from qmd.features.ask.support import is_supported

PASSAGE = "The nightly backup runs at 02:30 on the host falcon. We do not back up the cache."


class Case(Struct):
    """A passage with sentences and their quotations, which it supports or does not."""

    language: str
    question: str
    passage: str
    true: list[tuple[str, str]]
    wrong: list[tuple[str, str]]


CASES = decode(Path(__file__).with_name("support.json").read_bytes(), type=list[Case])


def read(*pieces: str) -> list[Draft]:
    reader = DraftReader()
    return [*(each for piece in pieces for each in reader.read(piece)), *reader.read("", last=True)]


@pytest.mark.parametrize(
    ("written", "drafts"),
    [
        ('It runs at two. [3] "at 02:00"', [Draft("It runs at two.", "at 02:00", 3)]),
        ("Es läuft um zwei. [3]: „um 02:00“", [Draft("Es läuft um zwei.", "um 02:00", 3)]),
        ("两点运行。[3] 「凌晨两点」", [Draft("两点运行。", "凌晨两点", 3)]),
        ('- **One**. Two [1] "of one"', [Draft("One."), Draft("Two.", "of one", 1)]),
        ("1. On 3. May it ends. [2]\nSecond", [Draft("On 3. May it ends."), Draft("Second.")]),
        ('<think>No. [1] "not this"</think>Yes [1] "but this"', [Draft("Yes.", "but this", 1)]),
        ('<think>never ends [1] "not this"', []),
        ("NOTHING", []),
        ("nothing.", []),
        ("***", []),
    ],
)
def test_sentences_are_read_with_their_quotations(written: str, drafts: list[Draft]) -> None:
    assert [each for each in read(written) if each.text or each.quote] == drafts


_PARTS = st.sampled_from(
    ['[1] "a b c"', "[2]", '"', "“", " One two. ", "Drei", "。", "\n", "<think>", "</think>", "- ", "x"]
)


@given(st.lists(_PARTS, max_size=12).map("".join), st.data())
def test_pieces_give_the_same_sentences_as_the_whole(text: str, data: st.DataObject) -> None:
    pieces, rest = [], text
    while rest:
        size = data.draw(st.integers(1, len(rest)))
        pieces.append(rest[:size])
        rest = rest[size:]
    assert read(*pieces) == read(text)


@given(st.text(max_size=80), st.text(max_size=80), st.text(max_size=80), st.text(max_size=80))
def test_support_takes_any_texts(sentence: str, quote: str, passage: str, question: str) -> None:
    assert isinstance(is_supported(sentence, quote, passage, question), bool)


@given(st.sampled_from(CASES), st.integers(0, 999))
def test_a_number_that_is_not_quoted_is_never_supported(case: Case, number: int) -> None:
    for sentence, quote in case.true:
        if str(number) not in quote:
            assert not is_supported(f"{sentence} {number}", quote, case.passage, case.question)


@pytest.mark.parametrize(
    ("sentence", "quote", "supported"),
    [
        ("The backup runs at 02:30.", "The nightly backup runs at 02:30", True),
        ("The backup runs at 03:30.", "The nightly backup runs at 02:30", False),
        ("We do back up the cache.", "We do not back up the cache", False),
        ("The cache is not in the backup.", "We do not back up the cache", True),
        ("See https://evil.example for the backup.", "The nightly backup runs at 02:30", False),
        ("The backup runs.", "the backup", False),
        ("Die Sicherung läuft um 02:30 und wird von uns nicht geprüft.", "backup runs at 02:30", True),
        ("", "The nightly backup runs at 02:30", False),
    ],
)
def test_a_sentence_says_no_more_than_its_quotation(sentence: str, quote: str, supported: bool) -> None:
    assert is_supported(sentence, quote, PASSAGE, "when does the backup run?") is supported


def test_most_true_sentences_are_kept_and_hardly_a_wrong_one() -> None:
    """The shares that are measured; `_WORDS` and `_SIGNS` were chosen by them."""
    kept = {
        truth: [
            is_supported(sentence, quote, case.passage, case.question)
            for case in CASES
            for sentence, quote in (case.true if truth else case.wrong)
        ]
        for truth in (True, False)
    }
    assert (sum(kept[True]), len(kept[True])) == (50, 51)
    assert (sum(kept[False]), len(kept[False])) == (2, 49)
