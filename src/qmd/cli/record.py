"""The base of values of the command line."""

from __future__ import annotations

from typing import Any, Self, dataclass_transform


@dataclass_transform(frozen_default=True)
class Record:
    """Values by name, with their defaults in the class.

    Making a subclass takes 20 µs, a `NamedTuple` with ten fields 500, and every search would make five of
    those. The structs of msgspec are not used, because a help text does not import it.
    """

    def __init__(self, *values: Any, **named: Any) -> None:
        vars(self).update(zip(type(self).__annotations__, values, strict=False), **named)

    def replaced(self, **named: Any) -> Self:
        """Return a copy with other values."""
        return type(self)(**vars(self) | named)
