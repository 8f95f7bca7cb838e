"""Single values as the formats write them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def program_text(value: Any) -> str:
    """Return a value as text for programs: empty for None, JSON for lists and mappings."""
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case list() | tuple() | Mapping():
            import json

            return json.dumps(value, ensure_ascii=False)
    return str(value)


def plain(value: str | float | bool) -> str | float | bool:
    """Return a value of a field as it is written: `2`, not `2.0`."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
