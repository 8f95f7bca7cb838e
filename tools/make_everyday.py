"""Compute src/qmd/models/e5/everyday.npy: the vectors of everyday questions in many languages.

    python tools/make_everyday.py [--cache DIR]

`everyday.txt` has a line for each language: its code, and as many questions as every other. No collection is
about all of them, so what is nearest to most tells how near unrelated texts of the language are.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np

from qmd.models.e5.embedder import load_embedder

SOURCE = Path(__file__).with_name("everyday.txt")
TARGET = Path(__file__).parent.parent / "src/qmd/models/e5/everyday.npy"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "qmd-centroids")
    arguments = parser.parse_args()
    embedder = load_embedder(arguments.cache, progress=print)
    lines = SOURCE.read_text(encoding="utf-8").splitlines()
    table = [embedder.embed_queries(line.split("\t")[1:]) for line in lines]
    # Unit vectors of 384 dimensions have no value near 1/3.
    np.save(TARGET, np.rint(np.stack(table) * 381.0).clip(-127, 127).astype(np.int8))
    print(f"wrote {TARGET}: {len(table)} languages")


if __name__ == "__main__":
    main()
