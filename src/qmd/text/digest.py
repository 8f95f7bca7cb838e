"""The digest of short data."""

from __future__ import annotations

from importlib import import_module


def sha256(data: bytes) -> str:
    """Return the SHA-256 of some data in hexadecimal. For megabytes use `hashlib`, which is faster."""
    digest: str = _sha256(data).hexdigest()
    return digest


# As `random` does: `hashlib` loads OpenSSL, which takes longer than all the digests of a search.
for _module in ("_sha2", "_sha256", "hashlib"):
    try:
        _sha256 = import_module(_module).sha256
        break
    except ImportError:
        continue
