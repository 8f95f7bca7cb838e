"""Model files that were fetched: where they lie, by owner and repository."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from qmd.errors import ModelError

#: What a download that is not complete is called.
PARTIAL = ".partial"
_NAME = re.compile(r"hf:(?P<owner>[\w.-]+)/(?P<repo>[\w.-]+)/(?P<file>[\w./ +-]+)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Remote:
    """A file of a repository on Hugging Face; `file` may be in folders."""

    owner: str
    repo: str
    file: str


def parse_remote(source: str) -> Remote:
    """Read `hf:owner/repo/file`. Raises `ModelError` for what is none."""
    match = _NAME.fullmatch(source)
    if match is None or any(part in ("", ".", "..") for part in source.removeprefix("hf:").split("/")):
        raise ModelError(f"'{source}' names no file", "Write hf:owner/repository/file.gguf")
    return Remote(match["owner"], match["repo"], match["file"])


def locate_pulled(source: str, cache_dir: Path) -> Path:
    """Where the file of `hf:owner/repo/file` lies once it is fetched."""
    remote = parse_remote(source)
    return cache_dir / "models" / remote.owner / remote.repo / remote.file


def partial_downloads(cache_dir: Path) -> list[Path]:
    """Downloads that did not end."""
    folder = cache_dir / "models"
    return sorted(folder.glob(f"*/*/**/*{PARTIAL}")) if folder.is_dir() else []
