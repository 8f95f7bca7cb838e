"""Ids derived from content, because Milvus has no shared counters. Repeating a write changes nothing.

The id of a document is derived from its collection and its path, the id of a text from its hash. With 63
bits, the chance that two of ten million documents get the same id is 1 in 200,000. The writer then raises an
error.
"""

from __future__ import annotations

import hashlib
import zlib

_BITS_63 = (1 << 63) - 1
#: The number of dimensions of a sparse vector.
_DIMENSIONS = (1 << 32) - 2


def number(*parts: object) -> int:
    """Return a number from 1 to 2**63 − 1 derived from these parts."""
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
