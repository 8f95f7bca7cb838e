"""`similar`: the documents that are similar to one."""

from __future__ import annotations

from typing import Any

from qmd.cli import options
from qmd.cli.command import command
from qmd.cli.search import show_response
from qmd.cli.session import Session

_LIMIT = 10


@command("similar")
@options.argument("document", "DOC", "paths")
@options.limit_option(f"Show at most N documents.  [default: {_LIMIT}]")
@options.flag("--unlinked", help="Leave out documents that DOC links to, or that link to DOC.")
@options.collection_option("Search only this collection (may be repeated).")
@options.filter_options
@options.option(
    "--min-score F", options.decimal(0, 1), "Leave out documents with a score below F.  [default: 0]"
)
@options.fold_option
@options.flag("--full", help="Show whole documents instead of snippets.")
@options.context_lines_option
@options.tokens_option
@options.path_options
@options.flag("--explain", help="Show how near each document is.")
@options.all_formats
def similar(session: Session, document: str, **arguments: Any) -> None:
    """Find documents that are similar to one, by the vectors that exist and by words. No model is loaded.

    DOC is anything that get accepts; lines (notes/plan.md:10:20) or a section (plan.md#Costs) are compared
    alone. Each document is shown with the passage that is nearest, and the passage of DOC that it is similar
    to. Copies of DOC are left out. With --unlinked, the documents are those that DOC may want to link. A
    score is about 0 for documents about something else, and 1 for the same text.

    Without vectors of DOC, documents with its most telling words are found. Run 'qmd embed'.

    Examples:
      qmd similar notes/plan.md
      qmd similar notes/ops.md --unlinked -n 5
      qmd similar 'notes/ops.md#Backups' -c work --json
    """
    from qmd.engine.requests import of_document

    request = of_document(options.search_request(document, arguments, arguments["limit"] or _LIMIT))
    response = session.index.run("similar", request, cancelled=session.cancelled)
    show_response(session, options.chosen_format(), "", response, arguments | {"facets": ()})
