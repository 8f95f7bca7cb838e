"""What one SQLite file holds: real files by the ten thousand, and up to a million documents with vectors.

    python bench/scale.py --corpus FOLDER --english FOLDER... --cjk FOLDER [--json OUT]

*Files*: Markdown of `--corpus`, at most `--files` of it, indexed by `qmd collection add` as a process, and
updated again without a change; then searched, with one folder in a hundred in a collection of its own.

*Growth*: documents of about 60 words, drawn as `synthetic.py` draws them, one vector each, put into an index
through its store, 1% of them in a second collection; measured at each of `--sizes`. The vectors are drawn
around 500 centres, as in `vectors.py`: times are those of real ones, what is found is not. *Reading the
matrix* is the sum over its int8 bytes, in blocks as the store has them: the least that a scan of everything
can take.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from common import median, percentile, say, table, word_counts, write_json
from processes import Program, ours
from synthetic import Vocabulary, chinese_counts, questions, selective
from vectors import Matrix, clustered, measured, timed, unit

SEED = 20261122
DIMENSION = 384
MOST, FEW = "most", "few"
#: Words of a generated document.
_WORDS = 60
_BATCH = 1_000


def main() -> None:
    options = _options()
    english = Vocabulary.of(word_counts(options.english))
    cjk = Vocabulary.of(chinese_counts(options.cjk))
    queries = {
        "selective": selective(english, cjk, options.queries),
        "questions": questions(english, options.queries),
    }
    result: dict[str, Any] = {}
    if options.corpus:
        result["files"] = files(options, queries)
        print(table(["files", ""], [[key, value] for key, value in result["files"].items()]) + "\n")
    if options.sizes:
        result["growth"] = growth(options, english, cjk, queries)
        heads = list(result["growth"][-1])
        print(table(heads, [[row.get(head, "") for head in heads] for row in result["growth"]]))
    write_json(options.json, result)


# -- real files ----------------------------------------------------------------------------------------------


def files(options: argparse.Namespace, queries: dict[str, list[str]]) -> dict[str, Any]:
    """Index a folder of Markdown with a process, and search it."""
    import qmd

    state = options.work / "files"
    shutil.rmtree(state, ignore_errors=True)
    program = ours(state, ())
    most, few = _share_out(options.corpus, options.work / "corpus", options.files)
    began = [
        program.run("collection", "add", str(most), "--name", MOST),
        program.run("collection", "add", str(few), "--name", FEW),
    ]
    again = program.run(program.update)
    location = index_of(program)
    found: dict[str, Any] = {
        "files": sum(1 for _ in _markdown(most)) + sum(1 for _ in _markdown(few)),
        "text_mb": round(sum(file.stat().st_size for file in _markdown(options.work / "corpus")) / 1e6, 1),
        "index_seconds": round(sum(cost.wall for cost in began), 1),
        "index_peak_mb": round(max(cost.memory for cost in began) / 1e6),
        "update_seconds": round(again.wall, 2),
        "update_peak_mb": round(again.memory / 1e6),
        "index_mb": round(location.stat().st_size / 1e6, 1),
    }
    with qmd.open_index(location, config=config_of(program)) as index:
        found["documents"] = index.status().total_documents
        for kind, asked in queries.items():
            for name, scope in (("", ()), ("_1%", (FEW,))):
                times = [timed(partial(index.search, query, collections=scope))[0] for query in asked][5:]
                found[f"search_{kind}{name}_p50"] = round(median(times), 2)
                found[f"search_{kind}{name}_p95"] = round(percentile(times, 0.95), 2)
    return found


def _share_out(source: Path, target: Path, most: int) -> tuple[Path, Path]:
    """Link to at most `count` of the Markdown files, one in a hundred of them in a folder of its own."""
    shutil.rmtree(target, ignore_errors=True)
    found = sorted(_markdown(source))
    random.Random(SEED).shuffle(found)
    for number, file in enumerate(found[:most]):
        to = target / (FEW if number % 100 == 0 else MOST) / file.relative_to(source)
        to.parent.mkdir(parents=True, exist_ok=True)
        os.link(file, to)
    return target / MOST, target / FEW


def _markdown(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*.md") if path.is_file() and not path.is_symlink())


def index_of(program: Program) -> Path:
    return Path(program.environ["XDG_CACHE_HOME"]) / "qmd" / "index.sqlite"


def config_of(program: Program) -> Path:
    return Path(program.environ["XDG_CONFIG_HOME"]) / "qmd" / "index.yml"


# -- growth --------------------------------------------------------------------------------------------------


def growth(
    options: argparse.Namespace, english: Vocabulary, cjk: Vocabulary, queries: dict[str, list[str]]
) -> list[dict[str, Any]]:
    """Build the indexes one after the other, and measure each in a process of its own."""
    rows = []
    for size in options.sizes:
        command = [sys.executable, __file__, *sys.argv[1:], "--one-size", str(size)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        rows.append(json.loads(done.stdout.splitlines()[-1]))
        say(f"{size:,}: {rows[-1]}")
    return rows


def one_size(options: argparse.Namespace) -> dict[str, Any]:
    """Build an index and measure its searches, in milliseconds."""
    import resource

    import qmd
    from qmd.store.values import Scope

    english = Vocabulary.of(word_counts(options.english))
    cjk = Vocabulary.of(chinese_counts(options.cjk))
    count = options.one_size
    options.work.mkdir(parents=True, exist_ok=True)
    location = options.work / f"growth-{count}.sqlite"
    row: dict[str, Any] = {"documents": count}
    # In a process of its own, so that its memory does not count for the search.
    with ProcessPoolExecutor(1) as pool:
        row |= pool.submit(build, location, count, english, cjk).result()
    asked = {
        "selective": selective(english, cjk, options.queries),
        "questions": questions(english, options.queries),
    }
    with qmd.open_index(location, config=location.with_suffix(".yml")) as index:
        for kind, queries in asked.items():
            row |= latencies(kind, index.search, queries)
            row |= latencies(f"{kind}_1%", partial(index.search, collections=[FEW]), queries)
        row["search_peak_mb"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3)
        few = asked["questions"][:45]
        row |= latencies("vsearch", partial(index.vsearch, min_score=0.0), few)
        row |= latencies("vsearch_1%", partial(index.vsearch, min_score=0.0, collections=[FEW]), few)
        row |= latencies("query_not_reranked", partial(index.query, rerank=False), few)
        row |= latencies("query", index.query, few[:25])
        row["query_peak_mb"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3)
        vectors = _vectors(count)
        chance = np.random.default_rng(SEED + 1)
        picked = chance.integers(0, count, 45)
        noise = chance.standard_normal((len(picked), DIMENSION)).astype(np.float32)
        near = unit(vectors[picked] + noise * (0.7 / DIMENSION**0.5))
        fingerprint = index.model_provider.fingerprint
        whole = measured(index._store, "all", Scope((MOST, FEW)), vectors, near, 0, fingerprint)
        part = vectors[count - count // 100 :]
        small = measured(index._store, "1%", Scope((FEW,)), part, near, count - len(part), fingerprint)
    return row | {
        "dense_p50": whole["p50"],
        "reading_p50": whole["read_p50"],
        "dense_over_reading": whole["ratio"],
        "dense_over_reading_cpu": whole["cpu_ratio"],
        "recall@10": whole["recall"],
        "dense_1%_p50": small["p50"],
        "dense_1%_p95": small["p95"],
        "recall@10_1%": small["recall"],
    }


def build(location: Path, count: int, english: Vocabulary, cjk: Vocabulary) -> dict[str, Any]:
    """Put `size` documents with vectors into an index; return seconds and bytes."""
    import qmd

    for old in location.parent.glob(f"{location.stem}.*"):
        old.unlink()
    roots = location.parent / "roots"
    with qmd.open_index(location, config=location.with_suffix(".yml")) as index:
        for name in (MOST, FEW):
            (roots / name).mkdir(parents=True, exist_ok=True)
            index.add_collection(str(roots / name), name)
        took = _fill(index, index.model_provider.fingerprint, _vectors(count), english, cjk)
        return took | {"index_mb": round(index.status().size / 1e6, 1)}


def _vectors(count: int) -> Matrix:
    return clustered(np.random.default_rng(SEED), count, DIMENSION)


def _fill(
    index: Any, fingerprint: str, vectors: Matrix, english: Vocabulary, cjk: Vocabulary
) -> dict[str, Any]:
    """Store one document for each vector; return the seconds for documents and for vectors."""
    from qmd.store.values import Embedded, Scope, VectorSet
    from qmd.types import Chunk

    store = index._store
    split = len(vectors) - len(vectors) // 100
    source = documents(english, cjk)
    text_seconds = vector_seconds = 0.0
    for name, low, high in ((MOST, 0, split), (FEW, split, len(vectors))):
        after = 0
        for at in range(low, high, _BATCH):
            batch = list(itertools.islice(source, min(_BATCH, high - at)))
            began = time.perf_counter()
            store.documents.apply(name, batch, [])
            text_seconds += time.perf_counter() - began
            began = time.perf_counter()
            waiting = store.pending.texts(fingerprint, Scope((name,)), after, _BATCH)
            after = waiting[-1].content
            embedded = [
                Embedded(
                    each.content,
                    [Chunk(0, 0, len(each.text), 1, 3)],
                    vectors[None, int(each.title)],
                    [[]],
                )
                for each in waiting
            ]
            store.vectors.add(VectorSet(fingerprint, "bench"), embedded)
            vector_seconds += time.perf_counter() - began
        store.collections.finish_scan(name)
    store.documents.refresh_statistics(force=True)
    return {"text_seconds": round(text_seconds, 1), "vector_seconds": round(vector_seconds, 1)}


def documents(english: Vocabulary, cjk: Vocabulary, length: int = _WORDS) -> Iterator[Any]:
    """Return documents with their number as title, a fifth of them Chinese."""
    from qmd.store.values import DocumentChange
    from qmd.types import Fingerprint, SourceText

    chance = random.Random(SEED)
    words, runs = english.sampler(chance), cjk.sampler(chance)
    for number in itertools.count():
        body = "，".join(runs(length // 3)) if number % 5 == 4 else " ".join(words(length))
        text = f"# {number}\n\n{body}\n"
        digest = hashlib.sha256(text.encode()).hexdigest()
        source = SourceText(text, digest, str(number))
        yield DocumentChange(f"{number}.md", Fingerprint(len(text), number, number), source)


def latencies(name: str, work: Any, queries: Sequence[str]) -> dict[str, float]:
    for query in queries[:5]:
        work(query)
    times = [timed(partial(work, query))[0] for query in queries[5:]]
    return {f"{name}_p50": round(median(times), 2), f"{name}_p95": round(percentile(times, 0.95), 2)}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Real files by the ten thousand, documents by the million.")
    parser.add_argument("--corpus", type=Path, help="a folder of Markdown")
    parser.add_argument("--files", type=int, default=58_000)
    parser.add_argument(
        "--english", type=Path, nargs="+", required=True, help="collections whose words are used"
    )
    parser.add_argument("--cjk", type=Path, required=True, help="the same, in Chinese")
    parser.add_argument("--sizes", type=int, nargs="*", default=[1_000, 10_000, 100_000, 1_000_000])
    parser.add_argument("--queries", type=int, default=105)
    parser.add_argument("--work", type=Path, default=Path("bench-work") / "scale")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--one-size", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.work = options.work.resolve()
    return options


if __name__ == "__main__":
    chosen = _options()
    if chosen.one_size:
        print(json.dumps(one_size(chosen)))
    else:
        main()
