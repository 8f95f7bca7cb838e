"""Similar notes, judged by links that were taken out, and their time.

    python bench/similar.py NAME=VAULT... [--time COLLECTION] [--work DIR] [--json OUT]

`VAULT` is a folder of notes with wikilinks, and `COLLECTION` one in BEIR layout. From each note one linked
note is drawn, and every link between the two is taken out, with its text, in both directions. The measures
are whether that note is among the first ten and the first five, and the mean reciprocal rank of the first
ten. Ways to find it:

- `similar`: `Index.similar`.
- `title`: `search` with the title of the note.
- `telling words`: `search` with the 25 words of the note that have the highest tf-idf.
- the others: combinations of the cosines of all chunks, without words.

Time is that of `similar` relative to one search by a given vector, in turns, in an index whose vectors are
random, because time does not depend on them: of a short note, and of one with many chunks.
"""

from __future__ import annotations

import argparse
import math
import random
import re
import shutil
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from common import file_names, median, read_collection, say, table, write_json  # isort: skip
import numpy as np

import qmd
from qmd.store.values import Embedded, Scope, VectorSet
from qmd.text import tokens
from qmd.text.markdown.links import WIKI
from qmd.types import Chunk

RESULTS, TELLING = 10, 25
#: Chunks of a long note, and repetitions of a measurement of time.
LONG, ROUNDS = 200, 30
_LINK = re.compile("!?" + WIKI.pattern)

#: Cosines of two notes: chunks with chunks, chunks with the mean of the other one, the mean with chunks of
#: the other one, and mean with mean.
Cosines = tuple[Any, Any, Any, float]
COMBINATIONS: Mapping[str, Callable[[Cosines], float]] = {
    "best pair": lambda given: given[0].max(),
    "first chunks": lambda given: given[0][0, 0],
    "mean with mean": lambda given: given[3],
    "mean of the best": lambda given: given[0].max(axis=1).mean(),
    "best chunk with mean": lambda given: given[1].max(),
    "mean with best chunk": lambda given: given[2].max(),
    "best pair + best chunk with mean": lambda given: given[0].max() + given[1].max(),
}


def main() -> None:
    options = _options()
    result: dict[str, Any] = {"vaults": {}}
    rows = []
    for name, vault in options.vaults:
        index, pairs = prepared(name, vault, options.work / name)
        measured = {way: quality(found, pairs) for way, found in ways(index, pairs).items()}
        result["vaults"][name] = {"documents": len(index.documents()), "notes": len(pairs), **measured}
        rows += [[name, way, *values.values()] for way, values in measured.items()]
    say(table(["vault", "way", "first ten", "first five", "MRR@10"], rows))
    if options.time is not None:
        result["time"] = times(options.time, options.work / "time")
        say(table(["note", "ms", "times one vector search"], [*result["time"].values()]))
    write_json(options.json, result)


def prepared(name: str, vault: Path, work: Path) -> tuple[qmd.Index, dict[str, str]]:
    """Return an index of a vault without some links, and the note that each note has lost the link to."""
    work.mkdir(parents=True, exist_ok=True)
    whole = qmd.open_index(work / "whole.sqlite")
    if not whole.config.collections:
        whole.add_collection(str(vault), "vault")
    whole.update()
    chance = random.Random(name)
    linked: dict[str, dict[str, set[str]]] = {}
    for document in whole.documents():
        targets = linked.setdefault(document.file, {})
        for link in whole.links(document.file):
            if link.kind == "wikilink" and link.to not in (None, document.file):
                targets.setdefault(str(link.to), set()).add(link.target)
    drawn = {file: chance.choice(sorted(targets)) for file, targets in linked.items() if targets}
    lost: dict[str, set[str]] = {}
    for file, target in drawn.items():
        for source, to in ((file, target), (target, file)):
            lost.setdefault(source, set()).update(linked.get(source, {}).get(to, ()))
    files = work / "files"
    shutil.rmtree(files, ignore_errors=True)
    for file in linked:
        path = file.partition("/")[2]
        names = lost.get(file, set())
        text = (vault / path).read_text(encoding="utf-8", errors="replace")
        text = _LINK.sub(lambda link, names=names: "" if link[1].strip() in names else link[0], text)
        (files / path).parent.mkdir(parents=True, exist_ok=True)
        (files / path).write_text(text, encoding="utf-8")
    index = qmd.open_index(work / "index.sqlite", progress=say)
    if not index.config.collections:
        index.add_collection(str(files), "vault")
    index.update()
    index.embed()
    say(f"{name}: {len(linked)} notes, {len(drawn)} of them have lost a link")
    return index, drawn


