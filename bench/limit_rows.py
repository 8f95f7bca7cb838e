"""The rows of `limits.py`: what they share, and a function for each kind of work."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from msgspec import Struct

import load
import speed
import web
from common import median, percentile, read_collection, word_counts, write_files
from install_size import measured
from limit_programs import BARE, GRAPH, PLAIN_SERVER, blank_page, memory
from processes import Program, ours, peer
from quality import prepared
from serving import found_queries

SMALL, LARGE = "7,425 files", "38,000 files"
#: The largest collection in which warm queries are measured, and the number of its queries.
LARGEST, _MANY = "tldr_zh2en", 200


class Figure(Struct, frozen=True):
    """A median, or the only value, with the processor time and the 95th percentile."""

    value: float
    processor: float | None = None
    p95: float | None = None


#: The figures of a row by what they are of; the first is ours, and the others are compared with it.
Figures = dict[str, Figure]


class Shared(cached_property[Any]):
    """A cached property that fails again with the first error instead of making its value again."""

    def __get__(self, bench: Any, owner: Any = None) -> Any:
        errors = bench.__dict__.setdefault("errors", {})
        if self.func in errors:
            raise SystemExit(f"needs {self.func.__name__}, which failed: {errors[self.func]}")
        try:
            return super().__get__(bench, owner)
        except (Exception, SystemExit) as error:
            errors[self.func] = error
            raise


class Bench:
    """What rows share, each made when the first of them needs it."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.work: Path = options.work
        #: The work of processes, a summary for each kind and corpus.
        self.summaries: list[dict[str, Any]] = []
        #: The warm searches in `LARGEST`.
        self.warm: list[dict[str, Any]] = []
        self.english = [
            options.eval / name for name in ("scifact", "claude_docs", "code_chunks", "tldr_zh2en")
        ]

    def program(self, name: str) -> Program:
        """Return qmd with its own index."""
        return ours(self.work / name / "ours")

    def peer(self, name: str) -> Program:
        """Return tobi/qmd with its own index."""
        return peer(self.options.node, self.options.peer, self.work / name / "peer")

    def folder(self, size: str) -> Path:
        """Return the folder of a corpus of processes."""
        return self.work / "corpora" / size.split()[0].replace(",", "")

    @Shared
    def small(self) -> dict[str, Figures]:
        """The work of processes with a file for each document of `tldr_zh2en`."""
        write_files(read_collection(self.options.eval / "tldr_zh2en").documents, self.folder(SMALL))
        return self._compared(SMALL)

    @Shared
    def large(self) -> dict[str, Figures]:
        """The work of processes with generated files."""
        speed.generate_small_files(self.folder(LARGE), 38_000, self.english[:2])
        return self._compared(LARGE)

    def _compared(self, size: str) -> dict[str, Figures]:
        """Measure cold indexes, updates and searches in turns; return the figures by the kind of work."""
        programs = [self.program(size)]
        if self.options.peer:
            programs.append(self.peer(size))
        measured = speed.compare(size, self.folder(size), programs, self.options.rounds, self.options.queries)
        summaries = [each.summary() for each in measured]
        self.summaries += summaries
        return {
            summary["work"]: {
                name: Figure(row["seconds"] * 1000, row["cpu_seconds"] * 1000)
                for name in ("qmd-python", "tobi/qmd")
                if (row := summary.get(name))
            }
            for summary in summaries
        }

    @Shared
    def queries(self) -> list[str]:
        """Queries with results in the large corpus."""
        assert self.large
        return found_queries(self.program(LARGE), sorted(self.folder(LARGE).rglob("*.md")), 200)

    @Shared
    def embedded(self) -> Program:
        """The program with an index of 200 embedded files."""
        program = self.program("embedded")
        speed.generate_small_files(self.work / "embedded-files", 200, self.english[:2])
        program.run("collection", "add", str(self.work / "embedded-files"), "--name", "embedded")
        program.run("embed")
        return program

    @Shared
    def vocabularies(self) -> tuple[Any, Any]:
        """The English and the Chinese words of generated documents."""
        import synthetic

        cjk = synthetic.chinese_counts(self.options.eval / "tidb_docs_zh")
        return synthetic.Vocabulary.of(word_counts(self.english)), synthetic.Vocabulary.of(cjk)


