"""Fields and links of documents: rows of `FIELDS`, as JSON in pieces.

A row belongs to one version of a document, its stamp, and is never changed. So rows can be written before
the document becomes visible, and rows of former versions are never shown. If a document has no row, because
another process has changed it since it was read, its fields are read from its text.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct, field
from msgspec.json import decode

from qmd.features.milvus.client import HEAVY, Row, StoreClient, like, literal
from qmd.features.milvus.schema import FIELDS, MAX_ARRAY, MAX_TEXT, TEXTS, number
from qmd.features.milvus.state import MilvusState
from qmd.store.records import LinkRow, link_rows
from qmd.text.extraction import extract, stored_fields
from qmd.text.layout import lay_out_markdown
from qmd.text.link_targets import target_name
from qmd.text.values import Value, read_written, written
from qmd.types import Anchor, Link
from qmd.types.structure import Structure

DocumentFields = Mapping[str, tuple[Value, ...]]

#: The fields of a document's row that select its version.
STAMPED = ("content", "author", "size", "mtime_ns", "inode")
#: The fields of a document's row by which its fields and links are read.
ADDRESS = ("id", "path", *STAMPED)
#: Documents whose fields are kept in memory.
_CACHED = 100_000
#: Rows of one page. Most rows are small.
_PAGE = 2_000


def stamp(row: Row) -> int:
    """Return the number of a document's version."""
    content, author, *file = (row[field] for field in STAMPED)
    return number("fields", row["id"], int(content), str(author), *map(int, file))


def read_texts(client: StoreClient, contents: Iterable[int]) -> dict[int, str]:
    """Return texts by their ids."""
    fields = ["content", "part", "text"]
    rows = client.among(TEXTS, "content", contents, fields, where="part >= 0", page=HEAVY)
    return _joined(rows, "content", "text")


def read_structures(client: StoreClient, contents: Iterable[int]) -> dict[int, Structure]:
    """Return the structures of texts by their ids, as far as there are any. They are before the texts."""
    fields = ["content", "part", "text"]
    rows = client.among(TEXTS, "content", contents, fields, where="part < 0", page=HEAVY)
    return {
        content: decode(text, type=Structure) for content, text in _joined(rows, "content", "text").items()
    }


def structure_of(known: Structure | None, text: str) -> Structure:
    """Return the structure that is known of a text, or else what Markdown says of it."""
    return known if known is not None and known.fits(text) else lay_out_markdown(text)


def _joined(rows: Iterable[Row], key: str, column: str) -> dict[int, str]:
    """Return texts that are stored in pieces, by `key`."""
    pieces: dict[int, dict[int, str]] = {}
    for row in rows:
        pieces.setdefault(row[key], {})[row["part"]] = row[column]
    return {number: "".join(parts[at] for at in sorted(parts, key=abs)) for number, parts in pieces.items()}


