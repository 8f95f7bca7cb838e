"""Addresses of models on servers: `openai:MODEL@https://host/v1`."""

from __future__ import annotations

import re
from ipaddress import ip_address
from urllib.parse import urlsplit

from msgspec import Struct

from qmd.errors import ModelError

_FORM = re.compile(r"openai:(?P<model>\S+?)@(?P<base>https?://\S+)", re.IGNORECASE)


class ModelAddress(Struct, frozen=True):
    """The name of a model on its server, and the URL that paths such as `/embeddings` are appended to."""

    model: str
    base: str

    @property
    def host(self) -> str:
        return urlsplit(self.base).hostname or ""

    @property
    def is_local(self) -> bool:
        """True if the server is this machine."""
        return self.host == "localhost" or self.host.endswith(".localhost") or _is_loopback(self.host)

    @property
    def is_encrypted(self) -> bool:
        """True if no one can read the requests on their way."""
        return self.is_local or self.base.startswith("https:")

    def __str__(self) -> str:
        return f"{self.model}@{self.base}"


def parse_address(spec: str) -> ModelAddress:
    """Parse `openai:MODEL@URL`. Raises `ModelError` if it is invalid or contains a password."""
    match = _FORM.fullmatch(spec.strip())
    if match is None:
        # The text may contain a password: the message does not repeat it.
        raise ModelError(
            "The address of a model on a server has the form openai:MODEL@https://host/v1",
            "for example openai:nomic-embed-text@http://localhost:11434/v1",
        )
    base = match["base"].rstrip("/")
    try:
        parts = urlsplit(base)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise ModelError(f"The server address of '{match['model']}' is not a URL: {error}") from error
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise ModelError(
            f"The server address of '{match['model']}' may only contain a host, a port and a path",
            "set the key in QMD_OPENAI_API_KEY, or in the file that models.openai_api_key_file names",
        )
    if not host:
        raise ModelError(f"The server address of '{match['model']}' has no host")
    scheme, rest = base.split("://", 1)
    return ModelAddress(match["model"], f"{scheme.lower()}://{rest}")


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
