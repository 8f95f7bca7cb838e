"""`mark`, with its commands: the user's word on the results of a query."""

from __future__ import annotations

from typing import Literal

from qmd.cli.command import command, group
from qmd.cli.options import all_formats, argument, flag
from qmd.cli.render.rows import Column
from qmd.cli.session import Session
from qmd.cli.show import show_listing
from qmd.cli.terminal import clean_name, one_line, say
from qmd.errors import NotFoundError

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
    else is recorded. 'qmd get --help' says how to name DOC.

    Examples:
      qmd mark pin "how do I deploy" ops/deploy.md
      qmd mark pin holidays "#a1b2c3"
    """
    session.uses |= {"marks"}
    file = session.index.pin(query, document)
    say(f"Pinned {clean_name(file)} to '{one_line(query)}'.")


@command(if_unknown=_UNKNOWN)
@_query
@_any_document
@flag("--pin", help="Only the pin.")
@flag("--mark", help="Only the mark as good or bad.")
def remove(session: Session, query: str, document: str | None, pin: bool, mark: bool) -> None:
    """Remove the pin and the mark of a document, or all pins and marks of a query.

    Examples:
      qmd mark remove "how do I deploy" archive/2019.md
      qmd mark remove holidays
    """
    session.uses |= {"marks"}
    both = pin == mark
    kinds = {"pins": (session.index.unpin, pin), "marks": (session.index.unmark, mark)}
    removers = {kind: remove_one for kind, (remove_one, wanted) in kinds.items() if wanted or both}
    errors: list[NotFoundError] = []
    for remove_one in removers.values():
        try:
            remove_one(query, document)
        except NotFoundError as error:  # there may be one of them
            errors.append(error)
    if len(errors) == len(removers):
        raise errors[-1]
    subject = clean_name(document) if document else "everything"
    say(f"Removed {subject} from the {' and '.join(removers)} of '{one_line(query)}'.")


@command(if_unknown=_UNKNOWN)
@_query
@_document
def good(session: Session, query: str, document: str) -> None:
    """Mark a document as a good result of a query.

    In searches for this query the odds of its score are raised by half; --explain shows it.
    'qmd bench --from-marks' lists the marks that the searches alone do not live up to. See
    'qmd mark pin --help' for QUERY and DOC.

    Example:
      qmd mark good "how do I deploy" ops/deploy.md
    """
    _mark(session, query, document, "good")


@command(if_unknown=_UNKNOWN)
@_query
@_document
def bad(session: Session, query: str, document: str) -> None:
    """Mark a document as a bad result of a query: the odds of its score are lowered by half.

    See 'qmd mark good --help'.

    Example:
      qmd mark bad "how do I deploy" archive/2019.md
    """
    _mark(session, query, document, "bad")


@command("mark", if_unknown=_UNKNOWN)
@_query
@_document
@argument("kind", "good|bad", kind=("good", "bad"))
def marked(session: Session, query: str, document: str, kind: Literal["good", "bad"]) -> None:
    """Mark a document as earlier versions did: 'qmd mark QUERY DOC good'."""
    _mark(session, query, document, kind)


@group("mark", otherwise=marked, aliases={"unpin": "remove --pin", "unmark": "remove --mark"})
def mark(_: Session) -> None:
    """Pin documents to a query, so that they are shown first, or mark them as good or bad results.

    Examples:
      qmd mark pin "how do I deploy" ops/deploy.md
      qmd mark bad "how do I deploy" archive/2019.md
      qmd mark list
    """


def _mark(session: Session, query: str, document: str, kind: Literal["good", "bad"]) -> None:
    session.uses |= {"marks"}
    file = session.index.mark(query, document, kind)
    say(f"Marked {clean_name(file)} as {kind} for '{one_line(query)}'.")


@command(agents=True)
@all_formats
def marks(session: Session) -> None:
    """List the pinned and marked documents, by query.

    Examples:
      qmd mark list
      qmd mark list --json
    """
    session.uses |= {"marks"}
    nothing = session.addressed("Nothing is pinned or marked yet. See: qmd mark --help")
    table = (
        Column("query", shown=one_line),
        Column("kind", "As"),
        Column("file", "Document"),
        Column("indexed"),
    )
    show_listing("marks", "mark", table, session.index.marks(), nothing, names=("query", "kind", "file"))
