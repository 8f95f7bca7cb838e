"""Parse the replies of OpenAI-compatible services: embeddings, chat completions and rankings.

Every function raises `ModelError` if the reply does not fit the request.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from qmd.errors import ModelError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def vectors(reply: Any, count: int, name: str) -> NDArray[np.float32]:
    """Return the embeddings of `count` texts: float32 of shape (count, dimension), rows of length 1."""
    import numpy as np

    match reply:
        case {"data": [*entries]}:
            rows = _in_order(entries, "embedding", count, name)
        case _:
            raise _unexpected(name, "no list of embeddings")
    try:
        matrix = np.array(rows, dtype=np.float32)
    except (ValueError, TypeError) as error:
        raise _unexpected(name, "embeddings of different dimensions, or not of numbers") from error
    if matrix.ndim != 2 or not matrix.shape[1]:
        raise _unexpected(name, "embeddings that are not lists of numbers")
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or not lengths.all():
        raise _unexpected(name, "an embedding that is zero or not finite")
    return np.asarray(matrix / lengths, dtype=np.float32)


def scores(reply: Any, count: int, name: str) -> list[float]:
    """Return the scores of `count` passages in the order of the request, on the service's own scale.

    Jina, Cohere, vLLM and llama.cpp send `results` with `relevance_score`; TEI sends a list with `score`.
    """
    match reply:
        case {"results": [*entries]}:
            values = _in_order(entries, "relevance_score", count, name)
        case [*entries]:
            values = _in_order(entries, "score", count, name)
        case _:
            raise _unexpected(name, "no list of scores")
    if not all(_is_number(score) for score in values):
        raise _unexpected(name, "a score that is not a number")
    return [float(score) for score in values]


def message(reply: Any, name: str) -> str:
    """Return the text of a chat completion."""
    match reply:
        case {"choices": [{"message": {"content": str(text)}}, *_]}:
            return text
    raise _unexpected(name, "no message")


def piece(part: Any, name: str) -> str:
    """Return the text in a part of a streamed chat completion, or in a whole one; "" if it has none."""
    match part:
        case {"error": {"message": str(reason)}} | {"error": str(reason)}:
            raise ModelError(f"'{name}' has failed: {' '.join(reason.split())[:200]}")
        case {"choices": [{"delta": {"content": str(text)}} | {"message": {"content": str(text)}}, *_]}:
            return text
        case {"choices": [*_]}:
            return ""
    raise _unexpected(name, "no message")


def to_relevance(raw: Sequence[float]) -> list[float]:
    """Map scores to 0..1. If any is outside that range, all are logits: their logistic is taken."""
    if all(0.0 <= score <= 1.0 for score in raw):
        return list(raw)
    return [0.5 * (1.0 + math.tanh(score / 2.0)) for score in raw]


def _in_order(entries: list[Any], key: str, count: int, name: str) -> list[Any]:
    """Return the values in the order of the request: services may reply in any order."""
    values: dict[int, Any] = {}
    for entry in entries:
        match entry:
            case {"index": int(index), **rest} if key in rest and 0 <= index < count:
                values[index] = rest[key]
            case _:
                raise _unexpected(name, f"an entry without an index or '{key}'")
    if len(entries) != count or len(values) != count:
        raise _unexpected(name, f"{len(entries)} entries for {count} texts")
    return [values[index] for index in range(count)]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _unexpected(name: str, reason: str) -> ModelError:
    return ModelError(f"'{name}' sent an unexpected reply: {reason}", "check that the model fits its role")
