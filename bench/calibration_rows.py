"""The questions of `calibration.py`, and the first hit of each: the rows that it judges scores by."""

from __future__ import annotations

import argparse
import json
import random
import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from common import EvalCollection, read_collection, say  # isort: skip  (puts src/ on the path)

import qmd
from qmd.ranking.calibration import estimate
from quality import prepared

MODES = ("search", "vsearch", "query without reranking", "query")
#: Questions of each other collection, and words and titles that one document alone has.
OTHER, WORDS, TITLES = 5, 12, 6
FEW, ALIKE = 8, 40
#: Each so many-th question is also asked of few documents.
SMALL = 3

#: Questions about subjects that no collection is about.
EVERYDAY = (
    "how do I get a red wine stain out of the carpet",
    "best guitar strings for a beginner",
    "why does my dog bark at night",
    "how long should I boil an egg",
    "what to pack for a hiking trip in the Alps",
    "symptoms of a sprained ankle",
    "who painted the Mona Lisa",
    "cheap flights to Lisbon in May",
    "sourdough starter smells of acetone",
    "how to prune roses in spring",
    "rules of offside in football",
    "kitchen sink drains slowly",
    "红烧肉怎么做才好吃",
    "孩子晚上不肯睡觉怎么办",
    "第一次养猫要准备什么",
    "下周末北京的天气怎么样",
    "怎么挑选新鲜的西瓜",
    "膝盖疼还能跑步吗",
    "结婚纪念日送什么礼物",
    "长城是哪个朝代修建的",
)

_WORD = re.compile(r"[A-Za-z_][\w-]{5,}|[\u4e00-\u9fff]{4}")


class Row(Struct, frozen=True):
    """The first hit of a question: whether it is relevant, its score and signals. Without hits, it is 0."""

    collection: str
    kind: str
    mode: str
    question: str
    relevant: bool = False
    score: float = 0.0
    signals: dict[str, float] = {}
    background: dict[str, float] = {}

    @property
    def part(self) -> str:
        """Its kind, with the word `right` if it answers."""
        return (f"right {self.kind}" if self.kind != "own" else "right") if self.relevant else self.kind

    @property
    def few_words(self) -> bool:
        return "words" not in self.signals

    @property
    def leads(self) -> dict[str, float]:
        return {name: value - self.background[name] for name, value in self.signals.items()}


def rows_of(at: int, folders: Sequence[Path], options: argparse.Namespace) -> list[Row]:
    """Return the rows of one collection. Kept ones are not measured again, only scored."""
    collections = [read_collection(folder) for folder in folders]
    collection = collections[at]
    kept = options.rows / f"{collection.name}.jsonl" if options.rows else None
    if kept and kept.exists():
        rows = [msgspec.json.decode(line, type=Row) for line in kept.read_bytes().splitlines()]
        return [replace(row, score=estimate(row.signals, row.background) or 0.0) for row in rows]
    work = options.work / collection.name
    with prepared(collection, work, vectors=True) as index:
        names = json.loads((work / "names.json").read_text(encoding="utf-8"))
        rows = [
            replace(row, collection=collection.name)
            for row in gathered(index, collection, collections, names, options.questions)
        ]
    if kept:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(b"\n".join(map(msgspec.json.encode, rows)))
    say(f"{collection.name}: {len(rows)} hits")
    return rows


def gathered(
    index: qmd.Index,
    collection: EvalCollection,
    collections: Sequence[EvalCollection],
    names: dict[str, str],
    questions: int,
) -> Iterator[Row]:
    """Ask a collection all kinds of questions in every mode."""
    chosen = random.Random(0)
    paths = {document: path for path, document in names.items()}
    ask = partial(_rows, index, names)
    own = {
        query: {document for document, grade in collection.qrels[query].items() if grade > 0}
        for query in collection.queries
    }
    judged = [query for query, relevant in own.items() if relevant]
    for number, query in enumerate(judged[:: max(1, len(judged) // questions)][:questions]):
        text, relevant = collection.queries[query], own[query]
        there = [paths[each] for each in sorted(relevant) if each in paths]
        yield from ask("own", text, relevant)
        yield from ask("near", text, set(), _condition("nin", there))
        if number % SMALL:
            continue
        others = chosen.sample([*names], min(FEW - 1, len(names)))
        yield from ask("few", text, relevant, _condition("in", [*there[:1], *others]))
        nearest = [hit.path for hit in index.vsearch(text, limit=ALIKE, timeout=None).hits]
        if there and there[0] in nearest:
            yield from ask("alike", text, relevant, _condition("in", nearest))
    for other in collections:
        if other.name != collection.name:
            for text in [*other.queries.values()][:: max(1, len(other.queries) // OTHER)][:OTHER]:
                yield from ask("other", text, set())
    for number, text in enumerate(EVERYDAY):
        yield from ask("far", text, set())
        if number % SMALL:
            continue
        few = chosen.sample([*names], min(FEW, len(names)))
        yield from ask("few far", text, set(), _condition("in", few))
    holders: dict[str, set[str]] = {}
    titles: dict[str, set[str]] = {}
    for document in collection.documents:
        for word in {*_WORD.findall(document.markdown)}:
            holders.setdefault(word.casefold(), set()).add(document.id)
        titles.setdefault(document.title, set()).add(document.id)
    for kind, owners, count in (("word", holders, WORDS), ("title", titles, TITLES)):
        unique = sorted(name for name, ids in owners.items() if name and len(ids) == 1)
        for name in chosen.sample(unique, min(count, len(unique))):
            yield from ask(kind, name, owners[name])


def _condition(operator: str, paths: Sequence[str]) -> dict[str, Any]:
    return {"field": "path", "operator": operator, "value": [*paths]}


def _rows(
    index: qmd.Index,
    names: dict[str, str],
    kind: str,
    text: str,
    relevant: set[str],
    where: dict[str, Any] | None = None,
) -> Iterator[Row]:
    """Ask one question in every mode."""
    common: dict[str, Any] = {"limit": 1, "explain": True, **({"filter": where} if where else {})}
    try:
        responses = {
            "search": index.search(text, **common),
            "vsearch": index.vsearch(text, timeout=None, **common),
            "query without reranking": index.query(text, rerank=False, timeout=None, **common),
            "query": index.query(text, timeout=None, **common),
        }
    except qmd.QmdError as error:
        say(f"{text}: {error}")
        return
    for mode, response in responses.items():
        row = Row("", kind, mode, text)
        for hit in response.hits:
            found = (hit.explain or {})["likelihood"]
            row = replace(
                row,
                relevant=names[hit.path] in relevant,
                score=hit.score,
                signals=found["signals"],
                background=found["background"],
            )
        yield row
