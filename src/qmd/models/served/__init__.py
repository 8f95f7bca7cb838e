"""The roles over whatever answers in the shape of OpenAI's interface, near or far."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from qmd.errors import ModelError


class Service(Protocol):
    """What can be asked: a server by HTTP, or llama.cpp in this process."""

    @property
    def loaded(self) -> bool:
        """Whether weights are in this process's memory."""
        ...

    def post(self, path: str, payload: Mapping[str, Any]) -> Any:
        """The answer to a request, as JSON read. Raises `ModelError`."""
        ...


class RefusedError(ModelError):
    """The service understood, and refused; `status` is its HTTP status."""

    def __init__(self, message: str, hint: str | None, status: int) -> None:
        super().__init__(message, hint)
        self.status = status
