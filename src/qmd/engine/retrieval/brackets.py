"""Decide which conditions in brackets of a query are filters, and tell the user which are text."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from qmd.store.base import Store
from qmd.store.values import Scope
from qmd.text.filters import Typed
from qmd.text.predicates import BUILT_IN, comparisons, field_name
from qmd.text.question import Question
from qmd.text.similar import nearest
from qmd.text.values import fold
from qmd.text.wording import plain
from qmd.types import Config, Stage
from qmd.types.states import STATE_NAMES

#: A pasted text may have any number of brackets, so only the first are told.
_MOST = 3
#: Characters of a condition that are told.
_LONGEST = 60


def unknown_fields(store: Store, config: Config, questions: Sequence[Question]) -> tuple[str, ...]:
    """Return the fields in brackets of some queries that no document has which the caller may see.

    It does not count which collections are searched, so that a query means the same with and without `-c`.
    """
    typed = [each for question in questions for each in question.typed if each.field is not None]
    names = dict.fromkeys(field_name(each.field or "") for each in typed)
    built_in = BUILT_IN if any(map(_names_state, typed)) else {*BUILT_IN} - {"state"}
    asked = [name for name in names if name not in built_in]
    if not asked:
        return ()
    existing = store.fields.existing([*config.collections], asked)
    return tuple(name for name in asked if name not in existing)


def _names_state(typed: Typed) -> bool:
    """Tell whether a condition is on the state of documents; those on other values are on their fields."""
    return any(
        each.field == "state" and (each.operator == "exists" or fold(str(each.value)) in STATE_NAMES)
        for each in comparisons(typed.predicate)
    )


def explain_text(store: Store, config: Config, questions: Sequence[Question]) -> list[Stage]:
    """Return a stage for each condition in brackets that is text, with the filter that may be meant."""
    as_text = ((question, each) for question in questions for each in question.brackets)
    stages = (_explain(store, config, *each) for each in islice(as_text, _MOST))
    return [*dict.fromkeys(stages)]


def _explain(store: Store, config: Config, question: Question, typed: Typed) -> Stage:
    written, field = question.text[typed.start : typed.end], field_name(typed.field or "")
    reason = f"read as text: {plain(written)[:_LONGEST]}"
    if field not in question.unknown:
        minus = "-" if written.startswith("-") else ""
        reason += f". A filter among words needs a value: {minus}[{field}:*]"
        return Stage("filter", "skipped", reason)
    reason += f", because no document has the field '{field[:_LONGEST]}'"
    if typed.bare and question.among(()).brackets:
        # A word in brackets in a text: hardly anybody means a filter.
        return Stage("filter", "skipped", reason, expected=True)
    names = [summary.name for summary in store.fields.summaries(Scope((*config.collections,)))]
    close = nearest(field, [*names, *BUILT_IN])
    if close is not None:
        reason += f". Did you mean {plain(written.replace(typed.field or '', close, 1))[:_LONGEST]}?"
    return Stage("filter", "skipped", reason)
