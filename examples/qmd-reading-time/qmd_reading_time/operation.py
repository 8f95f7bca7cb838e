"""`POST /reading_time`: say how long a document takes to read, over HTTP."""

from msgspec import Struct

from qmd.api.arguments import Reference
from qmd.api.operation import Operation
from qmd.engine.index import Index
from qmd.models.base import Cancelled


class Reading(Struct, frozen=True):
    """How many minutes a document takes to read."""

    minutes: int


def reading_time(index: Index, body: Reference, cancelled: Cancelled) -> Reading:
    """Say how many minutes a document takes to read."""
    return Reading(index.reading_time(body.file))


READING_TIME = Operation(
    "POST /reading_time", reading_time, body={"file": "notes/plan.md"}, missing=True, command="reading-time"
)
