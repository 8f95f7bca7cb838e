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

Buffers: TypeAlias = list[bytes]
#: The number and the value of a field; buffers are an embedded message.
_Field: TypeAlias = tuple[int, int | float | str | bytes | Buffers]

#: TensorProto.DataType by numpy's name of the type.
DATA_TYPES = {"float32": 1, "uint8": 2, "int8": 3, "int32": 6, "int64": 7}
INT4 = 22

_IR_VERSION = 10
_OPSETS = (("", 21), ("com.microsoft", 1))
_FLOAT_ATTRIBUTE, _INT_ATTRIBUTE = 1, 2
_EXTERNAL = 1
#: Arrays from this size are written to a file of their own, which onnxruntime maps into memory instead of
#: copying it. They begin at a multiple of the size of a page.
_LEAST_BYTES, _PAGE = 1024, 4096
#: Wire types of protobuf.
_VARINT, _LENGTH, _FIXED32 = 0, 2, 5


class Graph:
    """A graph under construction. Values are identified by the names that `constant` and `add` return.

    `arrays` is the content of the file `arrays_name`, which lies beside that of the model.
    """

    def __init__(self, name: str, arrays_name: str) -> None:
        self._name = name
        self._arrays_name = arrays_name
        self._size = 0
        self._fields: list[_Field] = []
        self.arrays: Buffers = []

    def constant(
        self, array: NDArray[np.generic], *, data_type: int | None = None, shape: Sequence[int] | None = None
    ) -> str:
        """Add an array. Set `data_type` and `shape` for types that numpy lacks (packed int4)."""
        name = self._fresh("constant")
        kind = DATA_TYPES[array.dtype.name] if data_type is None else data_type
        sizes = [(1, size) for size in (array.shape if shape is None else shape)]
        self._fields.append((5, _message(*sizes, (2, kind), (8, name), *self._content(array.tobytes()))))
        return name

    def _content(self, content: bytes) -> list[_Field]:
        """Return the fields of an array's content; its place, if it is large."""
        if len(content) < _LEAST_BYTES:
            return [(9, content)]
        padding = bytes(-self._size % _PAGE)
        place = {
            "location": self._arrays_name,
            "offset": str(self._size + len(padding)),
            "length": str(len(content)),
        }
        self.arrays += [padding, content]
        self._size += len(padding) + len(content)
        return [*((13, _message((1, key), (2, value))) for key, value in place.items()), (14, _EXTERNAL)]

    def add(self, op: str, *inputs: str, domain: str = "", **attributes: int | float) -> str:
        """Append a node with one output."""
        output = self._fresh(op)
        read = [(1, name) for name in inputs]
        options = [(5, _attribute(name, value)) for name, value in attributes.items()]
        node = _message(*read, (2, output), (3, output), (4, op), *options, (7, domain))
        self._fields.append((1, node))
        return output

    def rename(self, value: str, name: str) -> None:
        """Give a value the name of an output of `model`."""
        self._fields.append((1, _message((1, value), (2, name), (4, "Identity"))))

    def model(
        self,
        inputs: Sequence[tuple[str, int, Sequence[int | str]]],
        outputs: Sequence[tuple[str, int, Sequence[int | str]]],
    ) -> Buffers:
        """Return the file. Inputs and outputs are (name, data type, shape); a string is a variable size."""
        ends = [(11, _value_info(*value)) for value in inputs]
        ends += [(12, _value_info(*value)) for value in outputs]
        graph = _message(*self._fields, (2, self._name), *ends)
        opsets = [(8, _message((1, domain), (2, version))) for domain, version in _OPSETS]
        return _message((1, _IR_VERSION), (2, "qmd"), (7, graph), *opsets)

    def _fresh(self, stem: str) -> str:
        return f"{stem}_{len(self._fields) + 1}"


def _attribute(name: str, value: int | float) -> Buffers:
    if isinstance(value, float):
        return _message((1, name), (2, value), (20, _FLOAT_ATTRIBUTE))
    return _message((1, name), (3, value), (20, _INT_ATTRIBUTE))


def _value_info(name: str, data_type: int, shape: Sequence[int | str]) -> Buffers:
    sizes = [(1, _message((2 if isinstance(size, str) else 1, size))) for size in shape]
    tensor = _message((1, data_type), (2, _message(*sizes)))
    return _message((1, name), (2, _message((1, tensor))))


def _message(*fields: _Field) -> Buffers:
    """Encode fields; negative integers take ten bytes, as the format requires."""
    buffers: Buffers = []
    for number, value in fields:
        if isinstance(value, int):
            buffers.append(_varint(number << 3 | _VARINT) + _varint(value & 0xFFFF_FFFF_FFFF_FFFF))
        elif isinstance(value, float):
            buffers.append(_varint(number << 3 | _FIXED32) + struct.pack("<f", value))
        else:
            text = value.encode() if isinstance(value, str) else value
            content = [text] if isinstance(text, bytes) else text
            buffers.append(_varint(number << 3 | _LENGTH) + _varint(sum(map(len, content))))
            buffers += content
    return buffers


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
