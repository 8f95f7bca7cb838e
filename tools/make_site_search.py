"""Makes the search index of a built site: `zensical build && python tools/make_site_search.py docs site`.

The sections of the pages get the terms and the BM25 of qmd's own index, computed here, so that docs/search.js
only adds numbers. Words lead to their terms by a table, and the browser needs no tokenizer.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from qmd.ranking.bm25 import FIELD_WEIGHTS, idf, length_norm, term_score
from qmd.text.markdown.reading import read
from qmd.text.outline import sections
from qmd.text.tokens import fold, terms_of, words

FILE = "search-index.json"
_ID = re.compile(r"<h[1-6] id=\"([^\"]+)\"")
_MARKS = re.compile(r"<!--.*?-->|^\s*(?:```.*|[|:\s-]+)$|\]\([^)]*\)|[`*|#\[\]]", re.MULTILINE | re.DOTALL)
#: Characters of the beginning of a section that are shown.
_SHOWN = 200


def pages(docs: Path, site: Path) -> Iterator[tuple[str, str, list[str]]]:
    """Yield the pages: the address, the Markdown, and the ids of the headings."""
    for file in sorted(docs.rglob("*.md")):
        name = file.relative_to(docs).with_suffix("").as_posix()
        address = "" if name == "index" else f"{name}/"
        html = (site / address / "index.html").read_text(encoding="utf-8")
        yield address, file.read_text(encoding="utf-8"), _ID.findall(html)


def make(docs: Path, site: Path) -> dict[str, Any]:
    """Return the index: sections, the scores of their terms, and the terms of words."""
    listed: list[tuple[str, str, str]] = []
    counts: list[Counter[str]] = []
    known: dict[str, list[str]] = {}
    for address, text, ids in pages(docs, site):
        lines, found = text.splitlines(), sections(text, read(text).structure)
        for at, (section, anchor) in enumerate(zip(found, ids, strict=True)):
            end = found[at + 1].first_line - 1 if at + 1 < len(found) else len(lines)
            body = "\n".join(lines[section.first_line : end])
            path = section.heading if section.level == 1 else f"{found[0].heading} › {section.heading}"
            shown = " ".join(_MARKS.sub(" ", body).split())[:_SHOWN]
            listed.append((address if section.level == 1 else f"{address}#{anchor}", path, shown))
            count: Counter[str] = Counter()
            for part, weight in ((path, int(FIELD_WEIGHTS[0])), (body, 1)):
                for word in words(part):
                    known.setdefault(fold(word), terms_of(word))
                    count.update(terms_of(word) * weight)
            counts.append(count)
    average = sum(count.total() for count in counts) / max(len(counts), 1)
    containing = Counter(term for count in counts for term in count)
    scores: dict[str, list[float]] = defaultdict(list)
    for at, count in enumerate(counts):
        norm = length_norm(count.total(), average)
        for term, frequency in count.items():
            score = term_score(idf(len(counts), containing[term]), frequency, norm)
            scores[term] += at, round(score, 2)
    return {"sections": listed, "terms": scores, "words": known}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("docs", type=Path, help="the folder of the pages")
    parser.add_argument("site", type=Path, help="the folder of the built site")
    arguments = parser.parse_args()
    made = json.dumps(make(arguments.docs, arguments.site), ensure_ascii=False, separators=(",", ":"))
    (arguments.site / FILE).write_text(made, encoding="utf-8")
    print(f"{arguments.site / FILE}: {len(made) // 1000:,} kB")


if __name__ == "__main__":
    main()
