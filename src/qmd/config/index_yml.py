"""Read `index.yml`. Parser and schema are imported only to parse, because bytes and digest need neither."""

# os.path instead of pathlib, see `paths`.

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from qmd.errors import ConfigError
from qmd.text.digest import sha256

if TYPE_CHECKING:
    from qmd.types import Config

MAX_BYTES = 1_000_000

_OPEN = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


def load(path: str) -> Config:
    """Return the configuration in the file at `path`. A missing file counts as empty."""
    return parse(read_bytes(path), path)


def read_bytes(path: str, max_bytes: int = MAX_BYTES) -> bytes:
    """Return the bytes of the file, b"" if it does not exist; see `read_file`."""
    return read_file(path, max_bytes) or b""


def read_file(path: str, max_bytes: int = MAX_BYTES) -> bytes | None:
    """Return the bytes of the file, None if it does not exist.

    Of a file larger than `max_bytes`, return the first `max_bytes` + 1 bytes, which `decode` rejects. Raises
    `ConfigError` if the path is a broken link, no regular file or not readable.
    """
    try:
        # Non-blocking, because opening a pipe would wait for a writer.
        with open(os.open(path, _OPEN), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ConfigError(f"{path}: not a regular file.", "replace it with a file")
            return file.read(max_bytes + 1)
    except FileNotFoundError as error:
        if os.path.islink(path):
            raise ConfigError(
                f"{path}: the file it links to is missing.", "correct or remove the link"
            ) from error
        return None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror or error}.") from error


def digest(data: bytes) -> str:
    """Return the SHA-256 of the bytes, in hexadecimal."""
    return sha256(data)


def decode(data: bytes, path: str) -> str:
    """Return the text of the file, including a byte-order mark. Raises `ConfigError` if it is not UTF-8."""
    if len(data) > MAX_BYTES:
        raise ConfigError(
            f"{path}: larger than {MAX_BYTES // 1_000_000} MB.", "check that this is the right file"
        )
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        from qmd.config.yaml_nodes import broken

        raise broken(path, data.count(b"\n", 0, error.start) + 1, "not UTF-8") from error


def parse(data: bytes, path: str) -> Config:
    """Parse `data`, the bytes of the file at `path`.

    Unknown keys are ignored and listed in `Config.unknown_keys`. The folders of collections become absolute:
    `~` is expanded, and a relative path starts at the folder of the file, or at the project's folder if the
    file is `.qmd/index.yml`. Raises `ConfigError` with `path:line: reason`, if the YAML is broken or a known
    key has an invalid value.
    """
    from qmd.config.schema import read_config
    from qmd.config.yaml_nodes import compose

    root = compose(decode(data, path).removeprefix("\ufeff"), path)
    return read_config(root, path, digest(data))
