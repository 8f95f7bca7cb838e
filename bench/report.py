"""Write the result tables of `bench/README.md`, `README.md` and pages in `docs` from `bench/results/`.

    python bench/report.py [--check | --release]

`--check` writes nothing. It fails if a page or a plot is not that of the results, or if results about
quality are of different states of the code, and lists results that are older than the code that they measure.
`--release` also fails if there are such results, or if there is none of a row of `all.py`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import report_docs
import report_readme
from all import ROWS
from common import table
from report_docs import (
    faults,
    formats,
    freshness,
    fuzz,
    fuzz_formats,
    hooks,
    old_pages,
    packs,
    pages,
    web,
)
from report_limits import as_table
from report_plots import PLOTS
from report_quality import PEERS, languages, peers, quality
from report_state import dates, load, outdated, state, states, two_digits

_HERE = Path(__file__).resolve().parent
Result = dict[str, Any]
_DOCS = _HERE.parent / "docs"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="fail if something is not current")
    parser.add_argument("--release", action="store_true", help="fail if a result is older than its code too")
    options = parser.parse_args()
    if options.check or options.release:
        raise SystemExit(_check(release=options.release))
    for page, text in current():
        page.write_text(text, encoding="utf-8")
    for plot in PLOTS:
        plot.write()


def _check(*, release: bool) -> int:
    """Print what is not current, and return the exit status."""
    stale = [page.name for page, text in current() if page.read_text(encoding="utf-8") != text]
    stale += [plot.file for plot in PLOTS if not plot.is_current()]
    if stale:
        print(f"Not current: {', '.join(stale)}. Run python bench/report.py.")
    print(state())
    expected = [name for row, each in ROWS.items() for name in (row, *each.also)]
    missing = [name for name in expected if not load(f"{name}.json")]
    missing += [f"{row['row']} of limits" for row in load("limits.json").get("rows", ()) if "error" in row]
    older = outdated()
    if older:
        print(f"Older than the code that they measure: {', '.join(older)}.")
    if missing:
        print(f"Not measured: {', '.join(missing)}.")
    if missing or older:
        print("Run python bench/all.py, whose --list says what it needs.")
    return int(bool(stale) or len(states()) > 1 or (release and bool(older or missing)))


def current() -> Iterator[tuple[Path, str]]:
    """Yield each page, and its text with the tables of the current results."""
    parts = {
        _HERE / "README.md": {"results": "\n\n".join(_sections())},
        _HERE.parent / "README.md": {
            "figures": report_readme.figures(),
        },
        _DOCS / "benchmarks.md": {
            "state": state(),
            "packs": packs(),
            "sections": report_docs.sections(),
            "languages": languages(),
            **{name: peers(name) for name in PEERS},
        },
        _DOCS / "hooks.md": {"results": hooks()},
        _DOCS / "states.md": {"results": old_pages()},
        _DOCS / "reliability.md": {"faults": faults(), "fuzz": fuzz()},
        _DOCS / "scale.md": {"results": report_docs.scale()},
        _DOCS / "how-long.md": {"growth": report_docs.growth()},
        _DOCS / "web.md": {"results": web()},
        _DOCS / "freshness.md": {"results": freshness()},
        _DOCS / "source-formats.md": {
            "pages": pages(),
            "formats": formats(),
            "fuzz": fuzz_formats(),
            "ocr": report_docs.ocr(),
        },
    }
    for page, texts in parts.items():
        text = page.read_text(encoding="utf-8")
        for name, part in texts.items():
            text = _put(text, name, part) if part else text
        yield page, text


def _sections() -> Iterator[str]:
    """Yield the sections of this folder's README, of the results that there are."""
    yield quality()
    for name, section in SECTIONS.items():
        if result := load(f"{name}.json"):
            yield section(result)
    yield dates()


def _put(page: str, name: str, text: str) -> str:
    """Replace the text between the marks of this name. Raises `ValueError` if a mark is missing."""
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->"
    start, stop = page.index(begin) + len(begin), page.index(end)
    return f"{page[:start]}\n{text}\n\n{page[stop:]}"


