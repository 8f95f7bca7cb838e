"""Documents and their texts. A batch of changes becomes visible at once.

Milvus has no transactions. One call writes all `DOCUMENTS` rows of a batch, with `live` false for removed
documents. Their texts, terms and copied vectors are written before, when nothing refers to them yet. Former
rows are deleted afterwards. After a crash, `garbage` finds the orphans.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from heapq import nsmallest
from typing import Any

import msgspec
from msgspec import Struct

from qmd.errors import StoreError
from qmd.features.milvus.client import Reading, Row, like, literal, quoted
from qmd.features.milvus.field_rows import ADDRESS, read_structures, read_texts, stamp, structure_of
from qmd.features.milvus.parts import MilvusPart, Shared
from qmd.features.milvus.schema import (
    DOCUMENTS,
    FIELDS,
    LIVE,
    MAX_TEXT,
    TERMS,
    TEXTS,
    content_id,
    document_id,
    number,
)
from qmd.features.milvus.state import STALE_STATISTICS
from qmd.features.milvus.weights import Weighted, weigh
from qmd.store import base
from qmd.store.values import Applied, DocumentChange, terms_of
from qmd.text.extraction import extract
from qmd.text.indexing import indexed
from qmd.text.layout import Placed, placed_in, unpack
from qmd.types import Document, Fingerprint, Indexed, States
from qmd.types.content import MARKDOWN

_DOCUMENT = ("id", "collection", "path", "title", "hash", "size", "mtime_ns", "author", "date")
#: Characters of one piece of a text. A character has at most 4 bytes.
_PIECE = MAX_TEXT // 4
#: Up to this many documents, totals are recomputed after every change; above it, by `refresh_statistics`.
_RECOUNT_LIMIT = 50_000
_BY_COLLECTION = "totals by collection"
#: `refresh_statistics` counts a larger index again if its number of documents has changed by this share.
_STALE_SHARE = 0.01
#: Documents that are upgraded together.
_BATCH = 200


class Totals(Struct, frozen=True, array_like=True):
    """The number of documents of the index, or of part of it, and their total length in terms."""

    documents: int = 0
    length: int = 0


class Documents(MilvusPart, base.Documents):
    """Rows of `DOCUMENTS` and `TEXTS`."""

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        #: Terms that are known to be in the vocabulary.
        self._vocabulary: set[str] = set()

    def manifest(self, collection: str) -> States:
        where = f"collection == {self._state.collection_id(collection)} and {LIVE}"
        rows = self._client.all(DOCUMENTS, where, ["path", *Fingerprint._fields])
        return {row["path"]: (row["size"], row["mtime_ns"], row["inode"]) for row in rows}

    def apply(
        self,
        collection: str,
        changed: Sequence[DocumentChange],
        removed: Sequence[str],
        *,
        wait: bool = True,
    ) -> Applied:
        identity = self._state.collection_id(collection)
        made = [terms_of(item) for item in changed]
        weighted = [weigh(each.forms) for each in made]
        before = self._live_rows(identity, [*(item.path for item in changed), *removed])
        rows: dict[int, Row] = {}
        added = updated = 0
        for item, weights in zip(changed, weighted, strict=True):
            row = _row(identity, item, weights)
            old = before.get(row["id"])
            added += old is None
            updated += old is not None and (old["title"], old["content"]) != (row["title"], row["content"])
            rows[row["id"]] = row
        gone = {document_id(identity, path) for path in removed} & before.keys()
        rows |= {document: _tombstone(document, identity) for document in gone}

        self._state.mark_stale_statistics()
        if any(before[key]["content"] != rows[key]["content"] for key in before.keys() & rows.keys()):
            self._state.mark_orphans()
        self._put_texts(changed, made)
        self._put_terms(weighted)
        documents = [rows[document_id(identity, item.path)] for item in changed]
        self._field_rows.put(
            (row, item.source.fields, item.source.links, item.source.anchors)
            for row, item in zip(documents, changed, strict=True)
        )
        moved = [
            row
            for row in rows.values()
            if row["live"] and _chunk_fields(before.get(row["id"])) != _chunk_fields(row)
        ]
        self._chunks.copy_to(moved)
        self._client.put(DOCUMENTS, rows.values(), whole=True)
        self._chunks.hide_replaced({row["id"]: row["content"] for row in moved}, gone)
        self._client.delete_among(DOCUMENTS, "id", gone, where="live == false")
        former = {stamp(row) for row in before.values()} - {stamp(row) for row in documents}
        self._client.delete_among(FIELDS, "stamp", former)
        return Applied(added, updated, len(gone))

    def prune(self) -> int:
        return self._garbage.prune()

    def refresh_statistics(self, force: bool = False) -> None:
        marks = self._state.with_prefix(STALE_STATISTICS, "strong")
        if not marks and not force:
            return
        stored = self._stored_totals("strong")
        if not force and stored is not None and stored.documents > _RECOUNT_LIMIT:
            documents = self._client.count(DOCUMENTS, LIVE, reading="strong")
            if abs(documents - stored.documents) < _STALE_SHARE * documents:
                self._state.delete(*(STALE_STATISTICS + mark for mark in marks))
                return
        counted = self._count("strong")
        values = {"totals": _sum(counted.values()), _BY_COLLECTION: counted}
        self._state.put({key: msgspec.json.encode(value).decode() for key, value in values.items()})
        self._state.delete(*(STALE_STATISTICS + mark for mark in marks))
        self._client.flush()

    def by_id(self, ids: Sequence[int]) -> dict[int, Document]:
        return {each.id: each for each in self._to_documents(self._live("id", ids, _DOCUMENT))}

    def texts(self, ids: Sequence[int]) -> dict[int, str]:
        contents = {row["id"]: row["content"] for row in self._live("id", ids, ["id", "content"])}
        texts = read_texts(self._client, contents.values())
        return {document: texts[content] for document, content in contents.items() if content in texts}

    def placed(self, ids: Sequence[int], terms: Sequence[str] = ()) -> dict[int, Placed]:
        contents = {row["id"]: row["content"] for row in self._live("id", ids, ["id", "content"])}
        texts = read_texts(self._client, contents.values())
        known = read_structures(self._client, contents.values())
        return {
            document: placed_in(text, structure_of(known.get(content), text), tuple(terms))
            for document, content in contents.items()
            if (text := texts.get(content))
        }

    def without_structures(self) -> int:
        return 0

    def find(self, collection: str, path: str) -> Document | None:
        ids = [document_id(identity, path) for identity in self._state.collection_ids([collection])]
        return next(iter(self.by_id(ids).values()), None)

    def ending_with(self, suffix: str) -> list[Document]:
        tail = "/" + suffix.lstrip("/")
        # The suffix may start with the name of the collection, so only its file name is in every path.
        name = tail.rpartition("/")[2]
        documents = self._select(f"path like {like('%', name, '')}")
        return [document for document in documents if f"/{document.file}".endswith(tail)]

    def path_contains(self, text: str) -> Iterator[Document]:
        documents = self._select(f"path like {like('%', text, '%')}")
        return (document for document in documents if text in document.path)

    def by_hash(self, prefix: str) -> list[Document]:
        return self._select(f"hash >= {quoted(prefix)} and hash < {quoted(prefix + 'g')}")

    def listing(self, collection: str | None = None, under: str = "") -> Iterator[Document]:
        where = "id > 0"
        if collection is not None:
            ids = self._state.collection_ids([collection])
            where = f"collection in {literal(ids)}" if ids else "id == 0"
        if under := under.strip("/"):
            where += f" and path like {like('', under, '%')}"
        inside = f"{under}/" if under else ""
        return (each for each in self._select(where) if f"{each.path}/".startswith(inside))

    def changed_last(self, collections: Sequence[str], limit: int) -> list[Document]:
        documents = (each for each in self.listing() if each.collection in collections)
        return nsmallest(limit, documents, key=lambda document: (-document.modified_ns, document.path))

    def _live_rows(self, collection: int, paths: Iterable[str]) -> dict[int, Row]:
        """Return the stored documents at these paths by id.

        Raises:
            StoreError: If two paths have the same id.
        """
        paths_by_id = {document_id(collection, path): path for path in paths}
        rows = self._live("id", paths_by_id, ("title", "date", *ADDRESS), "strong")
        existing = {row["id"]: row for row in rows}
        for identity, row in existing.items():
            if row["path"] != paths_by_id[identity]:
                raise StoreError(
                    f"'{row['path']}' and '{paths_by_id[identity]}' have the same number in the index",
                    "give one of the two files another name",
                )
        return existing

    def upgrade(self) -> None:
        """Renew the titles and terms of all documents of the former layout."""
        rows = [*self._client.all(DOCUMENTS, LIVE, ["collection", "title", *ADDRESS])]
        self._state.mark_stale_statistics()
        for at in range(0, len(rows), _BATCH):
            batch = rows[at : at + _BATCH]
            contents = [row["content"] for row in batch]
            texts, known = read_texts(self._client, contents), read_structures(self._client, contents)
            stored = self._field_rows.fields(batch)
            titles: dict[int, str] = {}
            weighted: dict[int, Weighted] = {}
            for row in batch:
                identity, path, text = row["id"], row["path"], texts.get(row["content"], "")
                fields = stored[identity]
                markdown = MARKDOWN in fields.get("format", ())
                titles[identity] = _truncate(extract(text, path).title) if markdown else row["title"]
                structure = structure_of(known.get(row["content"]), text)
                weighted[identity] = weigh(indexed(titles[identity], fields, text, path, structure).forms)
            self._put_terms([*weighted.values()])
            self._client.put(
                DOCUMENTS,
                (
                    {**row, "title": titles[row["id"]], **weighted[row["id"]].fields()}
                    for row in self._live("id", weighted, ["*"], "strong")
                ),
            )
        self.refresh_statistics()

    def _put_texts(self, changed: Sequence[DocumentChange], made: Sequence[Indexed]) -> None:
        texts = {content_id(item.source.hash): item.source.text for item in changed}
        packed = {
            content_id(item.source.hash): msgspec.json.encode(unpack(each.structure)).decode()
            for item, each in zip(changed, made, strict=True)
        }
        for row in self._live("content", texts, ["content"], "strong"):
            texts.pop(row["content"], None)
        moment = int(time.time())
        # The first piece is written last: it shows that the text is complete.
        self._client.put(
            TEXTS,
            (
                {
                    "id": number("text", content, part),
                    "content": content,
                    "part": part,
                    "text": piece,
                    "bytes": len(text.encode()) if part == 0 else 0,
                    "writer": self._state.writer,
                    "at": moment,
                }
                for content, text in texts.items()
                for part, piece in (*_pieces(packed[content], -1), *reversed([*_pieces(text, 1)]))
            ),
        )

    def _put_terms(self, weighted: Sequence[Weighted]) -> None:
        terms = set().union(*(document.frequencies for document in weighted)) - self._vocabulary
        unknown = terms - {row["term"] for row in self._client.among(TERMS, "term", terms, ["term"])}
        self._client.put(TERMS, ({"term": term} for term in sorted(unknown)))
        self._vocabulary |= terms

    def totals(self, population: Sequence[str] | None = None) -> Totals:
        """Return the totals of the whole index, or of a population."""
        if population is not None:
            return self._totals_within(population)
        stored = self._stored_totals()
        if stored is not None and (
            stored.documents > _RECOUNT_LIMIT or not self._state.with_prefix(STALE_STATISTICS)
        ):
            return stored
        return _sum(self._count("fresh").values())

    def _totals_within(self, population: Sequence[str]) -> Totals:
        where = self._state.within(population)
        if where is None:
            return Totals()
        text = None if self._state.with_prefix(STALE_STATISTICS) else self._state.get(_BY_COLLECTION)
        if text is None:
            return _sum(self._count("fresh", where).values())
        by_id = msgspec.json.decode(text, type=dict[int, Totals])
        return _sum(by_id.get(identity, Totals()) for identity in self._state.collection_ids(population))

    def _stored_totals(self, reading: Reading = "fresh") -> Totals | None:
        text = self._state.get("totals", reading)
        return msgspec.json.decode(text, type=Totals) if text is not None else None

    def _count(self, reading: Reading, where: str = LIVE) -> dict[int, Totals]:
        documents: Counter[int] = Counter()
        terms: Counter[int] = Counter()
        for row in self._client.all(DOCUMENTS, where, ["collection", "length"], reading=reading):
            documents[row["collection"]] += 1
            terms[row["collection"]] += row["length"]
        return {identity: Totals(count, terms[identity]) for identity, count in documents.items()}

    def _select(self, where: str) -> list[Document]:
        rows = self._client.all(DOCUMENTS, f"{where} and {LIVE}", _DOCUMENT, reading="fresh")
        return sorted(self._to_documents(rows), key=lambda document: (document.collection, document.path))

    def _to_documents(self, rows: Iterable[Row]) -> Iterator[Document]:
        names = {identity: fields["name"] for identity, fields in self._state.collections().items()}
        for row in rows:
            if name := names.get(row["collection"]):
                yield Document(row["id"], name, *(row[field] for field in _DOCUMENT[2:]))


def _row(collection: int, item: DocumentChange, weighted: Weighted) -> dict[str, Any]:
    source = item.source
    return {
        "id": document_id(collection, item.path),
        "collection": collection,
        "live": True,
        "path": item.path,
        "title": _truncate(source.title),
        "content": content_id(source.hash),
        "hash": source.hash,
        "bytes": len(source.text.encode()),
        **item.fingerprint._asdict(),
        "author": _truncate(item.author),
        "author_folded": "",
        "date": item.date,
        **weighted.fields(),
    }


def _tombstone(identity: int, collection: int) -> dict[str, Any]:
    """Return the row that hides a document until it is deleted."""
    return {
        "id": identity,
        "collection": collection,
        "live": False,
        **dict.fromkeys(("path", "title", "hash", "author", "author_folded", "date"), ""),
        **dict.fromkeys(("content", "bytes", "size", "mtime_ns", "inode"), 0),
        **Weighted({}, 0).fields(),
    }


def _chunk_fields(row: Row | None) -> tuple[Any, ...] | None:
    """Return the fields of a document that its chunks repeat."""
    return None if row is None else (row["content"], row["date"])


def _sum(totals: Iterable[Totals]) -> Totals:
    parts = list(totals)
    return Totals(sum(part.documents for part in parts), sum(part.length for part in parts))


def _pieces(text: str, step: int) -> Iterator[tuple[int, str]]:
    """Yield the pieces of a text with their numbers: those of a structure, which is before, from -1 down."""
    for at in range(0, max(1, len(text)), _PIECE):
        yield at // _PIECE if step > 0 else -1 - at // _PIECE, text[at : at + _PIECE]


def _truncate(text: str) -> str:
    """Cut a text to the length that Milvus stores in one field."""
    return text if len(text) <= _PIECE else text[:_PIECE]
