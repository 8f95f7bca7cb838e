"""Exact vector search over 100,000 chunks: speed relative to reading the matrix, recall relative to float32.

    python bench/vectors.py [--chunks 100000] [--dimension 384] [--work DIR] [--json OUT]

Clustered unit vectors go into an index through the store, 1% of them in a second collection. *Reading the
matrix* is the sum over its int8 bytes as int64, in blocks as in the store. No full scan can be faster. Both
are timed in turns, in this process. Recall@10 is relative to float32 brute force.
"""

from __future__ import annotations

import argparse
import hashlib
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from common import median, percentile, say, table, write_json
from qmd.config import editing
from qmd.store.base import Store
from qmd.store.sqlite.store import SqliteStore
from qmd.store.values import DocumentChange, Embedded, Scope, VectorSet
from qmd.types import Chunk, Collection, Fingerprint, SourceText

SEED = 20261122
EMBEDDER = "bench"
_BATCH = 2_000
_BLOCK = 1_024

Matrix = NDArray[np.float32]


def main() -> None:
    options = _options()
    chance = np.random.default_rng(SEED)
    vectors = clustered(chance, options.chunks, options.dimension)
    # Queries are near documents, but further away than these are from each other.
    picked = chance.integers(0, options.chunks, options.queries + 5)
    noise = chance.standard_normal((len(picked), options.dimension)).astype(np.float32)
    queries = unit(vectors[picked] + noise * (0.7 / options.dimension**0.5))

    options.work.mkdir(parents=True, exist_ok=True)
    location = options.work / "vectors.sqlite"
    for old in options.work.glob("vectors.*"):
        old.unlink()
    began = time.perf_counter()
    store = build(location, vectors)
    say(f"built in {time.perf_counter() - began:.0f} s, {location.stat().st_size / 1e6:.0f} MB")

    few = len(vectors) // 100
    rows = []
    for name, scope, part in (
        ("all", Scope(("most", "few")), vectors),
        ("collection of 1%", Scope(("few",)), vectors[-few:]),
    ):
        rows.append(measured(store, name, scope, part, queries, len(vectors) - len(part)))
    store.close()
    heads = ["scope", "chunks", "search p50 ms", "p95", "reading p50 ms", "ratio", "cpu ratio", "recall@10"]
    print(table(heads, [list(row.values()) for row in rows]))
    write_json(options.json, {"chunks": options.chunks, "dimension": options.dimension, "search": rows})


def measured(
    store: Store,
    name: str,
    scope: Scope,
    vectors: Matrix,
    queries: Matrix,
    offset: int,
    embedder: str = EMBEDDER,
) -> dict[str, Any]:
    """Measure searching and reading in turns, and the recall of the first ten.

    The document `n.md` has vector n − `offset`.
    """
    codes = np.rint(vectors * (127 / np.abs(vectors).max(axis=1, keepdims=True))).astype(np.int8)
    blocks = [codes[at : at + _BLOCK].view(np.int64) for at in range(0, len(codes), _BLOCK)]
    for query in queries[:5]:
        store.vectors.search(embedder, query, scope, 10)
    search, read, search_cpu, read_cpu, found = [], [], [], [], 0
    for query in queries[5:]:
        wall, cpu, _ = timed(lambda: sum(int(block.sum()) for block in blocks))
        read.append(wall)
        read_cpu.append(cpu)
        wall, cpu, matches = timed(partial(store.vectors.search, embedder, query, scope, 10))
        search.append(wall)
        search_cpu.append(cpu)
        exact = np.argsort(-(vectors @ query))[:10] + offset
        numbers = {
            int(chunk.path[:-3]) for chunk in store.documents.by_id([m.document for m in matches]).values()
        }
        found += len(numbers & set(exact.tolist()))
    return {
        "scope": name,
        "chunks": len(vectors),
        "p50": round(median(search), 2),
        "p95": round(percentile(search, 0.95), 2),
        "read_p50": round(median(read), 2),
        "ratio": round(median(search) / median(read), 2),
        "cpu_ratio": round(median(search_cpu) / median(read_cpu), 2),
        "recall": round(found / (10 * len(search)), 4),
    }


def clustered(chance: np.random.Generator, count: int, dimension: int) -> Matrix:
    """Return unit vectors around 500 centres. The centres have a common direction, like vectors of E5."""
    common = chance.standard_normal(dimension)
    centres = 2.0 * common + chance.standard_normal((500, dimension))
    own = chance.standard_normal((count, dimension), dtype=np.float32)
    return unit((centres[chance.integers(0, 500, count)] + 0.8 * own).astype(np.float32))


def unit(rows: Matrix) -> Matrix:
    scaled: Matrix = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return scaled


def build(location: Path, vectors: Matrix) -> SqliteStore:
    """Store one document for each vector, the last 1% of them in a collection of their own."""
    root = location.parent
    config = str(location.with_suffix(".yml"))
    parsed = None
    for name in ("most", "few"):
        (root / "vectors-files" / name).mkdir(parents=True, exist_ok=True)
        parsed = editing.add_collection(config, Collection(name, str(root / "vectors-files" / name)))
    store = SqliteStore(str(location))
    assert parsed is not None
    store.collections.sync(parsed)
    split = len(vectors) - len(vectors) // 100
    for name, low, high in (("most", 0, split), ("few", split, len(vectors))):
        for at in range(low, high, _BATCH):
            numbers = range(at, min(at + _BATCH, high))
            store.documents.apply(name, [_document(number) for number in numbers], [])
            waiting = store.pending.texts(EMBEDDER, Scope((name,)), 0, _BATCH)
            chunk = Chunk(0, 0, 1, 1, 1)
            batch = [Embedded(item.content, [chunk], vectors[None, int(item.text)], [[]]) for item in waiting]
            store.vectors.add(VectorSet(EMBEDDER, EMBEDDER), batch)
    return store


def timed(work: Callable[[], Any]) -> tuple[float, float, Any]:
    """Return (milliseconds, milliseconds of processor time, answer) of a call."""
    wall, cpu = time.perf_counter(), time.thread_time()
    answer = work()
    return 1000 * (time.perf_counter() - wall), 1000 * (time.thread_time() - cpu), answer


def _document(number: int) -> DocumentChange:
    text = str(number)
    digest = hashlib.sha256(text.encode()).hexdigest()
    return DocumentChange(
        f"{number}.md", Fingerprint(len(text), number, number), SourceText(text, digest, text)
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Exact vector search in a large synthetic index.")
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--dimension", type=int, default=384)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--work", type=Path, default=Path("bench-work"))
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
