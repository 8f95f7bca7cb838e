"""Speed of indexing and searching, compared with tobi/qmd if its paths are given.

    python bench/speed.py --collection FOLDER [--vocabulary FOLDER...] [--files FOLDER...]
                          [--node NODE --peer QMD_JS] [--index INDEX] [--work DIR] [--json OUT]

Corpora: the documents of `--collection` (BEIR layout) as files; 38,000 small generated files with the word
statistics of `--vocabulary`; copies of the folders given by `--files`. Processes work on each in turns: cold
index, update without a change, update after an edit of 1% of the files, search. Ratios are ours to theirs, of
medians. In process, only ours: search, and if `--index` names the index that `quality.py --modes vsearch`
left, vsearch and query with and without reranking, each query once.
"""

from __future__ import annotations

import argparse
import itertools
import random
import shlex
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from common import (
    EvalCollection,
    median,
    percentile,
    read_collection,
    say,
    table,
    word_counts,
    write_files,
    write_json,
)
from processes import Cost, Program, alternating, ours, peer

SEED = 20261122


class Measured(Struct):
    """One kind of work on one corpus, with every run of every program."""

    corpus: str
    work: str
    runs: dict[str, list[Cost]] = field(default_factory=dict)

    def add(self, program: Program, cost: Cost) -> None:
        self.runs.setdefault(program.name, []).append(cost)

    def summary(self) -> dict[str, Any]:
        """Return the medians of each program, and the ratio of ours to theirs."""
        found: dict[str, Any] = {"corpus": self.corpus, "work": self.work}
        for name, costs in self.runs.items():
            found[name] = {
                "seconds": round(median([cost.wall for cost in costs]), 4),
                "cpu_seconds": round(median([cost.cpu for cost in costs]), 4),
                "memory_mb": round(max(cost.memory for cost in costs) / 1e6, 1),
                "runs": len(costs),
            }
        names = list(self.runs)
        if len(names) == 2:
            mine, theirs = (found[name] for name in names)
            found["ratio"] = {key: round(mine[key] / theirs[key], 3) for key in ("seconds", "cpu_seconds")}
            found["ratio"]["memory"] = round(mine["memory_mb"] / theirs["memory_mb"], 3)
        return found


def main() -> None:
    options = _options()
    options.work.mkdir(parents=True, exist_ok=True)
    result: dict[str, Any] = {}
    if not options.in_process_only:
        summaries = []
        for name, folder in _corpora(options):
            summaries += [each.summary() for each in compare(name, folder, options)]
        result["processes"] = summaries
        print(_process_table(summaries))
    if options.index:
        result["in_process"] = in_process(read_collection(options.collection), options)
        rows = [[row["search"], row["p50"], row["p95"], row["queries"]] for row in result["in_process"]]
        print("\n" + table(["in process", "p50 ms", "p95 ms", "queries"], rows))
    write_json(options.json, result)


