"""The same pages and questions in several languages: ranking, and whether scores mean the same in each.

    python bench/languages.py FOLDER FAR [--languages en,de] [--modes search,query] [--every N]
                              [--work DIR] [--json OUT]

`FOLDER` has collections named `SET_LANGUAGE`, each with `docs/`, `queries.jsonl` and `qrels.tsv` as BEIR has
them, and `FAR` everyday questions by language, which no document answers. Each question is asked in each mode
(own); each `NEAR`th also without the documents that answer it (near), and all far ones. What was measured is
kept beside each index, and only measured again if the code or the collection has changed.

nDCG@10 is of own questions. Of their right first hits, few may score below 0.3, and most should score 0.5
or more; of the first hits of far questions, hardly any 0.5 or more, and most below 0.3. The reliability of
scores is that of `calibration.py`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from math import log2
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from common import code_state, digest_of, say, table, write_json  # isort: skip  (puts src/ on the path)

import qmd
from calibration import reliability
from calibration_rows import Row
from qmd.ranking.calibration import ABOUT, RELATED
from quality import indexed_copy

MODES = ("search", "vsearch", "query")
DEPTH, NEAR = 10, 4


class Kept(Struct):
    """What was measured of a collection in a mode: the first hits, and the mean nDCG@10 of own questions."""

    state: str
    rows: list[Row]
    ndcg: float


class Result(Struct):
    """A language in a mode. Shares are of first hits: of own questions the right ones, of the others all."""

    language: str
    mode: str
    ndcg: float
    right: int
    right_about: float
    right_unrelated: float
    near_about: float
    far: int
    far_about: float
    far_unrelated: float


def main() -> None:
    options = _options()
    everyday = json.loads(options.far.read_text(encoding="utf-8"))
    folders: dict[str, list[Path]] = {}
    for folder in sorted(options.folder.iterdir()):
        language = folder.name.rpartition("_")[2]
        if language in (options.languages or [language]):
            folders.setdefault(language, []).append(folder)
    results, rows = list[Result](), list[Row]()
    for language, its in folders.items():
        for mode in options.modes:
            kept = [measured(folder, mode, everyday.get(language, []), options) for folder in its]
            found = [row for each in kept for row in each.rows]
            rows += found
            results.append(summed(language, mode, sum(each.ndcg for each in kept) / len(kept), found))
    results += [_mean(mode, [each for each in results if each.mode == mode]) for mode in options.modes]
    print(table([*Result.__struct_fields__], [_cells(each) for each in results]))
    diagrams = {
        mode: reliability([row for row in rows if row.mode == mode and row.kind != "near"])
        for mode in options.modes
    }
    write_json(
        options.json, {"results": [msgspec.to_builtins(each) for each in results], "reliability": diagrams}
    )


def measured(folder: Path, mode: str, far: Sequence[str], options: argparse.Namespace) -> Kept:
    """Return what is kept of a collection in a mode, measured now if it is not of this code."""
    work = options.work / folder.name
    file = work / f"languages-{mode}.json"
    state = f"{code_state()} {digest_of(folder)} {len(far)} {options.every}"
    if file.exists() and (kept := msgspec.json.decode(file.read_bytes(), type=Kept)).state == state:
        return kept
    questions = questions_of(folder)[:: options.every]
    kept = Kept(state, [], 0.0)
    with indexed_copy(folder / "docs", work, vectors=mode != "search") as index:
        for number, (text, answer) in enumerate(questions):
            hits = _ask(index, mode, text)
            ranks = [hit.path for hit in hits]
            if answer in ranks:  # no other does, so nDCG is the discount of its rank
                kept.ndcg += 1.0 / log2(ranks.index(answer) + 2) / len(questions)
            kept.rows.append(_row(folder.name, "own", mode, text, hits, answer))
            if number % NEAR == 0:
                others = {"field": "path", "operator": "nin", "value": [answer]}
                kept.rows.append(
                    _row(folder.name, "near", mode, text, _ask(index, mode, text, filter=others))
                )
        kept.rows += [_row(folder.name, "far", mode, text, _ask(index, mode, text)) for text in far]
    file.write_bytes(msgspec.json.encode(kept))
    say(f"{folder.name} {mode}: {kept.ndcg:.3f}")
    return kept


def questions_of(folder: Path) -> list[tuple[str, str]]:
    """Return the questions of a collection, each with the path of the document that answers it."""
    lines = (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    judged = (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]
    answers = {query: f"{document}.md" for query, document, _ in map(str.split, judged)}
    return [(each["text"], answers[each["_id"]]) for each in map(json.loads, lines)]


def summed(language: str, mode: str, ndcg: float, rows: Sequence[Row]) -> Result:
    right = [row.score for row in rows if row.relevant]
    near, far = ([row.score for row in rows if row.kind == kind] for kind in ("near", "far"))
    return Result(
        language,
        mode,
        ndcg,
        len(right),
        _share(score >= ABOUT for score in right),
        _share(score < RELATED for score in right),
        _share(score >= ABOUT for score in near),
        len(far),
        _share(score >= ABOUT for score in far),
        _share(score < RELATED for score in far),
    )


def _ask(index: qmd.Index, mode: str, text: str, **options: Any) -> Sequence[qmd.Hit]:
    asked: dict[str, Any] = {"limit": DEPTH, "explain": True, "min_score": 0.0, **options}
    if mode != "search":
        asked["timeout"] = None
    return getattr(index, mode)(text, **asked).hits  # type: ignore[no-any-return]


def _row(
    collection: str, kind: str, mode: str, text: str, hits: Sequence[qmd.Hit], answer: str | None = None
) -> Row:
    """Return the first hit; the score of none is 0."""
    if not hits:
        return Row(collection, kind, mode, text)
    found = (hits[0].explain or {})["likelihood"]
    relevant = hits[0].path == answer
    return Row(collection, kind, mode, text, relevant, hits[0].score, found["signals"], found["background"])


def _share(found: Iterator[bool]) -> float:
    values = [*found]
    return sum(values) / max(1, len(values))


def _mean(mode: str, results: Sequence[Result]) -> Result:
    """Return the mean of languages; the counts are sums."""
    of_numbers: dict[str, Any] = {}
    for name in Result.__struct_fields__[2:]:
        total = sum(getattr(each, name) for each in results)
        of_numbers[name] = total if name in ("right", "far") else total / len(results)
    return Result("all", mode, **of_numbers)


def _cells(result: Result) -> list[object]:
    return [f"{each:.3f}" if isinstance(each, float) else each for each in msgspec.structs.astuple(result)]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Ranking and scores in several languages.")
    parser.add_argument("folder", type=Path, help="folder of collections SET_LANGUAGE")
    parser.add_argument("far", type=Path, help="everyday questions by language")
    parser.add_argument("--languages", type=lambda text: text.split(","))
    parser.add_argument("--modes", type=lambda text: text.split(","), default=[*MODES])
    parser.add_argument("--every", type=int, default=1, help="use each Nth own question (1)")
    parser.add_argument("--work", type=Path, default=Path("bench-work"), help="folder of the indexes")
    parser.add_argument("--json", type=Path, help="write the result to this file")
    return parser.parse_args()


if __name__ == "__main__":
    main()
