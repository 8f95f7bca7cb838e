"""The budget of a page: steps, and the notes that are shown in a document.

Steps stand for time, so that the same document is cut at the same place on every machine.
"""

from __future__ import annotations

from collections.abc import Callable

#: Documents that are larger are shown as text, some lines at a time; notes inside of one count as well.
MAX_CHARACTERS = 400_000
#: The steps of a page. Documents of that size that people write take a tenth.
MAX_STEPS = 300_000
#: Notes that are shown in a document.
MAX_NOTES = 100
#: The steps of things that take longer than a piece of Markdown, and of each character of a formula.
FORMULA, CODE, FILE, NOTE = 20, 10, 200, 500
PER_TEX = 3
#: The time of a step, if only the time is known.
SECONDS = 1e-5


class Budget:
    """The rest of the budget of a page. `stop` tells whether there is no time left.

    As soon as the steps or the time are spent, the rest of the document is shown as plain text.
    """

    def __init__(
        self,
        stop: Callable[[], bool] = lambda: False,
        *,
        steps: int = MAX_STEPS,
        characters: int = MAX_CHARACTERS,
        notes: int = MAX_NOTES,
    ) -> None:
        self._stop = stop
        self._steps = steps
        self._characters = characters
        self._notes = notes
        #: Whether nothing more may be done.
        self.spent = False
        #: Whether something is not shown as it should be.
        self.short = False

    def take(self, steps: int = 1) -> bool:
        """Spend steps. Return whether they were left."""
        if not self.spent:
            self._steps -= steps
            if self._steps < 0 or self._stop():
                self.spent = self.short = True
        return not self.spent

    def take_text(self, text: str) -> bool:
        """Spend the characters of the document. Return whether it may be rendered."""
        self._characters -= len(text)
        return self._characters >= 0

    def take_note(self, text: str) -> bool:
        """Spend a note that is shown in the document. Return whether it may be shown."""
        if self._notes < 1 or self._characters < len(text):
            self.short = True
            return False
        self._notes -= 1
        self._characters -= len(text)
        return self.take(NOTE)
