"""Synonyms of words that have other names: how much of the ranking they bring back.

    python bench/synonyms.py FOLDER [--work DIR] [--json OUT]

`FOLDER` has documents and questions as `languages.py` reads them. Two rare words of each question get
invented names, which are its synonyms. By words: the names replace the words in one half of the documents, or
in all; nDCG@10 of `search` without synonyms, and with several weights. By meaning: the names replace the
words in the questions alone, or are synonyms that neither questions nor documents have.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import re
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct, to_builtins
from msgspec.json import decode

from common import say, table, write_json  # isort: skip  (puts src/ on the path)

import qmd
from qmd.text import query as lexical

WEIGHTS = (0.25, 0.5, 0.75, 1.0)
_WORD = re.compile(r"[^\W\d_]{4,}")
#: A word in a larger share of the documents is not renamed.
_COMMON = 0.4


class Result(Struct):
    """nDCG@10 of the questions in a setting; `weight` is None without synonyms."""

    setting: str
    weight: float | None
    ndcg: float


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--work", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.work) as work:
        results = measure(options.folder, Path(work))
    rows = [(r.setting, "-" if r.weight is None else r.weight, f"{r.ndcg:.4f}") for r in results]
    print(table(("setting", "weight", "nDCG@10"), rows))
    write_json(options.json, {"results": to_builtins(results)})


def measure(folder: Path, work: Path) -> list[Result]:
    texts = {path.name: path.read_text("utf-8") for path in sorted((folder / "docs").iterdir())}
    queries = {row["_id"]: row["text"] for row in map(decode, (folder / "queries.jsonl").open("rb"))}
    rows = (line.split("\t") for line in (folder / "qrels.tsv").read_text().splitlines()[1:])
    judged = {queries[query]: f"{document}.md" for query, document, _ in rows}
    names = _names(texts, judged)
    dice = random.Random(7)
    half = {name: _renamed(text, names) if dice.random() < 0.5 else text for name, text in texts.items()}
    every = {name: _renamed(text, names) for name, text in texts.items()}
    results = []
    used = lexical._SYNONYM
    for setting, documents in (("half renamed", half), ("all renamed", every)):
        place = work / setting
        results.append(Result(setting, None, _ndcg(place, documents, judged, {}, "search")))
        for weight in WEIGHTS:
            lexical._SYNONYM = weight
            results.append(Result(setting, weight, _ndcg(place, documents, judged, names, "search")))
    lexical._SYNONYM = used
    asked = {_renamed(text, names): name for text, name in judged.items()}
    for setting, questions in (("questions renamed, meaning", asked), ("nothing renamed, meaning", judged)):
        for synonyms in ({}, names):
            ndcg = _ndcg(work / "meaning", texts, questions, synonyms, "vsearch")
            results.append(Result(setting, used if synonyms else None, ndcg))
    return results


def _names(texts: Mapping[str, str], questions: Mapping[str, str]) -> dict[str, str]:
    """Return names for the two rarest words of each question that documents have."""
    counts: Counter[str] = Counter()
    for text in texts.values():
        counts.update({word.lower() for word in _WORD.findall(text)})
    names: dict[str, str] = {}
    for question in questions:
        words = {word.lower() for word in _WORD.findall(question)}
        rare = [word for word in words if 0 < counts[word] <= _COMMON * len(texts)]
        for word in sorted(rare, key=lambda each: (counts[each], each))[:2]:
            at = len(names)
            names.setdefault(word, f"qz{chr(97 + at // 676)}{chr(97 + at // 26 % 26)}{chr(97 + at % 26)}k")
    return names


def _renamed(text: str, names: Mapping[str, str]) -> str:
    return _WORD.sub(lambda word: names.get(word[0].lower(), word[0]), text)


def _ndcg(
    place: Path,
    texts: Mapping[str, str],
    questions: Mapping[str, str],
    synonyms: Mapping[str, str],
    mode: str,
) -> float:
    """Return nDCG@10 of questions, each with the one document that answers it."""
    config, environ = place / "index.yml", {**os.environ, "QMD_WATCH": "0"}
    if not config.exists():
        (place / "docs").mkdir(parents=True)
        for name, text in texts.items():
            (place / "docs" / name).write_text(text, "utf-8")
        with qmd.open_index(place / "index.sqlite", config=config, environ=environ) as index:
            index.add_collection(place / "docs", "docs")
            index.update()
            if mode == "vsearch":
                index.embed()
    base = config.read_text("utf-8").partition("synonyms:")[0]
    lines = [f"  {word}: {name}\n" for word, name in synonyms.items()]
    config.write_text(base + ("synonyms:\n" + "".join(lines) if lines else ""), "utf-8")
    total = 0.0
    with qmd.open_index(place / "index.sqlite", config=config, environ=environ) as index:
        for text, name in questions.items():
            hits = (index.search if mode == "search" else index.vsearch)(text, limit=10).hits
            total += next((1 / math.log2(at) for at, hit in enumerate(hits, 2) if hit.path == name), 0.0)
    say(f"{place.name}: {total / len(questions):.4f}")
    return total / len(questions)


if __name__ == "__main__":
    main()
