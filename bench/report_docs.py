"""The parts of `report.py` for pages in `docs`: reliability, freshness, the web page, source formats."""

from __future__ import annotations

from typing import Any

from common import table
from report_state import load, two_digits

#: Of a vector and what stands beside it on disk, and of text by the tokenizer of the default model.
_VECTOR_MB, _BYTES_A_TOKEN = 0.0016, 4


def faults() -> str:
    rows = [
        [name, each["rounds"], each["lost"], len(each["wrong"]), _noted(each["notes"])]
        for name, each in load("faults.json").get("faults", {}).items()
    ]
    heads = ["fault", "rounds", "lost documents", "failed checks", "of these"]
    return table(heads, rows) if rows else ""


def _noted(notes: dict[str, int]) -> str:
    """Return figures in words. Commands that ended before they could be killed are counted together."""
    killed = sum(count for name, count in notes.items() if name.endswith(": killed"))
    if killed:
        return f"{killed} killed at work"
    return ", ".join(f"{count:,} {name}" for name, count in notes.items()) or "-"


def hooks() -> str:
    rows = [
        [
            row["index"],
            "words alone" if row["words only"] else "with a server",
            *(two_digits(row[kind]) for kind in ("answered", "unrelated", "near")),
            row["tokens a prompt"],
        ]
        for row in load("hooks.json").get("served", ())
        if row["threshold"] == 0.5
    ]
    heads = ["notes", "", "answered", "unrelated", "near", "tokens a prompt"]
    return table(heads, rows) if rows else ""


def old_pages() -> str:
    rows = [
        [
            row["corpus"].replace("_", " "),
            f"`{row['mark']}`",
            f"`{row['mode']}`",
            row["questions"],
            f"{row['above']:.3f}",
            f"{row['first']:.3f}",
            f"{row['change']:+.3f}",
        ]
        for name in ("jest", "react_native")
        for row in load(f"states-{name}.json").get("rows", ())
    ]
    heads = ["documentation", "field", "search", "questions", "above", "first", "nDCG elsewhere"]
    return table(heads, rows) if rows else ""


def packs() -> str:
    rows = load("packs.json").get("results", ())
    sizes = [*dict.fromkeys(row["tokens"] for row in rows)]
    ways = [*dict.fromkeys((row["set"], row["way"], row["questions"]) for row in rows)]
    found = {(row["set"], row["way"], row["tokens"]): row["recall"] for row in rows}
    body = [
        [name, f"`{way}`" if way != "files" else "`grep` and whole files", questions]
        + [two_digits(found[name, way, size]) for size in sizes]
        for name, way, questions in ways
    ]
    return table(["set", "way", "questions", *(f"{size:,} tokens" for size in sizes)], body) if rows else ""


def sections() -> str:
    rows = load("sections.json").get("sections", ())
    kinds = {row["kind"]: row["questions"] for row in rows}
    shares = {(row["collection"], row["mode"], row["kind"]): row for row in rows}
    names = dict.fromkeys((row["collection"], row["mode"]) for row in rows)
    body = [
        [f"{collection.replace('_', ' ')}, `{mode}`"]
        + [
            f"{two_digits(row['first'])} / {two_digits(row['in_three'])}" if row else "-"
            for kind in kinds
            for row in [shares.get((collection, mode, kind))]
        ]
        for collection, mode in sorted(names, key=lambda name: name[0])
    ]
    return table(["first / in three", *kinds], body) if rows else ""


def fuzz() -> str:
    rows = [
        [name, f"{each['inputs']:,}", f"{each['seconds']:.0f}", len(each["failures"])]
        for name, each in load("fuzz.json").get("targets", {}).items()
    ]
    return table(["reader", "inputs", "seconds", "failures"], rows) if rows else ""


def freshness() -> str:
    found = [result for size in (7_425, 38_000) if (result := load(f"freshness-{size}.json"))]
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
    found = [result for size in (7_425, 38_000) if (result := load(f"web-{size}.json"))]
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


