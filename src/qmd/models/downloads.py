"""Download model files. Interrupted downloads resume; a file appears after it was verified."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from qmd.config.atomic import locked
from qmd.errors import ModelError
from qmd.models.model_files import PARTIAL, cached_path, check_space, parse_source, sha256
from qmd.models.retry import TRANSIENT_STATUSES, TransientError, retry, without_errno

if TYPE_CHECKING:
    import httpx2

DEFAULT_ENDPOINT = "https://huggingface.co"
#: Called with the bytes downloaded and the bytes of the whole file, None if the server does not report them.
OnBytes = Callable[[int, int | None], None]

_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Hub:
    """The server to download from. `token` is sent to `endpoint` only, never to a redirect's target."""

    endpoint: str = DEFAULT_ENDPOINT
    token: str | None = None


@dataclass(frozen=True, slots=True)
class Download:
    """A file on this machine.

    Attributes:
        path: The path of the file.
        size: Bytes.
        sha256: The verified checksum; None if the server sent none, or if the file existed before.
        fresh: True if this call downloaded it.
    """

    path: Path
    size: int
    sha256: str | None
    fresh: bool


def download(source: str, cache_dir: Path, hub: Hub, on_bytes: OnBytes) -> Download:
    """Download `hf:owner/repo/file`, if it is missing. An earlier partial download is resumed.

    Raises:
        ModelError: The file does not exist, does not fit on the disk, or does not match its checksum.
        BusyError: Another process is downloading it.
    """
    target = cached_path(source, cache_dir)
    if target.is_file():
        return Download(target, target.stat().st_size, None, fresh=False)
    with locked(str(target), timeout=0):
        return _Transfer(source, target, hub, on_bytes).run()


class _Transfer:
    """The attempts to complete one partial file."""

    def __init__(self, source: str, target: Path, hub: Hub, on_bytes: OnBytes) -> None:
        self._source = source
        self._target = target
        self._partial = target.with_name(target.name + PARTIAL)
        self._hub = hub
        self._on_bytes = on_bytes
        self._total: int | None = None
        self._sha256: str | None = None

    def run(self) -> Download:
        retry(self._attempt, self._size)
        if self._sha256 is not None and sha256(self._partial) != self._sha256:
            self._partial.unlink(missing_ok=True)
            raise ModelError(
                f"{self._source}: the downloaded file does not match its checksum", "Run the command again."
            )
        with self._partial.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(self._partial, self._target)
        return Download(self._target, self._target.stat().st_size, self._sha256, fresh=True)

    def _attempt(self) -> None:
        import httpx2

        try:
            self._transfer(self._size())
        except httpx2.TransportError as error:
            raise self._transient(without_errno(error)) from error
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise ModelError(f"{self._source}: cannot be downloaded: {error}") from error

    def _transfer(self, start: int) -> None:
        """Append the bytes from `start` on, or begin again if the server cannot resume."""
        with self._response(start) as response:
            self._read_headers(response, start)
            if response.status_code == 416:
                return  # The file is complete, or it is another one: the checksum decides.
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
            raise self._transient("")

    @contextmanager
    def _response(self, start: int) -> Iterator[httpx2.Response]:
        import httpx2

        owner, repo, file = parse_source(self._source)
        base = self._hub.endpoint.rstrip("/")
        url = f"{base}/{owner}/{repo}/resolve/main/{quote(file)}"
        # The checksum is that of the file, not of a compressed form.
        headers = {"Accept-Encoding": "identity"}
        if start:
            headers["Range"] = f"bytes={start}-"
        if self._hub.token:
            headers["Authorization"] = f"Bearer {self._hub.token}"
        with (
            httpx2.Client(timeout=60.0, follow_redirects=True) as client,
            client.stream("GET", url, headers=headers) as response,
        ):
            status = response.status_code
            if status in TRANSIENT_STATUSES:
                raise self._transient(f"{base} answered {status}")
            if not response.is_success and status != 416:
                raise ModelError(f"{self._source}: {base} answered {status}", _hint(status))
            yield response

    def _read_headers(self, response: httpx2.Response, start: int) -> None:
        """Read the checksum, which the first response of a redirect has, and the size of the file."""
        for answer in (*response.history, response):
            tag = answer.headers.get("X-Linked-ETag", answer.headers.get("ETag", ""))
            tag = tag.removeprefix("W/").strip('"')
            if _SHA256.fullmatch(tag):
                self._sha256 = tag
                break
        length = response.headers.get("Content-Length", "")
        if response.status_code != 416 and length.isdigit():
            self._total = int(length) + (start if response.status_code == 206 else 0)

    def _transient(self, reason: str) -> TransientError:
        hint = "Check the network connection, and HF_ENDPOINT if it is set."
        if self._size():
            hint = "The partial download is kept: run the command again to resume it."
        return TransientError(ModelError(f"{self._source}: {reason or 'the connection was closed'}", hint))

    def _size(self) -> int:
        return self._partial.stat().st_size if self._partial.exists() else 0


def _hint(status: int) -> str | None:
    match status:
        case 401 | 403:
            return "A login is required: accept the licence on the model's page, then set HF_TOKEN."
        case 404:
            return "Check the owner, the repository and the file's name."
    return None
