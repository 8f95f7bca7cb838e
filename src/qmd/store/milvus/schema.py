"""The Milvus collections of an index, and how each is indexed.

Every row of an index is found by a number or a key made from what it stands for (`ids`), so that writing it
again is no change. All collections have one shard: what is written in one call becomes visible in one moment.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

#: What an index of this program says in `STATE`; another number is another layout.
FORMAT = "2"
#: The layout before it: the same, but for the terms of documents with symbols or long words.
FORMER = "1"
#: The most that Milvus keeps in one text (bytes) and one array (elements).
MAX_TEXT = 65_535
MAX_ARRAY = 4_096
#: A document's terms are spread over so many arrays by their number, so that a long text's fit.
TERM_FIELDS = 4

STATE, LEASES, ANSWERS, TEXTS, TERMS, DOCUMENTS = (
    "qmd_state",
    "qmd_leases",
    "qmd_answers",
    "qmd_texts",
    "qmd_terms",
    "qmd_documents",
)

Kind = Literal["int", "bool", "text", "ints", "sparse", "vector"]
#: Milvus wants a vector in every collection; rows that have none hold this one.
FILLER = [0.0, 0.0]


@dataclass(frozen=True, slots=True)
class Table:
    """A Milvus collection. `key` is the primary field, `partition` the one whose values share partitions.

    `filters` are the scalar fields with an index of their own.
    """

    fields: Mapping[str, Kind]
    key: str
    filters: tuple[str, ...] = ()
    partition: str | None = None
    dimension: int = len(FILLER)


_SMALL = Table({"key": "text", "value": "text", "at": "text", "filler": "vector"}, "key")
_TABLES = {
    STATE: _SMALL,
    ANSWERS: _SMALL,
    #: Who is about to embed which text, until when (milliseconds).
    LEASES: Table(
        {
            "id": "int",
            "embedder": "text",
            "content": "int",
            "worker": "text",
            "until": "int",
            "filler": "vector",
        },
        "id",
        ("content", "worker"),
    ),
    #: Every term that ever was in a document: what words that begin alike are found in.
    TERMS: Table({"term": "text", "filler": "vector"}, "term"),
    #: A text in pieces. `writer` and `at` (seconds) tell what another writer is about to use.
    TEXTS: Table(
        {
            "id": "int",
            "content": "int",
            "part": "int",
            "text": "text",
            "bytes": "int",
            "writer": "text",
            "at": "int",
            "filler": "vector",
        },
        "id",
        ("content", "part"),
    ),
    #: A document, and all that its words are ranked by. `live` false: removed, or about to be.
    DOCUMENTS: Table(
        {
            "id": "int",
            "collection": "int",
            "live": "bool",
            "path": "text",
            "title": "text",
            "content": "int",
            "hash": "text",
            "bytes": "int",
            "size": "int",
            "mtime_ns": "int",
            "inode": "int",
            "author": "text",
            "author_folded": "text",
            "date": "text",
            "length": "int",
            **{f"terms_{at}": "ints" for at in range(TERM_FIELDS)},
            "weights": "sparse",
        },
        "id",
        ("collection", "live", "content", "author_folded", "date"),
        "collection",
    ),
}


def table(name: str, dimension: int = 0) -> Table:
    """The shape of a collection by its name; `dimension` is that of the vectors in it."""
    if name in _TABLES:
        return _TABLES[name]
    if name.startswith("qmd_tokens_"):
        return Table(
            {"id": "int", "token": "int", "shard": "int", "chunks": "int", "filler": "vector"},
            "id",
            ("token",),
        )
    return Table(
        {
            "id": "int",
            "document": "int",
            "collection": "int",
            "live": "bool",
            "content": "int",
            "author_folded": "text",
            "date": "text",
            "seq": "int",
            "start": "int",
            "end": "int",
            "first_line": "int",
            "last_line": "int",
            "shard": "int",
            "tokens": "ints",
            "vector": "vector",
        },
        "id",
        ("collection", "live", "document", "content", "seq", "author_folded", "date"),
        "collection",
        dimension,
    )


#: All that a row of chunks has.
CHUNK = tuple(table("").fields)


def vectors(embedder: str) -> str:
    """The collection of an embedder's vectors: one row a chunk of each document."""
    return f"qmd_vectors_{_short(embedder)}"


def tokens(embedder: str) -> str:
    """The collection of an embedder's token frequencies, by shard; token −1 counts all chunks."""
    return f"qmd_tokens_{_short(embedder)}"


def _short(embedder: str) -> str:
    return hashlib.sha256(embedder.encode()).hexdigest()[:16]


def create(client: Any, name: str, shape: Table, *, embedded: bool) -> None:
    """Make a collection. `embedded`: in a Milvus Lite, which scans small numbers of vectors and arrays."""
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


def complete(client: Any, name: str, shape: Table, *, embedded: bool) -> None:
    """Give a collection its indexes and load it: also one that a process left before it came so far."""
    indexes = client.prepare_index_params()
    there = set(client.list_indexes(name))
    for field, kind in shape.fields.items():
        if field in there:
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
        # Of an empty collection they are there at once; waiting for them would take half a second each.
        client.create_index(name, indexes, sync=False)
    client.load_collection(name)
