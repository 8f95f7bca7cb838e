"""The encoder of multilingual-e5-small as an int8 ONNX graph.

Word embeddings stay 4-bit, as shipped. Every other matrix is int8 with one scale per column, and every row of
activations (one token) is quantised by its own largest magnitude. `DynamicQuantizeLinear` would use one scale
for the whole batch. That is as fast, but the few huge activations of `<s>` and `</s>` would make all other
tokens less precise, and a vector would depend on the rest of its batch. (Lowest cosine to the float32 graph:
0.990 instead of 0.998; between two batches: 0.994 instead of 1.)

The graph is meant for the optimiser level "basic". Higher levels fold `Add` and `LayerNormalization` into
`SkipLayerNormalization`, which is slower on a CPU.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qmd.models.e5.onnx_writer import DATA_TYPES, INT4, Buffers, Graph
from qmd.models.e5.weights import BLOCK, Shape, Weights

if TYPE_CHECKING:
    from numpy.typing import NDArray

INPUT_IDS = "input_ids"
LENGTHS = "lengths"
HIDDEN_STATES = "hidden_states"

#: Weights are in −64..64: 255 × 64 × 2 fits into int16, so CPUs that add products of bytes in 16 bits (AVX2
#: without VNNI) do not saturate.
_WEIGHT_LEVELS = 64
_ACTIVATION_LEVELS = 127
_ACTIVATION_ZERO = 128


def build(weights: Weights) -> Buffers:
    """Return the ONNX file as a list of buffers.

    Inputs are `input_ids`, int64 of shape (batch, tokens), padded on the right, and `lengths`, int32 of shape
    (batch,), the number of tokens in each row without padding. The output is `hidden_states`, float32 of
    shape (batch, tokens, hidden), undefined for padding.
    """
    encoder = _Encoder(weights)
    encoder.graph.rename(encoder.run(), HIDDEN_STATES)
    hidden = weights.shape.hidden
    return encoder.graph.model(
        inputs=[
            (INPUT_IDS, DATA_TYPES["int64"], ("batch", "tokens")),
            (LENGTHS, DATA_TYPES["int32"], ("batch",)),
        ],
        outputs=[(HIDDEN_STATES, DATA_TYPES["float32"], ("batch", "tokens", hidden))],
    )


class _Encoder:
    """Adds the layers to a graph. The values of tokens have the shape (batch × tokens, width)."""

    def __init__(self, weights: Weights) -> None:
        self.graph = Graph("multilingual-e5-small")
        self._weights = weights
        self._shape: Shape = weights.shape
        graph = self.graph
        self._batch_and_tokens = graph.add("Shape", INPUT_IDS)
        self._minus_one = graph.constant(np.array([-1], np.int64))
        self._unit_scale = graph.constant(np.array(1, np.float32))
        self._activation_step = graph.constant(np.array(1 / _ACTIVATION_LEVELS, np.float32))
        self._activation_zero = graph.constant(np.array(_ACTIVATION_ZERO, np.uint8))

    def run(self) -> str:
        states = self._embeddings()
        for index in range(self._shape.layers):
            states = self._layer(states, f"l{index}.")
        return self._batched(states)

    def _embeddings(self) -> str:
        graph, shape = self.graph, self._shape
        positions = self._weights.vector("emb.pos") + np.tile(
            self._weights.vector("emb.type")[: shape.hidden], shape.positions
        )
        zero, one, two = (graph.constant(np.array([value], np.int64)) for value in (0, 1, 2))
        tokens = graph.add("Slice", self._batch_and_tokens, one, two)
        table = graph.constant(positions.reshape(shape.positions, shape.hidden))
        summed = graph.add("Add", self._words(), graph.add("Slice", table, zero, tokens, zero))
        rows = graph.add("Reshape", summed, graph.constant(np.array([-1, shape.hidden], np.int64)))
        return self._normalised(rows, "emb.ln")

    def _words(self) -> str:
        """Look up word embeddings. ONNX packs two neighbouring int4 into a byte, in two's complement."""
        graph, shape = self.graph, self._shape
        blocks = self._weights.blocks("emb.word", shape.vocabulary, shape.hidden)
        halves = blocks.nibbles.reshape(shape.vocabulary, shape.hidden) ^ 8
        packed = halves[:, 0::2] | halves[:, 1::2] << 4
        return graph.add(
            "GatherBlockQuantized",
            graph.constant(packed, data_type=INT4, shape=(shape.vocabulary, shape.hidden)),
            INPUT_IDS,
            graph.constant(blocks.scales),
            domain="com.microsoft",
            gather_axis=0,
            quantize_axis=1,
            block_size=BLOCK,
        )

    def _layer(self, states: str, layer: str) -> str:
        graph, shape = self.graph, self._shape
        quantised, steps = self._quantised(states)
        heads = [
            self._batched(self._product(quantised, steps, f"{layer}{name}.w", shape.hidden, shape.hidden))
            for name in "qkv"
        ]
        bias = np.concatenate([self._weights.vector(f"{layer}{name}.b") for name in "qkv"])
        attended = graph.add(
            "MultiHeadAttention",
            *heads,
            graph.constant(bias),
            LENGTHS,
            domain="com.microsoft",
            num_heads=shape.heads,
        )
        rows = graph.add("Reshape", attended, graph.constant(np.array([-1, shape.hidden], np.int64)))
        mixed = self._linear(rows, f"{layer}ao", shape.hidden, shape.hidden)
        states = self._normalised(graph.add("Add", mixed, states), f"{layer}aln")
        quantised, steps = self._quantised(states)
        inner = self._product(quantised, steps, f"{layer}fi.w", shape.inner, shape.hidden)
        inner = graph.add("BiasGelu", inner, self._vector(f"{layer}fi.b"), domain="com.microsoft")
        outer = self._linear(inner, f"{layer}fo", shape.hidden, shape.inner)
        return self._normalised(graph.add("Add", outer, states), f"{layer}oln")

    def _linear(self, rows: str, name: str, outputs: int, inputs: int) -> str:
        quantised, steps = self._quantised(rows)
        product = self._product(quantised, steps, f"{name}.w", outputs, inputs)
        return self.graph.add("Add", product, self._vector(f"{name}.b"))

    def _quantised(self, rows: str) -> tuple[str, str]:
        """Quantise rows to uint8 around 128; also return the step of each row, of shape (rows, 1)."""
        graph = self.graph
        largest = graph.add("ReduceMax", graph.add("Abs", rows), self._minus_one, keepdims=1)
        steps = graph.add("Mul", largest, self._activation_step)
        flat = graph.add("Reshape", steps, self._minus_one)
        zeros = graph.add("Expand", self._activation_zero, graph.add("Shape", flat))
        return graph.add("QuantizeLinear", rows, flat, zeros, axis=0), steps

    def _product(self, quantised: str, steps: str, name: str, outputs: int, inputs: int) -> str:
        """Multiply quantised rows by the named matrix; the result is float32."""
        graph = self.graph
        values, scales = _per_column(self._weights.matrix(name, outputs, inputs))
        product = graph.add(
            "MatMulIntegerToFloat",
            quantised,
            graph.constant(values),
            self._unit_scale,
            graph.constant(scales),
            self._activation_zero,
            domain="com.microsoft",
        )
        return graph.add("Mul", product, steps)

    def _normalised(self, rows: str, name: str) -> str:
        return self.graph.add(
            "LayerNormalization",
            rows,
            self._vector(f"{name}.w"),
            self._vector(f"{name}.b"),
            axis=-1,
            epsilon=self._shape.epsilon,
        )

    def _batched(self, rows: str) -> str:
        """Reshape (batch × tokens, hidden) to (batch, tokens, hidden)."""
        graph = self.graph
        hidden = graph.constant(np.array([self._shape.hidden], np.int64))
        return graph.add("Reshape", rows, graph.add("Concat", self._batch_and_tokens, hidden, axis=0))

    def _vector(self, name: str) -> str:
        return self.graph.constant(self._weights.vector(name))


def _per_column(matrix: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Quantise a matrix (outputs, inputs) to int8 (inputs, outputs) with a scale for each output."""
    scales = np.abs(matrix).max(axis=1) / _WEIGHT_LEVELS
    return np.rint(matrix / scales[:, None]).astype(np.int8).T, scales.astype(np.float32)
