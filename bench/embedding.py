"""Throughput of the default embedder against onnxruntime alone, on the same token batches.

    python bench/embedding.py --collection FOLDER [--chunks 1000] [--threads N] [--rounds 5] [--json OUT]

The collection's documents are cut into the embedder's chunks. Its own way from text to vectors (tokens,
batches by length, the model, pooling) and `session.run` alone on the very batches it makes are timed in
turns. The ratio is ours over raw, in chunks a second: 1 would mean that all but the model costs nothing.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from common import EvalCollection, median, read_collection, table, write_json
from qmd.config.settings import Settings
from qmd.engine.embedding import cut
from qmd.models.base import Embedder
from qmd.models.registry import load_embedder

SEED = 20261122


class Recorder:
    """Stands in for a model's onnxruntime session, and keeps what it is asked to run."""

    def __init__(self, session: Any) -> None:
        self.session = session
        self.calls: list[tuple[Any, Any]] = []

    def run(self, outputs: Any, inputs: Any) -> Any:
        self.calls.append((outputs, {name: value.copy() for name, value in inputs.items()}))
        return self.session.run(outputs, inputs)


def main() -> None:
    options = _options()
    collection = read_collection(options.collection)
    with tempfile.TemporaryDirectory() as cache:
        folder = options.cache or Path(cache)
        embedder = load_embedder(None, cache_dir=folder, settings=Settings(threads=options.threads))
        passages = chunks(collection, embedder, options.chunks)
        result = compare(embedder, passages, options.rounds)
    rows = [[name, f"{value:.3f}" if isinstance(value, float) else value] for name, value in result.items()]
    print(table(["", collection.name], rows))
    write_json(options.json, {"collection": collection.name, **result})


def chunks(collection: EvalCollection, embedder: Embedder, count: int) -> list[str]:
    """Some chunks of documents, drawn by chance."""
    documents = list(collection.documents)
    random.Random(SEED).shuffle(documents)
    found: list[str] = []
    for document in documents:
        text = document.markdown
        found += [text[piece.start : piece.end] for piece in cut(text, embedder)]
        if len(found) >= count:
            break
    return found[:count]


def compare(embedder: Any, passages: list[str], rounds: int) -> dict[str, Any]:
    """Texts to vectors, and the model alone on the same batches, in turns."""
    model = embedder.model
    embedder.embed_documents(passages[:20])
    session = model.session
    recorder = Recorder(session)
    model.__dict__["_session"] = recorder  # where the model keeps its session once it is open
    embedder.embed_documents(passages)
    model.__dict__["_session"] = session

    ours, raw = [], []
    for number in range(rounds):
        for kind in ("ours", "raw") if number % 2 == 0 else ("raw", "ours"):
            began = time.perf_counter()
            if kind == "ours":
                embedder.embed_documents(passages)
                ours.append(time.perf_counter() - began)
            else:
                for outputs, inputs in recorder.calls:
                    session.run(outputs, inputs)
                raw.append(time.perf_counter() - began)
    tokens = [len(embedder.token_ids(passage)) for passage in passages]
    padded = sum(
        next(value for value in inputs.values() if value.ndim == 2).size for _, inputs in recorder.calls
    )
    return {
        "chunks": len(passages),
        "tokens a chunk, mean": float(np.mean(tokens)),
        "padding, share of tokens run": 1 - sum(tokens) / padded,
        "ours, chunks a second": len(passages) / median(ours),
        "raw onnxruntime, chunks a second": len(passages) / median(raw),
        "ours / raw": median([r / o for o, r in zip(ours, raw, strict=True)]),
    }


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="The embedder against onnxruntime alone.")
    parser.add_argument("--collection", type=Path, required=True)
    parser.add_argument("--chunks", type=int, default=1000)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cache", type=Path, help="where the prepared model is kept (nowhere)")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
