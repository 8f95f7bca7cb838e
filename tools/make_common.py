"""Compute src/qmd/models/e5/common.npy: what the vectors of all texts have in common.

    python tools/make_common.py FOLDER... [--passages 200] [--queries 200] [--files 400] [--cache DIR]

The rows are the mean vector of queries, that of passages, and the main directions in which both differ from
their means: language, and code or prose. Folders, passages and queries are those of `make_centroids.py`; of a
folder with more texts than `--files`, so many are sampled.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from pathlib import Path

import numpy as np
from make_centroids import cut_passages, make_queries, read_texts, sample

from qmd.models.e5.embedder import load_embedder

TARGET = Path(__file__).parent.parent / "src/qmd/models/e5/common.npy"
#: Of 0 to 15 directions, two separate answers from unrelated texts better than one, and five slightly better.
DIRECTIONS = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--passages", type=int, default=200, help="of each source")
    parser.add_argument("--queries", type=int, default=200, help="of each source")
    parser.add_argument("--files", type=int, default=400, help="of each source")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "qmd-centroids")
    arguments = parser.parse_args()
    embedder = load_embedder(arguments.cache, progress=print)
    passages, queries = [], []
    for folder in sorted(arguments.folders):
        texts = list(read_texts(folder))
        if len(texts) > arguments.files:
            texts = random.Random(1).sample(texts, arguments.files)
        chosen = random.Random(0)
        passages += sample(chosen, list(cut_passages(embedder, texts)), arguments.passages)
        queries += sample(chosen, list(make_queries(chosen, texts)), arguments.queries)
    documents, asked = embedder.embed_documents(passages), embedder.embed_queries(queries)
    means = np.stack([asked.mean(axis=0), documents.mean(axis=0)])
    _, _, directions = np.linalg.svd(
        np.concatenate([documents - means[1], asked - means[0]]), full_matrices=False
    )
    np.save(TARGET, np.concatenate([means, directions[:DIRECTIONS]]).astype(np.float32))
    print(f"wrote {TARGET}")


if __name__ == "__main__":
    main()
