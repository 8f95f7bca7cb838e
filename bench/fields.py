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
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import synthetic
from common import median, say, table, word_counts, write_json
from qmd.store.values import DocumentChange

SEED = 20261122
#: A search without a filter, and with one that keeps 1% and half of the documents.
FILTERS = {"none": {}, "1% (rare=yes)": {"where": "rare=yes"}, "half (half=0)": {"where": "half=0"}}


def with_fields(documents: Iterator[DocumentChange]) -> Iterator[DocumentChange]:
    """Yield the documents with ten fields each."""
    chance = random.Random(SEED)
    for number, item in enumerate(documents):
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


def build(
    options: Any, name: str, make: Callable[[Iterator[Any]], Iterator[Any]]
) -> tuple[Path, dict[str, Any]]:
    """Build an index unless it is there; returns its file and what building cost."""
    english = synthetic.Vocabulary.of(word_counts(options.english))
    cjk = synthetic.Vocabulary.of(synthetic.chinese_counts(options.cjk))
    options.work.mkdir(parents=True, exist_ok=True)
    location = options.work / f"{name}-{options.documents}.sqlite"
    if location.exists():
        return location, {}
    made = synthetic._documents
    synthetic._documents = lambda *values: make(made(*values))
    try:
        return location, synthetic.build(location, english, cjk, options.documents)
    finally:
        synthetic._documents = made


def milliseconds(call: Callable[[], object]) -> float:
    """Return the processor time of a call."""
    began = time.process_time()
    call()
    return (time.process_time() - began) * 1000


def main() -> None:
    options = synthetic._options()
    import qmd

    plain, plain_cost = build(options, "plain", lambda documents: documents)
    fielded, field_cost = build(options, "fields", with_fields)
    english = synthetic.Vocabulary.of(word_counts(options.english))
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
    say(f"built: {plain_cost} without fields, {field_cost} with; MB: {sizes}")
    write_json(options.json, {"rows": rows, "plain": plain_cost, "fields": field_cost, "megabytes": sizes})


if __name__ == "__main__":
    main()
