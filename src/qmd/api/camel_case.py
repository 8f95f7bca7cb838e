"""Names as clients of MCP write them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from msgspec import defstruct

from qmd.api.reading import R, fields_of


def camel(name: str) -> str:
    """Return a name in camelCase."""
    first, *others = name.split("_")
    return first + "".join(part.title() for part in others)


def in_camel_case(request: type[R], names: Sequence[str] = (), **types: Any) -> type[R]:
    """Return arguments as MCP clients write them, in camelCase, and `tokens` as `maxTokens`.

    Only those in `names` if there are any. `types` are other types, such as with another description.
    """
    known = {item.name: item for item in fields_of(request)}
    fields = [
        (name, types.get(name, item.type), *(() if item.required else (item.default,)))
        for name, item in ((name, known[name]) for name in names or known)
    ]

    def renamed(name: str) -> str:
        return "maxTokens" if name == "tokens" else camel(name)

    made = defstruct(request.__name__, fields, bases=request.__bases__, rename=renamed, kw_only=True)
    return cast(type[R], made)