# --- Processes


def processes(work: str, size: str, bench: Bench) -> Figures:
    """Measure a command as a process."""
    found = dict((bench.small if size == SMALL else bench.large)[work])
    for name, limit in _LIMITS[work].items():
        found[name] = limit(bench, size)
    return found


def attached(bench: Bench) -> Figures:
    """Measure `qmd search` as a process with a server running."""
    query, program = bench.queries[0], bench.program(LARGE)
    with load.serving(load.Side(program, ("server", "--transport", "http"), "/search")):
        found = _runs(program, 12, "search", query, "--json", "--mode", "server")
    return {"qmd": found, **{name: limit(bench, LARGE) for name, limit in _LIMITS["search"].items()}}


def first_query(bench: Bench) -> Figures:
    """Measure `qmd query` in a process that loads the models."""
    program = bench.embedded
    found = {"qmd": _runs(program, 7, "query", "how is it measured", "--mode", "local")}
    return found | {"loading the graph": _runs(_python(GRAPH, program.state), 7)}


def _runs(program: Program, times: int, *arguments: str) -> Figure:
    """Return the medians of a process in milliseconds. The first run warms up."""
    program.run(*arguments)
    costs = [program.run(*arguments) for _ in range(times)]
    return Figure(1000 * median([cost.wall for cost in costs]), 1000 * median([cost.cpu for cost in costs]))


def _python(script: str, state: Path, *arguments: str) -> Program:
    """Return a program of Python that is no part of qmd."""
    return Program("Python", (sys.executable, *arguments, "-c", script), state)


def _bare(script: str, bench: Bench, _size: str) -> Figure:
    return _runs(_python(script, bench.work, "-I", *(["-S"] if script == BARE else [])), 24)


def _walked(bench: Bench, size: str) -> Figure:
    return _timed(lambda: sum(entry.stat().st_size for entry in _tree(bench.folder(size))), 5)


def _tokenized(bench: Bench, size: str) -> Figure:
    from qmd.text.tokens import index_form

    def work() -> None:
        for entry in _tree(bench.folder(size)):
            with open(entry.path, encoding="utf-8") as file:
                index_form(file.read())

    return _timed(work, 1)


def _tree(folder: Path | str) -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _tree(entry.path)
            else:
                yield entry


def _timed(work: Callable[[], object], times: int) -> Figure:
    """Return the medians of a call in milliseconds."""
    walls, processor = [], []
    for _ in range(times):
        began, used = time.perf_counter(), time.process_time()
        work()
        walls.append(1000 * (time.perf_counter() - began))
        processor.append(1000 * (time.process_time() - used))
    return Figure(median(walls), median(processor))


#: The least that a kind of work can cost.
_LIMITS: Mapping[str, Mapping[str, Callable[[Bench, str], Figure]]] = {
    "search": {
        "bare Python": partial(_bare, BARE),
        "Python with argparse": partial(_bare, "import argparse"),
    },
    "no-change update": {"scandir and stat": _walked},
    "1% edited": {"scandir and stat": _walked},
    "cold index": {"reading and tokenizing": _tokenized},
}


# --- The server


def http(bench: Bench) -> Figures:
    """Measure lexical searches a second over 16 connections."""
    assert bench.large
    sides = [load.Side(bench.program(LARGE), ("server", "--transport", "http", "--no-watch"), "/search")]
    if bench.options.peer:
        sides.append(load.Side(bench.peer(LARGE), ("mcp", "--http"), "/query"))
    plain = _python(PLAIN_SERVER, bench.work)
    sides.append(load.Side(Program("bare Starlette", plain.command, bench.work), (), "/search"))
    options = argparse.Namespace(rounds=1, seconds=10, work=bench.work)
    found = load.load(sides, bench.queries, options)
    return {name: Figure(row["per_second"], row["per_processor_second"]) for name, row in found.items()}


