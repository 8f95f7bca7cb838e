"""Throughput of the default embedder against onnxruntime alone, on the same token batches.

    python bench/embedding.py --collection FOLDER [--chunks 1000] [--threads N] [--rounds 5] [--json OUT]

The collection's documents are cut into the embedder's chunks. Its own way from text to vectors (tokens,
batches by length, the model, pooling) and `session.run` alone on the very batches it makes are timed in
turns. The ratio is ours over raw, in chunks a second: 1 would mean that all but the model costs nothing.

With `--busy`, the embedder as it is, whose waiting threads sleep, is compared with one whose waiting threads
spin, which is onnxruntime's default: first alone, then beside two other processes that never wait. The ratios
are sleeping over spinning, in chunks a second; above 1, sleeping is faster.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from common import EvalCollection, median, read_collection, table, write_json
from qmd.config.settings import Settings
from qmd.engine.embedding.batches import cut
from qmd.models.base import Embedder
from qmd.models.registry import load

SEED = 20261122
#: Number of busy processes beside the embedder.
BUSY = 2


class Recorder:
    """A stand-in for a model's onnxruntime session, which records its inputs."""

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
        embedder = load(None, "embed", cache_dir=folder, settings=Settings(threads=options.threads))
        passages = chunks(collection, embedder, options.chunks)
        result = (beside_others if options.busy else compare)(embedder, passages, options.rounds)
    rows = [[name, f"{value:.3f}" if isinstance(value, float) else value] for name, value in result.items()]
    print(table(["", collection.name], rows))
    write_json(options.json, {"collection": collection.name, **result})


def chunks(collection: EvalCollection, embedder: Embedder, count: int) -> list[str]:
    """Return a random sample of chunks of documents."""
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
    """Time the way from texts to vectors, and the model alone on the same batches, in turns."""
    embedder.embed_documents(passages[:20])
    session = embedder.__dict__["_session"]  # the attribute of the embedder's session
    recorder = Recorder(session)
    embedder.__dict__["_session"] = recorder
    embedder.embed_documents(passages)
    embedder.__dict__["_session"] = session

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


def beside_others(embedder: Any, passages: list[str], rounds: int) -> dict[str, Any]:
    """Time waiting threads that sleep and ones that spin, in turns: alone and beside busy processes."""
    embedder.embed_documents(passages[:1])
    session = embedder.__dict__["_session"]
    sessions = {"sleeping": session, "spinning": _spinning(session)}
    result: dict[str, Any] = {"chunks": len(passages), "busy processes": BUSY}
    for place, others in (("alone", 0), ("busy", BUSY)):
        took: dict[str, list[float]] = {name: [] for name in sessions}
        with busy_processes(others):
            for number in range(rounds + 1):
                for name in sorted(sessions, reverse=bool(number % 2)):
                    embedder.__dict__["_session"] = sessions[name]
                    wall, processor = time.perf_counter(), time.process_time()
                    embedder.embed_documents(passages)
                    wall, processor = time.perf_counter() - wall, time.process_time() - processor
                    if number:  # the first round warms up
                        took[name].append(wall)
                        took.setdefault(f"{name}, processor", []).append(processor)
        for name in sessions:
            result[f"{place}, {name}: chunks a second"] = len(passages) / median(took[name])
            result[f"{place}, {name}: processor seconds a chunk"] = median(took[f"{name}, processor"]) / len(
                passages
            )
        pairs = zip(took["sleeping"], took["spinning"], strict=True)
        result[f"{place}: sleeping / spinning"] = median([spun / slept for slept, spun in pairs])
    embedder.__dict__["_session"] = sessions["sleeping"]
    alone, busy = (result[f"{place}, sleeping: processor seconds a chunk"] for place in ("alone", "busy"))
    result["chunks a processor second, busy / alone"] = alone / busy
    return result


def _spinning(session: Any) -> Any:
    """Return a session with the same model and options, except for what waiting threads do."""
    import onnxruntime

    ours, options = session.get_session_options(), onnxruntime.SessionOptions()
    options.intra_op_num_threads = ours.intra_op_num_threads
    options.graph_optimization_level = ours.graph_optimization_level
    options.log_severity_level = ours.log_severity_level
    return onnxruntime.InferenceSession(session._model_path, options, providers=session.get_providers())


@contextmanager
def busy_processes(count: int) -> Iterator[None]:
    """Run `count` processes that never wait."""
    started = [subprocess.Popen([sys.executable, "-I", "-S", "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="The embedder against onnxruntime alone.")
    parser.add_argument("--collection", type=Path, required=True)
    parser.add_argument("--chunks", type=int, default=1000)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--busy", action="store_true", help="measure beside busy processes")
    parser.add_argument("--cache", type=Path, help="folder of the prepared model (temporary)")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
