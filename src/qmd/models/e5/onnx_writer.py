"""Writing an ONNX model without the `onnx` package, which would be a large dependency for one small graph.

Field numbers are those of https://github.com/onnx/onnx/blob/main/onnx/onnx.proto.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from qmd.models.e5 import protobuf as pb

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Attribute = int | float | Sequence[int]

#: TensorProto.DataType by the name numpy gives the type.
DATA_TYPES = {"float32": 1, "uint8": 2, "int8": 3, "int32": 6, "int64": 7, "float16": 10}
INT4 = 22

_IR_VERSION = 10
_OPSETS = (("", 21), ("com.microsoft", 1))
_FLOAT_ATTRIBUTE, _INT_ATTRIBUTE, _INTS_ATTRIBUTE = 1, 2, 7


class Graph:
    """A graph under construction. A value goes by its name, which `constant` and `add` return."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._parts: list[pb.Pieces] = []
        self._count = 0

    def constant(
        self,
        array: NDArray[np.generic],
        name: str | None = None,
        *,
        data_type: int | None = None,
        shape: Sequence[int] | None = None,
    ) -> str:
        """Store `array`; `data_type` and `shape` override its own, for types numpy has not (packed int4)."""
        name = name or self._fresh("constant")
        kind = DATA_TYPES[array.dtype.name] if data_type is None else data_type
        self._parts.append(
            pb.message(
                5,
                *(pb.integer(1, size) for size in (array.shape if shape is None else shape)),
                pb.integer(2, kind),
                pb.text(8, name),
                pb.raw(9, memoryview(array.tobytes())),
            )
        )
        return name

    def add(self, op: str, *inputs: str, domain: str = "", **attributes: Attribute) -> str:
        """Append a node with one output; an empty input name stands for an optional input left out."""
        output = self._fresh(op)
        self._parts.append(
            pb.message(
                1,
                *(pb.text(1, name) for name in inputs),
                pb.text(2, output),
                pb.text(3, output),
                pb.text(4, op),
                *(_attribute(name, value) for name, value in attributes.items()),
                pb.text(7, domain),
            )
        )
        return output

    def rename(self, value: str, name: str) -> None:
        """Give `value` the public name that `model` declares for an output."""
        self._parts.append(pb.message(1, pb.text(1, value), pb.text(2, name), pb.text(4, "Identity")))

    def model(
        self,
        inputs: Sequence[tuple[str, int, Sequence[int | str]]],
        outputs: Sequence[tuple[str, int, Sequence[int | str]]],
    ) -> pb.Pieces:
        """The finished file. Inputs and outputs are (name, data type, shape); a string is a free size."""
        graph = pb.message(
            7,
            *self._parts,
            pb.text(2, self._name),
            *(_value_info(11, *value) for value in inputs),
            *(_value_info(12, *value) for value in outputs),
        )
        opsets = (pb.message(8, pb.text(1, domain), pb.integer(2, version)) for domain, version in _OPSETS)
        pieces = [pb.integer(1, _IR_VERSION), pb.text(2, "qmd"), graph, *opsets]
        return [piece for part in pieces for piece in part]

    def _fresh(self, stem: str) -> str:
        self._count += 1
        return f"{stem}_{self._count}"


def _attribute(name: str, value: Attribute) -> pb.Pieces:
    if isinstance(value, float):
        return pb.message(5, pb.text(1, name), pb.real(2, value), pb.integer(20, _FLOAT_ATTRIBUTE))
    if isinstance(value, int):
        return pb.message(5, pb.text(1, name), pb.integer(3, value), pb.integer(20, _INT_ATTRIBUTE))
    ints = (pb.integer(8, item) for item in value)
    return pb.message(5, pb.text(1, name), *ints, pb.integer(20, _INTS_ATTRIBUTE))


def _value_info(field: int, name: str, data_type: int, shape: Sequence[int | str]) -> pb.Pieces:
    dimensions = (
        pb.message(1, pb.text(2, size) if isinstance(size, str) else pb.integer(1, size)) for size in shape
    )
    tensor = pb.message(1, pb.integer(1, data_type), pb.message(2, *dimensions))
    return pb.message(field, pb.text(1, name), pb.message(2, tensor))
