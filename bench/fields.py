"""Costs of fields and filters in an index of 100,000 documents, compared with an index without fields.

    python bench/fields.py --english FOLDER... --cjk FOLDER [--documents 100000] [--before SOURCE]
                           [--rounds 3] [--work DIR] [--json OUT]

The documents are those of `synthetic.py` as files, once as they are and once with front matter of ten fields:
two with few values, one that 1% of the documents have, a number, a date, tags, and four with many values.
Processes index and search them in turns: with fields, without fields, and, if `--before` is given (the `src`
folder of an earlier version), the files with fields by that version. Then searches with and without filters
run in this process in turns: medians of milliseconds of processor time.
"""

from __future__ import annotations

import argparse
import itertools
import random
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct, field

import qmd
import synthetic
from common import median, say, table, word_counts, write_json
from processes import Cost, Program, alternating
from qmd.store.values import DocumentChange

SEED = 20261122
#: Selectivities: a search without a filter, and with filters that keep 1% and half of the documents.
FILTERS = {"none": {}, "1% (rare=yes)": {"where": "rare=yes"}, "half (half=0)": {"where": "half=0"}}
_SEARCHES = 10  # as processes


class Variant(Struct):
    """A program, the files that it indexes, and the costs of its runs."""

    program: Program
    folder: Path
    indexing: list[Cost] = field(default_factory=list)
    searches: list[Cost] = field(default_factory=list)

    def row(self, first: Variant) -> list[Any]:
        """Return the name, and the medians with their ratio to those of another variant."""
        row: list[Any] = [self.program.name]
        for mine, other in ((self.indexing, first.indexing), (self.searches, first.searches)):
            for name in ("wall", "cpu"):
                spent, before = (median([getattr(cost, name) for cost in each]) for each in (mine, other))
                row += [round(spent, 2), round(spent / before, 3)]
        return [*row, round(self.program.index_size() / 1e6, 1)]


_HEADS = ["variant", "index s", "", "index cpu s", "", "search s", "", "search cpu s", "", "index MB"]


def front_matter(number: int, chance: random.Random) -> str:
    """Return front matter of ten fields."""
    tags = ", ".join(f"t{chance.randrange(200)}/{chance.randrange(5)}" for _ in range(2))
    entries = {
        "status": chance.choice(("draft", "review", "done")),
        "half": number % 2,
        "priority": chance.randrange(10),
        "due": date(2020, 1, 1) + timedelta(chance.randrange(2_000)),
        "tags": f"[{tags}]",
        "project": f"project {chance.randrange(500)}",
        "owner": f"person {chance.randrange(2_000)}",
        "ticket": f"T-{number}",
        "reviewed": chance.choice(("true", "false")),
        **({"rare": "yes"} if number % 100 == 0 else {"level": chance.randrange(5)}),
    }
    return "---\n" + "".join(f"{key}: {value}\n" for key, value in entries.items()) + "---\n\n"


def write(folder: Path, documents: Iterable[DocumentChange], *, fields: bool) -> Path:
    """Write the documents as files, unless they exist already; return the folder."""
    if not folder.exists():
        chance = random.Random(SEED)
        part = folder.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        for number, document in enumerate(documents):
            file = part / document.path
            file.parent.mkdir(parents=True, exist_ok=True)
            start = front_matter(number, chance) if fields else ""
            file.write_text(start + document.source.text, encoding="utf-8", newline="\n")
        part.rename(folder)
    for file in folder.rglob("*.md"):
        file.read_bytes()  # into the page cache
    return folder


def variants(options: argparse.Namespace, documents: Callable[[], Iterator[DocumentChange]]) -> list[Variant]:
    """Return the variants. The others are compared with the first."""
    size, work = options.documents, options.work.resolve()
    fielded = write(work / f"fielded-{size}", documents(), fields=True)
    plain = write(work / f"plain-{size}", documents(), fields=False)
    command = (sys.executable, "-m", "qmd")
    found = [
        Variant(Program("with fields", command, work / "with"), fielded),
        Variant(Program("without fields", command, work / "without"), plain),
    ]
    if options.before:
        earlier = (str(shutil.which("env")), f"PYTHONPATH={options.before.resolve()}", *command)
        found.insert(0, Variant(Program("before, with fields", earlier, work / "before"), fielded))
    return found


def compare(found: list[Variant], rounds: int, queries: list[str]) -> None:
    """Index and search with each variant, in turns."""
    by_name = {each.program.name: each for each in found}
    programs = [each.program for each in found]
    for program in programs:
        program.run("--version")  # byte-compiled, and in the page cache
    for program in alternating(programs, rounds):
        variant = by_name[program.name]
        shutil.rmtree(program.state, ignore_errors=True)
        cost = program.run("collection", "add", str(variant.folder), "--name", "synthetic")
        variant.indexing.append(cost)
        say(f"{program.name}: {cost.wall:.1f} s, {cost.cpu:.1f} s of processor time")
    for query in queries:
        for program in alternating(programs, 2):
            by_name[program.name].searches.append(program.run("search", query, "--json"))


def milliseconds(call: Callable[[], object]) -> float:
    """Return the processor time of a call."""
    began = time.process_time()
    call()
    return (time.process_time() - began) * 1000


def searches(program: Program, queries: list[str]) -> list[list[Any]]:
    """Measure searches with filters and the list of fields in this process."""
    with qmd.open_index(environ=program.environ) as index:
        for query in queries[:5]:
            index.search(query)
        times: dict[str, list[float]] = {name: [] for name in FILTERS}
        for query, (name, given) in itertools.product(queries[5:], FILTERS.items()):
            times[name].append(milliseconds(partial(index.search, query, **given)))
        listed = [milliseconds(lambda: index.fields(values=10)) for _ in range(5)]
    rows: list[list[Any]] = [
        [f"search, filter: {name}", round(median(spent), 2)] for name, spent in times.items()
    ]
    return [*rows, ["qmd fields", round(median(listed), 1)]]


def main() -> None:
    parser = synthetic.parser()
    parser.add_argument("--before", type=Path, help="the src folder of an earlier version")
    parser.add_argument("--rounds", type=int, default=3, help="number of times that each variant indexes (3)")
    options = parser.parse_args()
    english = synthetic.Vocabulary.of(word_counts(options.english))
    cjk = synthetic.Vocabulary.of(synthetic.chinese_counts(options.cjk))
    options.work.mkdir(parents=True, exist_ok=True)
    found = variants(options, partial(synthetic.generated, english, cjk, options.documents))
    queries = synthetic.questions(english, options.queries)
    compare(found, options.rounds, queries[:_SEARCHES])
    compared = [each.row(found[0]) for each in found]
    print(table(_HEADS, compared))
    fielded = next(each.program for each in found if each.program.name == "with fields")
    rows = searches(fielded, queries)
    print(table(["what", "cpu ms"], rows))
    write_json(options.json, {"documents": options.documents, "compared": compared, "rows": rows})


if __name__ == "__main__":
    main()
