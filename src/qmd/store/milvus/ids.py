"""Numbers for what Milvus cannot count: made from what they stand for, so that writing twice is writing once.

A document's number is made from its collection's and its path, a text's from its hash. 63 bits let ten
million documents meet with a chance of 1 in 200,000; a writer that sees it happen says so.
"""

from __future__ import annotations

import hashlib
import zlib

_BITS_63 = (1 << 63) - 1
#: Dimensions of a sparse vector end before this one.
_DIMENSIONS = (1 << 32) - 2


def number(*parts: object) -> int:
    """A number from 1 to 2**63 − 1 for what these parts name together."""
    digest = hashlib.blake2b(repr(parts).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return (int.from_bytes(digest, "big") & _BITS_63) or 1


def document_id(collection: int, path: str) -> int:
    """A document's number; it stays when its collection gets another name."""
    return number("document", collection, path)


def content_id(text_hash: str) -> int:
    """The number of a text with this hash."""
    return number("content", text_hash)


def dimension(term: str) -> int:
    """The dimension of a term in sparse vectors, from 1; one of four billion."""
    return zlib.crc32(term.encode("utf-8", "surrogatepass")) % _DIMENSIONS + 1
