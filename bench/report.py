"""Write the result tables of `bench/README.md` and of pages in `docs` from `bench/results/`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from common import table

_HERE = Path(__file__).resolve().parent
_DOCS = _HERE.parent / "docs"
_ORDER = ("scifact", "claude_docs", "code_chunks", "tldr_zh2en", "tidb_docs_zh", "qmd_own")


def main() -> None:
    sections = (quality, speed, in_process, serving, load, synthetic, vectors, scale, embedding, install_size)
    parts = [text for section in sections if (text := section())]
    _put(_HERE / "README.md", "results", "\n\n".join(parts))
    for name, text in (("faults", faults()), ("fuzz", fuzz())):
        if text:
            _put(_DOCS / "reliability.md", name, text)
    if text := web():
        _put(_DOCS / "web.md", "results", text)
    if text := freshness():
        _put(_DOCS / "freshness.md", "results", text)
    for name, text in (("pages", pages()), ("formats", formats()), ("fuzz", fuzz_formats())):
        if text:
            _put(_DOCS / "source-formats.md", name, text)


def _put(page: Path, name: str, text: str) -> None:
    """Replace the text between the marks of this name."""
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->"
    before, _, rest = page.read_text(encoding="utf-8").partition(begin)
    _, _, after = rest.partition(end)
    page.write_text(f"{before}{begin}\n{text}\n\n{end}{after}", encoding="utf-8")


def quality() -> str:
    found = [_load(f"quality-{name}.json") for name in _ORDER]
    by_name = {
        (row["collection"], row["mode"]): row for result in found if result for row in result["results"]
    }
    rows = []
    for name in _ORDER:
        row: list[object] = [name]
        for mode in ("search", "vsearch", "query"):
            measures = by_name.get((name, mode), {}).get("measures")
            row.append(f"{measures['nDCG@10']:.3f} / {measures['R@100']:.3f}" if measures else "-")
        hits = by_name.get((name, "search"), {}).get("measures")
        row.append(f"{hits['Success@3']:.3f}" if hits else "-")
        rows.append(row)
    heads = ["collection", "search", "vsearch", "query", "Hit@3 of search"]
    return "### Quality: nDCG@10 / Recall@100\n\n" + table(heads, rows)


def speed() -> str:
    result = _load("speed.json")
    if not result:
        return ""
    rows = []
    for each in result["processes"]:
        mine, theirs = each.get("qmd-python"), each.get("tobi/qmd")
        memory = f"{mine['memory_mb']:.0f} MB" + (f" / {theirs['memory_mb']:.0f} MB" if theirs else "")
        ratio = each.get("ratio", {})
        rows.append(
            [each["corpus"], each["work"], *(_two(ratio.get(k)) for k in ("seconds", "cpu_seconds")), memory]
        )
    heads = [
        "corpus",
        "work",
        "time, ours / theirs",
        "processor time, ours / theirs",
        "peak memory, ours / theirs",
    ]
    return "### Compared with tobi/qmd 2.8.3, as processes\n\n" + table(heads, rows)


def in_process() -> str:
    result = _load("in-process.json")
    if not result:
        return ""
    rows = [[row["search"], f"{row['p50']:.1f}", f"{row['p95']:.1f}"] for row in result["in_process"]]
    return "### Warm, in process, 7,425 documents (milliseconds)\n\n" + table(["", "p50", "p95"], rows)


def serving() -> str:
    result = _load("mcp.json")
    if not result:
        return ""
    title = f"### Over MCP, {result['documents']:,} documents\n\n"
    ways = [
        [name, *(f"{row[key]:.2f}" for key in ("p50", "p95", "over"))]
        for name, row in result["overhead"].items()
    ]
    heads = ["`search`, milliseconds", "p50", "p95", "additional to the search in process, p50"]
    rows = [
        [name, *(_two(row[key]) for key in ("p50", "p95", "cpu_ms_per_call", "calls_per_second"))]
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


def load() -> str:
    result = _load("http.json")
    if not result:
        return ""
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


def synthetic() -> str:
    result = _load("synthetic.json")
    if not result:
        return ""
    rows = [
        [row["queries"], *(f"{row[key]:.1f}" for key in ("p50", "p95", "cpu_p50", "cpu_p95"))]
        for row in result["search"]
    ]
    heads = ["queries", "p50", "p95", "processor p50", "processor p95"]
    title = f"### `search` in {result['documents']:,} documents, 250 MB (milliseconds)\n\n"
    return title + table(heads, rows)


def vectors() -> str:
    result = _load("vectors.json")
    if not result:
        return ""
    rows = [
        [
            row["scope"],
            f"{row['chunks']:,}",
            _two(row["ratio"]),
            _two(row["cpu_ratio"]),
            f"{row['recall']:.3f}",
        ]
        for row in result["search"]
    ]
    heads = ["scope", "vectors", "time / reading the int8 matrix", "the same, processor time", "recall@10"]
    return f"### Exact vector search, {result['dimension']} dimensions\n\n" + table(heads, rows)


def scale() -> str:
    result = _load("scale.json")
    if not result:
        return ""
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
        "![the same as a plot](results/scale.svg)"
    )


def _figure(row: dict[str, Any], key: str) -> object:
    if key in row:
        return f"{row[key]:,}"
    p95 = row.get(f"{key}_p95")
    return f"{row[f'{key}_p50']}" + (f" / {p95}" if p95 is not None else "")


def embedding() -> str:
    result = _load("embedding.json")
    if not result:
        return ""
    share = f"{result['ours / raw']:.2f}"
    text = f"### Embedding\n\nThroughput over that of onnxruntime alone on the same batches: {share}."
    busy = _load("embedding-busy.json")
    if not busy:
        return text
    rows = [
        [
            name,
            f"{busy[f'{place}: sleeping / spinning']:.2f}",
            *(
                f"{busy[f'{place}, {way}: processor seconds a chunk']:.2f}"
                for way in ("sleeping", "spinning")
            ),
        ]
        for place, name in (
            ("alone", "no busy processes beside it"),
            ("busy", "two busy processes beside it"),
        )
    ]
    heads = ["", "chunks a second, sleeping / spinning", "processor seconds a chunk, sleeping", "spinning"]
    return (
        f"{text}\n\nWaiting threads sleep. Compared with threads that spin, onnxruntime's default, "
        f"on a machine with\nother work on it in both rows:\n\n{table(heads, rows)}"
    )


def faults() -> str:
    rows = [
        [name, each["rounds"], each["lost"], len(each["wrong"]), _noted(each["notes"])]
        for name, each in _load("faults.json").get("faults", {}).items()
    ]
    heads = ["fault", "rounds", "lost documents", "failed checks", "of these"]
    return table(heads, rows) if rows else ""


def _noted(notes: dict[str, int]) -> str:
    """Return figures in words. Commands that ended before they could be killed are counted together."""
    killed = sum(count for name, count in notes.items() if name.endswith(": killed"))
    if killed:
        return f"{killed} killed at work"
    return ", ".join(f"{count:,} {name}" for name, count in notes.items()) or "-"


def fuzz() -> str:
    rows = [
        [name, f"{each['inputs']:,}", f"{each['seconds']:.0f}", len(each["failures"])]
        for name, each in _load("fuzz.json").get("targets", {}).items()
    ]
    return table(["reader", "inputs", "seconds", "failures"], rows) if rows else ""


def freshness() -> str:
    found = [result for size in (7_425, 38_000) if (result := _load(f"freshness-{size}.json"))]
    rows: list[tuple[str, list[object]]] = [
        ("watches used", [each["watches"] for each in found]),
        ("from saving a file to finding it by word, ms", [_p50_p95(each["word_ms"]) for each in found]),
        ("from saving a file to finding it by meaning, ms", [_p50_p95(each["meaning_ms"]) for each in found]),
        ("processor while idle, % of a core", [each["idle"]["percent_of_a_core"] for each in found]),
        ("seconds of that", [each["idle"]["seconds"] for each in found]),
        ("bytes written to disk meanwhile", [each["idle"]["bytes_written"] for each in found]),
        ("a search while idle, ms", [_p50_p95(each["burst"]["quiet_ms"]) for each in found]),
        ("a search while 5,000 files change, ms", [_p50_p95(each["burst"]["busy_ms"]) for each in found]),
        ("ratio of the p95", [each["burst"]["p95_ratio"] for each in found]),
    ]
    sizes = [f"{each['files']:,} files" for each in found]
    return table(["p50 / p95", *sizes], [[name, *values] for name, values in rows]) if found else ""


def web() -> str:
    found = [result for size in (7_425, 38_000) if (result := _load(f"web-{size}.json"))]
    if not found:
        return ""
    opened = [(each["page_without_a_document_ms"], each["document_of_100_kB_ms"]) for each in found]
    rows: list[list[object]] = [
        [
            "from a key to the painted list, ms, p50 / p95",
            *(_p50_p95(each["key_to_list_ms"]) for each in found),
        ],
        ["the server's processor time for it, ms", *(each["processor_ms"]["key"] for each in found)],
        *(
            [f"{name}, painted {when}, ms", *(f"{each[at][kind]['first_painted']:.0f}" for each in opened)]
            for at, name in enumerate(("a page without a document", "a document of 100 kB"))
            for kind, when in (
                ("after_another_page", "after another page"),
                ("first_visit", "on a first visit"),
            )
        ),
        ["bytes sent before results", *(f"{each['sent_before_results']['bytes']:,}" for each in found)],
        ["layout shift", *(each["layout_shift"] for each in found)],
    ]
    text = table(["", *(f"{each['documents']:,} documents" for each in found)], rows)
    for each in found:
        if gno := each.get("gno"):
            index = gno["index_seconds"] / each["index_seconds"]
            shown = gno["enter_to_list_ms"]["p50"] / each["key_to_list_ms"]["p50"]
            size = gno["sent_before_results"]["bytes"] / each["sent_before_results"]["bytes"]
            text += (
                f"\n\nIn the same run over {each['documents']:,} documents, gno (gmickel/gno 1.35.0, "
                f"from its source) took {index:,.0f} times as long to index. It searches when Enter is "
                f"pressed, and its list was painted after {shown:,.0f} times the time that qmd takes after a "
                f"key (medians, by words). Its page is {size:,.0f} times as large."
            )
    return text


def pages() -> str:
    found = _load("pages.json").get("results", {})
    measures = ("hit_at_1", "hit_at_3")
    rows = [
        [kind, result["questions"], name, *(result[text][measure] for measure in measures)]
        for kind, result in found.items()
        for text, name in (("files", "the files"), ("markdown", "the same text as Markdown"))
    ]
    heads = ["questions about", "questions", "searched", "Hit@1", "Hit@3"]
    return table(heads, rows) if rows else ""


def formats() -> str:
    result = _load("formats.json")
    rows = [
        [
            *(name, each["files"], f"{each['pages']:,}", _counts(each["unread"])),
            "-" if each["words"] is None else f"{100 * each['words']:.1f}%",
            *(_two(each[key]) for key in ("ms_a_page", "ms_a_page_of_the_library_alone")),
        ]
        for name, each in sorted(result.get("formats", {}).items())
    ]
    if not rows:
        return ""
    heads = ["format", "files", "pages", "not read", "words", "ms a page", "library alone"]
    pdf = result["pdf_pages_in_child_processes"]
    text = (
        f"{pdf['pages']:,} pages of PDF in child processes took {pdf['ratio']:.2f} times the processor time "
        "that pypdfium2 alone takes in two processes."
    )
    return f"{table(heads, rows)}\n\n{text}"


def fuzz_formats() -> str:
    result = _load("fuzz-formats.json")
    rows = [
        [name, each["real_files"], f"{each['files']:,}", f"{each['read']:,}", _counts(each["refused"])]
        for name, each in result.get("formats", {}).items()
    ]
    if not rows:
        return ""
    memory = result["memory"]
    text = (
        f"{result['seconds']:,} seconds. The parent process had up to {memory['parent_mb']:,} MB, "
        f"the largest child {memory['largest_child_mb']:,} MB."
    )
    return table(["format", "real files", "damaged files", "read", "refused"], rows) + f"\n\n{text}"


def _counts(numbers: dict[str, int]) -> str:
    return ", ".join(f"{number:,} {name}" for name, number in numbers.items()) or "-"


def _p50_p95(times: dict[str, float]) -> str:
    return f"{times['p50']:,.0f} / {times['p95']:,.0f}"


def install_size() -> str:
    result = _load("install-size.json")
    if not result:
        return ""
    return f"### Core install\n\nWithout the default model's weights: {result['total_mb']:.0f} MB."


def _load(name: str) -> dict[str, Any]:
    path = _HERE / "results" / name
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def _two(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


if __name__ == "__main__":
    main()
