"""The models that need no download: multilingual-e5-small embeds and, by its token vectors, reranks."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from qmd.errors import ModelError
from qmd.models.catalog import MULTILINGUAL_E5_SMALL as CARD, Condition, Installation, Leftover, ModelCard
from qmd.models.e5 import convert, package
from qmd.models.e5.embedder import E5Embedder, check_installed, load_embedder

if TYPE_CHECKING:
    from qmd.config.settings import Settings
    from qmd.models.e5.reranker import LateInteractionReranker

#: Converted or fetched weights of any version, their lock, or (with a leading dot) unfinished ones.
_OURS = re.compile(
    rf"(?P<draft>\.)?(?P<model>{re.escape(CARD.name)}-[0-9a-f]{{12}}|{package.PACKAGE}-[0-9.]+\.bin)(\..*)?"
)


def load(
    card: ModelCard, *, cache_dir: Path, settings: Settings, progress: Callable[[str], None] | None = None
) -> E5Embedder | LateInteractionReranker:
    """Return the model for the card's role. Both roles share the weights in memory."""
    embedder = load_embedder(cache_dir, settings.threads, progress)
    if card.role == "embed":
        return embedder
    from qmd.models.e5.reranker import LateInteractionReranker

    return LateInteractionReranker(embedder)


def inspect(card: ModelCard, cache_dir: Path, *, thorough: bool) -> Installation:
    """Check the package's weights and the converted model; `thorough` compares their checksums."""
    try:
        check_installed()
    except ModelError as absent:
        return Installation("unsupported", reason=absent.message, hint=absent.hint)
    target = convert.folder(cache_dir)
    error = _weights_error(cache_dir, thorough)
    paths = [] if error else [package.locate_weights(cache_dir)]
    paths += [target] if target.is_dir() else []
    files, size = tuple(map(str, paths)), sum(map(_size, paths))
    condition: Condition = "ready"
    # The converted model works without the package, until a new version needs other files.
    reason, hint = (error.message, error.hint) if error else (None, None)
    if not convert.is_ready(cache_dir):
        if error:
            condition = "damaged" if paths else "missing"
        else:
            condition, reason = "unprepared", f"the first use creates {target} (90 MB, a few seconds)"
    elif thorough and not convert.is_intact(cache_dir):
        condition, reason = "damaged", f"the files in {target} do not match their checksums"
        hint = "delete the folder; it is created again at the next use"
    return Installation(condition, files, size, reason, hint)


def leftovers(cache_dir: Path, before: float) -> list[Leftover]:
    """List files that other versions fetched and converted, and those left half-way before `before`."""
    current = {convert.folder(cache_dir).name, package.fetched(cache_dir).name}
    paths = []
    for path in sorted((cache_dir / "models").glob("*")):
        match = _OURS.fullmatch(path.name)
        if match is None:
            continue
        is_draft = match["draft"] is not None
        if path.stat().st_mtime < before if is_draft else match["model"] not in current:
            paths.append(path)
    return [Leftover(str(path), _size(path)) for path in paths]


def _weights_error(cache_dir: Path, thorough: bool) -> ModelError | None:
    try:
        path = package.locate_weights(cache_dir)
        if thorough:
            from qmd.models.e5.weights import Weights

            Weights(path, package.WEIGHTS_SHA256, package.repair_hint(path))
    except ModelError as error:
        return error
    return None


def _size(path: Path) -> int:
    """Return the bytes of a file, or of all files in a folder."""
    if path.is_dir():
        return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    return path.stat().st_size
