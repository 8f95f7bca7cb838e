"""Convert the weights to files for onnxruntime and the tokenizer, once per cache directory.

The folder is written under a temporary name, flushed and renamed, so that it is complete or missing.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from qmd.errors import ModelError
from qmd.models.catalog import MULTILINGUAL_E5_SMALL as CARD
from qmd.models.downloads import sha256
from qmd.models.e5.package import WEIGHTS_SHA256, locate_weights, repair_hint
from qmd.system.locks import locked_file

#: The graph without its arrays. `tools/make_e5_graph.py` made it.
GRAPH = Path(__file__).with_name("model.onnx")
MODEL = GRAPH.name
ARRAYS = "model.arrays"
PIECES = "pieces.txt"
SCORES = "scores.f32"
_FILES = {MODEL, ARRAYS, PIECES, SCORES}
_MANIFEST = "manifest.json"

#: Increase if the graph or the tokenizer computes something else.
_RECIPE = 1

FINGERPRINT = hashlib.sha256(
    json.dumps([WEIGHTS_SHA256, _RECIPE, CARD.dimension, CARD.query_prompt, CARD.document_prompt]).encode()
).hexdigest()[:12]


def folder(cache_dir: Path) -> Path:
    """Return the path of the converted model, whether it exists or not."""
    return cache_dir / "models" / f"{CARD.name}-{FINGERPRINT}"


def is_ready(cache_dir: Path) -> bool:
    """Return True if the converted files have the sizes in their manifest. Reads no weights."""
    return _matches(folder(cache_dir), lambda path: path.stat().st_size, 0)


def is_intact(cache_dir: Path) -> bool:
    """Return True if the converted files also have the checksums in their manifest. Reads every byte."""
    return is_ready(cache_dir) and _matches(folder(cache_dir), sha256, 1)


def prepare(cache_dir: Path, progress: Callable[[str], None] | None = None) -> Path:
    """Return the folder of the converted model, and create it if it is missing or incomplete.

    Several processes may call this at once: one converts, the others wait for it. Raises `ModelError` if the
    weights are missing or damaged, or if the cache directory cannot be written.
    """
    target = folder(cache_dir)
    if is_ready(cache_dir):
        return target
    source = locate_weights(cache_dir)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with locked_file(str(target.with_name(f"{target.name}.lock"))):
            if not is_ready(cache_dir):
                report = progress or (lambda message: None)
                report(f"Preparing {CARD.name} (once, a few seconds) ...")
                _convert(source, target)
                report(f"Prepared {CARD.name} in {target}")
    except OSError as error:
        raise ModelError(
            f"The model {CARD.name} cannot be written to {target.parent}: {error.strerror or error}",
            "free some space there (90 MB), or choose another cache directory",
        ) from error
    return target


def discard(cache_dir: Path) -> None:
    """Remove the converted model, so that the next `prepare` creates it again."""
    shutil.rmtree(folder(cache_dir), ignore_errors=True)


def _convert(source: Path, target: Path) -> None:
    from qmd.models.e5.weights import Weights, arrays, pages

    prefix = f".{target.name}."
    for abandoned in target.parent.glob(f"{prefix}*"):
        shutil.rmtree(abandoned, ignore_errors=True)
    published = Weights(source, WEIGHTS_SHA256, repair_hint(source))
    pieces, scores = published.pieces()
    with tempfile.TemporaryDirectory(prefix=prefix, dir=target.parent) as temporary:
        draft = Path(temporary) / target.name
        draft.mkdir()
        files = {
            MODEL: _write(draft / MODEL, [GRAPH.read_bytes()]),
            ARRAYS: _write(draft / ARRAYS, pages(arrays(published))),
            PIECES: _write(draft / PIECES, ["\n".join(pieces).encode()]),
            SCORES: _write(draft / SCORES, [scores.astype("<f4").tobytes()]),
        }
        _write(draft / _MANIFEST, [json.dumps({"files": files}, indent=1).encode()])
        shutil.rmtree(target, ignore_errors=True)
        draft.replace(target)


def _write(path: Path, pieces: Iterable[bytes]) -> tuple[int, str]:
    """Write and flush a file; return its size and SHA-256."""
    digest = hashlib.sha256()
    with path.open("wb") as file:
        for piece in pieces:
            digest.update(piece)
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())
        return file.tell(), digest.hexdigest()


def _matches(target: Path, measure: Callable[[Path], int | str], column: int) -> bool:
    """Compare every file with its size (column 0) or checksum (column 1) in the manifest."""
    try:
        files = json.loads((target / _MANIFEST).read_bytes())["files"]
        # Older versions wrote other files.
        return files.keys() == _FILES and all(
            measure(target / name) == row[column] for name, row in files.items()
        )
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return False
