"""The addresses of documents on the page."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from qmd.text.uris import encode_path


def read_address(file: str, **parameters: Any) -> str:
    """Return the address of the page of a document."""
    given = {name: value for name, value in parameters.items() if value not in (None, "")}
    return f"/read/{encode_path(file)}" + (f"?{urlencode(given)}" if given else "")
