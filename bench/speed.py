"""Programs compared as processes in turns, and warm searches in process. `limits.py` runs both.

Processes work on a folder of files: cold index, update without a change, update after an edit of 1% of the
files, search. Ratios are ours to theirs, of medians.
"""

from __future__ import annotations

import itertools
import random
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from common import EvalCollection, median, percentile, say, word_counts
from processes import Cost, Program, alternating
from qmd import Index
from quality import forget_answers

SEED = 20261122


class Measured(Struct):
    """One kind of work on one corpus, with every run of every program."""

    corpus: str
    work: str
    runs: dict[str, list[Cost]] = field(default_factory=dict)

    def add(self, program: Program, cost: Cost) -> None:
        self.runs.setdefault(program.name, []).append(cost)

    def summary(self) -> dict[str, Any]:
        """Return the medians of each program, and the ratio of ours to theirs."""
        found: dict[str, Any] = {"corpus": self.corpus, "work": self.work}
        for name, costs in self.runs.items():
            found[name] = {
                "seconds": round(median([cost.wall for cost in costs]), 4),
                "cpu_seconds": round(median([cost.cpu for cost in costs]), 4),
                "memory_mb": round(max(cost.memory for cost in costs) / 1e6, 1),
                "runs": len(costs),
            }
        names = list(self.runs)
        if len(names) == 2:
            mine, theirs = (found[name] for name in names)
            found["ratio"] = {key: round(mine[key] / theirs[key], 3) for key in ("seconds", "cpu_seconds")}
            found["ratio"]["memory"] = round(mine["memory_mb"] / theirs["memory_mb"], 3)
        return found


def compare(
    name: str, folder: Path, programs: Sequence[Program], rounds: int, queries: int
) -> list[Measured]:
    """Index, update and search a folder with each program, in turns. Files of the folder are edited."""
    files = sorted(folder.rglob("*.md"))
    say(f"{name}: {len(files)} files, {sum(file.stat().st_size for file in files) / 1e6:.1f} MB")
    for program in programs:
        program.run("--version")  # byte-compiled, and in the page cache
    kinds = ("cold index", "no-change update", "1% edited", "search")
    measured = {kind: Measured(name, kind) for kind in kinds}
    for file in files:
        file.read_bytes()
    for program in alternating(programs, rounds):
        shutil.rmtree(program.state, ignore_errors=True)
        measured["cold index"].add(program, program.run("collection", "add", str(folder), "--name", "bench"))
    for program in alternating(programs, rounds + 2):
        measured["no-change update"].add(program, program.run(program.update))
    chance = random.Random(SEED)
    for number in range(rounds):
        for file in chance.sample(files, max(1, len(files) // 100)):
            with file.open("a", encoding="utf-8") as text:
                text.write(f"\nedited, round {number}\n")
        for program in programs if number % 2 == 0 else programs[::-1]:
            measured["1% edited"].add(program, program.run(program.update))
    for query in neighbours(files, chance, queries):
        for program in alternating(programs, 2):
            measured["search"].add(program, program.run("search", query, "--json"))
    sizes = ", ".join(f"{program.name} {program.index_size() / 1e6:.1f} MB" for program in programs)
    say(f"{name}: index on disk: {sizes}")
    return list(measured.values())


def in_process(index: Index, collection: EvalCollection, count: int) -> list[dict[str, Any]]:
    """Measure warm searches in an index with vectors, each query once, without cached rerank scores."""
    forget_answers(index)
    texts = list(collection.queries.values())
    random.Random(SEED).shuffle(texts)
    warm, texts = texts[:5], texts[5 : 5 + count]
    ways: dict[str, Callable[[str], object]] = {
        "search": index.search,
        "vsearch": index.vsearch,
        "query, no reranking": lambda text: index.query(text, rerank=False),
        "query, 30 reranked": index.query,
    }
    rows = []
    for name, ask in ways.items():
        for text in warm:
            ask(text)
        times, processor = [], []
        for text in texts:
            began, used = time.perf_counter(), time.process_time()
            ask(text)
            times.append(1000 * (time.perf_counter() - began))
            processor.append(1000 * (time.process_time() - used))
        row = {"p50": median(times), "p95": percentile(times, 0.95), "cpu_p50": median(processor)}
        rows.append({"search": name, **{key: round(ms, 2) for key, ms in row.items()}, "queries": len(times)})
        say(f"{collection.name}: {rows[-1]}")
    return rows


def generate_small_files(folder: Path, count: int, vocabulary: Sequence[Path], seed: int = SEED) -> None:
    """Write `count` files like the pages of tldr, about 500 bytes each, in folders of 1,000."""
    counts = word_counts(vocabulary)
    words, weights = list(counts), list(itertools.accumulate(counts.values()))
    chance = random.Random(seed)

    def some(low: int, high: int) -> str:
        return " ".join(chance.choices(words, cum_weights=weights, k=chance.randint(low, high)))

    for number in range(count):
        inside = folder / f"{number // 1000:03d}"
        if number % 1000 == 0:
            inside.mkdir(parents=True, exist_ok=True)
        examples = "\n".join(
            f"\n- {some(4, 9).capitalize()}:\n\n`{some(2, 6)}`" for _ in range(chance.randint(3, 8))
        )
        page = f"# {some(1, 2)}\n\n> {some(6, 14).capitalize()}.\n{examples}\n"
        (inside / f"{number:06d}.md").write_text(page, encoding="utf-8")


def neighbours(files: Sequence[Path], chance: random.Random, count: int) -> list[str]:
    """Return queries of one to three adjacent words of some file."""
    queries: list[str] = []
    for file in chance.sample(files, min(count, len(files))):
        text = file.read_text(encoding="utf-8")
        words = [word for word in text.split() if word.isalpha() and len(word) > 3]
        if words:
            at = chance.randrange(len(words))
            queries.append(" ".join(words[at : at + chance.randint(1, 3)]))
    return queries
