"""Fetching a model's file: goes on where it stopped, and is in its place only once it is whole and proven."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from qmd.config.files import locked
from qmd.errors import ModelError
from qmd.models.store import PARTIAL, locate_pulled, parse_remote

if TYPE_CHECKING:
    import httpx2

DEFAULT_ENDPOINT = "https://huggingface.co"
#: (bytes that are here, bytes there are, None where the server does not say)
OnBytes = Callable[[int, int | None], None]

#: Attempts without a byte gained, after which it is given up, and seconds before the second.
_ATTEMPTS, _FIRST_WAIT = 4, 0.5
_PASSING = frozenset({408, 429, 500, 502, 503, 504})
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Origin:
    """Where files come from. `token` is for repositories that ask who one is; it goes to `endpoint` alone."""

    endpoint: str = DEFAULT_ENDPOINT
    token: str | None = None


@dataclass(frozen=True, slots=True)
class Fetched:
    """A file that is here. `sha256` is what it was proven by; None where the server named no checksum.

    `fresh`: it was fetched just now.
    """

    path: Path
    size: int
    sha256: str | None
    fresh: bool


def fetch(
    source: str,
    cache_dir: Path,
    origin: Origin,
    on_bytes: OnBytes,
    *,
    wait: Callable[[float], None] = time.sleep,
) -> Fetched:
    """Have the file of `hf:owner/repo/file` on this machine.

    What was fetched of it before is gone on from. Raises `ModelError` for a file that is not there, does not
    fit on the disk, or is not what its checksum says; `BusyError` where another process fetches it.
    """
    target = locate_pulled(source, cache_dir)
    if target.is_file():
        return Fetched(target, target.stat().st_size, None, fresh=False)
    with locked(str(target), timeout=0):
        return _Download(source, target, origin, on_bytes, wait).run()


class _Download:
    def __init__(
        self,
        source: str,
        target: Path,
        origin: Origin,
        on_bytes: OnBytes,
        wait: Callable[[float], None],
    ) -> None:
        self._source = source
        self._target = target
        self._partial = target.with_name(target.name + PARTIAL)
        self._origin = origin
        self._on_bytes = on_bytes
        self._wait = wait
        self._total: int | None = None
        self._sha256: str | None = None

    def run(self) -> Fetched:
        import httpx2

        idle, pause = 0, _FIRST_WAIT
        while True:
            before = self._here()
            try:
                self._attempt(before)
                break
            except (httpx2.TransportError, _PassingError) as error:
                idle = idle + 1 if self._here() <= before else 1
                if idle >= _ATTEMPTS:
                    reason = re.sub(r"^\[Errno -?\d+\] ", "", str(error)) or "the connection broke off"
                    raise ModelError(f"{self._source}: {reason}", self._way_on()) from error
                self._wait(pause)
                pause = min(30.0, 2 * pause)
            except (httpx2.HTTPError, httpx2.InvalidURL) as error:
                raise ModelError(f"{self._source}: cannot be fetched: {error}") from error
        return self._settle()

    def _attempt(self, start: int) -> None:
        with self._response(start) as response:
            self._learn(response, start)
            if response.status_code == 416:
                return  # all of it is here already, or something else: the checksum tells
            resumed = response.status_code == 206
            done = start if resumed else 0
            self._check_space((self._total or 0) - done)
            with self._partial.open("ab" if resumed else "wb") as file:
                self._on_bytes(done, self._total)
                for block in response.iter_raw():
                    file.write(block)
                    done += len(block)
                    self._on_bytes(done, self._total)
        if self._total is not None and done < self._total:
            raise _PassingError("the connection broke off")

    @contextmanager
    def _response(self, start: int) -> Iterator[httpx2.Response]:
        import httpx2

        remote = parse_remote(self._source)
        base = self._origin.endpoint.rstrip("/")
        url = f"{base}/{remote.owner}/{remote.repo}/resolve/main/{quote(remote.file)}"
        # As it lies there: a checksum is of the file, not of a compressed form of it.
        headers = {"Accept-Encoding": "identity"}
        if start:
            headers["Range"] = f"bytes={start}-"
        if self._origin.token:
            headers["Authorization"] = f"Bearer {self._origin.token}"
        with (
            httpx2.Client(timeout=60.0, follow_redirects=True) as client,
            client.stream("GET", url, headers=headers) as response,
        ):
            status = response.status_code
            if status in _PASSING:
                raise _PassingError(f"{base} answered {status}")
            if not response.is_success and status != 416:
                raise ModelError(f"{self._source}: {base} answered {status}", _hint(status))
            yield response

    def _learn(self, response: httpx2.Response, start: int) -> None:
        """What the server says of the whole file; the first answer of a redirection knows its checksum."""
        for each in (*response.history, response):
            tag = (
                each.headers.get("X-Linked-ETag", each.headers.get("ETag", "")).removeprefix("W/").strip('"')
            )
            if _SHA256.fullmatch(tag):
                self._sha256 = tag
                break
        length = response.headers.get("Content-Length", "")
        if response.status_code == 416 or not length.isdigit():
            return
        self._total = int(length) + (start if response.status_code == 206 else 0)

    def _settle(self) -> Fetched:
        """Prove the file and put it in its place."""
        size = self._here()
        if self._sha256 is not None and _digest(self._partial) != self._sha256:
            self._partial.unlink(missing_ok=True)
            raise ModelError(
                f"{self._source}: what came is not what its checksum says", "Run the command again."
            )
        with self._partial.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(self._partial, self._target)
        return Fetched(self._target, size, self._sha256, fresh=True)

    def _way_on(self) -> str:
        if self._here():
            return "What is here is kept: run the command again to go on."
        return "Check the connection, and HF_ENDPOINT where it is set."

    def _here(self) -> int:
        return self._partial.stat().st_size if self._partial.exists() else 0

    def _check_space(self, needed: int) -> None:
        free = shutil.disk_usage(self._target.parent).free
        if needed > free:
            lacking = f"{needed // 1_000_000:,} MB are needed, and {free // 1_000_000:,} MB are free"
            raise ModelError(
                f"{self._source}: {lacking}",
                f"Make room on the disk of {self._target.parent}.",
            )


class _PassingError(Exception):
    """A failure that another attempt may mend."""


def _hint(status: int) -> str | None:
    match status:
        case 401 | 403:
            return "Its publisher asks who you are: accept the licence there, then set HF_TOKEN."
        case 404:
            return "Check the owner, the repository and the file's name."
    return None


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
