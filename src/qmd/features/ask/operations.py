"""`POST /ask`: an answer whose sentences were proven, over HTTP."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from msgspec import Meta, Struct

from qmd.api.arguments import MAX_TIMEOUT, SearchArguments, search_arguments
from qmd.api.operation import Operation
from qmd.api.results import Stage, stages_of
from qmd.engine.index import Index
from qmd.features.ask.asking import SECONDS
from qmd.features.ask.types import NOTHING, AnswerSentence
from qmd.search_options import OF_HITS
from qmd.types.cancelling import Cancelled

AskBody = search_arguments(
    "query",
    "AskBody",
    "A question, as `query`. `tokens` is the size of the passages that the model is given (2,000).",
    without=[*OF_HITS, "searches", "expand", "timeout"],
    more={
        "timeout": (
            Annotated[float, Meta(gt=0, le=MAX_TIMEOUT, description="The seconds that it may take.")],
            SECONDS,
        )
    },
)


class AskResult(Struct, frozen=True):
    """An answer: only sentences whose quotation stands in a document, and who say no more than it.

    `answered` is false if there are none, and `unsupported` is how many others the model wrote.
    """

    answered: bool
    sentences: tuple[AnswerSentence, ...]
    unsupported: int
    model: str
    stages: tuple[Stage, ...]
    indexed_at: str | None
    content: str


def ask(
    index: Index,
    body: SearchArguments,
    cancelled: Cancelled,
    tell: Callable[[AnswerSentence], None] | None = None,
) -> AskResult:
    """Answer a question by the model of `models: generate`, with a proven quotation for each sentence.

    With `Accept: application/x-ndjson` each line is a sentence, as soon as it is proven, and the last line is
    the whole answer. If the model fails after a sentence, `stages` say so.
    """
    indexed_at = index.indexed_at()
    answer = index.ask(body.request(), on_sentence=tell, cancelled=cancelled)
    return AskResult(
        answered=answer.answered,
        sentences=answer.sentences,
        unsupported=answer.unsupported,
        model=answer.model,
        stages=stages_of(answer.stages),
        indexed_at=indexed_at,
        content="\n".join(each.lines for each in answer.sentences) or NOTHING,
    )


ASK = Operation(
    "POST /ask",
    ask,
    body={"query": "how do we roll back a release?"},
    given=AskBody,
    query=("query",),
    missing=True,
    models=True,
    apart=True,
    in_parts=True,
    command="ask",
    after="POST /pack",
)
