"""Where the words of a query term stand among the tokens of a text: for stores that keep no positions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from qmd.text.query import Term


@dataclass(frozen=True, slots=True)
class Pattern:
    """Tokens side by side; `prefix`: the last one may go on."""

    tokens: tuple[str, ...]
    prefix: bool = False

    def count(self, tokens: Sequence[str]) -> int:
        """How often it stands among the tokens of a field."""
        head, last = self.tokens[:-1], self.tokens[-1]
        width = len(head)
        return sum(
            1
            for at in range(width, len(tokens))
            if (tokens[at].startswith(last) if self.prefix else tokens[at] == last)
            and tuple(tokens[at - width : at]) == head
        )


def patterns(term: Term) -> Iterator[Pattern]:
    """Every form in which a term is found: as typed, and its alternatives."""
    yield Pattern(term.tokens, term.prefix)
    yield from map(Pattern, term.alternatives)
