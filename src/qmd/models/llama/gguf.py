"""The header of a GGUF file: what the model says of itself, without reading its weights.

The format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from qmd.errors import ModelError

Value = int | float | bool | str

#: Type of a value to its `struct` format; 8 is text and 9 an array.
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_TEXT, _ARRAY = 8, 9
#: Beyond these, what is read is no header, or one made to do harm.
_MOST_ENTRIES, _MOST_TEXT, _MOST_DIMENSIONS = 1_000_000, 10_000_000, 8
#: `pooling_type` of a model that judges pairs, and of one that pools nothing.
RANK, NONE = 4, 0


@dataclass(frozen=True, slots=True)
class Header:
    """`values` are the single values by key; arrays (the vocabulary) are left out. `size` is the file's."""

    values: Mapping[str, Value]
    size: int

    @property
    def architecture(self) -> str:
        return str(self.values.get("general.architecture", ""))

    def number(self, key: str) -> int:
        """A whole number of the architecture's own, 0 where it is not given."""
        value = self.values.get(f"{self.architecture}.{key}", 0)
        return value if isinstance(value, int) else 0

    @property
    def pooling(self) -> int | None:
        """How the model makes one vector of its tokens'; None where it was not made for that."""
        value = self.values.get(f"{self.architecture}.pooling_type")
        return value if isinstance(value, int) else None

    @property
    def ends_texts(self) -> bool:
        """Whether its tokenizer puts the token after a text that ends it."""
        return self.values.get("tokenizer.ggml.add_eos_token") is True

    @property
    def has_judging_prompt(self) -> bool:
        """Whether it says how a query and a passage are put to it, where it judges them in words."""
        return "tokenizer.chat_template.rerank" in self.values

    @property
    def chats(self) -> bool:
        """Whether it was made to answer."""
        return "tokenizer.chat_template" in self.values


def read_header(path: Path) -> Header:
    """The header of the file at `path`. Raises `ModelError` for what is no GGUF, or one cut short."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            return _header(file, path, size)
    except (struct.error, UnicodeDecodeError, _CutShortError, OverflowError) as error:
        raise ModelError(f"{path}: a GGUF file that is cut short or damaged", "Fetch it again.") from error
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror or error}") from error


class _CutShortError(Exception):
    """The file ends, or makes no sense, within its header."""


def _header(file: BinaryIO, path: Path, size: int) -> Header:
    if file.read(4) != b"GGUF":
        raise ModelError(f"{path}: not a GGUF file", "Name a model file that ends in .gguf.")
    (version,) = struct.unpack("<I", file.read(4))
    if version not in (2, 3):
        raise ModelError(f"{path}: GGUF of version {version}, which is not known", "Fetch a newer one.")
    tensors, entries = struct.unpack("<QQ", file.read(16))
    if max(tensors, entries) > _MOST_ENTRIES:
        raise _CutShortError
    values: dict[str, Value] = {}
    for _ in range(entries):
        key, value = _text(file), _value(file, _number(file, "I"))
        if value is not None:
            values[key] = value
    last = max((_tensor_offset(file) for _ in range(tensors)), default=0)
    if file.tell() + last >= size:
        raise _CutShortError
    return Header(values, size)


def _value(file: BinaryIO, kind: int) -> Value | None:
    """The next value; None for an array, which is passed over."""
    if kind == _TEXT:
        return _text(file)
    if kind in _SCALARS:
        value: Value = struct.unpack("<" + _SCALARS[kind], file.read(struct.calcsize(_SCALARS[kind])))[0]
        return value
    if kind != _ARRAY:
        raise _CutShortError
    inner, count = _number(file, "I"), _number(file, "Q")
    if inner in _SCALARS:
        file.seek(count * struct.calcsize(_SCALARS[inner]), 1)
    elif count > 10 * _MOST_ENTRIES:
        raise _CutShortError
    else:
        for _ in range(count):
            _value(file, inner)
    return None


def _tensor_offset(file: BinaryIO) -> int:
    _text(file)
    dimensions = _number(file, "I")
    if dimensions > _MOST_DIMENSIONS:
        raise _CutShortError
    file.seek(8 * dimensions + 4, 1)
    return _number(file, "Q")


def _text(file: BinaryIO) -> str:
    length = _number(file, "Q")
    data = file.read(length) if length <= _MOST_TEXT else b""
    if len(data) != length:
        raise _CutShortError
    return data.decode("utf-8", "replace")


def _number(file: BinaryIO, form: str) -> int:
    return int(struct.unpack("<" + form, file.read(struct.calcsize(form)))[0])
