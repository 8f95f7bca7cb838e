"""`pin`, `unpin`, `mark`, `unmark` and `marks`: the user's word on the results of a query."""

from __future__ import annotations

from typing import Literal

from qmd.cli.command import command
from qmd.cli.options import all_formats, argument
from qmd.cli.render.rows import Column
from qmd.cli.session import Session
from qmd.cli.show import show_listing
from qmd.cli.terminal import clean_name, one_line, say

_UNKNOWN = "a query that begins with '-' goes after '--'"
_query = argument("query", "QUERY", "marked_queries")
_document = argument("document", "DOC", "paths")
_any_document = argument("document", "[DOC]", "marked_documents")


@command(if_unknown=_UNKNOWN)
@_query
@_document
def pin(session: Session, query: str, document: str) -> None:
    """Show a document first in searches for a query.

    The query is one argument: put it in quotes. Case, the order of words, their endings and words such as
    'how' or 'the' do not matter. Pins and marks are kept in index.marks.yaml beside index.yml, and nothing
    else is recorded. DOC is anything that get accepts.

    Examples:
      qmd pin "how do I deploy" ops/deploy.md
      qmd pin holidays "#a1b2c3"
    """
    session.uses |= {"marks"}
    file = session.index.pin(query, document)
    say(f"Pinned {clean_name(file)} to '{one_line(query)}'.")


@command(if_unknown=_UNKNOWN)
@_query
@_any_document
def unpin(session: Session, query: str, document: str | None) -> None:
    """Remove the pin of a document, or all pins of a query.

    Examples:
      qmd unpin "how do I deploy" ops/deploy.md
      qmd unpin holidays
    """
    session.uses |= {"marks"}
    session.index.unpin(query, document)
    say(f"Unpinned {clean_name(document) if document else 'everything'} from '{one_line(query)}'.")


@command(if_unknown=_UNKNOWN)
@_query
@_document
@argument("kind", "good|bad", kind=("good", "bad"))
def mark(session: Session, query: str, document: str, kind: Literal["good", "bad"]) -> None:
    """Mark a document as a good or a bad result of a query.

    In searches for this query the odds of its score are raised or lowered by half, and by less for queries
    that share at least three quarters of their words; --explain shows it. 'qmd bench --from-marks' lists the
    marks that the searches alone do not live up to. See 'qmd pin' for QUERY and DOC.

    Examples:
      qmd mark "how do I deploy" ops/deploy.md good
      qmd mark "how do I deploy" archive/2019.md bad
    """
    session.uses |= {"marks"}
    file = session.index.mark(query, document, kind)
    say(f"Marked {clean_name(file)} as {kind} for '{one_line(query)}'.")


@command(if_unknown=_UNKNOWN)
@_query
@_any_document
def unmark(session: Session, query: str, document: str | None) -> None:
    """Remove the mark of a document, or all marks of a query.

    Examples:
      qmd unmark "how do I deploy" archive/2019.md
      qmd unmark "how do I deploy"
    """
    session.uses |= {"marks"}
    session.index.unmark(query, document)
    subject = f"mark of {clean_name(document)}" if document else "marks"
    say(f"Removed the {subject} for '{one_line(query)}'.")


@command()
@all_formats
def marks(session: Session) -> None:
    """List the pinned and marked documents, by query.

    Examples:
      qmd marks
      qmd marks --json
    """
    session.uses |= {"marks"}
    nothing = session.addressed("Nothing is pinned or marked yet. See: qmd pin --help")
    table = (
        Column("query", shown=one_line),
        Column("kind", "As"),
        Column("file", "Document"),
        Column("indexed"),
    )
    show_listing("marks", "mark", table, session.index.marks(), nothing, names=("query", "kind", "file"))