def compare(name: str, folder: Path, options: argparse.Namespace) -> list[Measured]:
    """Index, update and search a folder with each program, in turns."""
    programs = _programs(options)
    files = sorted(folder.rglob("*.md"))
    say(f"{name}: {len(files)} files, {sum(file.stat().st_size for file in files) / 1e6:.1f} MB")
    for program in programs:
        program.run("--version")  # byte-compiled, and in the page cache
    kinds = ("cold index", "no-change update", "1% edited", "search")
    measured = {kind: Measured(name, kind) for kind in kinds}
    for file in files:
        file.read_bytes()
    for program in alternating(programs, options.rounds):
        shutil.rmtree(program.state, ignore_errors=True)
        measured["cold index"].add(program, program.run("collection", "add", str(folder), "--name", "bench"))
    for program in alternating(programs, options.rounds + 2):
        measured["no-change update"].add(program, program.run("update"))
    chance = random.Random(SEED)
    for number in range(options.rounds):
        for file in chance.sample(files, max(1, len(files) // 100)):
            with file.open("a", encoding="utf-8") as text:
                text.write(f"\nedited, round {number}\n")
        for program in programs if number % 2 == 0 else programs[::-1]:
            measured["1% edited"].add(program, program.run("update"))
    for query in neighbours(files, chance, options.queries):
        for program in alternating(programs, 2):
            measured["search"].add(program, program.run("search", query, "--json"))
    sizes = ", ".join(f"{program.name} {program.index_size() / 1e6:.1f} MB" for program in programs)
    say(f"{name}: index on disk: {sizes}")
    return list(measured.values())


def in_process(collection: EvalCollection, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Measure warm searches, each query once, without cached rerank scores."""
    import apsw

    import qmd

    with apsw.Connection(str(options.index)) as db:
        db.set_busy_timeout(10_000)
        db.execute("DELETE FROM llm_cache")
    texts = list(collection.queries.values())
    random.Random(SEED).shuffle(texts)
    warm, texts = texts[:5], texts[5 : 5 + options.in_process_queries]
    with qmd.open_index(options.index) as index:
        ways: dict[str, Callable[[str], object]] = {"search": index.search}
        if index.status().has_vector_index:
            ways |= {
                "vsearch": index.vsearch,
                "query, no reranking": lambda text: index.query(text, rerank=False),
                "query, 30 reranked": index.query,
            }
        rows = []
        for name, ask in ways.items():
            for text in warm:
                ask(text)
            times, processor = [], []
            for text in texts:
                began, used = time.perf_counter(), time.process_time()
                ask(text)
                times.append(1000 * (time.perf_counter() - began))
                processor.append(1000 * (time.process_time() - used))
            rows.append(
                {
                    "search": name,
                    "p50": round(median(times), 2),
                    "p95": round(percentile(times, 0.95), 2),
                    "cpu_p50": round(median(processor), 2),
                    "queries": len(times),
                }
            )
            say(f"{collection.name}: {name}: p50 {rows[-1]['p50']} ms, p95 {rows[-1]['p95']} ms")
        return rows


def generate_small_files(folder: Path, count: int, vocabulary: Sequence[Path], seed: int = SEED) -> None:
    """Write `count` files like the pages of tldr, about 500 bytes each, in folders of 1,000."""
    counts = word_counts(vocabulary)
    words, weights = list(counts), list(itertools.accumulate(counts.values()))
    chance = random.Random(seed)

    def some(low: int, high: int) -> str:
        return " ".join(chance.choices(words, cum_weights=weights, k=chance.randint(low, high)))

    for number in range(count):
        inside = folder / f"{number // 1000:03d}"
        if number % 1000 == 0:
            inside.mkdir(parents=True, exist_ok=True)
        examples = "\n".join(
            f"\n- {some(4, 9).capitalize()}:\n\n`{some(2, 6)}`" for _ in range(chance.randint(3, 8))
        )
        page = f"# {some(1, 2)}\n\n> {some(6, 14).capitalize()}.\n{examples}\n"
        (inside / f"{number:06d}.md").write_text(page, encoding="utf-8")


def _corpora(options: argparse.Namespace) -> list[tuple[str, Path]]:
    """Yield each corpus, newly written, because the measurement edits it."""
    made: list[tuple[str, Path]] = []
    root = options.work / "corpora"
    shutil.rmtree(root, ignore_errors=True)
    if options.collection:
        collection = read_collection(options.collection)
        write_files(collection.documents, root / collection.name)
        made.append((f"{collection.name}, {len(collection.documents):,} files", root / collection.name))
    if options.vocabulary and options.generated:
        generate_small_files(root / "generated", options.generated, options.vocabulary)
        made.append((f"generated, {options.generated:,} files", root / "generated"))
    for number, folder in enumerate(options.files):
        copy = root / f"files-{number}"
        for file in sorted(folder.rglob("*.md")):
            target = copy / file.relative_to(folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)
        made.append((folder.name, copy))
    return made


def _programs(options: argparse.Namespace) -> list[Program]:
    programs = [ours(options.work / "ours", tuple(shlex.split(options.ours)))]
    if options.peer:
        programs.append(peer(options.node, options.peer, options.work / "peer"))
    return programs


def neighbours(files: Sequence[Path], chance: random.Random, count: int) -> list[str]:
    """Return queries of one to three adjacent words of some file."""
    queries: list[str] = []
    for file in chance.sample(files, min(count, len(files))):
        text = file.read_text(encoding="utf-8")
        words = [word for word in text.split() if word.isalpha() and len(word) > 3]
        if words:
            at = chance.randrange(len(words))
            queries.append(" ".join(words[at : at + chance.randint(1, 3)]))
    return queries


def _process_table(summaries: Sequence[dict[str, Any]]) -> str:
    rows = []
    for each in summaries:
        names = [name for name in each if name not in ("corpus", "work", "ratio")]
        row: list[object] = [each["corpus"], each["work"]]
        row.append(" / ".join(f"{each[name]['seconds']:.3f}" for name in names))
        row.append(" / ".join(f"{each[name]['memory_mb']:.0f}" for name in names))
        ratio = each.get("ratio")
        row += [f"{ratio['seconds']:.2f}", f"{ratio['memory']:.2f}"] if ratio else ["-", "-"]
        rows.append(row)
    heads = ["corpus", "work", "seconds (ours / theirs)", "peak MB", "time ratio", "memory ratio"]
    return table(heads, rows)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Speed, compared with tobi/qmd.")
    parser.add_argument("--collection", type=Path, help="a collection of small documents, in BEIR layout")
    parser.add_argument(
        "--vocabulary", type=Path, nargs="*", default=[], help="collections whose words are used"
    )
    parser.add_argument("--generated", type=int, default=38_000, help="number of generated files (38000)")
    parser.add_argument("--files", type=Path, nargs="*", default=[], help="folders of Markdown")
    parser.add_argument("--ours", default="", help="the command that runs qmd (this source tree)")
    parser.add_argument("--node", type=Path, help="the Node that runs tobi/qmd")
    parser.add_argument("--peer", type=Path, help="tobi/qmd's dist/cli/qmd.js")
    parser.add_argument("--index", type=Path, help="an index of --collection, with vectors")
    parser.add_argument("--in-process-only", action="store_true")
    parser.add_argument("--in-process-queries", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--queries", type=int, default=12, help="number of searches as processes, in two rounds (12)"
    )
    parser.add_argument("--work", type=Path, default=Path("bench-work") / "speed")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if bool(options.node) != bool(options.peer):
        parser.error("--node and --peer go together")
    if options.index and not options.collection:
        parser.error("--index needs --collection, whose queries are asked")
    options.work = options.work.resolve()
    return options


if __name__ == "__main__":
    main()
