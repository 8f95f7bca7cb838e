"""The digests of short data, and of passages."""

from __future__ import annotations

from importlib import import_module

#: Characters of the hash of a passage, enough to tell those of one session apart.
PASSAGE_HASH = 16


def sha256(data: bytes) -> str:
    """Return the SHA-256 of some data in hexadecimal. For megabytes use `hashlib`, which is faster."""
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
