"""What servers in the shape of OpenAI's answer, checked: embeddings, chat completions, rankings.

llama.cpp in this process answers in the same shape. Every function raises `ModelError` for an answer that is
not what was asked for.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from qmd.errors import ModelError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def vectors(answer: Any, count: int, name: str) -> NDArray[np.float32]:
    """The embeddings of `count` texts: float32 of shape (count, dimension), each row of length 1."""
    import numpy as np

    match answer:
        case {"data": [*entries]}:
            rows = _in_order(entries, "embedding", count, name)
        case _:
            raise _unexpected(name, "no list of embeddings")
    try:
        matrix = np.array(rows, dtype=np.float32)
    except (ValueError, TypeError) as error:
        raise _unexpected(name, "embeddings of different dimensions, or of no numbers") from error
    if matrix.ndim != 2 or not matrix.shape[1]:
        raise _unexpected(name, "embeddings that are no lists of numbers")
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or not lengths.all():
        raise _unexpected(name, "an embedding without a direction")
    return np.asarray(matrix / lengths, dtype=np.float32)


def scores(answer: Any, count: int, name: str) -> list[float]:
    """The relevance of `count` passages, in the order they were sent, in the scale of the server.

    Jina, Cohere, vLLM and llama.cpp answer `results` with `relevance_score`; TEI a list with `score`.
    """
    match answer:
        case {"results": [*entries]}:
            found = _in_order(entries, "relevance_score", count, name)
        case [*entries]:
            found = _in_order(entries, "score", count, name)
        case _:
            raise _unexpected(name, "no list of scores")
    if not all(_is_number(score) for score in found):
        raise _unexpected(name, "a score that is no number")
    return [float(score) for score in found]


def message(answer: Any, name: str) -> str:
    """The text of a chat completion."""
    match answer:
        case {"choices": [{"message": {"content": str(text)}}, *_]}:
            return text
    raise _unexpected(name, "no message")


def to_relevance(found: Iterable[float]) -> list[float]:
    """Scores as 0..1: those that are so already stay, others are logits (of which the logistic is taken)."""
    known = list(found)
    if all(0.0 <= score <= 1.0 for score in known):
        return known
    return [0.5 * (1.0 + math.tanh(score / 2.0)) for score in known]


def _in_order(entries: list[Any], key: str, count: int, name: str) -> list[Any]:
    """The values in the order of what was sent: servers may answer in any."""
    found: dict[int, Any] = {}
    for entry in entries:
        match entry:
            case {"index": int(index), **values} if key in values and 0 <= index < count:
                found[index] = values[key]
            case _:
                raise _unexpected(name, f"an entry without an index or '{key}'")
    if len(entries) != count or len(found) != count:
        raise _unexpected(name, f"{len(entries)} entries for {count} texts")
    return [found[index] for index in range(count)]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _unexpected(name: str, what: str) -> ModelError:
    return ModelError(f"'{name}' answered {what}", "Is it a model for this role?")
