"""Lexical search in an index of 100,000 documents, about 250 MB.

    python bench/synthetic.py --english FOLDER... --cjk FOLDER [--documents 100000] [--tantivy] [--json OUT]

The documents and the queries consist of words drawn by their frequency in the collections (which follows
Zipf's law), a fifth of them Chinese. They go through the store like files, but are never files on disk. All
random numbers are seeded. There are two kinds of queries: *selective*, one to three of the rarer words, and
*questions*, four to eight words between question words, at least half of them very common.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import random
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct

from common import median, percentile, read_collection, say, table, word_counts, write_json  # isort: skip
import qmd
from qmd.config import editing
from qmd.store.sqlite.store import SqliteStore
from qmd.store.values import DocumentChange
from qmd.types import Collection, Fingerprint, SourceText
from tantivy_index import TantivyIndex

SEED = 20261122
#: Approximate bytes of a document.
SIZE = 2_500
_BATCH = 400
_QUESTIONS = (
    "what is the {}", "how do {} affect {}", "why does {} with {} in {}", "which {} can {} the {}",
    "is there a {} for {} and {}", "how can I {} the {} of {}", "when should {} be {} by {}",
)  # fmt: skip


class Vocabulary(Struct, frozen=True):
    """Words with their frequencies, most frequent first."""

    words: list[str]
    counts: list[int]

    @classmethod
    def of(cls, counts: Counter[str]) -> Vocabulary:
        ranked = counts.most_common()
        return cls([word for word, _ in ranked], [count for _, count in ranked])

    def sampler(self, chance: random.Random) -> Callable[[int], list[str]]:
        """A source of random words by frequency."""
        cumulated = list(itertools.accumulate(self.counts))
        return lambda count: chance.choices(self.words, cum_weights=cumulated, k=count)


def main() -> None:
    options = parser().parse_args()

    english = Vocabulary.of(word_counts(options.english))
    cjk = Vocabulary.of(chinese_counts(options.cjk))
    options.work.mkdir(parents=True, exist_ok=True)
    location = options.work / f"synthetic-{options.documents}.sqlite"
    result: dict[str, Any] = {"documents": options.documents}
    if options.fresh:
        location.unlink(missing_ok=True)
    if not location.exists():
        result["build"] = build(location, english, cjk, options.documents)
        say(f"built: {result['build']}")
    rows, limits = [], []
    limit_index = None
    if options.tantivy:
        folder = options.work / f"tantivy-{options.documents}"
        limit_index = TantivyIndex(folder, partial(generated, english, cjk, options.documents))
    with qmd.open_index(location) as index:
        for kind, queries in (
            ("selective", selective(english, cjk, options.queries)),
            ("questions", questions(english, options.queries)),
        ):
            for limit in options.limits:
                rows.append(latencies(index, kind, queries, limit))
                if limit_index is not None:
                    limits.append(limit_index.latencies(kind, queries, limit))
    result["search"] = rows
    if limit_index is not None:
        result["limit"] = {"search": limits, "costs": limit_index.costs()}
    heads = ["queries", "limit", "n", "p50 ms", "p95 ms", "max ms", "cpu p50", "cpu p95"]
    heads += ["store alone p50", "store alone p95"]
    print(table(heads, [list(row.values())[: len(heads)] for row in rows]))
    if limits:
        print(table(["tantivy", *heads[1:8]], [list(row.values()) for row in limits]))
        print(f"tantivy: {result['limit']['costs']}")
    for row in rows:
        print(f"slowest {row['queries']}: {row['slowest']}")
    write_json(options.json, result)


@contextmanager
def new_store(location: Path) -> Iterator[SqliteStore]:
    """Yield the store of a new index with one collection. The file gets its name when it is complete."""
    part = location.with_suffix(".part")
    for leftover in location.parent.glob(part.name + "*"):
        leftover.unlink()
    root = location.parent / "synthetic"
    root.mkdir(exist_ok=True)
    config = location.with_suffix(".yml")
    config.unlink(missing_ok=True)
    parsed = editing.add_collection(str(config), Collection("synthetic", str(root)))
    with closing(SqliteStore(str(part))) as store:
        store.collections.sync(parsed)
        yield store
    part.rename(location)


def batches(english: Vocabulary, cjk: Vocabulary, documents: int) -> Iterator[list[DocumentChange]]:
    """Yield the documents in batches as large as those of a scan."""
    source = generated(english, cjk, documents)
    while batch := list(itertools.islice(source, _BATCH)):
        yield batch


def build(location: Path, english: Vocabulary, cjk: Vocabulary, documents: int) -> dict[str, Any]:
    """Put the documents into an index through its store; return seconds, bytes of text, bytes on disk."""
    seconds = cpu_seconds = size = 0.0
    with new_store(location) as store:
        for batch in batches(english, cjk, documents):
            size += sum(len(item.source.text.encode()) for item in batch)
            began, cpu_began = time.perf_counter(), time.process_time()
            store.documents.apply("synthetic", batch, [])
            seconds += time.perf_counter() - began
            cpu_seconds += time.process_time() - cpu_began
        began, cpu_began = time.perf_counter(), time.process_time()
        store.documents.refresh_statistics()
    seconds += time.perf_counter() - began
    cpu_seconds += time.process_time() - cpu_began
    assert qmd.open_index(location).status().total_documents == documents
    return {
        "seconds": round(seconds, 1),
        "cpu_seconds": round(cpu_seconds, 1),
        "text_mb": round(size / 1e6, 1),
        "index_mb": round(location.stat().st_size / 1e6, 1),
    }


def selective(english: Vocabulary, cjk: Vocabulary, count: int) -> list[str]:
    """Return queries of one to three words of medium to low frequency, a fifth of them Chinese."""
    chance = random.Random(SEED + 1)
    rare = [word for word, n in zip(english.words, english.counts, strict=True) if 3 <= n <= 60]
    runs = [word for word, n in zip(cjk.words, cjk.counts, strict=True) if 2 < len(word) < 7 and 2 <= n <= 20]
    return [
        " ".join(chance.sample(runs if number % 5 == 4 else rare, chance.randint(1, 3)))
        for number in range(count)
    ]


def questions(english: Vocabulary, count: int) -> list[str]:
    """Return questions of very common words and some rarer ones."""
    chance = random.Random(SEED + 2)
    words = [word for word in english.words if len(word) > 3]
    common, content = words[:150], words[150:5_000]
    found: list[str] = []
    for number in range(count):
        pattern = _QUESTIONS[number % len(_QUESTIONS)]
        picked: list[str] = []
        for slot in range(pattern.count("{}")):
            some = chance.sample(common, chance.randint(1, 2))
            picked.append(" ".join([*some, chance.choice(content)] if slot % 2 == 0 else some))
        found.append(pattern.format(*picked))
    return found


def latencies(index: Any, kind: str, queries: Sequence[str], limit: int) -> dict[str, Any]:
    """Measure `search` and the store's part of it, in milliseconds, each query once after a few others."""
    from qmd.store.values import Scope
    from qmd.text.query import parse

    for query in queries[:5]:
        index.search(query, limit=limit)
    times = [(*_timed(partial(index.search, query, limit=limit)), query) for query in queries[5:]]
    scope = Scope(("synthetic",))
    stored = [
        _timed(partial(index._store.lexical.search, parse(query), scope, limit))[0] for query in queries[5:]
    ]
    whole = [wall for wall, _, _ in times]
    processor = [cpu for _, cpu, _ in times]
    return {
        "queries": kind,
        "limit": limit,
        "n": len(times),
        "p50": round(median(whole), 2),
        "p95": round(percentile(whole, 0.95), 2),
        "max": round(max(whole), 2),
        "cpu_p50": round(median(processor), 2),
        "cpu_p95": round(percentile(processor, 0.95), 2),
        "store_p50": round(median(stored), 2),
        "store_p95": round(percentile(stored, 0.95), 2),
        "slowest": [f"{query} ({wall:.0f} ms)" for wall, _, query in sorted(times, reverse=True)[:5]],
    }


