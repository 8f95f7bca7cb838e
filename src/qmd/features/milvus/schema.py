"""The Milvus collections of an index and their search indexes.

The key of a row is derived from its content (see `number`), so that writing a row twice changes nothing.
Every Milvus collection has one shard, so that all rows of one call become visible at the same moment.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

#: The version of the layout, stored in `STATE`.
FORMAT = "4"
#: The layout of 1.0.0. It lacks the terms of the names of files, and its titles are those of a former rule.
FORMER = "3"
#: Layouts that were never released.
UNRELEASED = ("1", "2")
#: The most that Milvus stores in one text (bytes) and one array (elements).
MAX_TEXT = 65_535
MAX_ARRAY = 4_096
#: The terms of a document are distributed over this many arrays, so that those of a long text fit.
TERM_FIELDS = 4
_BITS_63 = (1 << 63) - 1
#: The number of dimensions of a sparse vector.
_DIMENSIONS = (1 << 32) - 2

STATE, LEASES, ANSWERS, TEXTS, TERMS, FIELDS, DOCUMENTS = (
    "qmd_state",
    "qmd_leases",
    "qmd_answers",
    "qmd_texts",
    "qmd_terms",
    "qmd_fields",
    "qmd_documents",
)

#: The filter for rows of `DOCUMENTS` and of chunks that searches see.
LIVE = "live == true"

Kind = Literal["int", "bool", "text", "ints", "sparse", "vector"]
#: Milvus requires a vector in every collection. Rows without a vector of their own have this one.
FILLER = [0.0, 0.0]


class MilvusTable(Struct, frozen=True):
    """The shape of a Milvus collection: the kind of each field and the primary field.

    `filters` are scalar fields with an index. `partition` is the field that selects the partition of a row.
    """

    fields: Mapping[str, Kind]
    key: str
    filters: tuple[str, ...] = ()
    partition: str | None = None
    dimension: int = len(FILLER)


def _fields(names: Mapping[Kind, str]) -> dict[str, Kind]:
    """Return the kind of each field from the names of each kind."""
    return {name: kind for kind, listed in names.items() for name in listed.split()}


_SMALL = MilvusTable(_fields({"text": "key value at", "vector": "filler"}), "key")
_TOKENS = MilvusTable(_fields({"int": "id token shard chunks", "vector": "filler"}), "id", ("token",))
_CHUNKS = MilvusTable(
    _fields(
        {
            "int": "id document collection content seq start end first_line last_line shard",
            "bool": "live",
            # `author_folded` is not used any more, but existing indexes have it.
            "text": "author_folded date",
            "ints": "tokens",
            "vector": "vector",
        }
    ),
    "id",
    ("collection", "live", "document", "content", "seq", "date"),
    "collection",
)
_TABLES = {
    STATE: _SMALL,
    ANSWERS: _SMALL,
    #: Leases of workers on texts. `until` is in milliseconds since 1970.
    LEASES: MilvusTable(
        _fields({"int": "id content until", "text": "embedder worker", "vector": "filler"}),
        "id",
        ("content", "worker"),
    ),
    #: Every term that was ever in a document. Prefixes are expanded from it.
    TERMS: MilvusTable(_fields({"text": "term", "vector": "filler"}), "term"),
    #: Texts in pieces. `writer` and `at` (seconds) protect texts that a writer is about to use.
    TEXTS: MilvusTable(
        _fields({"int": "id content part bytes at", "text": "text writer", "vector": "filler"}),
        "id",
        ("content", "part"),
    ),
    #: Fields and links of documents in pieces, as JSON. `names` are numbers of the names that links lead to.
    FIELDS: MilvusTable(
        _fields(
            {
                "int": "id document collection stamp part at",
                "text": "fields links writer",
                "ints": "names",
                "vector": "filler",
            }
        ),
        "id",
        ("collection", "stamp"),
        "collection",
    ),
    #: Documents with their weights for ranking. `live` is false for removed documents.
    DOCUMENTS: MilvusTable(
        _fields(
            {
                "int": "id collection content bytes size mtime_ns inode length",
                "bool": "live",
                "text": "path title hash author author_folded date",
                "ints": " ".join(f"terms_{at}" for at in range(TERM_FIELDS)),
                "sparse": "weights",
            }
        ),
        "id",
        ("collection", "live", "content", "date"),
        "collection",
    ),
}


def table(name: str, dimension: int = 0) -> MilvusTable:
    """Return the shape of a Milvus collection by its name and the dimension of its vectors."""
    if name.startswith("qmd_tokens_"):
        return _TOKENS
    return _TABLES.get(name) or replace(_CHUNKS, dimension=dimension)


#: All fields of a row of chunks.
CHUNK = tuple(_CHUNKS.fields)


def vector_table(embedder: str) -> str:
    return f"qmd_vectors_{_short(embedder)}"


def token_table(embedder: str) -> str:
    return f"qmd_tokens_{_short(embedder)}"


def _short(embedder: str) -> str:
    return hashlib.sha256(embedder.encode()).hexdigest()[:16]


def create(client: Any, name: str, shape: MilvusTable, *, embedded: bool) -> None:
    """Create a Milvus collection. Milvus Lite (`embedded`) scans vectors and arrays without an index."""
    from pymilvus import DataType

    kinds: dict[Kind, dict[str, Any]] = {
        "int": {"datatype": DataType.INT64},
        "bool": {"datatype": DataType.BOOL},
        "text": {"datatype": DataType.VARCHAR, "max_length": MAX_TEXT},
        "ints": {"datatype": DataType.ARRAY, "element_type": DataType.INT64, "max_capacity": MAX_ARRAY},
        "sparse": {"datatype": DataType.SPARSE_FLOAT_VECTOR},
        "vector": {"datatype": DataType.FLOAT_VECTOR, "dim": shape.dimension},
    }
    schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
    for field, kind in shape.fields.items():
        extra: dict[str, Any] = {"is_primary": True} if field == shape.key else {}
        if field == shape.partition:
            extra["is_partition_key"] = True
        schema.add_field(field, **kinds[kind], **extra)
    client.create_collection(name, schema=schema, num_shards=1, consistency_level="Strong")
    complete(client, name, shape, embedded=embedded)


def complete(client: Any, name: str, shape: MilvusTable, *, embedded: bool) -> None:
    """Create the missing search indexes of a Milvus collection and load it."""
    indexes = client.prepare_index_params()
    existing = set(client.list_indexes(name))
    for field, kind in shape.fields.items():
        if field in existing:
            continue
        if kind == "sparse":
            indexes.add_index(field, index_type="SPARSE_INVERTED_INDEX", metric_type="IP")
        elif kind == "vector" and (embedded or field == "filler"):
            indexes.add_index(field, index_type="FLAT", metric_type="COSINE")
        elif kind == "vector":
            indexes.add_index(
                field, index_type="HNSW", metric_type="COSINE", params={"M": 32, "efConstruction": 256}
            )
        elif field in shape.filters or (kind == "ints" and field != "tokens" and not embedded):
            indexes.add_index(field, index_type="INVERTED")
    if len(indexes):
        # The indexes of an empty collection are ready at once. Waiting for each would take half a second.
        client.create_index(name, indexes, sync=False)
    client.load_collection(name)


def number(*parts: object) -> int:
    """Return a number from 1 to 2**63 − 1 derived from these parts, because Milvus has no shared counters.

    The chance that two of ten million documents get the same id is 1 in 200,000. Then the writer raises an
    error.
    """
    digest = hashlib.blake2b(repr(parts).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return (int.from_bytes(digest, "big") & _BITS_63) or 1


def document_id(collection: int, path: str) -> int:
    """Return the id of a document. Renaming its collection does not change it."""
    return number("document", collection, path)


def content_id(text_hash: str) -> int:
    """Return the id of the text with this hash."""
    return number("content", text_hash)


def dimension(term: str) -> int:
    """Return the dimension of a term in sparse vectors, from 1 to about four billion."""
    return zlib.crc32(term.encode("utf-8", "surrogatepass")) % _DIMENSIONS + 1
