"""Write an ONNX model without the `onnx` package, which would be a large dependency for one small graph.

Messages are lists of buffers, so that nesting a message does not copy its weights. Field numbers are from
https://github.com/onnx/onnx/blob/main/onnx/onnx.proto, the encoding is described at
https://protobuf.dev/programming-guides/encoding/.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Attribute = int | float | Sequence[int]
Buffers: TypeAlias = list[bytes | memoryview]

#: TensorProto.DataType by numpy's name of the type.
DATA_TYPES = {"float32": 1, "uint8": 2, "int8": 3, "int32": 6, "int64": 7, "float16": 10}
INT4 = 22

_IR_VERSION = 10
_OPSETS = (("", 21), ("com.microsoft", 1))
_FLOAT_ATTRIBUTE, _INT_ATTRIBUTE, _INTS_ATTRIBUTE = 1, 2, 7
#: Wire types of protobuf.
_VARINT, _LENGTH, _FIXED32 = 0, 2, 5


class Graph:
    """A graph under construction. Values are identified by the names that `constant` and `add` return."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._parts: list[Buffers] = []
        self._count = 0

    def constant(
        self,
        array: NDArray[np.generic],
        name: str | None = None,
        *,
        data_type: int | None = None,
        shape: Sequence[int] | None = None,
    ) -> str:
        """Add an array. Set `data_type` and `shape` for types that numpy lacks (packed int4)."""
        name = name or self._fresh("constant")
        kind = DATA_TYPES[array.dtype.name] if data_type is None else data_type
        self._parts.append(
            _message(
                5,
                *(_integer(1, size) for size in (array.shape if shape is None else shape)),
                _integer(2, kind),
                _text(8, name),
                _raw(9, memoryview(array.tobytes())),
            )
        )
        return name

    def add(self, op: str, *inputs: str, domain: str = "", **attributes: Attribute) -> str:
        """Append a node with one output. An empty name stands for a missing optional input."""
        output = self._fresh(op)
        self._parts.append(
            _message(
                1,
                *(_text(1, name) for name in inputs),
                _text(2, output),
                _text(3, output),
                _text(4, op),
                *(_attribute(name, value) for name, value in attributes.items()),
                _text(7, domain),
            )
        )
        return output

    def rename(self, value: str, name: str) -> None:
        """Give a value the name of an output of `model`."""
        self._parts.append(_message(1, _text(1, value), _text(2, name), _text(4, "Identity")))

    def model(
        self,
        inputs: Sequence[tuple[str, int, Sequence[int | str]]],
        outputs: Sequence[tuple[str, int, Sequence[int | str]]],
    ) -> Buffers:
        """Return the file. Inputs and outputs are (name, data type, shape); a string is a variable size."""
        graph = _message(
            7,
            *self._parts,
            _text(2, self._name),
            *(_value_info(11, *value) for value in inputs),
            *(_value_info(12, *value) for value in outputs),
        )
        opsets = (_message(8, _text(1, domain), _integer(2, version)) for domain, version in _OPSETS)
        parts = [_integer(1, _IR_VERSION), _text(2, "qmd"), graph, *opsets]
        return [buffer for part in parts for buffer in part]

    def _fresh(self, stem: str) -> str:
        self._count += 1
        return f"{stem}_{self._count}"


def _attribute(name: str, value: Attribute) -> Buffers:
    if isinstance(value, float):
        return _message(5, _text(1, name), _real(2, value), _integer(20, _FLOAT_ATTRIBUTE))
    if isinstance(value, int):
        return _message(5, _text(1, name), _integer(3, value), _integer(20, _INT_ATTRIBUTE))
    ints = (_integer(8, item) for item in value)
    return _message(5, _text(1, name), *ints, _integer(20, _INTS_ATTRIBUTE))


def _value_info(field: int, name: str, data_type: int, shape: Sequence[int | str]) -> Buffers:
    dimensions = (
        _message(1, _text(2, size) if isinstance(size, str) else _integer(1, size)) for size in shape
    )
    tensor = _message(1, _integer(1, data_type), _message(2, *dimensions))
    return _message(field, _text(1, name), _message(2, tensor))


def _integer(field: int, value: int) -> Buffers:
    """Encode an int32, int64 or enum field; negative values take ten bytes, as the format requires."""
    return [_tag(field, _VARINT) + _varint(value & 0xFFFF_FFFF_FFFF_FFFF)]


def _real(field: int, value: float) -> Buffers:
    return [_tag(field, _FIXED32) + struct.pack("<f", value)]


def _text(field: int, value: str) -> Buffers:
    return _raw(field, value.encode())


def _raw(field: int, value: bytes | memoryview) -> Buffers:
    """Encode a bytes field without copying `value`."""
    return [_tag(field, _LENGTH) + _varint(len(value)), value]


def _message(field: int, *parts: Buffers) -> Buffers:
    """Encode an embedded message made of the given fields."""
    buffers = [buffer for part in parts for buffer in part]
    return [_tag(field, _LENGTH) + _varint(sum(map(len, buffers))), *buffers]


def _tag(field: int, wire_type: int) -> bytes:
    return _varint(field << 3 | wire_type)


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