def chinese_counts(folder: Path) -> Counter[str]:
    """Return how often each run of Chinese characters occurs in a collection. Punctuation ends a run."""
    runs = re.compile(r"[\u4e00-\u9fff]{1,12}")
    counts: Counter[str] = Counter()
    for document in read_collection(folder).documents:
        counts.update(runs.findall(document.markdown))
    return counts


def generated(english: Vocabulary, cjk: Vocabulary, count: int) -> Iterator[DocumentChange]:
    """Yield documents, the same ones in each run."""
    chance = random.Random(SEED)
    words, runs = english.sampler(chance), cjk.sampler(chance)
    length = sum(len(word) * n for word, n in zip(english.words, english.counts, strict=True))
    per_word = length / sum(english.counts) + 1
    characters = sum(len(run) * n for run, n in zip(cjk.words, cjk.counts, strict=True))
    per_run = 3 * (characters / sum(cjk.counts) + 1)
    for number in range(count):
        size = chance.gauss(1.0, 0.25)
        if number % 5 == 4:
            parts, joint = runs(max(30, int(SIZE * size / per_run))), "，"
        else:
            parts, joint = words(max(40, int(SIZE * size / per_word))), " "
        paragraphs = [joint.join(parts[at : at + 80]) for at in range(0, len(parts), 80)]
        title = joint.join(parts[:4])
        text = f"# {title}\n\n" + "\n\n".join(paragraphs) + "\n"
        path = f"{number // 1000:03d}/{number:06d}.md"
        digest = hashlib.sha256(text.encode()).hexdigest()
        yield DocumentChange(path, Fingerprint(len(text), number, number), SourceText(text, digest, title))


def _timed(work: Callable[[], object]) -> tuple[float, float]:
    """Return (milliseconds, milliseconds of this thread's processor time) of a call."""
    wall, cpu = time.perf_counter(), time.thread_time()
    work()
    return 1000 * (time.perf_counter() - wall), 1000 * (time.thread_time() - cpu)


def parser() -> argparse.ArgumentParser:
    """Return the options that benchmarks of these documents share."""
    found = argparse.ArgumentParser(description="Lexical search in a large synthetic index.")
    found.add_argument(
        "--english", type=Path, nargs="+", required=True, help="collections whose words are used"
    )
    found.add_argument("--cjk", type=Path, required=True, help="a Chinese collection whose words are used")
    found.add_argument("--documents", type=int, default=100_000)
    found.add_argument(
        "--queries", type=int, default=205, help="queries of each kind; the first five warm up (205)"
    )
    found.add_argument(
        "--limits", type=int, nargs="+", default=[10], help="limits on the number of hits (10)"
    )
    found.add_argument("--tantivy", action="store_true", help="measure tantivy, the limit, in the same run")
    found.add_argument("--fresh", action="store_true", help="build a new index")
    found.add_argument("--work", type=Path, default=Path("bench-work"))
    found.add_argument("--json", type=Path)
    return found


if __name__ == "__main__":
    main()
