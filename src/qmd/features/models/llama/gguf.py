"""Read the header of a GGUF file: the properties of a model, without its weights.

Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from qmd.errors import ModelError

Value = int | float | bool | str

#: The `struct` formats of scalar types.
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_TEXT, _ARRAY = 8, 9
#: Limits that no valid header exceeds.
_MAX_ENTRIES, _MAX_TEXT, _MAX_DIMENSIONS = 1_000_000, 10_000_000, 8
#: The `pooling_type` of a reranker.
RANK = 4
#: The key of a reranker's template for a query and a passage.
RERANK_PROMPT = "tokenizer.chat_template.rerank"


class Header(Struct, frozen=True):
    """The scalar `values` of a file by key, without arrays (the vocabulary), and its `size` in bytes."""

    values: Mapping[str, Value]
    size: int

    @property
    def architecture(self) -> str:
        return str(self.values.get("general.architecture", ""))

    def number(self, key: str) -> int:
        """Return an integer of the model's architecture, 0 if the key is missing."""
        value = self.values.get(f"{self.architecture}.{key}", 0)
        return value if isinstance(value, int) else 0

    @property
    def pooling(self) -> int | None:
        """The way in which token vectors are combined into one; None for a model that does not do it."""
        value = self.values.get(f"{self.architecture}.pooling_type")
        return value if isinstance(value, int) else None

    @property
    def is_chat_model(self) -> bool:
        """True if it has a template for conversations."""
        return "tokenizer.chat_template" in self.values


def read_header(path: Path) -> Header:
    """Read the header of a file. Raises `ModelError` if it is not GGUF, truncated or damaged."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            return _header(file, path, size)
    except (struct.error, ValueError, OverflowError) as error:
        raise ModelError(f"{path}: the GGUF file is truncated or damaged", "download it again") from error
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror or error}") from error


def _header(file: BinaryIO, path: Path, size: int) -> Header:
    """Read the header. Raises `ValueError` or `struct.error` if it is incomplete or invalid."""
    if file.read(4) != b"GGUF":
        raise ModelError(f"{path}: not a GGUF file", "choose a file that ends in .gguf")
    version = _number(file, "I")
    if version not in (2, 3):
        raise ModelError(
            f"{path}: GGUF version {version} is not supported", "download a newer version of the model"
        )
    tensors, entries = _number(file, "Q"), _number(file, "Q")
    if max(tensors, entries) > _MAX_ENTRIES:
        raise ValueError("too many entries")
    values: dict[str, Value] = {}
    for _ in range(entries):
        key, value = _text(file), _value(file, _number(file, "I"))
        if value is not None:
            values[key] = value
    last = max((_tensor_offset(file) for _ in range(tensors)), default=0)
    if file.tell() + last >= size:
        raise ValueError("no data")
    return Header(values, size)


def _value(file: BinaryIO, kind: int) -> Value | None:
    """Read the next value; an array is skipped and returned as None."""
    if kind == _TEXT:
        return _text(file)
    if kind in _SCALARS:
        return _scalar(file, _SCALARS[kind])
    if kind != _ARRAY:
        raise ValueError("unknown type")
    inner, count = _number(file, "I"), _number(file, "Q")
    if inner in _SCALARS:
        file.seek(count * struct.calcsize(_SCALARS[inner]), 1)
    elif count > 10 * _MAX_ENTRIES:
        raise ValueError("array too long")
    else:
        for _ in range(count):
            _value(file, inner)
    return None


def _tensor_offset(file: BinaryIO) -> int:
    _text(file)
    dimensions = _number(file, "I")
    if dimensions > _MAX_DIMENSIONS:
        raise ValueError("too many dimensions")
    file.seek(8 * dimensions + 4, 1)
    return _number(file, "Q")


def _text(file: BinaryIO) -> str:
    length = _number(file, "Q")
    data = file.read(length) if length <= _MAX_TEXT else b""
    if len(data) != length:
        raise ValueError("text too long")
    return data.decode("utf-8", "replace")


def _number(file: BinaryIO, code: str) -> int:
    return int(_scalar(file, code))


def _scalar(file: BinaryIO, code: str) -> int | float | bool:
    value: int | float | bool = struct.unpack("<" + code, file.read(struct.calcsize(code)))[0]
    return value
