"""Parsing of JSON-RPC messages, and the error responses to invalid ones."""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from typing import Any

import msgspec
from mcp.shared.jsonrpc_dispatcher import progress_token_from_params
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    RequestId,
    jsonrpc_message_adapter,
)

from qmd.server.body_limit import MAX_BODY

#: Maximum size of a message, in bytes.
MAX_MESSAGE = MAX_BODY


class MessageError(Exception):
    """The bytes are not a valid message; `answer` is the error response."""

    def __init__(self, code: int, message: str, request_id: RequestId | None = None) -> None:
        super().__init__(message)
        self.answer = JSONRPCError(jsonrpc="2.0", id=request_id, error=ErrorData(code=code, message=message))


def read_message(data: bytes) -> JSONRPCMessage:
    """Parse one message. A `MessageError` has the id of the request if it can be read."""
    data = data.removeprefix(BOM_UTF8)  # shells on Windows begin what they pipe with it
    try:
        value = msgspec.json.decode(data)
    except (ValueError, RecursionError) as error:
        text = data.decode("utf-8", "replace")
        reason = str(error) if text.encode() == data else "not UTF-8"
        raise MessageError(PARSE_ERROR, f"Parse error: {reason}", _id(_parse_leniently(text))) from None
    if isinstance(value, list):
        raise MessageError(INVALID_REQUEST, "Invalid request: batches are not supported")
    try:
        message = jsonrpc_message_adapter.validate_python(value, by_name=False)
    except ValueError:
        raise _invalid(value) from None
    if isinstance(message, JSONRPCNotification) and "id" in value:
        # A request with an invalid id is not a notification: its client waits for an answer.
        raise _invalid(value)
    return message


def asks_for_progress(message: JSONRPCMessage) -> bool:
    """Tell whether a message is a request whose client wants notifications of its progress."""
    return isinstance(message, JSONRPCRequest) and progress_token_from_params(message.params) is not None


def too_large() -> MessageError:
    return MessageError(INVALID_REQUEST, f"Invalid request: larger than {MAX_MESSAGE:,} bytes")


def _invalid(value: Any) -> MessageError:
    return MessageError(INVALID_REQUEST, "Invalid request: not a JSON-RPC 2.0 message", _id(value))


def _id(value: Any) -> RequestId | None:
    request_id = value.get("id") if isinstance(value, dict) else None
    if isinstance(request_id, str) and request_id == request_id.encode("utf-8", "replace").decode():
        return request_id
    return request_id if isinstance(request_id, int) and not isinstance(request_id, bool) else None


def _parse_leniently(text: str) -> Any:
    """Parse JSON that may have lone surrogates; None if that fails too."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
