"""The digests of short data, and of passages."""

from __future__ import annotations

from importlib import import_module

#: Characters of the hash of a passage, enough to tell those of one session apart.
PASSAGE_HASH = 16
#: Bytes from which on OpenSSL is faster, although it must be loaded.
_LARGE = 1_000_000


def sha256(data: bytes) -> str:
    """Return the SHA-256 of some data in hexadecimal."""
    if len(data) > _LARGE:
        from hashlib import sha256 as of_large

        return of_large(data).hexdigest()
    digest: str = _sha256(data).hexdigest()
    return digest


def passage_hash(text: str) -> str:
    """Return the short hash of a passage, which does not depend on spaces and line ends around it."""
    return sha256(text.strip().encode("utf-8", "surrogatepass"))[:PASSAGE_HASH]


# As `random` does: `hashlib` loads OpenSSL, which takes longer than all the digests of a search.
for _module in ("_sha2", "_sha256", "hashlib"):
    try:
        _sha256 = import_module(_module).sha256
        break
    except ImportError:
        continue
