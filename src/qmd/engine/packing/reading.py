"""Read packs again, from Markdown or JSON."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, json

from qmd.engine.packing import markdown
from qmd.errors import UsageError

#: A larger file is no pack.
MAX_BYTES = 20_000_000


class Cited(Struct, frozen=True):
    """A passage as a pack names it: its file, its lines or place there, its hash, and its text, escaped."""

    file: str
    place: str
    hash: str
    text: str

    @property
    def address(self) -> str:
        return f"{self.file}:{self.place}"


def read_pack(text: str) -> list[Cited]:
    """Return the passages of a pack whose text it has. Raises `UsageError` if the text is no pack."""
    if text.lstrip().startswith("{"):
        return _from_json(text)
    if not markdown.ID.search(text[:1_000]):
        raise UsageError("this is no pack", "give a file that 'qmd pack' has printed")
    return [Cited(*each) for each in markdown.passages(text)]


def _from_json(text: str) -> list[Cited]:
    try:
        data: Any = json.decode(text)
        return [
            Cited(each["file"], each["place"], each["hash"], markdown.escaped(each["text"]))
            for each in data["passages"]
            if each.get("text")
        ]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(
            "this is no pack in JSON", "give a file that 'qmd pack --json' has printed"
        ) from error