def speed(result: Result) -> str:
    rows = []
    for each in result["processes"]:
        mine, theirs = each.get("qmd-python"), each.get("tobi/qmd")
        memory = f"{mine['memory_mb']:.0f} MB" + (f" / {theirs['memory_mb']:.0f} MB" if theirs else "")
        ratio = each.get("ratio", {})
        rows.append(
            [
                each["corpus"],
                each["work"],
                *(two_digits(ratio.get(k)) for k in ("seconds", "cpu_seconds")),
                memory,
            ]
        )
    heads = [
        "corpus",
        "work",
        "time, ours / theirs",
        "processor time, ours / theirs",
        "peak memory, ours / theirs",
    ]
    return "### Compared with tobi/qmd 2.8.3, as processes\n\n" + table(heads, rows)


def in_process(result: Result) -> str:
    rows = [[row["search"], f"{row['p50']:.1f}", f"{row['p95']:.1f}"] for row in result["in_process"]]
    return "### Warm, in process, 7,425 documents (milliseconds)\n\n" + table(["", "p50", "p95"], rows)


def serving(result: Result) -> str:
    title = f"### Over MCP, {result['documents']:,} documents\n\n"
    ways = [
        [name, *(f"{row[key]:.2f}" for key in ("p50", "p95", "over"))]
        for name, row in result["overhead"].items()
    ]
    heads = ["`search`, milliseconds", "p50", "p95", "additional to the search in process, p50"]
    rows = [
        [name, *(two_digits(row[key]) for key in ("p50", "p95", "cpu_ms_per_call", "calls_per_second"))]
        for name, row in result["load"].items()
    ]
    load_heads = [
        "`search` over HTTP",
        "p50 ms",
        "p95 ms",
        "processor ms a call",
        f"calls a second, {result['clients']} clients",
    ]
    return title + table(heads, ways) + "\n\n" + table(load_heads, rows)


def http(result: Result) -> str:
    connections, seconds = result["connections"], result["seconds"]
    title = (
        f"### Over HTTP, {result['documents']:,} documents, {connections} connections, {seconds} seconds\n\n"
    )
    rows = [
        [name, *(f"{row[key]:.1f}" for key in ("per_second", "p50", "p99")), row["errors"]]
        for name, row in result["load"].items()
    ]
    heads = ["lexical search", "requests a second", "p50 ms", "p99 ms", "errors"]
    waits, warm = result["meanwhile"], result["warm"]
    said = (
        f"p95 of `/search` while {waits['files']:,} files are indexed: {waits['indexing']['p95']:.1f} ms, "
        f"{waits['ratio']['p95']:.1f} times the {waits['idle']['p95']:.1f} ms when idle (one client).\n"
        f"`qmd query` as a process: {warm['local']:.2f} s by itself, {warm['server']:.2f} s with a server "
        f"running ({warm['ratio']:.1f} times faster)."
    )
    return f"{title}{table(heads, rows)}\n\n{said}"


