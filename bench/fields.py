"""What fields and filters cost in an index of 100,000 documents, beside the same index without fields.

    python bench/fields.py --english FOLDER... --cjk FOLDER [--documents 100000] [--work DIR] [--json OUT]

The documents are those of `synthetic.py`, once as they are and once with ten fields each: two with few
values, one that 1% of the documents have, a number, a date, tags, and four with many values. Times are
processor milliseconds, medians over the same queries in turns.
"""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import qmd
import synthetic
from common import median, say, table, word_counts, write_json
from qmd.store.values import DocumentChange

SEED = 20261122
#: A search without a filter, and with one that keeps 1% and half of the documents.
FILTERS = {"none": {}, "1% (rare=yes)": {"where": "rare=yes"}, "half (half=0)": {"where": "half=0"}}


def with_fields(documents: Iterable[DocumentChange], chance: random.Random) -> Iterator[DocumentChange]:
    """Yield the documents with ten fields each."""
    for item in documents:
        number = item.fingerprint.mtime_ns
        fields: dict[str, tuple[Any, ...]] = {
            "status": (chance.choice(("draft", "review", "done")),),
            "half": (float(number % 2),),
            "priority": (float(chance.randrange(10)),),
            "due": (str(date(2020, 1, 1) + timedelta(chance.randrange(2_000))),),
            "tag": tuple(f"t{chance.randrange(200)}/{chance.randrange(5)}" for _ in range(2)),
            "project": (f"project {chance.randrange(500)}",),
            "owner": (f"person {chance.randrange(2_000)}",),
            "ticket": (f"T-{number}",),
            "reviewed": (chance.random() < 0.5,),
        }
        if number % 100 == 0:
            fields["rare"] = ("yes",)
        yield replace(item, source=replace(item.source, fields=fields))


def build(options: Any, english: synthetic.Vocabulary, plain: Path, fielded: Path) -> dict[str, float]:
    """Build both indexes, a batch of each by turns. Return the seconds of processor time of both.

    The words of a batch are known to the tokenizer when it is indexed again, so the turns change.
    """
    cjk = synthetic.Vocabulary.of(synthetic.chinese_counts(options.cjk))
    chance = random.Random(SEED)
    spent = {"plain": 0.0, "fields": 0.0}
    with synthetic.new_store(plain) as one, synthetic.new_store(fielded) as other:
        for number, batch in enumerate(synthetic.batches(english, cjk, options.documents)):
            turns = [("plain", one, batch), ("fields", other, [*with_fields(batch, chance)])]
            for name, store, documents in turns if number % 2 else reversed(turns):
                apply = partial(store.documents.apply, "synthetic", documents, [])
                spent[name] += milliseconds(apply) / 1000
        for name, store in (("plain", one), ("fields", other)):
            spent[name] += milliseconds(store.documents.refresh_statistics) / 1000
    return {name: round(seconds, 1) for name, seconds in spent.items()}


def milliseconds(call: Callable[[], object]) -> float:
    """Return the processor time of a call."""
    began = time.process_time()
    call()
    return (time.process_time() - began) * 1000


def main() -> None:
    options = synthetic._options()
    english = synthetic.Vocabulary.of(word_counts(options.english))
    options.work.mkdir(parents=True, exist_ok=True)
    plain, fielded = (options.work / f"{name}-{options.documents}.sqlite" for name in ("plain", "fields"))
    built = build(options, english, plain, fielded)
    queries = synthetic.questions(english, options.queries)
    sizes = {path.stem: round(path.stat().st_size / 1e6, 1) for path in (plain, fielded)}
    rows: list[list[Any]] = []
    with qmd.open_index(fielded) as index:
        for query in queries[:5]:
            index.search(query)
        times: dict[str, list[float]] = {name: [] for name in FILTERS}
        for query, (name, given) in itertools.product(queries[5:], FILTERS.items()):
            times[name].append(milliseconds(lambda query=query, given=given: index.search(query, **given)))
        rows += [[f"search, filter: {name}", round(median(spent), 2)] for name, spent in times.items()]
        listed = [milliseconds(lambda: index.fields(values=10)) for _ in range(5)]
        rows.append(["qmd fields", round(median(listed), 1)])
    print(table(["what", "cpu ms"], rows))
    ratio = round(built["fields"] / built["plain"], 3)
    say(f"processor seconds of indexing: {built}, with fields {ratio} of without; MB: {sizes}")
    result = {"rows": rows, "indexing_cpu_seconds": built, "indexing_ratio": ratio, "megabytes": sizes}
    write_json(options.json, result)


if __name__ == "__main__":
    main()
