"""What hits and documents say of the time that they take to read."""

from qmd.engine.documents.notes import Kind
from qmd.types.notes import Note
from qmd_reading_time import minutes

#: Shorter documents say nothing.
LEAST = 2


class ReadingTime(Note, frozen=True):
    """How many minutes a document takes to read."""

    key = "reading_time"

    minutes: int

    @property
    def line(self):
        return f"{self.minutes} min"


def find(store, config, documents):
    """Return the notes of documents by id."""
    texts = store.documents.texts([document.id for document in documents])
    found = {identity: minutes(text) for identity, text in texts.items()}
    return {identity: ReadingTime(number) for identity, number in found.items() if number >= LEAST}


READING_TIME = Kind(ReadingTime, find)
