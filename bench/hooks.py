"""Whether hooks speak when they should: prompts that notes answer, and prompts that they do not.

    python bench/hooks.py VAULT LOCOMO [--languages FOLDER] [--prompts N] [--work DIR] [--json OUT]

VAULT and LOCOMO are the checkouts that `peers.py` reads. Each question is a prompt to the index of its own
set (answered), to that of the other set (unrelated), and to its own without the files that answer it (near).
To both, people say what is no question (small talk). FOLDER has the collections and `far.json` of
`languages.py`: of those in `LANGUAGES`, the everyday questions are the unrelated ones.
A hook is silent if the best score is below the threshold, or no document is ahead of others. Without a
server it searches by words alone.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct, to_builtins

from common import say, table, write_json  # isort: skip  (puts src/ on the path)
import qmd
from languages import questions_of
from peer_sets import PEER_SETS, Corpus, Question
from peers import opened
from qmd.text import budget
from qmd.types import Hook
from quality import indexed_copy

THRESHOLDS = tuple(number / 100 for number in range(5, 100, 5))
LANGUAGES = ("de", "fr", "pl", "zh")
KINDS = ("answered", "unrelated", "near", "small talk")
#: What people tell an agent while it works: no note answers it.
SMALL_TALK = (
    "thanks, go on",
    "looks good to me",
    "show me the diff",
    "ok, continue with the next step",
    "yes please do that",
    "great, now run the tests",
    "can you explain that again",
    "that did not work",
    "please fix it and try again",
    "commit and push it",
    "no, undo the last change",
    "perfect, thank you so much",
    "let's go with the second one",
    "what do you think",
    "wait, stop for a moment",
    "hm, not quite what I meant",
    "sounds good, go ahead",
    "make it a bit shorter",
    "nice, that looks much better",
    "are you done yet",
    "danke, mach bitte weiter",
    "sieht gut aus",
    "zeig mir die Änderungen",
    "ja, genau so",
    "merci, continue",
    "c'est parfait, merci",
    "gracias, sigue así",
    "muéstrame los cambios",
    "grazie, vai avanti",
    "va bene così",
    "obrigado, continue",
    "ficou muito bom",
    "bedankt, ga maar door",
    "ziet er goed uit",
    "спасибо, продолжай дальше",
    "выглядит хорошо",
    "好的，继续",
    "看起来不错，谢谢",
    "给我看看改动",
    "いいね、続けてください",
    "좋아요, 계속해 주세요",
)


class Prompt(Struct, frozen=True):
    """A prompt: the value that must reach the threshold, tokens at the default one, and processor time."""

    index: str
    kind: str
    words_only: bool
    score: float
    tokens: int
    right: bool
    seconds: float


def main() -> None:
    options = _options()
    corpora = {"vault": _corpus("vault", options.vault), "locomo": _corpus("locomo", options.locomo)}
    sampled = {name: _sample(corpus.questions, options.prompts) for name, corpus in corpora.items()}
    asked = [
        each
        for name, corpus in corpora.items()
        for each in _measured(name, corpus, sampled, options.work / name)
    ]
    if options.languages:
        asked += [each for code in LANGUAGES for each in _in_language(code, options)]
    served = [*_served(asked)]
    shown = [row for row in served if row["threshold"] == Hook().threshold]
    print(table([*shown[0]], [[*row.values()] for row in shown]))
    write_json(options.json, {"prompts": options.prompts, "served": served, "all": to_builtins(asked)})


def _corpus(name: str, checkout: Path) -> Corpus:
    peer_set = PEER_SETS[name]
    return next(iter(peer_set.read(checkout / peer_set.data)))


def _sample(questions: Sequence[Question], number: int) -> list[Question]:
    answered = [each for each in questions if each.gold]
    return answered[:: max(1, len(answered) // number)][:number]


def _measured(name: str, corpus: Corpus, sampled: dict[str, list[Question]], work: Path) -> Iterator[Prompt]:
    with opened(corpus, work, ["query"]) as index:
        folder = Path(next(iter(index.config.collections.values())).path)
        for words_only in (True, False):
            for own, questions in sampled.items():
                for question in questions:
                    kind = "answered" if own == name else "unrelated"
                    yield _ask(index, name, kind, question, words_only)
            for text in SMALL_TALK:
                yield _ask(index, name, "small talk", Question(text, frozenset()), words_only)
        yield from _near(index, name, sampled[name], folder, work)
        say(f"{name}: done")


def _near(
    index: qmd.Index, name: str, questions: Sequence[Question], folder: Path, work: Path
) -> Iterator[Prompt]:
    """Ask questions without the files that answer them."""
    for question in questions:
        moved = [
            (folder / path, work / f"{number}.moved")
            for number, path in enumerate(question.gold | question.partly)
        ]
        for file, away in moved:
            file.rename(away)
        index.update()
        try:
            for words_only in (True, False):
                yield _ask(index, name, "near", question, words_only)
        finally:
            for file, away in moved:
                away.rename(file)
    index.update()


def _in_language(code: str, options: argparse.Namespace) -> Iterator[Prompt]:
    """Ask the questions of a translated help, and everyday ones in the same language."""
    name = f"o_{code}"
    folder, work = options.languages / name, options.work / name
    questions = [
        Question(text, frozenset({answer}))
        for text, answer in questions_of(folder)[:: max(1, 60 // options.prompts)]
    ]
    far = json.loads((options.languages / "far.json").read_text(encoding="utf-8"))[code]
    with indexed_copy(folder / "docs", work, vectors=True) as index:
        for words_only in (True, False):
            for question in questions:
                yield _ask(index, name, "answered", question, words_only)
            for text in far:
                yield _ask(index, name, "unrelated", Question(text, frozenset()), words_only)
        yield from _near(index, name, questions, work / "files", work)
    say(f"{name}: done")


def _ask(index: qmd.Index, name: str, kind: str, question: Question, words_only: bool) -> Prompt:
    start = time.process_time()
    found = index.recall(question.text, words_only=words_only)
    seconds = time.process_time() - start
    right = any(
        address.partition("/")[2].rpartition(":")[0] in question.gold for address in found.passages.values()
    )
    tokens = budget.count(found.text) if found.text else 0
    return Prompt(name, kind, words_only, found.score, tokens, right, seconds)


def _served(asked: Sequence[Prompt]) -> Iterator[dict[str, object]]:
    """Yield the shares of prompts at which something is said, by index, retriever and threshold."""
    for name in dict.fromkeys(each.index for each in asked):
        for words_only in (True, False):
            its = [each for each in asked if (each.index, each.words_only) == (name, words_only)]
            for threshold in THRESHOLDS:
                row: dict[str, object] = {"index": name, "words only": words_only, "threshold": threshold}
                for kind in KINDS:
                    scores = [each.score for each in its if each.kind == kind]
                    row[kind] = round(sum(score >= threshold for score in scores) / max(1, len(scores)), 3)
                answered = [each for each in its if each.kind == "answered"]
                row["right file"] = round(sum(each.right for each in answered) / max(1, len(answered)), 3)
                row["tokens a prompt"] = round(sum(each.tokens for each in answered) / max(1, len(answered)))
                row["ms a prompt"] = round(1000 * sum(each.seconds for each in its) / max(1, len(its)), 1)
                yield row


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Whether hooks speak when they should.")
    parser.add_argument("vault", type=Path, metavar="VAULT")
    parser.add_argument("locomo", type=Path, metavar="LOCOMO")
    parser.add_argument("--languages", type=Path, metavar="FOLDER", help="collections of `languages.py`")
    parser.add_argument("--prompts", type=int, default=200, help="prompts of each set (200)")
    parser.add_argument("--work", type=Path, default=Path("bench-work"), help="folder of the indexes")
    parser.add_argument("--json", type=Path, help="write the result to this file")
    return parser.parse_args()


if __name__ == "__main__":
    main()
