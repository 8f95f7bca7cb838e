"""Whether the full-text index says of every document what its text says.

The index is contentless, so FTS5 has nothing to compare it with. Here every text is put into terms again, and
two kinds of sums over the postings (term, document, place) are compared: how often each term occurs and in
how many documents, and at which places of which documents terms are. Bytes that change in a posting list
change one of them, but for a case in a million.
"""

from __future__ import annotations

import zlib
from collections import Counter
from typing import TYPE_CHECKING

import apsw

from qmd.store.base import OnStep
from qmd.text.tokens import index_form

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Terms share so many counters: enough that what is wrong in one seldom makes up for another.
_COUNTERS = 1 << 20
#: Different terms that are counted before they are added up.
_TERMS = 200_000
#: Documents between two words on how far it is.
_TOLD = 2_000
#: Documents count by the rest of their number, so that sums of a billion postings fit in 63 bits.
_REST = 1021
_COLUMNS = ("title", "body", "path")


def contradict(db: apsw.Connection, on_step: OnStep) -> bool:
    """Whether the full-text index and the documents differ. Reads all of both."""
    counted, placed = _of_texts(db, on_step)
    return placed != _placed(db) or bool((counted != _counted(db)).any())


def _of_texts(db: apsw.Connection, on_step: OnStep) -> tuple[NDArray[np.int64], list[tuple[int, int]]]:
    """What the texts say: (documents and occurrences by counter, for each column (terms, sum of places))."""
    import numpy as np

    counted = np.zeros((2, _COUNTERS), np.int64)
    documents: Counter[str] = Counter()
    occurrences: Counter[str] = Counter()

    def add_up() -> None:
        for row, counts in enumerate((documents, occurrences)):
            at = np.fromiter(map(_counter, counts), np.int64, len(counts))
            np.add.at(counted[row], at, np.fromiter(counts.values(), np.int64, len(counts)))
            counts.clear()

    (total,) = db.execute("SELECT count(*) FROM documents").fetchone() or (0,)
    placed = [[0, 0] for _ in _COLUMNS]
    rows = db.execute(
        "SELECT d.id, d.title, t.text, d.path FROM documents d JOIN contents t ON t.id = d.content_id"
    )
    for number, (identity, *texts) in enumerate(rows):
        if number % _TOLD == 0:
            on_step(f"Comparing the words of {total:,} documents ({number / total:.0%})")
        terms: list[str] = []
        for sums, text in zip(placed, texts, strict=True):
            found = index_form(text).split()
            sums[0] += len(found)
            sums[1] += identity % _REST * (len(found) * (len(found) + 1) // 2)
            terms += found
        documents.update(set(terms))
        occurrences.update(terms)
        if len(documents) > _TERMS:
            add_up()
    add_up()
    return counted, [(terms, places) for terms, places in placed]


def _counted(db: apsw.Connection) -> NDArray[np.int64]:
    """Documents and occurrences by counter, as the full-text index has them."""
    import numpy as np

    counted = np.zeros((2, _COUNTERS), np.int64)
    # A term that is damaged need not be text.
    rows = db.execute("SELECT CAST(term AS BLOB), doc, cnt FROM documents_terms")
    for term, documents, occurrences in rows:
        at = _counter(term)
        counted[0, at] += documents
        counted[1, at] += occurrences
    return counted


def _placed(db: apsw.Connection) -> list[tuple[int, int]]:
    """For each column (terms, sum of places), as the full-text index has them."""
    sums = ", ".join(
        f"count(*) FILTER (WHERE col = '{column}'), "
        f"coalesce(sum(doc % {_REST} * (offset + 1)) FILTER (WHERE col = '{column}'), 0)"
        for column in _COLUMNS
    )
    # A connection that only reads may have no tables of its own either, though they are in no file.
    only_reads = db.pragma("query_only")
    db.pragma("query_only", 0)
    db.execute(
        "CREATE VIRTUAL TABLE IF NOT EXISTS temp.documents_postings "
        "USING fts5vocab(main, documents_fts, instance)"
    )
    db.pragma("query_only", only_reads)
    row = db.execute(f"SELECT {sums} FROM temp.documents_postings").fetchone() or ()
    return list(zip(row[::2], row[1::2], strict=True))


def _counter(term: str | bytes) -> int:
    data = term.encode("utf-8", "surrogatepass") if isinstance(term, str) else term
    return zlib.crc32(data) % _COUNTERS
