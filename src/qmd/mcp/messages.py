"""From bytes to JSON-RPC messages, and the answer to bytes that are none."""

from __future__ import annotations

import json
from typing import Any

from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    RequestId,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError
from pydantic_core import from_json

from qmd.server.body_limit import MAX_BODY

#: A message larger than this is refused, in bytes.
MAX_MESSAGE = MAX_BODY


class MessageError(Exception):
    """Bytes that are no message; `answer` tells the client so."""

    def __init__(self, code: int, message: str, request_id: RequestId | None = None) -> None:
        super().__init__(message)
        self.answer = JSONRPCError(jsonrpc="2.0", id=request_id, error=ErrorData(code=code, message=message))


def read_message(data: bytes) -> JSONRPCMessage:
    """One message. Raises `MessageError` for anything else, with the request's id where it can be told."""
    try:
        value = from_json(data)
    except ValueError as error:
        reason = "not UTF-8" if _is_no_text(data) else str(error)
        raise MessageError(PARSE_ERROR, f"Parse error: {reason}", _id(_guessed(data))) from None
    if isinstance(value, list):
        raise MessageError(INVALID_REQUEST, "Invalid request: batches are not supported")
    try:
        message = jsonrpc_message_adapter.validate_python(value, by_name=False)
    except ValidationError:
        raise _invalid(value) from None
    if isinstance(message, JSONRPCNotification) and "id" in value:
        # A request whose id is of a wrong type must not be taken for a notification, which has no answer.
        raise _invalid(value)
    return message


def too_large() -> MessageError:
    """What is said of a message above `MAX_MESSAGE`."""
    return MessageError(INVALID_REQUEST, f"Invalid request: larger than {MAX_MESSAGE:,} bytes")


def _invalid(value: Any) -> MessageError:
    return MessageError(INVALID_REQUEST, "Invalid request: not a JSON-RPC 2.0 message", _id(value))


def _id(value: Any) -> RequestId | None:
    """The id of what was meant as a request."""
    match value.get("id") if isinstance(value, dict) else None:
        case bool():
            return None
        case int(found):
            return found
        case str(found) if found == found.encode("utf-8", "replace").decode():
            return found
    return None


def _guessed(data: bytes) -> Any:
    """What a lenient reader makes of bytes: it takes lone surrogates, and here what is no UTF-8."""
    try:
        return json.loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None


def _is_no_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return True
    return False
