"""Compute the constants of src/qmd/models/e5: the mean token vectors of queries and of passages
(centroids.npy), and the mean vectors of Chinese queries and of passages (chinese.npy).

    python tools/make_centroids.py FOLDER... [--passages 250] [--queries 400] [--cache DIR]

Every folder is one source and counts alike. Passages are pieces of about 160 tokens. Queries are made from
headings and first sentences, a third each as they stand, as questions, and as keywords. The Chinese ones
are those of all sources together.

The constants that ship were computed, with the defaults, from the newest public state of:

    rust-lang/book                      MIT or Apache-2.0   English, and Rust listings
    rust-lang/blog.rust-lang.org        MIT or Apache-2.0   English, announcements
    GITenberg, Sherlock Holmes (1661)   public domain       English, fiction
    vuejs-translations/docs-zh-cn       CC BY 4.0           Chinese
    reactjs/ja.react.dev                CC BY 4.0           Japanese
    cncf/glossary                       CC BY 4.0           English, Chinese, Korean and a dozen others

None of these texts is part of the program, and none is used to measure it.
"""

from __future__ import annotations

import argparse
import random
import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from qmd.models.e5.common import is_chinese
from qmd.models.e5.embedder import E5Embedder, load_embedder

SUFFIXES = {".md", ".txt", ".rs"}
TARGET = Path(__file__).parent.parent / "src/qmd/models/e5"
PIECE = 160
#: Characters of a long file that count as one text.
SECTION = 20_000

_FRONT_MATTER = re.compile(r"\A(---|\+\+\+)\n.*?\n\1\n", re.DOTALL)
_HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*(?:\{.*\})?\s*#*$", re.MULTILINE)
_SENTENCE = re.compile(r"^([^\W\d_][^\n]{20,300}?[.。!?！？])(?:\s|$)", re.MULTILINE)
_MARKUP = re.compile(r"<[^>]*>|\]\([^)]*\)|[`*_\[\]#|]")
_CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_QUESTIONS = ("How do I use {}?", "What is {}?", "why {}", "how does {} work")
_CJK_QUESTIONS = ("{}是什么？", "如何使用{}", "{}とは", "为什么{}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--passages", type=int, default=250, help="of each source")
    parser.add_argument("--queries", type=int, default=400, help="of each source")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "qmd-centroids")
    arguments = parser.parse_args()
    embedder = load_embedder(arguments.cache, progress=print)
    queries, documents = [], []
    chinese: list[str] = []
    pooled: list[NDArray[np.float64]] = []
    for folder in arguments.folders:
        texts = list(read_texts(folder))
        chosen = random.Random(0)
        passages = sample(chosen, list(cut_passages(embedder, texts)), arguments.passages)
        asked = sample(chosen, list(make_queries(chosen, texts)), arguments.queries)
        chinese += filter(is_chinese, asked)
        pooled.append(embedder.embed_documents(passages).mean(axis=0, dtype=np.float64))
        print(f"{folder.name}: {len(texts)} files, {len(passages)} passages, {len(asked)} queries")
        documents.append(_mean(embedder.encode_tokens(passages, "document")[0]))
        queries.append(_mean(embedder.encode_tokens(asked, "query")[0]))
    table = np.stack([np.mean(queries, axis=0), np.mean(documents, axis=0)]).astype(np.float32)
    np.save(TARGET / "centroids.npy", table)
    of_chinese = embedder.embed_queries(chinese).mean(axis=0, dtype=np.float64)
    np.save(TARGET / "chinese.npy", np.stack([of_chinese, np.mean(pooled, axis=0)]).astype(np.float32))
    print(f"wrote {TARGET}, with {len(chinese)} Chinese queries")


def read_texts(folder: Path) -> Iterator[str]:
    for path in sorted(folder.rglob("*")):
        if path.suffix in SUFFIXES and path.is_file():
            text = path.read_text(encoding="utf-8", errors="replace")
            text = _FRONT_MATTER.sub("", text.replace("\r\n", "\n"))
            yield from (text[start : start + SECTION] for start in range(0, len(text), SECTION))


def cut_passages(embedder: E5Embedder, texts: Sequence[str]) -> Iterator[str]:
    for text in texts:
        spans = embedder.token_offsets(text)
        for start in range(0, len(spans) - PIECE // 4, PIECE):
            last = min(start + PIECE, len(spans)) - 1
            yield text[spans[start][0] : spans[last][1]]


def make_queries(chosen: random.Random, texts: Sequence[str]) -> Iterator[str]:
    for text in texts:
        found = [*_HEADING.findall(text), *_SENTENCE.findall(text)[:3]]
        for line in found:
            plain = " ".join(_MARKUP.sub(" ", line).split())
            if plain:
                yield _asked(chosen, plain)


def _asked(chosen: random.Random, line: str) -> str:
    """The line as a user might type it: shortened, as a question, or as keywords."""
    cjk = bool(_CJK.search(line))
    short = line[:24].rstrip("。.!?！？") if cjk else " ".join(line.split()[:9]).rstrip(".!?")
    match chosen.randrange(3):
        case 0:
            return short
        case 1:
            return chosen.choice(_CJK_QUESTIONS if cjk else _QUESTIONS).format(short)
        case _:
            words = re.findall(r"\w+", short)
            longest = set(sorted(words, key=len, reverse=True)[:3])
            return " ".join(word for word in words if word in longest)


def sample(chosen: random.Random, items: list[str], count: int) -> list[str]:
    unique = list(dict.fromkeys(items))
    return chosen.sample(unique, min(count, len(unique)))


def _mean(rows: Sequence[NDArray[np.float32]]) -> NDArray[np.float64]:
    mean: NDArray[np.float64] = np.concatenate(rows).mean(axis=0, dtype=np.float64)
    return mean


if __name__ == "__main__":
    main()
