"""Comparison of the full-text index with the texts.

The index is contentless, so FTS5 cannot compare it with the texts. Here every text is tokenized again, and
two kinds of sums over the postings (term, document, position) are compared: the occurrences and documents of
each term, and the positions of terms in documents. A changed byte in a posting list changes one of the sums
in all but one of a million cases.
"""

from __future__ import annotations

import json
import zlib
from collections import Counter

import apsw
import numpy as np
from numpy.typing import NDArray

from qmd.store.sqlite.titles import INDEXED
from qmd.store.values import OnStep
from qmd.text.extraction import searched_title
from qmd.text.layout import indexed, known

#: The number of counters, which terms share. With this many, two errors rarely cancel each other.
_COUNTERS = 1 << 20
#: Distinct terms to count before they are added to the counters.
_TERMS = 200_000
#: Documents between two progress messages.
_PROGRESS = 2_000
#: Document ids are reduced modulo this, so that sums over a billion postings fit in 63 bits.
_MODULUS = 1021
_COLUMNS = ("title", "body", "path")


def differ(db: apsw.Connection, on_step: OnStep) -> bool:
    """Return whether the full-text index and the documents differ. Reads both completely."""
    counted, positions = _of_texts(db, on_step)
    return positions != _positions(db) or bool((counted != _counted(db)).any())


def _of_texts(db: apsw.Connection, on_step: OnStep) -> tuple[NDArray[np.int64], list[tuple[int, int]]]:
    """Return documents and occurrences by counter, and (terms, sum of positions) by column, of the texts."""
    counted = np.zeros((2, _COUNTERS), np.int64)
    documents: Counter[str] = Counter()
    occurrences: Counter[str] = Counter()

    def add_up() -> None:
        for row, counts in enumerate((documents, occurrences)):
            at = np.fromiter(map(_counter, counts), np.int64, len(counts))
            np.add.at(counted[row], at, np.fromiter(counts.values(), np.int64, len(counts)))
            counts.clear()

    total = db.execute("SELECT count(*) FROM documents").get
    positions = [[0, 0] for _ in _COLUMNS]
    for number, (identity, title, aliases, body, path, kept) in enumerate(db.execute(INDEXED)):
        if number % _PROGRESS == 0:
            on_step(f"Comparing the words of {total:,} documents ({number / total:.0%})")
        terms: list[str] = []
        names = searched_title(title, {"alias": tuple(json.loads(aliases))}, path)
        for sums, form in zip(positions, indexed(names, body, path, known(kept, body)), strict=True):
            words = form.split()
            sums[0] += len(words)
            sums[1] += identity % _MODULUS * (len(words) * (len(words) + 1) // 2)
            terms += words
        documents.update(set(terms))
        occurrences.update(terms)
        if len(documents) > _TERMS:
            add_up()
    add_up()
    return counted, [(terms, places) for terms, places in positions]


def _counted(db: apsw.Connection) -> NDArray[np.int64]:
    """Return the documents and occurrences by counter of the full-text index."""
    counted = np.zeros((2, _COUNTERS), np.int64)
    # A damaged term may not be valid text.
    rows = db.execute("SELECT CAST(term AS BLOB), doc, cnt FROM documents_terms")
    for term, documents, occurrences in rows:
        at = _counter(term)
        counted[0, at] += documents
        counted[1, at] += occurrences
    return counted


def _positions(db: apsw.Connection) -> list[tuple[int, int]]:
    """Return (terms, sum of positions) of each column of the full-text index."""
    sums = ", ".join(
        f"count(*) FILTER (WHERE col = '{column}'), "
        f"coalesce(sum(doc % {_MODULUS} * (offset + 1)) FILTER (WHERE col = '{column}'), 0)"
        for column in _COLUMNS
    )
    # With query_only, SQLite refuses even temporary tables.
    only_reads = db.pragma("query_only")
    db.pragma("query_only", 0)
    db.execute(
        "CREATE VIRTUAL TABLE IF NOT EXISTS temp.documents_postings "
        "USING fts5vocab(main, documents_fts, instance)"
    )
    db.pragma("query_only", only_reads)
    row = db.execute(f"SELECT {sums} FROM temp.documents_postings").get
    return list(zip(row[::2], row[1::2], strict=True))


def _counter(term: str | bytes) -> int:
    data = term.encode("utf-8", "surrogatepass") if isinstance(term, str) else term
    return zlib.crc32(data) % _COUNTERS
