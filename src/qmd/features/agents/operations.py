"""The operation that answers prompts to agents."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from qmd.api.operation import Operation
from qmd.api.reading import Request
from qmd.engine.index import Index
from qmd.engine.requests import PROMPT_TOKENS
from qmd.features.agents.recall import Recall
from qmd.models.base import Cancelled

_MAX_PROMPT = 1_000_000


class RecallBody(Request):
    """A prompt that a user has given an agent."""

    prompt: Annotated[str, Meta(max_length=_MAX_PROMPT, description="What the user has typed.")]
    threshold: (
        Annotated[float, Meta(ge=0, le=1, description="The least score, if not as configured.")] | None
    ) = None
    tokens: Annotated[int, Meta(ge=100, le=100_000, description="The most tokens of the text.")] = (
        PROMPT_TOKENS
    )
    known: Annotated[
        tuple[Annotated[str, Meta(max_length=64)], ...],
        Meta(max_length=5_000, description="Hashes of passages that the agent has."),
    ] = ()


def recall(index: Index, body: RecallBody, cancelled: Cancelled) -> Recall:
    """Return passages that may answer a prompt to an agent; an empty text if nothing is about it."""
    options = {name: getattr(body, name) for name in ("threshold", "tokens", "known")}
    return index.limited(agent=True).recall(body.prompt, **options, cancelled=cancelled)


RECALL = Operation(
    "POST /recall",
    recall,
    body={"prompt": "How are our backups restored?", "known": []},
    query=("prompt",),
    models=True,
    after="POST /query",
)
