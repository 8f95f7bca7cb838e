"""Copying an index from one store to another without embedding anything again.

Data that the target already has is not copied again, so an interrupted copy can be resumed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import islice
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from qmd.config.validate import require_file_name
from qmd.engine.access.rules import Rule
from qmd.engine.parts import Part
from qmd.errors import ConflictError, ForeignIndexError, StoreError, UsageError
from qmd.store.base import Store
from qmd.store.opening import open_store
from qmd.store.sqlite.opening import belongs_to_us
from qmd.store.values import DocumentChange, Embedded, Scope, VectorSet
from qmd.text.extraction import extract
from qmd.text.predicates import OF_FILE
from qmd.text.values import OF_SCAN, Value
from qmd.types import Anchor, Config, Document, Fingerprint, Link, SourceText
from qmd.types.content import MARKDOWN

#: Batch sizes: documents, texts with their vectors, cached answers of models.
_DOCUMENTS, _TEXTS, _ANSWERS = 200, 256, 1_000

#: Called with (description, items copied, items in total).
OnProgress = Callable[[str, int, int], None]

Item = TypeVar("Item")


class CopyReport(Struct, frozen=True):
    """The result of a copy."""

    documents: int  #: Documents added to the target or replaced in it
    removed: int  #: Documents removed from the target
    chunks: int  #: Chunks whose vectors were added to the target
    total_documents: int  #: Documents that each store contains now
    total_chunks: int  #: Chunks with vectors that each store contains now


class CopyMethods(Part):
    """Copy stores."""

    _rules: Mapping[str, Rule] = {"copy_store": Rule(changes=True, action="copy stores")}

    def copy_store(
        self, source: str, target: str, *, on_progress: OnProgress = lambda *_: None
    ) -> CopyReport:
        """Copy one store to another, without embedding anything. Each is an address or an index file's path.

        Raises:
            UsageError: If both are the same store, or the source is empty.
            ConflictError: If the target contains collections that are not in the configuration.
            StoreError: If a store cannot be opened, or the copy fails.
        """
        config, environ = self._workspace.config, self._workspace.environ
        require_file_name(source)
        require_file_name(target)
        with closing(_open(source, environ)) as first, closing(_open(target, environ)) as second:
            if first.location == second.location:
                raise UsageError("a store cannot be copied to itself", "name another store")
            if not any(collection.documents for collection in first.collections.stats().values()):
                raise UsageError(
                    f"there is nothing in {first.location}", "see 'qmd status' for the index in use"
                )
            others = sorted(second.collections.stats().keys() - config.collections.keys())
            if others:
                raise ConflictError(
                    f"{second.location} contains collections that this configuration does not have: "
                    f"{', '.join(others)}",
                    "name an empty store, or remove the collections from it first",
                )
            return copy(first, second, config, on_progress)


def _open(location: str, environ: Mapping[str, str]) -> Store:
    is_address = "://" in location
    path = "" if is_address else os.path.abspath(os.path.expanduser(location))
    if path and not belongs_to_us(path):
        raise ForeignIndexError(f"{path} is not an index of qmd", "name another file")
    return open_store(path, location if is_address else None, environ)


def copy(
    source: Store,
    target: Store,
    config: Config,
    on_progress: OnProgress = lambda *_: None,
    *,
    vector_sets: Sequence[VectorSet] | None = None,
    answers: bool = True,
) -> CopyReport:
    """Copy collections, contexts, documents, vectors and cached model answers from `source` to `target`.

    Of the vectors, only those of `vector_sets` are copied if they are given, and no answers if `answers` is
    false. Raises `StoreError` if the stores differ afterwards, because the source changed during the copy.
    """
    target.collections.sync(config)
    stats = source.collections.stats()
    names = [name for name in config.collections if name in stats]
    documents = removed = 0
    for name in names:
        added, gone = _copy_collection(source, target, name, on_progress)
        documents, removed = documents + added, removed + gone
    target.documents.prune()
    target.documents.refresh_statistics(force=True)
    scope = Scope(tuple(names))
    # Statistics of all collections would tell about those that are not copied.
    population = None if stats.keys() <= set(names) else tuple(names)
    chunks = 0
    copied = source.vector_sets.all() if vector_sets is None else vector_sets
    for vector_set in copied:
        chunks += _copy_vectors(source, target, vector_set, scope, population, on_progress)
    for batch in _batches(source.answers.items() if answers else (), _ANSWERS):
        target.answers.put(dict(batch))
    return _verified(source, target, names, copied, CopyReport(documents, removed, chunks, 0, 0))


def _copy_collection(source: Store, target: Store, name: str, on_progress: OnProgress) -> tuple[int, int]:
    """Copy the documents of a collection; returns (documents added, documents removed)."""
    expected, present = source.documents.manifest(name), target.documents.manifest(name)
    missing = (
        document
        for document in source.documents.listing(name)
        if present.get(document.path) != expected.get(document.path)
    )
    done = len(expected) - sum(present.get(path) != fingerprint for path, fingerprint in expected.items())
    documents = 0
    for batch in _batches(missing, _DOCUMENTS):
        ids = [document.id for document in batch]
        texts, fields, links = source.documents.texts(ids), source.fields.of(ids), source.fields.links(ids)
        anchors = source.fields.anchors(ids)
        changed = [
            _changed(
                document,
                texts[document.id],
                Fingerprint(*expected[document.path]),
                fields.get(document.id, {}),
                links.get(document.id, ()),
                anchors.get(document.id, ()),
            )
            for document in batch
            # `_verified` reports documents that were removed during the copy.
            if document.id in texts and document.path in expected
        ]
        target.documents.apply(name, changed, [])
        documents += len(changed)
        on_progress(f"documents of {name}", done + documents, len(expected))
    gone = [path for path in present if path not in expected]
    if gone:
        target.documents.apply(name, [], gone)
    target.collections.finish_scan(name)
    return documents, len(gone)


def _changed(
    document: Document,
    text: str,
    fingerprint: Fingerprint,
    fields: Mapping[str, tuple[Value, ...]],
    links: Sequence[Link],
    anchors: Sequence[Anchor],
) -> DocumentChange:
    if fields.get("format", (MARKDOWN,)) == (MARKDOWN,):
        found = extract(text, document.path)
        scanned = {name: fields[name] for name in OF_SCAN if name in fields}
        fields, links = {**scanned, **found.fields}, found.links
    else:  # the text does not contain the fields
        fields = {name: values for name, values in fields.items() if name not in OF_FILE}
    source = SourceText(
        text, document.hash, document.title, fields=fields, links=tuple(links), anchors=tuple(anchors)
    )
    return DocumentChange(document.path, fingerprint, source, document.author, document.date)


def _copy_vectors(
    source: Store,
    target: Store,
    vector_set: VectorSet,
    scope: Scope,
    population: Sequence[str] | None,
    on_progress: OnProgress,
) -> int:
    """Copy the vectors of one set; returns the number of chunks added."""
    embedder = vector_set.fingerprint
    done, total = (store.vector_sets.chunk_counts().get(embedder, 0) for store in (target, source))
    added = after = 0
    while waiting := target.pending.texts(embedder, scope, after, _TEXTS):
        after = waiting[-1].content
        available = source.vectors.of_texts(embedder, [item.hash for item in waiting])
        batch = [
            Embedded(item.content, chunks[:new], vectors[:new], [[]] * new, continues=new < len(chunks))
            for item in waiting
            if item.hash in available
            for chunks, vectors in [available[item.hash]]
            if (new := sum(item.embedded_from is None or chunk.seq < item.embedded_from for chunk in chunks))
        ]
        if batch:
            target.vectors.add(replace(vector_set, complete=False), batch)
        added += sum(len(item.chunks) for item in batch)
        on_progress(f"vectors of {vector_set.name}", done + added, total)
    count, frequencies = source.vector_sets.all_token_frequencies(embedder)
    if population is not None:
        tokens = [*frequencies]
        count, counts = source.vector_sets.token_frequencies(embedder, tokens, population)
        frequencies = {token: number for token, number in zip(tokens, counts, strict=True) if number}
    target.vector_sets.import_statistics(vector_set, count, frequencies)
    return added


def _verified(
    source: Store,
    target: Store,
    names: Sequence[str],
    vector_sets: Sequence[VectorSet],
    report: CopyReport,
) -> CopyReport:
    """Compare the stores; returns the report with their totals. Raises `StoreError` if they differ."""
    documents = 0
    for name in names:
        expected, present = source.documents.manifest(name), target.documents.manifest(name)
        if expected != present:
            raise _mismatch(f"the documents of '{name}' ({len(expected):,} and {len(present):,})")
        pairs = zip(source.documents.listing(name), target.documents.listing(name), strict=False)
        if any((old.path, old.hash) != (new.path, new.hash) for old, new in pairs):
            raise _mismatch(f"the texts of '{name}'")
        documents += len(expected)
    scope = Scope(tuple(names))
    for vector_set in vector_sets:
        pending = [store.pending.count(vector_set.fingerprint, scope) for store in (source, target)]
        if pending[0] != pending[1]:
            raise _mismatch(
                f"the vectors of {vector_set.name} ({pending[0]:,} and {pending[1]:,} texts have none)"
            )
    total = sum(target.vector_sets.chunk_counts().values())
    return replace(report, total_documents=documents, total_chunks=total)


def _mismatch(difference: str) -> StoreError:
    return StoreError(
        f"after copying, the stores differ in {difference}",
        "another process is writing to one of them: wait for it to end and copy again; the copy resumes",
    )


def _batches(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    source = iter(items)
    while batch := list(islice(source, size)):
        yield batch
