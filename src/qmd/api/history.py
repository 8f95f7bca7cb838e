"""The operation that lists the commits of a document."""

from __future__ import annotations

from qmd.api import arguments as asked
from qmd.api import results
from qmd.engine.index import Index
from qmd.models.base import Cancelled


def history(index: Index, body: asked.HistoryArguments, cancelled: Cancelled) -> results.History:
    """List the last commits of a document's file, newest first, if it is in a clone of git."""
    found = index.history(body.path, limit=body.limit)
    return results.History(tuple(map(results.Commit.of, found)))
