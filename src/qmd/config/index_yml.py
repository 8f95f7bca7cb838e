"""Reading `index.yml`. Bytes and digest cost little; parser and schema are loaded only to parse."""

# os.path throughout, see `paths`.

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from qmd.errors import ConfigError

if TYPE_CHECKING:
    from qmd.types import Config

MAX_BYTES = 1_000_000

_OPEN = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


def load(path: str) -> Config:
    """The configuration in the file at `path`; a missing file is an empty one. Errors as in `parse`."""
    return parse(read_bytes(path), path)


def read_bytes(path: str, most: int = MAX_BYTES) -> bytes:
    """The file's bytes, empty where there is no file, so that `digest` can be compared before parsing.

    Of a file larger than `most`, one byte more.

    Raises `ConfigError` for a file that is there and cannot be read, or is no regular file; a link to nothing
    is such a file.
    """
    try:
        # Without blocking: a pipe would be waited for.
        with open(os.open(path, _OPEN), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ConfigError(f"{path}: not a regular file.", "Put a file in its place.")
            return file.read(most + 1)
    except FileNotFoundError as error:
        if os.path.islink(path):
            raise ConfigError(
                f"{path}: the file it links to is missing.", "Mend or remove the link."
            ) from error
        return b""
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror or error}.") from error


def digest(data: bytes) -> str:
    """The SHA-256 of the file's bytes, in hexadecimal."""
    import hashlib

    return hashlib.sha256(data).hexdigest()


def decode(data: bytes, path: str) -> str:
    """The file's text, a byte-order mark included.

    Raises `ConfigError` for what is not UTF-8 or larger than `MAX_BYTES`.
    """
    if len(data) > MAX_BYTES:
        raise ConfigError(f"{path}: larger than {MAX_BYTES // 1_000_000} MB.", "Is this the right file?")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        from qmd.config.yaml_nodes import broken

        raise broken(path, data.count(b"\n", 0, error.start) + 1, "not UTF-8") from error


def parse(data: bytes, path: str) -> Config:
    """The configuration in `data`, the bytes of the file at `path`.

    Unknown keys are left alone. A collection's folder is absolute: `~` is expanded, a relative one begins
    at the file's folder, or at the project's where the file is `.qmd/index.yml`.

    Raises `ConfigError` with `path:line: reason` for broken YAML and for a known key with a wrong value.
    """
    from qmd.config.schema import read_config
    from qmd.config.yaml_nodes import compose

    root = compose(decode(data, path).removeprefix("\ufeff"), path)
    return read_config(root, path, digest(data))
