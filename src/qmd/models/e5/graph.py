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

import numpy as np

from qmd.models.e5.onnx_writer import DATA_TYPES, INT4, Buffers, Graph
from qmd.models.e5.weights import BLOCK, Weights

INPUT_IDS = "input_ids"
LENGTHS = "lengths"
HIDDEN_STATES = "hidden_states"

#: Weights are in −64..64: 255 × 64 × 2 fits into int16, so CPUs that add products of bytes in 16 bits (AVX2
#: without VNNI) do not saturate.
_WEIGHT_LEVELS = 64
_ACTIVATION_LEVELS = 127
_ACTIVATION_ZERO = 128
_MICROSOFT = "com.microsoft"


def build(weights: Weights, arrays_name: str) -> tuple[Buffers, Buffers]:
    """Return the ONNX file, and the file `arrays_name` with its matrices, as lists of buffers.

    Inputs are `input_ids`, int64 of shape (batch, tokens), padded on the right, and `lengths`, int32 of shape
    (batch,), the number of tokens in each row without padding. The output is `hidden_states`, float32 of
    shape (batch, tokens, hidden), undefined for padding.
    """
    encoder = _Encoder(weights, arrays_name)
    encoder.graph.rename(encoder.run(), HIDDEN_STATES)
    model = encoder.graph.model(
        inputs=[
            (INPUT_IDS, DATA_TYPES["int64"], ("batch", "tokens")),
            (LENGTHS, DATA_TYPES["int32"], ("batch",)),
        ],
        outputs=[(HIDDEN_STATES, DATA_TYPES["float32"], ("batch", "tokens", weights.shape.hidden))],
    )
    return model, encoder.graph.arrays


class _Encoder:
    """Adds the layers to a graph. The values of tokens have the shape (batch × tokens, width)."""

    def __init__(self, weights: Weights, arrays_name: str) -> None:
        self.graph = Graph("multilingual-e5-small", arrays_name)
        self._weights = weights
        self._shape = weights.shape
        self._batch_and_tokens = self.graph.add("Shape", INPUT_IDS)
        self._minus_one = self._integers(-1)
        self._unit_scale = self.graph.constant(np.array(1, np.float32))
        self._activation_step = self.graph.constant(np.array(1 / _ACTIVATION_LEVELS, np.float32))
        self._activation_zero = self.graph.constant(np.array(_ACTIVATION_ZERO, np.uint8))

    def run(self) -> str:
        states = self._embeddings()
        for index in range(self._shape.layers):
            states = self._layer(states, f"l{index}.")
        return self._batched(states)

    def _embeddings(self) -> str:
        graph, shape = self.graph, self._shape
        table = self._weights.vector("emb.pos").reshape(shape.positions, shape.hidden)
        table = table + self._weights.vector("emb.type")[: shape.hidden]
        zero, one, two = (self._integers(value) for value in (0, 1, 2))
        tokens = graph.add("Slice", self._batch_and_tokens, one, two)
        positions = graph.constant(table)
        summed = graph.add("Add", self._words(), graph.add("Slice", positions, zero, tokens, zero))
        return self._normalised(self._flat(summed), "emb.ln")

    def _words(self) -> str:
        """Look up word embeddings. ONNX packs two neighbouring int4 into a byte, in two's complement."""
        size = (self._shape.vocabulary, self._shape.hidden)
        nibbles, scales = self._weights.blocks("emb.word", *size)
        halves = nibbles.reshape(size) ^ 8
        packed = halves[:, 0::2] | halves[:, 1::2] << 4
        words = self.graph.constant(packed, data_type=INT4, shape=size)
        steps = self.graph.constant(scales)
        axes = {"gather_axis": 0, "quantize_axis": 1, "block_size": BLOCK}
        return self.graph.add("GatherBlockQuantized", words, INPUT_IDS, steps, domain=_MICROSOFT, **axes)

    def _layer(self, states: str, layer: str) -> str:
        graph, hidden = self.graph, self._shape.hidden
        quantised = self._quantised(states)
        heads = [
            self._batched(self._product(quantised, f"{layer}{name}.w", hidden, hidden)) for name in "qkv"
        ]
        bias = graph.constant(np.concatenate([self._weights.vector(f"{layer}{name}.b") for name in "qkv"]))
        attended = graph.add(
            "MultiHeadAttention", *heads, bias, LENGTHS, domain=_MICROSOFT, num_heads=self._shape.heads
        )
        mixed = self._linear(self._flat(attended), f"{layer}ao", hidden, hidden)
        states = self._normalised(graph.add("Add", mixed, states), f"{layer}aln")
        inner = self._product(self._quantised(states), f"{layer}fi.w", self._shape.inner, hidden)
        inner = graph.add("BiasGelu", inner, self._vector(f"{layer}fi.b"), domain=_MICROSOFT)
        outer = self._linear(inner, f"{layer}fo", hidden, self._shape.inner)
        return self._normalised(graph.add("Add", outer, states), f"{layer}oln")

    def _linear(self, rows: str, name: str, outputs: int, inputs: int) -> str:
        product = self._product(self._quantised(rows), f"{name}.w", outputs, inputs)
        return self.graph.add("Add", product, self._vector(f"{name}.b"))

    def _quantised(self, rows: str) -> tuple[str, str]:
        """Quantise rows to uint8 around 128; also return the step of each row, of shape (rows, 1)."""
        graph = self.graph
        largest = graph.add("ReduceMax", graph.add("Abs", rows), self._minus_one, keepdims=1)
        steps = graph.add("Mul", largest, self._activation_step)
        flat = graph.add("Reshape", steps, self._minus_one)
        zeros = graph.add("Expand", self._activation_zero, graph.add("Shape", flat))
        return graph.add("QuantizeLinear", rows, flat, zeros, axis=0), steps

    def _product(self, quantised: tuple[str, str], name: str, outputs: int, inputs: int) -> str:
        """Multiply quantised rows by the named matrix; the result is float32.

        The matrix (outputs, inputs) becomes int8 (inputs, outputs) with a scale for each output.
        """
        rows, steps = quantised
        matrix = self._weights.matrix(name, outputs, inputs)
        scales = np.abs(matrix).max(axis=1) / _WEIGHT_LEVELS
        values = self.graph.constant(np.rint(matrix / scales[:, None]).astype(np.int8).T)
        columns = self.graph.constant(scales.astype(np.float32))
        operands = (rows, values, self._unit_scale, columns, self._activation_zero)
        return self.graph.add(
            "Mul", self.graph.add("MatMulIntegerToFloat", *operands, domain=_MICROSOFT), steps
        )

    def _normalised(self, rows: str, name: str) -> str:
        scale, shift = self._vector(f"{name}.w"), self._vector(f"{name}.b")
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

    def _vector(self, name: str) -> str:
        return self.graph.constant(self._weights.vector(name))

    def _integers(self, *values: int) -> str:
        return self.graph.constant(np.array(values, np.int64))
