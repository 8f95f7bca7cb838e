"""Queries as tests read them."""

from __future__ import annotations

from collections.abc import Sequence

from qmd.text.predicates import Predicate
from qmd.text.question import Question


def split(text: str, unknown: Sequence[str] = ()) -> tuple[str, Predicate | None]:
    """Return the words of a query and its filters."""
    question = Question.read(text).among(tuple(unknown))
    return question.words, question.where