def idle_memory(bench: Bench) -> Figures:
    """Measure the memory of a server that has answered a query with models."""
    program = bench.embedded
    with load.serving(load.Side(program, ("server", "--transport", "http"), "/query")) as (
        port,
        process,
    ):
        for _ in range(3):
            load.post(port, "/query", b'{"query": "how is it measured"}')
        time.sleep(bench.options.idle)
        found = {"qmd": Figure(memory(process.pid))}
    graph = _python(f"{GRAPH}\nprint(flush=True)\nimport time; time.sleep(60)", program.state).start()
    assert graph.stdout is not None
    graph.stdout.readline()
    found["loading the graph"] = Figure(memory(graph.pid))
    graph.kill()
    graph.communicate()
    return found


def page(bench: Bench) -> Figures:
    """Measure the time from a key to the painted list in Chromium."""
    write_files(read_collection(bench.options.eval / "tldr_zh2en").documents, bench.work / "tldr")
    folder = bench.work / "page"
    folder.mkdir(parents=True)
    web.corpus(bench.work / "tldr", 38_000, folder)
    with web.served(bench.work, folder) as (url, pid, _):
        processor = web.processor_time(url, pid)["key"]
        with web.browsing(bench.options.chromium) as browser:
            keys, _, _ = web.typed(browser, url)
            with blank_page(bench.work) as blank_url:
                blank, _, _ = web.typed(browser, blank_url)
    return {
        "qmd": Figure(median(keys), processor, percentile(keys, 0.95)),
        "a blank page": Figure(median(blank), None, percentile(blank, 0.95)),
    }


# --- In process


def words(kind: str, bench: Bench) -> Figures:
    """Measure keyword searches in 100,000 generated documents."""
    import qmd
    import synthetic
    from tantivy_index import TantivyIndex

    english, cjk = bench.vocabularies
    location = bench.work / "synthetic.sqlite"
    if not location.exists():
        synthetic.build(location, english, cjk, 100_000)
    make = {
        "selective": partial(synthetic.selective, english, cjk),
        "questions": partial(synthetic.questions, english),
    }
    queries = make[kind](205)
    with qmd.open_index(location) as index:
        row = synthetic.latencies(index, kind, queries, 10)
    found = {"qmd": Figure(row["p50"], row["cpu_p50"], row["p95"])}
    documents = partial(synthetic.generated, english, cjk, 100_000)
    limit = TantivyIndex(bench.work / "tantivy", documents).latencies(kind, queries, 10)
    return found | {"tantivy": Figure(limit["p50"], limit["cpu_p50"], limit["p95"])}


def scan(count: int, bench: Bench) -> Figures:
    """Measure exact vector search and reading the matrix."""
    import numpy as np

    import vectors
    from qmd.store.values import Scope

    chance = np.random.default_rng(vectors.SEED)
    matrix = vectors.clustered(chance, count, 384)
    noise = chance.standard_normal((45, 384)).astype(np.float32)
    queries = vectors.unit(matrix[chance.integers(0, count, 45)] + noise * (0.7 / 384**0.5))
    location = bench.work / f"vectors-{count}.sqlite"
    store = vectors.build(location, matrix)
    row = vectors.measured(store, "all", Scope(("most", "few")), matrix, queries, 0)
    store.close()
    location.unlink()
    read = row["read_p50"]
    return {
        "qmd": Figure(row["p50"], row["cpu_ratio"] * read),
        "reading the matrix": Figure(read, read),
    }


def reranked(name: str, bench: Bench) -> Figures:
    """Measure warm queries with 30 reranked candidates."""
    collection = read_collection(bench.options.eval / name)
    with prepared(collection, bench.options.indexes / name, vectors=True) as index:
        warm = speed.in_process(index, collection, _MANY if name == LARGEST else 30)
    if name == LARGEST:
        bench.warm = warm
    rows = {row["search"]: row for row in warm}
    return {
        "qmd" if kind == "query, 30 reranked" else kind: Figure(rows[kind]["p50"], rows[kind]["cpu_p50"])
        for kind in ("query, 30 reranked", "query, no reranking", "search")
    }


def install(_bench: Bench) -> Figures:
    """Measure the disk space of an installation without weights."""
    total, found, _, _ = measured()
    return {
        "qmd": Figure(total),
        "onnxruntime and numpy": Figure(found["onnxruntime"] + found["numpy"]),
    }
