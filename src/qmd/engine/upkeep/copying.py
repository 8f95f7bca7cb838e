"""From one store to another: everything that is in an index, without embedding anything again.

What the other has already is left as it is, so that a copy that was interrupted goes on where it was.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice
from typing import TypeVar

from qmd.config.validate import require_file_name
from qmd.errors import ConflictError, ForeignIndexError, StoreError, UsageError
from qmd.store.base import Changed, CopyableStore, Embedded, Scope, Store, VectorSet
from qmd.store.opening import open_store
from qmd.store.sqlite.opening import belongs_to_us
from qmd.types import Config, Document, Fingerprint, SourceText

#: What is fetched and written together: documents, texts with their vectors, answers of models.
_DOCUMENTS, _TEXTS, _ANSWERS = 200, 256, 1_000

#: Called with what is being copied, how much of it is done, and how much there is.
OnProgress = Callable[[str, int, int], None]

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class CopyReport:
    """What a copy did: documents that were put in and taken out, chunks whose vectors were put in.

    `total_documents` and `total_chunks` are what both stores hold now.
    """

    documents: int
    removed: int
    chunks: int
    total_documents: int
    total_chunks: int


def between(
    source: str, target: str, config: Config, environ: Mapping[str, str], on_progress: OnProgress
) -> CopyReport:
    """`copy` from one place to another; each is the address of a store, or the path of an index file.

    Raises `UsageError` where they are the same or there is nothing to copy, `ConflictError` where the target
    holds collections that are not in the configuration, and what opening them raises.
    """
    require_file_name(source)
    require_file_name(target)
    with closing(_open(source, environ)) as first, closing(_open(target, environ)) as second:
        if first.location == second.location:
            raise UsageError("a store cannot be copied to itself", "name another one")
        if not any(held.documents for held in first.collection_stats().values()):
            raise UsageError(f"there is nothing in {first.location}", "see 'qmd status' for the one in use")
        others = sorted(second.collection_stats().keys() - config.collections.keys())
        if others:
            raise ConflictError(
                f"{second.location} holds collections that this configuration does not have: "
                f"{', '.join(others)}",
                "name an empty store, or remove them there first",
            )
        return copy(first, second, config, on_progress)


def _open(place: str, environ: Mapping[str, str]) -> CopyableStore:
    is_address = "://" in place
    path = "" if is_address else os.path.abspath(os.path.expanduser(place))
    if path and not belongs_to_us(path):
        raise ForeignIndexError(f"{path} is no index of qmd's", "name another file")
    store = open_store(path, place if is_address else None, environ)
    if not isinstance(store, CopyableStore):
        store.close()
        raise StoreError(f"{store.location} cannot be copied", "use the tools of the store itself")
    return store


def copy(
    source: CopyableStore, target: CopyableStore, config: Config, on_progress: OnProgress = lambda *_: None
) -> CopyReport:
    """Make `target` hold what `source` does: collections, contexts, documents, vectors, answers.

    Raises `StoreError` where they differ in the end: then the source has changed meanwhile.
    """
    target.sync(config)
    held = source.collection_stats()
    names = [name for name in config.collections if name in held]
    documents = removed = 0
    for name in names:
        added, gone = _copy_collection(source, target, name, on_progress)
        documents, removed = documents + added, removed + gone
    target.prune()
    target.refresh_statistics(force=True)
    scope = Scope(tuple(names))
    chunks = 0
    for each in source.vector_sets():
        chunks += _copy_vectors(source, target, each, scope, on_progress)
    for batch in _batches(source.cache_items(), _ANSWERS):
        target.cache_put(dict(batch))
    return _verified(source, target, names, CopyReport(documents, removed, chunks, 0, 0))


def _copy_collection(source: Store, target: Store, name: str, on_progress: OnProgress) -> tuple[int, int]:
    """(documents put in, documents taken out)."""
    wanted, present = source.manifest(name), target.manifest(name)
    missing = (
        document
        for document in source.listing(name)
        if present.get(document.path) != wanted.get(document.path)
    )
    done = len(wanted) - sum(present.get(path) != fingerprint for path, fingerprint in wanted.items())
    documents = 0
    for batch in _batches(missing, _DOCUMENTS):
        texts = source.texts([document.id for document in batch])
        changed = [
            _changed(document, texts[document.id], wanted[document.path])
            for document in batch
            # What is gone meanwhile is found in the end.
            if document.id in texts and document.path in wanted
        ]
        target.apply(name, changed, [])
        documents += len(changed)
        on_progress(f"documents of {name}", done + documents, len(wanted))
    gone = [path for path in present if path not in wanted]
    if gone:
        target.apply(name, [], gone)
    target.finish_scan(name)
    return documents, len(gone)


def _changed(document: Document, text: str, fingerprint: Fingerprint) -> Changed:
    source = SourceText(text, document.hash, document.title)
    return Changed(document.path, fingerprint, source, document.author, document.date)


def _copy_vectors(
    source: CopyableStore,
    target: CopyableStore,
    copied: VectorSet,
    scope: Scope,
    on_progress: OnProgress,
) -> int:
    """How many chunks were put in."""
    embedder = copied.fingerprint
    done, total = (store.chunk_counts().get(embedder, 0) for store in (target, source))
    added = after = 0
    while waiting := target.pending(embedder, scope, after, _TEXTS):
        after = waiting[-1].content
        known = source.vectors_of(embedder, [item.hash for item in waiting])
        batch = [
            Embedded(item.content, chunks[:new], vectors[:new], [[]] * new, continues=new < len(chunks))
            for item in waiting
            if item.hash in known
            for chunks, vectors in [known[item.hash]]
            if (new := sum(item.embedded_from is None or each.seq < item.embedded_from for each in chunks))
        ]
        if batch:
            target.add_vectors(replace(copied, complete=False), batch)
        added += sum(len(item.chunks) for item in batch)
        on_progress(f"vectors of {copied.name}", done + added, total)
    target.import_statistics(copied, *source.all_token_frequencies(embedder))
    return added


def _verified(source: Store, target: Store, names: Sequence[str], report: CopyReport) -> CopyReport:
    """The report with what both hold, once everything has been compared."""
    documents = 0
    for name in names:
        wanted, present = source.manifest(name), target.manifest(name)
        if wanted != present:
            raise _different(f"the documents of '{name}' ({len(wanted):,} and {len(present):,})")
        pairs = zip(source.listing(name), target.listing(name), strict=False)
        if any((mine.path, mine.hash) != (theirs.path, theirs.hash) for mine, theirs in pairs):
            raise _different(f"the texts of '{name}'")
        documents += len(wanted)
    scope = Scope(tuple(names))
    for each in source.vector_sets():
        lacking = [store.pending_count(each.fingerprint, scope) for store in (source, target)]
        if lacking[0] != lacking[1]:
            raise _different(
                f"the vectors of {each.name} ({lacking[0]:,} and {lacking[1]:,} texts lack them)"
            )
    total = sum(source.chunk_counts().values())
    return replace(report, total_documents=documents, total_chunks=total)


def _different(what: str) -> StoreError:
    return StoreError(
        f"after copying, the stores differ in {what}",
        "something is writing to one of them: let it end and copy again; what was copied is kept",
    )


def _batches(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    source = iter(items)
    while batch := list(islice(source, size)):
        yield batch
