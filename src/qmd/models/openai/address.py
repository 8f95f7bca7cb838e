"""What `openai:MODEL@https://host/v1` says: a model, and the server that has it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from qmd.errors import ModelError

PREFIX = "openai:"
_FORM = re.compile(r"openai:(?P<model>\S+?)@(?P<base>https?://\S+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Address:
    """`model` as the server calls it; `base` is the URL that `/embeddings` and the like are put after."""

    model: str
    base: str

    @property
    def host(self) -> str:
        return urlsplit(self.base).hostname or ""

    @property
    def is_local(self) -> bool:
        """Whether the server is this machine, so that nothing sent to it leaves."""
        return self.host == "localhost" or self.host.endswith(".localhost") or _is_loopback(self.host)

    @property
    def is_private(self) -> bool:
        """Whether nobody on the way can read what is sent."""
        return self.is_local or self.base.startswith("https:")

    def __str__(self) -> str:
        return f"{self.model}@{self.base}"


def parse_address(spec: str) -> Address:
    """Read `openai:MODEL@URL`. Raises `ModelError` for what is none, or holds a password."""
    match = _FORM.fullmatch(spec.strip())
    if match is None:
        # The text may hold a password: it is not repeated.
        raise ModelError(
            "A model on a server is written openai:MODEL@https://host/v1",
            "For example openai:nomic-embed-text@http://localhost:11434/v1",
        )
    base = match["base"].rstrip("/")
    try:
        parts = urlsplit(base)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise ModelError(f"The address of the server of '{match['model']}' is no URL: {error}") from error
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise ModelError(
            f"The address of the server of '{match['model']}' has more than a host, a port and a path",
            "Give a key in QMD_OPENAI_API_KEY, or in the file that models.openai_api_key_file names.",
        )
    if not host:
        raise ModelError(f"The address of the server of '{match['model']}' has no host")
    scheme, rest = base.split("://", 1)
    return Address(match["model"], f"{scheme.lower()}://{rest}")


def _is_loopback(host: str) -> bool:
    from ipaddress import ip_address

    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
