"""What the formats of Microsoft Office have in common."""

from __future__ import annotations

from typing import Any

from qmd.text.outline import one_line


def core_fields(properties: Any) -> tuple[str, dict[str, tuple[str | float | bool, ...]]]:
    """Return the title and the fields of the properties of a document."""
    fields: dict[str, tuple[str | float | bool, ...]] = {}
    if author := one_line(properties.author or ""):
        fields["author"] = (author,)
    try:
        date = properties.modified or properties.created
    except ValueError:
        date = None
    if date is not None:
        fields["date"] = (date.isoformat(),)
    if keywords := one_line(properties.keywords or ""):
        fields["keywords"] = tuple(
            part.strip() for part in keywords.replace(";", ",").split(",") if part.strip()
        )
    title = one_line(properties.title or "")
    return ("" if title.lower() in ("word document", "powerpoint presentation") else title), fields