def ways(index: qmd.Index, pairs: Mapping[str, str]) -> dict[str, dict[str, list[str]]]:
    """Return the first documents that each way finds for each note."""
    documents = {document.file: document for document in index.documents()}
    texts = index._store.documents.texts([document.id for document in documents.values()])
    counts = {file: Counter(map(str.lower, tokens.words(texts[each.id]))) for file, each in documents.items()}
    frequencies = Counter(word for count in counts.values() for word in count)
    found: dict[str, dict[str, list[str]]] = {"similar": {}, "title": {}, "telling words": {}}
    for file in pairs:
        if file not in documents:  # nothing is left of it
            continue
        copies = {each.file for each in documents.values() if each.hash == documents[file].hash}
        weights = {
            word: count * math.log(len(documents) / frequencies[word])
            for word, count in counts[file].items()
            if len(word) > 1 and word.isalnum() and not word.isdigit() and frequencies[word] > 1
        }
        telling = " ".join(sorted(weights, key=lambda word: -weights[word])[:TELLING])
        title = re.sub(r"[^\w\s]", " ", documents[file].title)
        hits = [hit.file for hit in index.similar(file, limit=RESULTS).hits]
        found["similar"][file] = hits
        for way, query in (("title", title), ("telling words", telling)):
            response = index.search(query, limit=RESULTS + len(copies)) if query.strip() else None
            hits = [hit.file for hit in response.hits] if response else []
            found[way][file] = [hit for hit in hits if hit not in copies][:RESULTS]
    return found | combined(index, found["similar"])


def combined(index: qmd.Index, notes: Mapping[str, object]) -> dict[str, dict[str, list[str]]]:
    """Return what combinations of the cosines of all chunks find."""
    store = index._store
    [vectors] = store.vector_sets.all()
    hashes = {document.file: document.hash for document in index.documents()}
    stored = store.vectors.of_texts(vectors.fingerprint, sorted({*hashes.values()}))
    rows = {file: stored[digest][1] for file, digest in hashes.items() if digest in stored}
    means = {file: row.mean(axis=0) / np.linalg.norm(row.mean(axis=0)) for file, row in rows.items()}
    found: dict[str, dict[str, list[str]]] = {name: {} for name in COMBINATIONS}
    for file in notes:
        mine, mean = rows[file], means[file]
        given = {
            other: (mine @ rows[other].T, mine @ means[other], rows[other] @ mean, float(mean @ means[other]))
            for other in rows
            if hashes[other] != hashes[file]
        }
        for name, combination in COMBINATIONS.items():
            scores = {other: combination(cosines) for other, cosines in given.items()}
            found[name][file] = sorted(scores, key=lambda other: -scores[other])[:RESULTS]
    return found


def quality(found: Mapping[str, Sequence[str]], pairs: Mapping[str, str]) -> dict[str, float]:
    ranks = [hits.index(pairs[file]) + 1 if pairs[file] in hits else math.inf for file, hits in found.items()]
    return {
        "ten": round(sum(rank <= RESULTS for rank in ranks) / len(ranks), 4),
        "five": round(sum(rank <= RESULTS / 2 for rank in ranks) / len(ranks), 4),
        "mrr": round(sum(1 / rank for rank in ranks) / len(ranks), 4),
    }


def times(folder: Path, work: Path) -> dict[str, tuple[str, float, float]]:
    """Return the median time of each note in milliseconds, and relative to one search by a vector."""
    collection = read_collection(folder)
    files = work / "files"
    files.mkdir(parents=True, exist_ok=True)
    for document, name in zip(collection.documents, file_names(collection.documents), strict=True):
        (files / name).write_text(document.markdown, encoding="utf-8")
    several = " ".join(document.text for document in collection.documents[:LONG])
    (files / "long.md").write_text(several, encoding="utf-8")
    index = qmd.open_index(work / "index.sqlite", progress=say)
    if not index.config.collections:
        index.add_collection(str(files), "time")
    fingerprint = _embed_at_random(index)
    scope, vector = Scope(("time",)), _random(np.random.default_rng(1), 1)[0]
    calls: dict[str, Callable[[], object]] = {
        "one vector": lambda: index._store.vectors.search(fingerprint, vector, scope, 100),
        "short": lambda: index.similar(next(iter(file_names(collection.documents)))),
        "long": lambda: index.similar("long.md"),
    }
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name, call in calls.items():
            started = time.perf_counter()
            call()
            taken[name].append(1_000 * (time.perf_counter() - started))
    least = median(taken["one vector"])
    return {
        name: (name, round(median(each), 2), round(median(each) / least, 1)) for name, each in taken.items()
    }


def _embed_at_random(index: qmd.Index) -> str:
    """Give every text vectors; of a long text one for each 2,000 characters. Return the set."""
    store, fingerprint = index._store, index.model_provider.fingerprint
    chance, into = np.random.default_rng(0), VectorSet(fingerprint, "random")
    while pending := store.pending.texts(fingerprint, Scope(("time",)), 0, 500):
        batch = []
        for text in pending:
            starts = range(0, len(text.text), 2_000)
            chunks = [
                Chunk(at, start, min(start + 2_000, len(text.text)), 1, 1) for at, start in enumerate(starts)
            ]
            batch.append(Embedded(text.content, chunks, _random(chance, len(chunks)), [[]] * len(chunks)))
        store.vectors.add(into, batch)
    return fingerprint


def _random(chance: np.random.Generator, count: int) -> Any:
    rows = chance.standard_normal((count, 384)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("vaults", nargs="*", type=_named, metavar="NAME=VAULT")
    parser.add_argument("--time", type=Path)
    parser.add_argument("--work", type=Path, default=Path("bench-work/similar"))
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def _named(text: str) -> tuple[str, Path]:
    name, _, path = text.partition("=")
    return name, Path(path)


if __name__ == "__main__":
    main()
