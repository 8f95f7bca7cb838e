"""The protobuf wire format, as much of it as an ONNX file needs.

A message is a list of byte pieces, so that nesting a message costs its header and not a copy of its weights.
Format: https://protobuf.dev/programming-guides/encoding/
"""

from __future__ import annotations

import struct
from typing import TypeAlias

Pieces: TypeAlias = list[bytes | memoryview]

_VARINT, _LENGTH, _FIXED32 = 0, 2, 5


def integer(field: int, value: int) -> Pieces:
    """An int32, int64 or enum field; negative values take ten bytes, as the format has it."""
    return [_tag(field, _VARINT) + _varint(value & 0xFFFF_FFFF_FFFF_FFFF)]


def real(field: int, value: float) -> Pieces:
    """A float field (32 bits)."""
    return [_tag(field, _FIXED32) + struct.pack("<f", value)]


def text(field: int, value: str) -> Pieces:
    """A string field."""
    return raw(field, value.encode())


def raw(field: int, value: bytes | memoryview) -> Pieces:
    """A bytes field; `value` is not copied."""
    return [_tag(field, _LENGTH) + _varint(len(value)), value]


def message(field: int, *parts: Pieces) -> Pieces:
    """An embedded message made of the given fields."""
    pieces = [piece for part in parts for piece in part]
    return [_tag(field, _LENGTH) + _varint(sum(map(len, pieces))), *pieces]


def _tag(field: int, wire_type: int) -> bytes:
    return _varint(field << 3 | wire_type)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
