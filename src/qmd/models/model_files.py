"""Model files in the cache, by owner and repository on Hugging Face."""

from __future__ import annotations

import hashlib
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from qmd.errors import ModelError

if TYPE_CHECKING:
    from qmd.models.catalog import ModelCard

#: The suffix of an incomplete file.
PARTIAL = ".partial"
_SOURCE = re.compile(r"hf:(?P<owner>[\w.-]+)/(?P<repo>[\w.-]+)/(?P<file>[\w./ +-]+)", re.ASCII)


def parse_source(source: str) -> tuple[str, str, str]:
    """Split `hf:owner/repo/file`; `file` may contain folders. Raises `ModelError` for another form."""
    match = _SOURCE.fullmatch(source)
    if match is None or any(part in ("", ".", "..") for part in source.removeprefix("hf:").split("/")):
        raise ModelError(
            f"'{source}' is not a model file on Hugging Face", "Write hf:owner/repository/file.gguf"
        )
    return match["owner"], match["repo"], match["file"]


def cached_path(source: str, cache_dir: Path) -> Path:
    """Return the path that `hf:owner/repo/file` is downloaded to."""
    return cache_dir.joinpath("models", *parse_source(source))


def locate(card: ModelCard, cache_dir: Path) -> Path:
    """Return the path of a downloaded model. Raises `ModelError` if it was not downloaded."""
    path = cached_path(card.source, cache_dir)
    if not path.is_file():
        raise ModelError(f"Model '{card.name}' is not downloaded", f"Run 'qmd pull {card.source}'.")
    return path


def partial_downloads(cache_dir: Path) -> list[Path]:
    """List the incomplete downloads."""
    folder = cache_dir / "models"
    return sorted(folder.glob(f"*/*/**/*{PARTIAL}")) if folder.is_dir() else []


def check_space(folder: Path, needed: int) -> None:
    """Raise `ModelError` if the disk of `folder` has fewer than `needed` bytes free."""
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise ModelError(
            f"Not enough space on the disk of {folder}: "
            f"{needed // 1_000_000:,} MB are needed, {free // 1_000_000:,} MB are free",
            "Free some space on it.",
        )


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
