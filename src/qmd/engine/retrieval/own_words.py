"""Words of the user's own in queries, which a feature reads."""

from __future__ import annotations

from collections.abc import Callable, MutableSequence

from qmd.errors import PluginError
from qmd.plugins import Table
from qmd.text.question import Question
from qmd.types import Config, Stage

#: The stage that names the words that were added.
SYNONYMS = "synonyms"
#: `synonyms` adds the synonyms of a configuration to a question, and returns it with what it says of that.
_WORDS = Table("qmd.words", {}, Callable)


def add_own_words(config: Config, question: Question, stages: MutableSequence[Stage]) -> Question:
    """Return a question that the synonyms of its words match as well, and add the stage that names them."""
    if not config.synonyms:
        return question
    try:
        add = _WORDS.load("synonyms")
    except PluginError as error:
        missing = Stage(SYNONYMS, "skipped", error.in_one_line())
        stages += [] if missing in stages else [missing]
        return question
    assert add is not None
    found, said = add(config.synonyms, question)
    if said and (stage := Stage(SYNONYMS, "ran", said)) not in stages:
        stages.append(stage)
    result: Question = found
    return result