def scale(result: Result) -> str:
    files, growth = result["files"], result["growth"]
    facts = [
        ["files, documents", f"{files['files']:,}, {files['documents']:,}"],
        ["text, index", f"{files['text_mb']:.0f} MB, {files['index_mb']:.0f} MB"],
        ["`collection add`, peak memory", f"{files['index_seconds']:.0f} s, {files['index_peak_mb']} MB"],
        ["update without changes", f"{files['update_seconds']:.1f} s, {files['update_peak_mb']} MB"],
    ]
    for kind in ("selective", "questions"):
        for part, label in (("", ""), ("_1%", ", collection of 1%")):
            name = f"search_{kind}{part}"
            facts.append([f"{kind}{label}, p50 / p95", f"{files[f'{name}_p50']} / {files[f'{name}_p95']} ms"])
    rows = [
        ("text and terms, s", "text_seconds"),
        ("vectors into blocks, s", "vector_seconds"),
        ("index, MB", "index_mb"),
        ("memory with `search`, MB", "search_peak_mb"),
        ("memory with `query`, MB", "query_peak_mb"),
        ("`search`, selective", "selective"),
        ("the same, collection of 1%", "selective_1%"),
        ("`search`, questions", "questions"),
        ("the same, collection of 1%", "questions_1%"),
        ("`vsearch`", "vsearch"),
        ("the same, collection of 1%", "vsearch_1%"),
        ("`query`, not reranked", "query_not_reranked"),
        ("`query`, 30 reranked", "query"),
        ("vectors alone", "dense"),
        ("vectors alone / reading the matrix", "dense_over_reading"),
        ("recall@10", "recall@10"),
        ("vectors alone, collection of 1%", "dense_1%"),
        ("recall@10 of that", "recall@10_1%"),
    ]
    body = [[label, *(_figure(each, key) for each in growth)] for label, key in rows]
    heads = ["documents, one vector each", *(f"{each['documents']:,}" for each in growth)]
    return (
        f"### {files['files']:,} real files\n\n{table(['', ''], facts)}\n\n"
        f"### From a thousand to a million (milliseconds, p50 / p95, warm)\n\n{table(heads, body)}\n\n"
        "![the same as a plot](../docs/images/scale.svg)"
    )


def growth(result: Result) -> str:
    sizes = result["sizes"]
    rows = [
        [name, *(row[measure] for row in sizes), result["exponents"][measure]]
        for measure, name in result["measures"].items()
    ]
    heads = ["generated files of 120 words", *(f"{row['documents']:,}" for row in sizes), "exponent"]
    slowest = f" A {result['slowest']}." if "slowest" in result else ""
    return (
        f"### Ten thousand to a million files\n\n{table(heads, rows)}\n\n"
        f"The exponent is that of the growth between the two largest: 1 is linear.{slowest}\n\n"
        "![the same as a plot](../docs/images/growth.svg)"
    )


def similar(result: Result) -> str:
    vaults = result["vaults"]
    ways = [way for way in next(iter(vaults.values())) if way not in ("documents", "notes")]
    rows = [[way, *(vault[way]["ten"] for vault in vaults.values())] for way in ways]
    heads = ["found by", *(f"{name}, {vault['notes']} notes" for name, vault in vaults.items())]
    (_, least, _), *notes = result["time"].values()
    times = " and ".join(f"{ms:.0f} ms of a {name} note ({ratio} times)" for name, ms, ratio in notes)
    return (
        "### Similar notes: the target of a link that was taken out among the first ten\n\n"
        f"{table(heads, rows)}\n\n"
        f"In 7,426 documents it takes {times}; one search by a vector takes {least:.1f} ms."
    )


def _figure(row: dict[str, Any], key: str) -> object:
    if key in row:
        return f"{row[key]:,}"
    p95 = row.get(f"{key}_p95")
    return f"{row[f'{key}_p50']}" + (f" / {p95}" if p95 is not None else "")


def embedding(result: Result) -> str:
    share = f"{result['ours / raw']:.2f}"
    return f"### Embedding\n\nThroughput over that of onnxruntime alone on the same batches: {share}."


def limits(result: Result) -> str:
    return f"### Beside tobi/qmd and the least that the work costs\n\n{as_table(result['rows'])}"


def install_size(result: Result) -> str:
    largest = [f"{name} {size:.0f}" for name, size in [*result["packages_mb"].items()][:4]]
    total = f"Without the default model: {result['total_mb']:.0f} MB, of which {', '.join(largest)}"
    model = f"The model takes {result['model_mb']:.0f} MB, and {result['cache_mb']:.0f} MB in the cache"
    return f"### Installation\n\n{total}. {model} after the first query. Bytecode counts."


#: The sections of bench/README.md, by the results that they show.
SECTIONS: dict[str, Callable[[Result], str]] = {
    "speed": speed,
    "in-process": in_process,
    "mcp": serving,
    "http": http,
    "scale": scale,
    "growth": growth,
    "embedding": embedding,
    "similar": similar,
    "synonyms": report_docs.synonyms,
    "install-size": install_size,
    "limits": limits,
}


if __name__ == "__main__":
    main()
