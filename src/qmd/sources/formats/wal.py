"""Apply the write-ahead log of a database of SQLite to its bytes: https://sqlite.org/fileformat2.html."""

from __future__ import annotations

import struct
from collections.abc import Iterator

_HEADER, _FRAME = 32, 24
#: By the magic number: the order of the bytes of words in checksums.
_ORDERS = {0x377F0682: "<", 0x377F0683: ">"}
_PAGE_SIZES = frozenset(1 << bits for bits in range(9, 17))


def applied(data: bytes, log: bytes) -> bytes:
    """Return a database with the transactions that its log has committed, for use in memory.

    A log that does not belong to the database, or the end of one that is being written, changes nothing.
    """
    whole = bytearray(data)
    width = int.from_bytes(log[8:12], "big")
    pages: dict[int, int] = {}
    done: dict[int, int] = {}
    size = 0
    # The header of the database has the size of its pages, in which 1 stands for 65,536.
    if width in _PAGE_SIZES and int.from_bytes(data[16:18], "big") == (1 if width == 1 << 16 else width):
        for page, committed, start in _frames(log, width):
            pages[page] = start
            if committed:
                size = committed
                done.update(pages)
                pages.clear()
    if size and size * width <= len(data) + len(log):
        whole[size * width :] = bytes(max(0, size * width - len(whole)))
        for page, start in done.items():
            if 0 < page <= size:
                whole[(page - 1) * width : page * width] = log[start : start + width]
    # The version of the format that has no log: a database in memory has none.
    whole[18:20] = b"\1\1"
    return bytes(whole)


def _frames(log: bytes, width: int) -> Iterator[tuple[int, int, int]]:
    """Yield (page, pages after the transaction if it ends here or 0, place of the page) of valid frames."""
    order = _ORDERS.get(int.from_bytes(log[:4], "big"), "")
    if len(log) < _HEADER or not order:
        return
    salt, sums = log[16:24], _checksum(log[:24], order, (0, 0))
    if sums != _pair(log[24:32]):
        return
    for at in range(_HEADER, len(log) - _FRAME - width + 1, _FRAME + width):
        start = at + _FRAME
        sums = _checksum(log[start : start + width], order, _checksum(log[at : at + 8], order, sums))
        if log[at + 8 : at + 16] != salt or sums != _pair(log[at + 16 : start]):
            return
        yield *_pair(log[at : at + 8]), start


def _checksum(data: bytes, order: str, sums: tuple[int, int]) -> tuple[int, int]:
    first, second = sums
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for even, odd in zip(words[::2], words[1::2], strict=True):
        first = (first + even + second) & 0xFFFFFFFF
        second = (second + odd + first) & 0xFFFFFFFF
    return first, second


def _pair(data: bytes) -> tuple[int, int]:
    first, second = struct.unpack(">II", data)
    return first, second
