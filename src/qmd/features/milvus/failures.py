"""Translation of Milvus errors for users."""

from __future__ import annotations

from qmd.errors import StoreError
from qmd.features.milvus.address import MilvusAddress

_UNREACHABLE = (
    "fail connecting",
    "server unavailable",
    "failed to connect",
    "unavailable",
    "deadline exceeded",
)
#: The error code of Milvus for a missing collection.
_NO_COLLECTION = 100
_REFUSED = ("auth", "permission", "privilege", "credential", "token")


def kinds() -> tuple[type[Exception], ...]:
    """Return the exceptions of Milvus calls; none if pymilvus is not installed."""
    try:
        import grpc
        from pymilvus.exceptions import MilvusException
    except ImportError:
        return ()
    return MilvusException, grpc.RpcError, grpc.FutureTimeoutError


def failure(error: Exception, address: MilvusAddress) -> StoreError:
    """Return the error to show to the user."""
    reason = " ".join(str(getattr(error, "message", "") or error).split())[:300]
    lower = reason.casefold()
    if any(word in lower for word in _UNREACHABLE) or not reason:
        return StoreError(
            f"cannot reach Milvus at {address.url}",
            "is it running? The address is 'store' in index.yml, QMD_STORE or --store; for TLS milvus+tls://",
        )
    if getattr(error, "code", None) == _NO_COLLECTION:
        return StoreError(
            f"another process dropped a part of the index at {address.url} meanwhile", "run the command again"
        )
    if "database not found" in lower or ("database" in lower and "does not exist" in lower):
        return StoreError(
            f"Milvus has no database '{address.database}'", "create it, or remove it from the address"
        )
    if any(word in lower for word in _REFUSED):
        return StoreError(
            f"Milvus at {address.url} does not let this user in: {reason}",
            "check QMD_MILVUS_TOKEN, or QMD_MILVUS_USER and QMD_MILVUS_PASSWORD",
        )
    return StoreError(f"Milvus at {address.url}: {reason}", "see the log of Milvus for details")