def scale() -> str:
    """Return the largest sizes of `scale.py` side by side."""
    result = load("scale.json")
    if not result:
        return ""
    files, largest = result["files"], result["growth"][-1]

    def both(label: str, of_files: str, of_largest: str) -> list[object]:
        pairs = [
            f"{row[f'{name}_p50']:.1f} / {row[f'{name}_p95']:.1f} ms"
            for row, name in ((files, of_files), (largest, of_largest))
        ]
        return [f"{label}, p50 / p95", *pairs]

    rows: list[list[object]] = [
        [
            "first index",
            f"{files['index_seconds']:.0f} s, {files['index_peak_mb']} MB of memory",
            f"{largest['text_seconds']:.0f} s",
        ],
        ["update without changes", f"{files['update_seconds']:.1f} s", ""],
        [
            "index on disk, without vectors / with",
            f"{files['index_mb']:.0f} MB",
            f"{largest['index_mb']:,.0f} MB",
        ],
        both("`search`, one to three rare words", "search_selective", "selective"),
        both("`search`, questions in plain words", "search_questions", "questions"),
        both("the same in a collection of 1%", "search_questions_1%", "questions_1%"),
        ["vectors alone, of the time to read them", "", f"{largest['dense_over_reading']:.1f}"],
        ["vectors alone", "", f"{largest['dense_p50']:.0f} ms, recall@10 {largest['recall@10']:.3f}"],
        ["the same in a collection of 1%", "", f"{largest['dense_1%_p50']:.1f} ms"],
        ["`vsearch`", "", f"{largest['vsearch_p50']:.0f} ms"],
        [
            "`query` without reranking / with",
            "",
            f"{largest['query_not_reranked_p50']:.0f} / {largest['query_p50']:.0f} ms",
        ],
        [
            "memory of `search` / of `query` with all vectors",
            "",
            f"{largest['search_peak_mb']} / {largest['query_peak_mb']} MB",
        ],
    ]
    heads = [
        "",
        f"{files['files']:,} Markdown files, {files['text_mb']:.0f} MB",
        f"{largest['documents']:,} short documents, each with a vector",
    ]
    return table(heads, rows)


def growth() -> str:
    """Return how long and how large it gets for so many notes, with their vectors as computed."""
    sizes, embedding = load("growth.json").get("sizes"), load("embedding.json")
    if not sizes or not embedding:
        return ""
    a_second = embedding["ours, chunks a second"] * embedding["tokens a chunk, mean"]
    rows: list[list[object]] = [
        ["text, MB", *(f"{row['text_mb']:,.0f}" for row in sizes)],
        ["first index by words", *(_duration(row["index_seconds"]) for row in sizes)],
        ["memory meanwhile, MB", *(f"{row['index_peak_mb']:,.0f}" for row in sizes)],
        ["update without changes", *(_duration(row["update_seconds"]) for row in sizes)],
        ["`qmd search`, half of the questions within", *(f"{row['questions_p50']:.0f} ms" for row in sizes)],
        ["index on disk, MB", *(f"{row['index_mb']:,.0f}" for row in sizes)],
        ["vectors on disk, MB", *(f"{row['documents'] * _VECTOR_MB:,.0f}" for row in sizes)],
        [
            "making the vectors, once",
            *(_duration(row["text_mb"] * 1e6 / _BYTES_A_TOKEN / a_second) for row in sizes),
        ],
    ]
    return table(["", *(f"{row['documents']:,} notes" for row in sizes)], rows)


def _duration(seconds: float) -> str:
    units = ((3_600, "h"), (60, "min"), (1, "s"))
    size, unit = next((each for each in units if seconds >= 2 * each[0]), units[-1])
    return f"{seconds / size:.2g} {unit}" if seconds < 10 * size else f"{seconds / size:.0f} {unit}"


def pages() -> str:
    found = load("pages.json").get("results", {})
    measures = ("hit_at_1", "hit_at_3")
    rows = [
        [kind, result["questions"], name, *(result[text][measure] for measure in measures)]
        for kind, result in found.items()
        for text, name in (("files", "the files"), ("markdown", "the same text as Markdown"))
    ]
    heads = ["questions about", "questions", "searched", "Hit@1", "Hit@3"]
    return table(heads, rows) if rows else ""


def formats() -> str:
    result = load("formats.json")
    rows = [
        [
            *(name, each["files"], f"{each['pages']:,}", _counts(each["unread"])),
            "-" if each["words"] is None else f"{100 * each['words']:.1f}%",
            *(two_digits(each[key]) for key in ("ms_a_page", "ms_a_page_of_the_library_alone")),
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
    result = load("fuzz-formats.json")
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


def ocr() -> str:
    """Return a table of recognized pages: the share of their words, and what searches find of it."""
    found = load("ocr.json").get("results", ())
    by = {(row["language"], row["condition"]): row for row in found}
    conditions = [*dict.fromkeys(row["condition"] for row in found)]
    rows: list[list[object]] = []
    for language in dict.fromkeys(row["language"] for row in found):
        its = [by[language, each] for each in conditions if (language, each) in by]
        words = [f"{row['words']:.3f}" for row in its] + ["-"] * (len(conditions) - len(its))
        ndcg = sum(row["found"] for row in its) / len(its)
        rows.append([language, its[0]["pages"], *words, f"{ndcg:.3f} / {its[0]['of_text']:.3f}"])
    heads = ["language", "pages", *conditions, "nDCG@10 of pages / of their text"]
    return table(heads, rows) if rows else ""


def synonyms(result: dict[str, Any]) -> str:
    """Return a table of synonyms: nDCG@10 with each weight."""
    rows = [
        [row["setting"], "-" if row["weight"] is None else row["weight"], f"{row['ndcg']:.3f}"]
        for row in result["results"]
    ]
    return f"### Synonyms\n\n{table(['setting', 'weight', 'nDCG@10'], rows)}"
