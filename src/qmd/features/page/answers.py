"""Answers of a model of the user on the page, sentence by sentence."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from qmd.engine.index import Index
from qmd.errors import PluginError, QmdError
from qmd.models.base import Cancelled
from qmd.server.index_host import AnswerParts

#: Renders a template of a part of a page.
Render = Callable[..., str]
#: Runs work with the index in a thread.
Run = Callable[[Callable[[Index, Cancelled], Any]], Awaitable[Any]]


def are_made(index: Index) -> bool:
    """Tell whether a model is set that may answer."""
    if not index.settings.generate_model:
        return False
    try:
        return callable(index.ask)
    except PluginError:  # the feature is missing
        return False


async def written(question: str, run: Run, render: Render) -> AsyncIterator[str]:
    """Yield each sentence in HTML as soon as it is proven, and at the end how the answer ended.

    If nobody reads on, the model is told to stop.
    """
    parts = AnswerParts(
        lambda tell: run(lambda index, cancelled: index.ask(question, on_sentence=tell, cancelled=cancelled))
    )
    try:
        async for sentence in parts:
            yield render("_sentence.html", sentence=sentence)
        try:
            answer, error = await parts.answer, None
        except QmdError as raised:
            answer, error = None, raised
        yield render("_answered.html", answer=answer, error=error)
    finally:
        parts.answer.cancel()
