"""How costs grow from ten thousand generated files to a million: words only, no vectors.

    python bench/growth.py --english FOLDER... --cjk FOLDER [--sizes N...] [--json OUT]

Files of 120 words, drawn as `synthetic.py` draws them, are indexed, updated without a change and searched as
processes, and searched in process. If the exponent of a measure is above 1, something is worse than linear.
"""

from __future__ import annotations

import argparse
import itertools
import math
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from common import say, table, word_counts, write_json
from processes import ours
from scale import MOST, config_of, documents, index_of, latencies
from synthetic import Vocabulary, chinese_counts, questions, selective

#: The files in a generated folder.
_FOLDER_FILES = 1_000
_FILE_WORDS = 120
#: What is measured, and how it is named.
_MEASURES = {
    "index_cpu_seconds": "first index, processor time (s)",
    "update_cpu_seconds": "update without a change, processor time (s)",
    "index_mb": "index (MB)",
    "index_peak_mb": "first index, peak memory (MB)",
    "update_peak_mb": "update, peak memory (MB)",
    "search_peak_mb": "search, peak memory (MB)",
    "selective_p50": "search, rare words, p50 (ms)",
    "questions_p50": "search, questions, p50 (ms)",
}


def measure(
    options: argparse.Namespace, english: Vocabulary, cjk: Vocabulary, queries: dict[str, list[str]]
) -> dict[str, Any]:
    """Measure generated folders of each size."""
    import qmd

    rows = []
    for size in options.sizes:
        folder, state = options.work / "generated", options.work / "generated-state"
        for old in (folder, state):
            shutil.rmtree(old, ignore_errors=True)
        size_bytes = _write_generated(folder, size, english, cjk)
        program = ours(state, ())
        program.run("--version")
        added = program.run("collection", "add", str(folder), "--name", MOST)
        again = min((program.run(program.update) for _ in range(3)), key=lambda cost: cost.cpu)
        asked = [program.run("search", query) for query in queries["selective"][:5]]
        location = index_of(program)
        row = {
            "documents": size,
            "text_mb": round(size_bytes / 1e6, 1),
            "index_seconds": round(added.wall, 2),
            "index_cpu_seconds": round(added.cpu, 2),
            "index_peak_mb": round(added.memory / 1e6, 1),
            "index_mb": round(location.stat().st_size / 1e6, 1),
            "update_seconds": round(again.wall, 3),
            "update_cpu_seconds": round(again.cpu, 3),
            "update_peak_mb": round(again.memory / 1e6, 1),
            "search_peak_mb": round(max(cost.memory for cost in asked) / 1e6, 1),
        }
        with qmd.open_index(location, config=config_of(program)) as index:
            for kind, texts in queries.items():
                row |= latencies(kind, index.search, texts)
        rows.append(row)
        say(f"{size:,} generated files: {row}")
        shutil.rmtree(folder)
    said = {"exponents": exponents(rows), "slowest": slowest(rows)}
    return {"sizes": rows, "measures": _MEASURES, **said}


def exponents(rows: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Return the exponent of each measure between the two largest sizes.

    What is constant, as the start of a process, hides the growth between smaller ones.
    """
    if len(rows) < 2:
        return {}
    before, last = sorted(rows, key=lambda row: row["documents"])[-2:]
    larger = math.log(last["documents"] / before["documents"])
    return {measure: round(math.log(last[measure] / before[measure]) / larger, 2) for measure in _MEASURES}


def _write_generated(folder: Path, count: int, english: Vocabulary, cjk: Vocabulary) -> int:
    """Write files in folders of 1,000; return the bytes of their texts."""
    size = 0
    for number, item in enumerate(itertools.islice(documents(english, cjk, _FILE_WORDS), count)):
        inside = folder / f"{number // _FOLDER_FILES:04d}"
        if number % _FOLDER_FILES == 0:
            inside.mkdir(parents=True)
        data = item.source.text.encode()
        with open(f"{inside}/{item.path}", "wb") as file:
            file.write(data)
        size += len(data)
    return size


def slowest(rows: Sequence[dict[str, Any]]) -> str:
    """Return the p95 of searches in the most files, in words."""
    last = max(rows, key=lambda row: row["documents"])
    rare, plain = last["selective_p95"], last["questions_p95"]
    return f"search in {last['documents']:,} files, p95: rare words {rare:.1f} ms, questions {plain:.1f} ms"


def main() -> None:
    parser = argparse.ArgumentParser(description="Growth of all costs with the number of files.")
    parser.add_argument(
        "--english", type=Path, nargs="+", required=True, help="collections whose words are used"
    )
    parser.add_argument("--cjk", type=Path, required=True, help="the same, in Chinese")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--queries", type=int, default=105)
    parser.add_argument("--work", type=Path, default=Path("bench-work") / "growth")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    options.work = options.work.resolve()
    english = Vocabulary.of(word_counts(options.english))
    cjk = Vocabulary.of(chinese_counts(options.cjk))
    queries = {
        "selective": selective(english, cjk, options.queries),
        "questions": questions(english, options.queries),
    }
    result = measure(options, english, cjk, queries)
    heads = ["", *(f"{row['documents']:,}" for row in result["sizes"]), "exponent"]
    rows = [
        [name, *(row[key] for row in result["sizes"]), result["exponents"].get(key, "-")]
        for key, name in _MEASURES.items()
    ]
    print(f"{table(heads, rows)}\n\n{result['slowest']}")
    write_json(options.json, result)


if __name__ == "__main__":
    main()
