"""Model files from Hugging Face: their paths in the cache, and downloading them.

Interrupted downloads resume; a file appears after it was verified.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from msgspec import Struct

from qmd.config.atomic import locked
from qmd.errors import ModelError
from qmd.models.retry import TRANSIENT_STATUSES, TransientError, retry, without_errno

if TYPE_CHECKING:
    import httpx2

    from qmd.models.catalog import ModelCard

DEFAULT_ENDPOINT = "https://huggingface.co"
#: Called with the bytes downloaded and the bytes of the whole file, None if the server does not report them.
OnBytes = Callable[[int, int | None], None]
#: The suffix of an incomplete file.
PARTIAL = ".partial"

_SOURCE = re.compile(r"hf:(?P<owner>[\w.-]+)/(?P<repo>[\w.-]+)/(?P<file>[\w./ +-]+)", re.ASCII)
_SHA256 = re.compile(r"[0-9a-f]{64}")
_HINTS = {
    401: "A login is required: accept the licence on the model's page, then set HF_TOKEN.",
    403: "A login is required: accept the licence on the model's page, then set HF_TOKEN.",
    404: "Check the owner, the repository and the file's name.",
}


def parse_source(source: str) -> tuple[str, str, str]:
    """Split `hf:owner/repo/file`; `file` may contain folders. Raises `ModelError` for another form."""
    match = _SOURCE.fullmatch(source)
    if match is None or any(part in ("", ".", "..") for part in source.removeprefix("hf:").split("/")):
        raise ModelError(
            f"'{source}' is not a model file on Hugging Face", "write hf:owner/repository/file.gguf"
        )
    return match["owner"], match["repo"], match["file"]


def cached_path(source: str, cache_dir: Path) -> Path:
    """Return the path that `hf:owner/repo/file` is downloaded to."""
    return cache_dir.joinpath("models", *parse_source(source))


def locate(card: ModelCard, cache_dir: Path) -> Path:
    """Return the path of a downloaded model. Raises `ModelError` if it was not downloaded."""
    path = cached_path(card.source, cache_dir)
    if not path.is_file():
        raise ModelError(f"Model '{card.name}' is not downloaded", f"run 'qmd pull {card.source}'")
    return path


def check_space(folder: Path, needed: int) -> None:
    """Raise `ModelError` if the disk of `folder` has fewer than `needed` bytes free."""
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise ModelError(
            f"Not enough space on the disk of {folder}: "
            f"{needed // 1_000_000:,} MB are needed, {free // 1_000_000:,} MB are free",
            "free some space on it",
        )


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class Download(Struct, frozen=True):
    """A file on this machine; its size is in bytes.

    `sha256` is None if the server sent no checksum, or if the file existed before. `fresh` is True if this
    call downloaded it.
    """

    path: Path
    size: int
    sha256: str | None
    fresh: bool


def download(source: str, cache_dir: str, environ: Mapping[str, str], on_bytes: OnBytes) -> Download:
    """Download `hf:owner/repo/file`, if it is missing. An earlier partial download is resumed.

    `HF_ENDPOINT` names a mirror. `HF_TOKEN` is sent to it only, never to the target of a redirect.

    Raises `ModelError` if the file does not exist, does not fit on the disk, or does not match its checksum,
    and `BusyError` if another process is downloading it.
    """
    target = cached_path(source, Path(cache_dir))
    if target.is_file():
        return Download(target, target.stat().st_size, None, fresh=False)
    with locked(str(target), timeout=0):
        return _Transfer(source, target, environ, on_bytes).run()


class _Transfer:
    """The attempts to complete one partial file."""

    def __init__(self, source: str, target: Path, environ: Mapping[str, str], on_bytes: OnBytes) -> None:
        owner, repo, file = parse_source(source)
        self._source = source
        self._base = (environ.get("HF_ENDPOINT", "").strip() or DEFAULT_ENDPOINT).rstrip("/")
        self._url = f"{self._base}/{owner}/{repo}/resolve/main/{quote(file)}"
        # The checksum is that of the file, not of a compressed form.
        self._headers = {"Accept-Encoding": "identity"}
        if token := environ.get("HF_TOKEN", "").strip():
            self._headers["Authorization"] = f"Bearer {token}"
        self._target = target
        self._partial = target.with_name(target.name + PARTIAL)
        self._on_bytes = on_bytes
        self._total: int | None = None
        self._sha256: str | None = None

    def run(self) -> Download:
        retry(self._attempt, self._size)
        if self._sha256 is not None and sha256(self._partial) != self._sha256:
            self._partial.unlink(missing_ok=True)
            raise ModelError(
                f"{self._source}: the downloaded file does not match its checksum", "run the command again"
            )
        with self._partial.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(self._partial, self._target)
        return Download(self._target, self._target.stat().st_size, self._sha256, fresh=True)

    def _attempt(self) -> None:
        import httpx2

        start = self._size()
        headers = self._headers | ({"Range": f"bytes={start}-"} if start else {})
        try:
            with (
                httpx2.Client(timeout=60.0, follow_redirects=True) as client,
                client.stream("GET", self._url, headers=headers) as response,
            ):
                self._read_headers(response, start)
                if response.status_code != 416:  # Otherwise it is complete, or changed: the checksum decides.
                    self._append(response, start)
        except httpx2.TransportError as error:
            raise self._transient(without_errno(error)) from error
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise ModelError(f"{self._source}: cannot be downloaded: {error}") from error

    def _read_headers(self, response: httpx2.Response, start: int) -> None:
        """Read the checksum, which the first response of a redirect has, and the size of the file."""
        status = response.status_code
        if status in TRANSIENT_STATUSES:
            raise self._transient(f"{self._base} answered {status}")
        if not response.is_success and status != 416:
            raise ModelError(f"{self._source}: {self._base} answered {status}", _HINTS.get(status))
        for answer in (*response.history, response):
            tag = answer.headers.get("X-Linked-ETag", answer.headers.get("ETag", ""))
            tag = tag.removeprefix("W/").strip('"')
            if _SHA256.fullmatch(tag):
                self._sha256 = tag
                break
        length = response.headers.get("Content-Length", "")
        if status != 416 and length.isdigit():
            self._total = int(length) + (start if status == 206 else 0)

    def _append(self, response: httpx2.Response, start: int) -> None:
        """Append the bytes from `start` on, or begin again if the server cannot resume."""
        resumed = response.status_code == 206
        done = start if resumed else 0
        check_space(self._target.parent, (self._total or 0) - done)
        with self._partial.open("ab" if resumed else "wb") as file:
            self._on_bytes(done, self._total)
            for block in response.iter_raw():
                file.write(block)
                done += len(block)
                self._on_bytes(done, self._total)
        if self._total is not None and done < self._total:
            raise self._transient("the connection was closed")

    def _transient(self, reason: str) -> TransientError:
        hint = "check the network connection, and HF_ENDPOINT if it is set"
        if self._size():
            hint = "the partial download is kept: run the command again to resume it"
        return TransientError(ModelError(f"{self._source}: {reason or 'the connection was closed'}", hint))

    def _size(self) -> int:
        return self._partial.stat().st_size if self._partial.exists() else 0
