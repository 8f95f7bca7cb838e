"""What is on the disk of multilingual-e5-small: the package's weights, and the files made from them."""

from __future__ import annotations

import re
from pathlib import Path

from qmd.errors import ModelError
from qmd.models.catalog import MULTILINGUAL_E5_SMALL as CARD
from qmd.models.catalog import Installation, Leftover, ModelCard
from qmd.models.e5 import convert, weights

#: A converted model of any recipe, its lock, or (with a dot before it) a conversion that did not end.
_CONVERTED = re.compile(rf"(?P<draft>\.)?(?P<model>{re.escape(CARD.name)}-[0-9a-f]{{12}})(?P<rest>\..*)?")


def inspect(card: ModelCard, cache_dir: Path, *, thorough: bool) -> Installation:
    """The weights and the converted model; `thorough` compares their checksums."""
    target = convert.folder(cache_dir)
    fault = _fault_of_weights(thorough)
    prepared = convert.is_ready(cache_dir)
    files = [] if fault else [weights.locate()]
    files += [target] if target.is_dir() else []
    shown, size = tuple(map(str, files)), sum(map(_size, files))
    if prepared and thorough and not convert.is_intact(cache_dir):
        reason = f"the files in {target} are not those that were written there"
        return Installation("damaged", shown, size, reason, "Delete that folder: its next use makes it anew.")
    if prepared:
        # It goes on without the package, until another version wants other files.
        return Installation(
            "ready", shown, size, fault.message if fault else None, fault.hint if fault else None
        )
    if fault is None:
        return Installation("unprepared", shown, size, f"its first use makes {target} (90 MB, a few seconds)")
    return Installation("damaged" if files else "missing", shown, size, fault.message, fault.hint)


def leftovers(cache_dir: Path, before: float) -> list[Leftover]:
    """Models converted by other versions' recipes, and conversions that were killed before `before`."""
    current = convert.folder(cache_dir)
    found = []
    for path in sorted(current.parent.glob("*")) if current.parent.is_dir() else []:
        match = _CONVERTED.fullmatch(path.name)
        if match is None:
            continue
        is_draft = match["draft"] is not None
        if path.stat().st_mtime < before if is_draft else match["model"] != current.name:
            found.append(Leftover(str(path), _size(path)))
    return found


def _fault_of_weights(thorough: bool) -> ModelError | None:
    try:
        path = weights.locate()
        if thorough:
            weights.Weights(path)
    except ModelError as error:
        return error
    return None


def _size(path: Path) -> int:
    """Bytes of a file, or of all files in a folder."""
    if path.is_dir():
        return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    return path.stat().st_size
