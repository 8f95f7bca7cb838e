"""A fault of a document as a page of a wiki."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from msgspec import Struct

Kind: TypeAlias = Literal[
    "broken", "ambiguous", "orphan", "stub", "twin", "stale", "contradiction", "unclear"
]
KINDS: tuple[Kind, ...] = get_args(Kind)


class Fault(Struct, frozen=True):
    """A fault of a document.

    Attributes:
        kind: The kind of fault.
        file: The display path of the document.
        line: The line; 0 if it concerns the document as a whole.
        message: What is wrong.
        hint: What to do about it.
    """

    kind: Kind
    file: str
    line: int
    message: str
    hint: str
