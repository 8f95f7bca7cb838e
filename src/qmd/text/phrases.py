"""Count query terms in a list of tokens, for stores without token positions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from qmd.text.query import Term


@dataclass(frozen=True, slots=True)
class Pattern:
    """Adjacent tokens. If `prefix` is set, the last one matches by its beginning."""

    tokens: tuple[str, ...]
    prefix: bool = False

    def count(self, tokens: Sequence[str]) -> int:
        """Return the number of occurrences in the tokens of a field."""
        head, last = self.tokens[:-1], self.tokens[-1]
        width = len(head)
        return sum(
            1
            for at in range(width, len(tokens))
            if (tokens[at].startswith(last) if self.prefix else tokens[at] == last)
            and tuple(tokens[at - width : at]) == head
        )


def patterns(term: Term) -> Iterator[Pattern]:
    """Return the patterns of a term: as typed, and its alternatives."""
    yield Pattern(term.tokens, term.prefix)
    yield from map(Pattern, term.alternatives)