class FieldRows(Struct):
    """Rows of `FIELDS`. Fields that were read are cached."""

    _client: StoreClient
    _state: MilvusState
    _cache: dict[int, DocumentFields] = field(default_factory=dict)

    def put(self, documents: Iterable[tuple[Row, DocumentFields, Sequence[Link], Sequence[Anchor]]]) -> None:
        """Write the fields of the content, the links and the anchors of documents."""
        self._client.put(FIELDS, (row for item in documents for row in self._rows(*item)))

    def fields(self, documents: Iterable[Row]) -> dict[int, DocumentFields]:
        """Return the fields of documents by id, without those of the file itself."""
        stamps = {stamp(row): row for row in documents}
        found = {key: self._cache[key] for key in stamps if key in self._cache}
        read = {
            key: {name: tuple(values) for name, values in fields.items()}
            for key, fields in self._read("fields", {key: stamps[key] for key in stamps.keys() - found})
        }
        if len(self._cache) + len(read) > _CACHED:
            self._cache.clear()
        self._cache |= read
        return {stamps[key]["id"]: fields for key, fields in (found | read).items()}

    def links(self, documents: Iterable[Row]) -> dict[int, list[LinkRow]]:
        """Return the rows of the links and anchors of documents by id, in order."""
        stamps = {stamp(row): row for row in documents}
        return {stamps[key]["id"]: links for key, links in self._read("links", stamps)}

    def linking(self, collection: int, names: Iterable[str]) -> dict[int, int]:
        """Return documents with a link whose target has one of these names, by stamp."""
        hashes = sorted({number("name", name) for name in names})
        if not hashes:
            return {}
        where = f"collection == {collection} and array_contains_any(names, {literal(hashes)})"
        rows = self._client.all(FIELDS, where, ["document", "stamp"], reading="fresh")
        return {row["stamp"]: row["document"] for row in rows}

    def naming(self, collections: Sequence[int], names: Iterable[str]) -> dict[int, int]:
        """Return the documents of collections that may have one of some fields, by stamp."""
        patterns = [like("%", json.dumps(name) + ":", "%") for name in names]
        if not collections or not patterns:
            return {}
        # A name may be cut in two inside of a long text.
        found = " or ".join(["part > 0", *(f"fields like {pattern}" for pattern in patterns)])
        where = f"collection in {literal(collections)} and ({found})"
        rows = self._client.all(FIELDS, where, ["document", "stamp"], reading="fresh")
        return {row["stamp"]: row["document"] for row in rows}

    def _read(
        self, column: Literal["fields", "links"], documents: Mapping[int, Row]
    ) -> Iterator[tuple[int, Any]]:
        """Yield the values of a column by stamp."""
        rows = self._client.among(FIELDS, "stamp", documents, ["stamp", "part", column], page=_PAGE)
        stored = _joined(rows, "stamp", column)
        for key, text in stored.items():
            found = json.loads(text)
            yield key, _each(read_written, found) if column == "fields" else found
        missing = {key: documents[key] for key in documents.keys() - stored}
        texts = read_texts(self._client, {row["content"] for row in missing.values()})
        for key, row in missing.items():
            extracted = extract(texts.get(row["content"], ""), row["path"])
            yield key, _pack(row, extracted.fields, extracted.links, extracted.anchors)[column]

    def _rows(
        self, document: Row, fields: DocumentFields, links: Sequence[Link], anchors: Sequence[Anchor]
    ) -> Iterator[Row]:
        """Yield the rows of a document. Most documents have one."""
        key, packed = stamp(document), _pack(document, fields, links, anchors)
        packed["fields"] = _each(written, packed["fields"])
        columns = {name: json.dumps(packed[name], separators=(",", ":")) for name in ("fields", "links")}
        names = sorted({number("name", target_name(link.target)) for link in links if link.kind != "url"})
        sizes = [len(text) / MAX_TEXT for text in columns.values()]
        parts = -int(-max(*sizes, len(names) / MAX_ARRAY) // 1)
        for part in range(parts):
            yield {
                "id": number("fields", key, part),
                "document": document["id"],
                "collection": document["collection"],
                "stamp": key,
                "part": part,
                **{name: text[part * MAX_TEXT : (part + 1) * MAX_TEXT] for name, text in columns.items()},
                "names": names[part * MAX_ARRAY : (part + 1) * MAX_ARRAY],
                "writer": self._state.writer,
                "at": int(time.time()),
            }


def _each(change: Callable[[Value], Value], fields: Mapping[str, Sequence[Value]]) -> DocumentFields:
    return {name: tuple(map(change, values)) for name, values in fields.items()}


def _pack(
    document: Row, fields: DocumentFields, links: Sequence[Link], anchors: Sequence[Anchor]
) -> dict[str, Any]:
    return {
        "fields": stored_fields(fields, document["path"], document["author"]),
        "links": link_rows(links, anchors),
    }
