"""An index of a BEIR corpus: its documents as Markdown files, in a folder of its own that can be kept."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import file_digest
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from qmd.config.atomic import replace_file
from qmd.config.settings import Settings
from qmd.engine.embedding.batches import EmbedProgress
from qmd.engine.evaluation.fixtures import corpus_file, read_corpus
from qmd.engine.evaluation.modes import OnProgress
from qmd.errors import ModelError, SourceError
from qmd.types import Hit

if TYPE_CHECKING:
    from qmd.engine.index import Index

_NAME = "corpus"
#: Holds which corpus the folder is made from, and the ids of its documents by number.
_STAMP = "corpus.json"


@dataclass(frozen=True, slots=True)
class Corpus:
    """An indexed corpus; `ids` by number of the file. `problems` are (file, reason) of what is not in it."""

    index: Index
    ids: tuple[str, ...]
    problems: tuple[tuple[str, str], ...] = ()

    def id(self, hit: Hit) -> str:
        """The corpus's own name of a document that was found."""
        return self.ids[_number(hit.path)]


@contextmanager
def indexed(
    folder: str,
    work: str | None,
    settings: Settings,
    environ: Mapping[str, str],
    *,
    vectors: bool,
    on_progress: OnProgress,
) -> Iterator[Corpus]:
    """The corpus of a folder in BEIR layout, indexed in `work`, or in a folder that goes away at the end.

    What is there already is used again. Models and ranking are those of `settings`; `vectors` says whether
    any are needed. Raises `SourceError` for a corpus that cannot be read and for a `work` that is not ours.
    """
    from qmd.engine.index import open_index

    with _work_folder(work) as place:
        ids = _write_files(folder, place)
        variables = {**environ, **_variables(settings)}
        with open_index(os.path.join(place, "index.sqlite"), environ=variables) as index:
            problems = _scan(index, os.path.join(place, "files"), on_progress)
            if vectors:
                _embed(index, on_progress)
            yield Corpus(index, ids, problems)


@contextmanager
def _work_folder(chosen: str | None) -> Iterator[str]:
    if chosen is None:
        with TemporaryDirectory(prefix="qmd-bench-") as folder:
            yield folder
        return
    place = os.path.abspath(os.path.expanduser(chosen))
    try:
        os.makedirs(place, exist_ok=True)
        foreign = os.listdir(place) and not os.path.exists(os.path.join(place, _STAMP))
    except OSError as error:
        raise SourceError(f"{chosen}: cannot be used: {error.strerror}") from error
    if foreign:
        raise SourceError(f"{chosen} holds files of something else", "give a new or an empty folder")
    yield place


def _write_files(folder: str, place: str) -> tuple[str, ...]:
    """The documents as files, named by number so that their names say nothing; returns their ids."""
    stamp = os.path.join(place, _STAMP)
    with open(corpus_file(folder), "rb") as packed:
        digest = file_digest(packed, "sha256").hexdigest()
    if os.path.exists(stamp):
        with open(stamp, encoding="utf-8") as file:
            known = json.load(file)
        if known["digest"] == digest:
            return tuple(known["ids"])
    # Before anything else: the folder is ours, though nothing is complete yet.
    _write_stamp(stamp, "", [])
    files = os.path.join(place, "files")
    os.makedirs(files, exist_ok=True)
    ids: list[str] = []
    for number, document in enumerate(read_corpus(folder)):
        ids.append(document.id)
        path = os.path.join(files, f"{number:07d}.md")
        with open(path, "w", encoding="utf-8", errors="replace", newline="\n") as file:
            file.write(document.markdown)
    for name in os.listdir(files):
        if _number(name) >= len(ids):
            os.unlink(os.path.join(files, name))
    _write_stamp(stamp, digest, ids)
    return tuple(ids)


def _write_stamp(path: str, digest: str, ids: list[str]) -> None:
    replace_file(path, json.dumps({"digest": digest, "ids": ids}, ensure_ascii=False).encode())


def _variables(settings: Settings) -> dict[str, str]:
    """Settings that searches depend on, as variables that win over the configuration of the folder."""
    same = {
        "QMD_EMBED_MODEL": settings.embed_model,
        "QMD_RERANK_MODEL": settings.rerank_model,
        "QMD_GENERATE_MODEL": settings.generate_model,
        "QMD_RANKING": settings.ranking,
    }
    return {name: value for name, value in same.items() if value is not None}


def _scan(index: Index, files: str, on_progress: OnProgress) -> tuple[tuple[str, str], ...]:
    def on_scan(name: str, done: int, total: int) -> None:
        on_progress("Indexing", done, total)

    known = index.config.collections.get(_NAME)
    if known is not None and known.path == files:
        (report,) = index.update(on_progress=on_scan)
    else:
        if known is not None:
            index.remove_collection(_NAME)  # the folder was moved; texts keep their vectors
        report = index.add_collection(files, _NAME, on_progress=on_scan)
    if report.error is not None:
        raise report.error
    return tuple(report.problems)


def _embed(index: Index, on_progress: OnProgress) -> None:
    def on_embed(progress: EmbedProgress) -> None:
        on_progress("Embedding", progress.chunks_done, progress.chunks_total)

    try:
        index.embed(on_progress=on_embed)
    except ModelError:
        return  # the searches that need the model say so themselves


def _number(name: str) -> int:
    return int(name.removesuffix(".md"))
