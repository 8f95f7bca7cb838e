"""An answer as a value: its sentences, each with the words of a document that it rests on."""

from __future__ import annotations

from msgspec import Struct

from qmd.types.search import Stage

#: What an answer says if no sentence of the model is supported.
NOTHING = "Your notes do not say."


class AnswerSentence(Struct, frozen=True):
    """A sentence, and the quotation that it rests on, which stands where its address says."""

    text: str
    quote: str
    address: str  #: The place of the quotation, as `get` takes it: `notes/a.md:12`
    file: str
    first_line: int
    last_line: int

    @property
    def lines(self) -> str:
        """The sentence, and its quotation with its address in a line of its own, as `cite check` reads it."""
        return f'{self.text}\n    "{self.quote}" ({self.address})'


class ProvenAnswer(Struct, frozen=True):
    """The answer to a question: only sentences that are supported, in the order of the model.

    `answered` is False if there are none. `unsupported` is how many others the model wrote.
    """

    question: str
    answered: bool
    sentences: tuple[AnswerSentence, ...]
    unsupported: int
    model: str
    stages: tuple[Stage, ...]
