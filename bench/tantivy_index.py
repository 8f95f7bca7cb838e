"""The limit of lexical search: tantivy on the same documents, terms and queries.

It is measured only: its terms are those of `qmd.text.tokens`, with the weights of the fields, but it makes no
snippets, and knows no names, required words or filters.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from common import median, percentile
from qmd.ranking.bm25 import FIELD_WEIGHTS
from qmd.store.values import DocumentChange
from qmd.text.query import LexicalQuery, parse
from qmd.text.tokens import index_form

_FIELDS = dict(zip(("title", "body", "path"), FIELD_WEIGHTS, strict=True))
_MEMORY = 100_000_000
_COMMITS = 20


class TantivyIndex:
    """An index of documents in a folder, made by one thread if the folder is missing."""

    def __init__(self, folder: Path, documents: Callable[[], Iterable[DocumentChange]]) -> None:
        import tantivy

        self._tantivy = tantivy
        builder = tantivy.SchemaBuilder()
        builder.add_integer_field("id", stored=True, indexed=True)
        for name in _FIELDS:
            builder.add_text_field(name, tokenizer_name="whitespace", index_option="position")
        self._schema = builder.build()
        self.built: dict[str, float] = {}
        if not folder.exists():
            part = folder.with_suffix(".part")
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir(parents=True)
            self._build(tantivy.Index(self._schema, path=str(part)), documents())
            part.rename(folder)
        self._folder = folder
        self._index = tantivy.Index(self._schema, path=str(folder))
        self._searcher = self._index.searcher()

    def latencies(self, kind: str, queries: Sequence[str], limit: int) -> dict[str, Any]:
        """Measure searches in milliseconds, each query once after a few others."""
        times = []
        for query in queries:
            parsed = parse(query)
            began, cpu = time.perf_counter(), time.thread_time()
            found = self._searcher.search(self._query(parsed), limit)
            _ = [self._searcher.doc(address)["id"] for _, address in found.hits]
            times.append((1000 * (time.perf_counter() - began), 1000 * (time.thread_time() - cpu)))
        wall, processor = zip(*times[5:], strict=True)
        return {
            "queries": kind,
            "limit": limit,
            "n": len(wall),
            "p50": round(median(wall), 2),
            "p95": round(percentile(wall, 0.95), 2),
            "max": round(max(wall), 2),
            "cpu_p50": round(median(processor), 2),
            "cpu_p95": round(percentile(processor, 0.95), 2),
        }

    def costs(self) -> dict[str, float]:
        """Return what it takes to make the index (if it was made), to keep it, and to commit one change."""
        writer = self._index.writer(_MEMORY, 1)
        times = []
        for _ in range(_COMMITS):
            began = time.perf_counter()
            writer.delete_documents("id", -1)
            writer.add_document(self._document(-1, ("a changed title", "some changed words", "path")))
            writer.commit()
            times.append(1000 * (time.perf_counter() - began))
        size = sum(file.stat().st_size for file in self._folder.iterdir())
        return self.built | {"size_mb": round(size / 1e6, 1), "commit_ms": round(median(times), 1)}

    def _build(self, index: Any, documents: Iterable[DocumentChange]) -> None:
        writer = index.writer(_MEMORY, 1)
        seconds = cpu = 0.0
        for number, item in enumerate(documents):
            source = item.source
            forms = tuple(map(index_form, (source.title, source.text, item.path)))
            began, cpu_began = time.perf_counter(), time.process_time()
            writer.add_document(self._document(number, forms))
            seconds, cpu = seconds + time.perf_counter() - began, cpu + time.process_time() - cpu_began
        began, cpu_began = time.perf_counter(), time.process_time()
        writer.commit()
        writer.wait_merging_threads()
        seconds, cpu = seconds + time.perf_counter() - began, cpu + time.process_time() - cpu_began
        self.built = {"seconds": round(seconds, 1), "cpu_seconds": round(cpu, 1)}

    def _document(self, number: int, forms: Sequence[str]) -> Any:
        fields = {name: [form] for name, form in zip(_FIELDS, forms, strict=True)}
        return self._tantivy.Document(id=[number], **fields)

    def _query(self, query: LexicalQuery) -> Any:
        of, schema = self._tantivy.Query, self._schema
        parts = []
        for tokens in (form for term in query.terms for form in term.forms):
            for name, weight in _FIELDS.items():
                part = (
                    of.term_query(schema, name, tokens[0], index_option="freq")
                    if len(tokens) == 1
                    else of.phrase_query(schema, name, list(tokens))
                )
                parts.append((self._tantivy.Occur.Should, of.boost_query(part, weight)))
        return of.boolean_query(parts)
