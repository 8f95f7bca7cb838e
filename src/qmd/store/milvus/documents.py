"""Documents: what was read from disk, visible a batch at a time.

Milvus has no transactions. A batch becomes visible by one call: the rows of `DOCUMENTS`, new and changed ones
and those that go (`live` false) alike. What they need (texts, terms, vectors that are there already) is
written before, where nothing refers to it yet; what they leave behind is taken away after. See `removal` for
what a crash leaves.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from qmd.errors import StoreError
from qmd.store.base import Applied, Changed, Scope
from qmd.store.milvus.chunks import Placing
from qmd.store.milvus.client import HEAVY, Reading, Row, literal, quoted
from qmd.store.milvus.ids import content_id, document_id, number
from qmd.store.milvus.part import UNCOUNTED
from qmd.store.milvus.schema import CHUNK, DOCUMENTS, MAX_TEXT, TERM_FIELDS, TERMS, TEXTS, vectors
from qmd.store.milvus.weights import Weighted, weigh
from qmd.text.authorship import author_key
from qmd.text.tokens import has_other_terms_than_before
from qmd.types import Document, Fingerprint

_DOCUMENT = ("id", "collection", "path", "title", "hash", "size", "mtime_ns", "author", "date")
#: A text is kept in pieces of so many characters, each of at most 4 bytes.
_PIECE = MAX_TEXT // 4
#: Up to so many documents, their average length is always that of now; beyond, of the last count.
_COUNTED_ALWAYS = 50_000
_BY_COLLECTION = "totals by collection"
#: A larger index is counted anew once its number of documents has changed by this share.
_STALE_SHARE = 0.01
#: Documents that are put into terms together.
_BATCH = 200


@dataclass(frozen=True, slots=True)
class Totals:
    """The documents of the index or of a part of it, and their length in terms together."""

    documents: int = 0
    length: int = 0


class DocumentsPart(Placing):
    """Documents and their texts."""

    def manifest(self, collection: str) -> dict[str, Fingerprint]:
        """What the index knows of a collection's files: path → fingerprint."""
        where = f"collection == {self._collection_id(collection)} and live == true"
        rows = self._client.all(DOCUMENTS, where, ["path", "size", "mtime_ns", "inode"])
        return {row["path"]: Fingerprint(row["size"], row["mtime_ns"], row["inode"]) for row in rows}

    def apply(self, collection: str, changed: Sequence[Changed], removed: Sequence[str]) -> Applied:
        """Store a batch: all of it or nothing."""
        identity = self._collection_id(collection)
        weighted = [weigh(item.source.title, item.source.text, item.path) for item in changed]
        paths = [*(item.path for item in changed), *removed]
        before = self._known(identity, paths)
        rows: dict[int, Row] = {}
        added = updated = 0
        for item, weights in zip(changed, weighted, strict=True):
            row = _row(identity, item, weights)
            old = before.get(row["id"])
            added += old is None
            updated += old is not None and (old["title"], old["content"]) != (row["title"], row["content"])
            rows[row["id"]] = row
        gone = {document_id(identity, path) for path in removed} & before.keys()
        rows |= {each: _blank(each, identity) for each in gone}

        self._mark_uncounted()
        if any(before[each]["content"] != rows[each]["content"] for each in before.keys() & rows.keys()):
            self._mark_loose()
        self._put_texts(changed)
        self._put_terms(weighted)
        placed = [
            row for row in rows.values() if row["live"] and _place(before.get(row["id"])) != _place(row)
        ]
        self._place(placed)
        self._client.put(DOCUMENTS, rows.values(), whole=True)
        self._unplace(placed, gone)
        self._client.delete_among(DOCUMENTS, "id", gone, where="live == false")
        return Applied(added, updated, len(gone))

    def refresh_statistics(self, force: bool = False) -> None:
        """Count the documents and their terms anew, where something changed."""
        marks = self._states(UNCOUNTED, "strong")
        if not marks and not force:
            return
        known = self._stored_totals("strong")
        if not force and known is not None and known.documents > _COUNTED_ALWAYS:
            documents = self._client.count(DOCUMENTS, "live == true", reading="strong")
            if abs(documents - known.documents) < _STALE_SHARE * documents:
                self._forget_state(*(UNCOUNTED + mark for mark in marks))
                return
        counted = self._count("strong")
        total = _sum(counted.values())
        self._set_states(
            {
                "totals": json.dumps([total.documents, total.length]),
                _BY_COLLECTION: json.dumps({key: [of.documents, of.length] for key, of in counted.items()}),
            }
        )
        if marks:
            self._forget_state(*(UNCOUNTED + mark for mark in marks))
        self._client.flush()

    def documents(self, ids: Sequence[int]) -> dict[int, Document]:
        """Documents by id; ids that are gone are left out."""
        rows = self._client.among(DOCUMENTS, "id", ids, _DOCUMENT, where="live == true")
        return {document.id: document for document in self._made(rows)}

    def texts(self, ids: Sequence[int]) -> dict[int, str]:
        """The texts of documents by id; ids that are gone are left out."""
        rows = self._client.among(DOCUMENTS, "id", ids, ["id", "content"], where="live == true")
        contents = {int(row["id"]): int(row["content"]) for row in rows}
        texts = self.contents(contents.values())
        return {each: texts[content] for each, content in contents.items() if content in texts}

    def find(self, collection: str, path: str) -> Document | None:
        """The document at a path of a collection."""
        for identity, fields in self._collections().items():
            if fields["name"] == collection:
                return self.documents([document_id(identity, path)]).get(document_id(identity, path))
        return None

    def ending_with(self, suffix: str) -> list[Document]:
        """Documents whose display path ends with `suffix` at a `/`, or is it."""
        tail = "/" + suffix.lstrip("/")
        # The beginning of what was typed may be the collection's name.
        name = tail.rpartition("/")[2]
        found = self._select(f"path like {_pattern('%', name, '')}")
        return [each for each in found if f"/{each.file}".endswith(tail)]

    def path_contains(self, text: str) -> Iterator[Document]:
        """Documents whose path holds `text`."""
        found = self._select(f"path like {_pattern('%', text, '%')}")
        return (each for each in found if text in each.path)

    def by_hash(self, prefix: str) -> list[Document]:
        """Documents whose hash begins with `prefix`, in order of path."""
        return self._select(f"hash >= {quoted(prefix)} and hash < {quoted(prefix + 'g')}")

    def listing(self, collection: str | None = None, under: str = "") -> Iterator[Document]:
        """Documents in order of display path; `under` is a folder or a file inside the collection."""
        where = "id > 0"
        if collection is not None:
            numbers = [key for key, fields in self._collections().items() if fields["name"] == collection]
            where = f"collection in {literal(numbers)}" if numbers else "id == 0"
        under = under.strip("/")
        if under:
            where += f" and path like {_pattern('', under, '%')}"
        found = self._select(where)
        return (each for each in found if not under or f"{each.path}/".startswith(f"{under}/"))

    # -- writing -------------------------------------------------------------------------------------------

    def _known(self, collection: int, paths: Iterable[str]) -> dict[int, Row]:
        """The live documents at these paths, as far as a batch needs them. Raises where numbers have met."""
        wanted = {document_id(collection, path): path for path in paths}
        fields = ("id", "path", "title", "content", "author_folded", "date")
        rows = self._client.among(DOCUMENTS, "id", wanted, fields, where="live == true", reading="strong")
        known = {int(row["id"]): row for row in rows}
        for identity, row in known.items():
            if row["path"] != wanted[identity]:
                raise StoreError(
                    f"'{row['path']}' and '{wanted[identity]}' have the same number in the index",
                    "give one of the two files another name",
                )
        return known

    def _put_into_terms_again(self) -> None:
        """Give the documents of an index in the former format the terms of this one."""
        rows = [*self._client.all(DOCUMENTS, "live == true", ["id", "title", "path", "content"])]
        for at in range(0, len(rows), _BATCH):
            batch = rows[at : at + _BATCH]
            texts = self.contents(int(row["content"]) for row in batch)
            fields = {
                int(row["id"]): (row["title"], texts.get(int(row["content"]), ""), row["path"])
                for row in batch
            }
            weighted = {
                identity: weigh(*each)
                for identity, each in fields.items()
                if has_other_terms_than_before("\n".join(each))
            }
            self._mark_uncounted()
            self._put_terms([*weighted.values()])
            outdated = self._client.among(
                DOCUMENTS, "id", weighted, ["*"], where="live == true", reading="strong"
            )
            self._client.put(
                DOCUMENTS,
                (
                    {**row, "length": weighted[int(row["id"])].length, **weighted[int(row["id"])].fields()}
                    for row in outdated
                ),
            )
        self.refresh_statistics()

    def _put_texts(self, changed: Sequence[Changed]) -> None:
        texts = {content_id(item.source.hash): item.source.text for item in changed}
        held = self._client.among(
            DOCUMENTS, "content", texts, ["content"], where="live == true", reading="strong"
        )
        for row in held:
            texts.pop(int(row["content"]), None)
        moment = int(time.time())
        # The first piece last: where it is there, the others are.
        self._client.put(
            TEXTS,
            (
                {
                    "id": number("text", content, part),
                    "content": content,
                    "part": part,
                    "text": text[part * _PIECE : (part + 1) * _PIECE],
                    "bytes": len(text.encode()) if part == 0 else 0,
                    "writer": self._writer,
                    "at": moment,
                }
                for content, text in texts.items()
                for part in reversed(range(max(1, -(-len(text) // _PIECE))))
            ),
        )

    def _put_terms(self, weighted: Sequence[Weighted]) -> None:
        """Add what is new to the vocabulary."""
        terms = set().union(*(each.frequencies for each in weighted)) - self._vocabulary
        unknown = terms - {str(row["term"]) for row in self._client.among(TERMS, "term", terms, ["term"])}
        self._client.put(TERMS, ({"term": term} for term in sorted(unknown)))
        self._vocabulary |= terms

    def _unplace(self, placed: Sequence[Row], gone: set[int]) -> None:
        """Hide the chunks of texts that documents of a batch had before."""
        contents = {int(row["id"]): int(row["content"]) for row in placed}
        affected = contents.keys() | gone
        for embedder in self._embedders("strong") if affected else ():
            rows = self._client.among(
                vectors(embedder),
                "document",
                affected,
                CHUNK,
                where="live == true",
                reading="strong",
                page=HEAVY,
            )
            self._put_chunks(
                embedder,
                [
                    {**row, "live": False}
                    for row in rows
                    if contents.get(int(row["document"])) != int(row["content"])
                ],
            )

    # -- reading -------------------------------------------------------------------------------------------

    def _totals(self, population: Sequence[str] | None = None) -> Totals:
        """Documents and terms of the whole index, or of a population."""
        if population is not None:
            return self._totals_within(population)
        known = self._stored_totals()
        if known is not None and (known.documents > _COUNTED_ALWAYS or not self._states(UNCOUNTED)):
            return known
        return _sum(self._count("fresh").values())

    def _totals_within(self, population: Sequence[str]) -> Totals:
        where = self._within(Scope(tuple(population)))
        if where is None:
            return Totals()
        text = None if self._states(UNCOUNTED) else self._state(_BY_COLLECTION)
        if text is None:
            return _sum(self._count("fresh", where).values())
        known = {int(key): Totals(*values) for key, values in json.loads(text).items()}
        return _sum(known.get(each, Totals()) for each in self._numbers(population))

    def _stored_totals(self, reading: Reading = "fresh") -> Totals | None:
        text = self._state("totals", reading)
        return Totals(*json.loads(text)) if text is not None else None

    def _count(self, reading: Reading, where: str = "live == true") -> dict[int, Totals]:
        """Documents and terms by collection."""
        documents: Counter[int] = Counter()
        terms: Counter[int] = Counter()
        for row in self._client.all(DOCUMENTS, where, ["collection", "length"], reading=reading):
            documents[int(row["collection"])] += 1
            terms[int(row["collection"])] += int(row["length"])
        return {each: Totals(count, terms[each]) for each, count in documents.items()}

    def contents(self, contents: Iterable[int]) -> dict[int, str]:
        """Texts by their numbers."""
        pieces: dict[int, dict[int, str]] = {}
        for row in self._client.among(TEXTS, "content", contents, ["content", "part", "text"], page=HEAVY):
            pieces.setdefault(int(row["content"]), {})[int(row["part"])] = str(row["text"])
        return {content: "".join(parts[at] for at in sorted(parts)) for content, parts in pieces.items()}

    def _select(self, where: str) -> list[Document]:
        rows = self._client.all(DOCUMENTS, f"{where} and live == true", _DOCUMENT, reading="fresh")
        return sorted(self._made(rows), key=lambda each: (each.collection, each.path))

    def _made(self, rows: Iterable[Row]) -> Iterator[Document]:
        names = {identity: fields["name"] for identity, fields in self._collections().items()}
        for row in rows:
            name = names.get(int(row["collection"]))
            if name is not None:
                yield Document(
                    int(row["id"]),
                    name,
                    row["path"],
                    row["title"],
                    row["hash"],
                    int(row["size"]),
                    int(row["mtime_ns"]),
                    row["author"],
                    row["date"],
                )


def _row(collection: int, item: Changed, weighted: Weighted) -> dict[str, Any]:
    """A document as Milvus keeps it."""
    source, fingerprint = item.source, item.fingerprint
    return {
        "id": document_id(collection, item.path),
        "collection": collection,
        "live": True,
        "path": item.path,
        "title": _cut(source.title),
        "content": content_id(source.hash),
        "hash": source.hash,
        "bytes": len(source.text.encode()),
        "size": fingerprint.size,
        "mtime_ns": fingerprint.mtime_ns,
        "inode": fingerprint.inode,
        "author": _cut(item.author),
        "author_folded": _cut(author_key(item.author)),
        "date": item.date,
        "length": weighted.length,
        **weighted.fields(),
    }


def _blank(identity: int, collection: int) -> dict[str, Any]:
    """What stands for a document that goes, for the moment between hiding and deleting it."""
    return {
        "id": identity,
        "collection": collection,
        "live": False,
        **dict.fromkeys(("path", "title", "hash", "author", "author_folded", "date"), ""),
        **dict.fromkeys(("content", "bytes", "size", "mtime_ns", "inode", "length"), 0),
        **{f"terms_{at}": [] for at in range(TERM_FIELDS)},
        "weights": {0: 1.0},
    }


def _place(row: Row | None) -> tuple[Any, ...] | None:
    """What the chunks of a document know of it."""
    return None if row is None else (row["content"], row["author_folded"], row["date"])


def _sum(totals: Iterable[Totals]) -> Totals:
    found = list(totals)
    return Totals(sum(each.documents for each in found), sum(each.length for each in found))


def _cut(text: str) -> str:
    """As much of a text as Milvus keeps in one."""
    return text if len(text) <= _PIECE else text[:_PIECE]


def _pattern(before: str, text: str, after: str) -> str:
    """A text for `like`; what is syntax there, or might be, stands for any one character."""
    return quoted(before + "".join("_" if each in '%_\\"' else each for each in text) + after)
