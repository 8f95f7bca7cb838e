"""Indexing a BEIR corpus as Markdown files, in a temporary folder or one that is kept."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import file_digest
from tempfile import TemporaryDirectory
from typing import Protocol, Self

from msgspec import Struct

from qmd.config.atomic import replace_file
from qmd.config.settings import Settings
from qmd.engine.embedding.batches import EmbedProgress, EmbedReport, OnProgress as OnEmbedded
from qmd.engine.indexing.scan import OnProgress as OnScanned, ScanReport
from qmd.engine.requests import SearchRequest
from qmd.errors import ModelError, SourceError
from qmd.features.evaluation.fixtures import corpus_file, read_corpus
from qmd.features.evaluation.modes import OnProgress
from qmd.types import Config, Document, Hit, SearchResponse

_NAME = "corpus"
#: Records the digest of the corpus that the folder was made from, and the ids of its documents by number.
_STAMP = "corpus.json"


class EvaluatedIndex(Protocol):
    """The part of `qmd.Index` that an evaluation uses."""

    settings: Settings

    @property
    def config(self) -> Config: ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...

    def run(self, kind: str, request: SearchRequest) -> SearchResponse: ...

    def documents(self) -> list[Document]: ...

    def add_collection(self, path: str, name: str, *, on_progress: OnScanned) -> ScanReport: ...

    def remove_collection(self, name: str) -> int: ...

    def update(self, *, on_progress: OnScanned) -> list[ScanReport]: ...

    def embed(self, *, on_progress: OnEmbedded) -> EmbedReport: ...


#: Opens the index at a path.
OpenIndex = Callable[[str], EvaluatedIndex]


class Corpus(Struct, frozen=True):
    """An indexed corpus. `ids` are by file number. `problems` are (file, reason) of unindexed files."""

    index: EvaluatedIndex
    ids: tuple[str, ...]
    problems: tuple[tuple[str, str], ...] = ()

    def id(self, hit: Hit) -> str:
        """Return the corpus's own id of a hit's document."""
        return self.ids[_number(hit.path)]


@contextmanager
def indexed(
    folder: str, work: str | None, open_index: OpenIndex, vectors: bool, on_progress: OnProgress
) -> Iterator[Corpus]:
    """Index the corpus of a folder in BEIR layout, and embed it if `vectors` is true.

    The index is kept in `work` and reused, or temporary if that is None. Raises `SourceError` if the corpus
    cannot be read, or if `work` contains other files.
    """
    with _work_folder(work) as target:
        ids = _write_files(folder, target)
        with open_index(os.path.join(target, "index.sqlite")) as index:
            problems = _scan(index, os.path.join(target, "files"), on_progress)
            if vectors:
                _embed(index, on_progress)
            yield Corpus(index, ids, problems)


@contextmanager
def _work_folder(chosen: str | None) -> Iterator[str]:
    if chosen is None:
        with TemporaryDirectory(prefix="qmd-bench-") as folder:
            yield folder
        return
    target = os.path.abspath(os.path.expanduser(chosen))
    try:
        os.makedirs(target, exist_ok=True)
        foreign = os.listdir(target) and not os.path.exists(os.path.join(target, _STAMP))
    except OSError as error:
        raise SourceError(f"{chosen}: cannot be used: {error.strerror}") from error
    if foreign:
        raise SourceError(f"{chosen} contains files of another program", "give a new or an empty folder")
    yield target


def _write_files(folder: str, target: str) -> tuple[str, ...]:
    """Write the documents as files, and return their ids.

    The files are named by number, so that their names do not influence the search.
    """
    stamp = os.path.join(target, _STAMP)
    with open(corpus_file(folder), "rb") as packed:
        digest = file_digest(packed, "sha256").hexdigest()
    if os.path.exists(stamp):
        with open(stamp, encoding="utf-8") as file:
            existing = json.load(file)
        if existing["digest"] == digest:
            return tuple(existing["ids"])
    # Claim the folder before writing, so that an interrupted run can be repeated.
    _write_stamp(stamp, "", [])
    files = os.path.join(target, "files")
    os.makedirs(files, exist_ok=True)
    ids: list[str] = []
    for number, (identity, markdown) in enumerate(read_corpus(folder)):
        ids.append(identity)
        path = os.path.join(files, f"{number:07d}.md")
        with open(path, "w", encoding="utf-8", errors="replace", newline="\n") as file:
            file.write(markdown)
    for name in os.listdir(files):
        if _number(name) >= len(ids):
            os.unlink(os.path.join(files, name))
    _write_stamp(stamp, digest, ids)
    return tuple(ids)


def _write_stamp(path: str, digest: str, ids: list[str]) -> None:
    replace_file(path, json.dumps({"digest": digest, "ids": ids}, ensure_ascii=False).encode())


def _scan(index: EvaluatedIndex, files: str, on_progress: OnProgress) -> tuple[tuple[str, str], ...]:
    def on_scan(name: str, done: int, total: int) -> None:
        on_progress("Indexing", done, total)

    existing = index.config.collections.get(_NAME)
    if existing is not None and existing.path == files:
        (report,) = index.update(on_progress=on_scan)
    else:
        if existing is not None:
            index.remove_collection(_NAME)  # the folder was moved; texts keep their vectors
        report = index.add_collection(files, _NAME, on_progress=on_scan)
    if report.error is not None:
        raise report.error
    return tuple(report.problems)


def _embed(index: EvaluatedIndex, on_progress: OnProgress) -> None:
    def on_embed(progress: EmbedProgress) -> None:
        on_progress("Embedding", progress.chunks_done, progress.chunks_total)

    try:
        index.embed(on_progress=on_embed)
    except ModelError:
        return  # the modes that need the model report the error


def _number(name: str) -> int:
    return int(name.removesuffix(".md"))
