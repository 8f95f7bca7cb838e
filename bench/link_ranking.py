"""Effect of links on ranking: documents with many incoming links are moved up.

    python bench/link_ranking.py FOLDER [--modes search,query] [--work DIR] [--json OUT]

FOLDER is a collection in BEIR layout whose ids are the paths of Markdown files that link to each other, such
as `tidb_docs_zh`. Each of the first 100 results is moved up by a number of places that is proportional to the
logarithm of its incoming links, up to the maximum under test. Scores have ties, so they are not used. The
measure is nDCG@10 over all queries and over every second one. If a query fails, it counts as without results.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from common import read_collection, say, table, write_json  # isort: skip  (puts src/ on the path)
import qmd
from qmd.ranking.metrics import ndcg

#: The places that the document with the most incoming links moves up.
PLACES = (-2, 0, 0.5, 1, 2, 5, 10)


def main() -> None:
    options = _options()
    collection = read_collection(options.folder)
    files = options.work / "files"
    for document in collection.documents:
        file = files / document.id
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(document.text, encoding="utf-8")
    index = qmd.open_index(options.work / "index.sqlite", progress=say)
    if not index.config.collections:
        index.add_collection(str(files), "eval", pattern="**/*.md", formats=("markdown",))
    index.update()
    if options.modes != ["search"]:
        index.embed()
    linking = {
        entry.path: len({link.file for link in index.backlinks(entry.file)}) for entry in index.documents()
    }
    most = math.log1p(max(linking.values(), default=0))
    if not most:
        raise SystemExit(
            "no document of the collection links to another: are its ids the paths of the files?"
        )
    shares = {key: math.log1p(count) / most for key, count in linking.items()}
    result: dict[str, Any] = {"documents": len(linking), "linked": sum(map(bool, linking.values()))}
    rows = []
    for mode in options.modes:
        results = [
            (_found(index, mode, query), grades)
            for key, query in collection.queries.items()
            if (grades := collection.qrels.get(key))
        ]
        by_places = {places: _quality(results, shares, places) for places in PLACES}
        result[mode] = {
            "queries": len(results),
            "ndcg": {str(key): value for key, value in by_places.items()},
        }
        rows += [[mode, str(places), *values] for places, values in by_places.items()]
    say(table(["mode", "places", "nDCG@10", "every second query"], rows))
    write_json(options.json, result)


def _found(index: qmd.Index, mode: str, query: str) -> list[str]:
    try:
        response = getattr(index, mode)(query, limit=100, min_score=0.0)
    except qmd.QmdError:
        return []
    return [hit.path for hit in response.hits]


def _quality(
    results: Sequence[tuple[Sequence[str], Mapping[str, int]]], shares: Mapping[str, float], places: float
) -> list[float]:
    """Return the mean nDCG@10 over all queries and over every second one."""
    values = []
    for found, grades in results:
        moved = {path: place - places * shares.get(path, 0.0) for place, path in enumerate(found)}
        values.append(ndcg(sorted(moved, key=moved.__getitem__), grades, 10))
    return [round(sum(part) / len(part), 4) for part in (values, values[::2])]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--modes", type=lambda text: text.split(","), default=["search"])
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
