"""The methods of `Index` for synonyms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from qmd.engine.access.rules import Rule
from qmd.engine.parts import Part
from qmd.types import Synonyms


class SynonymMethods(Part):
    """Methods of `Index` that list and change synonyms."""

    _rules: Mapping[str, Rule] = {
        "synonyms": Rule(action="see synonyms"),
        "add_synonyms": Rule(changes=True, action="change synonyms"),
        "remove_synonyms": Rule(changes=True, action="change synonyms"),
    }

    def synonyms(self) -> tuple[Synonyms, ...]:
        """List the synonyms of `index.yml`."""
        return self._workspace.config.synonyms

    def add_synonyms(self, word: str, others: Sequence[str], *, one_way: bool = False) -> None:
        """Let a search for a word find others, and the other way round.

        Args:
            word: The word, or several.
            others: Its synonyms, beside those that it has.
            one_way: Whether a search for the others does not find the word.

        Raises:
            UsageError: A word is invalid.
            ConflictError: The word has synonyms of the other direction.
        """
        from qmd.config import editing

        self._workspace.edit(partial(editing.add_synonyms, one_way=one_way), word, others)

    def remove_synonyms(self, word: str) -> None:
        """Remove the synonyms of a word. Raises `NotFoundError` if it has none."""
        from qmd.config import editing

        self._workspace.edit(editing.remove_synonyms, word)
