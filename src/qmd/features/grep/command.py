"""`grep`: print the lines that match a pattern."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qmd.cli import options
from qmd.cli.command import command
from qmd.cli.render.formats import writer
from qmd.cli.session import Session
from qmd.cli.show import note_missing, view_for
from qmd.cli.terminal import BOLD, GREEN, MAGENTA, clean_name, write

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qmd.cli.render.view import View
    from qmd.types import Hit

#: As in `grepping`, which help does not import.
_LINES, _SECONDS = 200, 10
#: Formats with a line for each document.
_OF_DOCUMENTS = ("files", "names")


@command("grep", agents=True, if_unknown="a pattern that begins with '-' goes after '--'")
@options.argument("pattern", "PATTERN")
@options.flag("-F", "--fixed-strings", "fixed", help="PATTERN is a text, not an expression.")
@options.flag("-i", "--ignore-case", help="Upper and lower case are the same.")
@options.limit_option(f"Print at most N lines.  [default: {_LINES}]")
@options.flag("--all", "everything", help="Print all lines; -n is ignored.", section="What")
@options.collection_option("Only look at this collection (may be repeated).")
@options.filter_options
@options.option(
    "--timeout SECONDS",
    options.decimal(0.001, 86_400),
    f"Stop a pattern that takes longer.  [default: {_SECONDS}]",
)
@options.path_options
@options.all_formats
def grep(session: Session, pattern: str, **arguments: Any) -> None:
    """Print the lines of the indexed texts that match PATTERN, a regular expression of Python's.

    All formats are looked at, also PDF, Office files and sessions, without reading their files again. Each
    line has the path of its document, and its line there, or its page (report.pdf:p12). 'qmd update' reads
    what has changed since. The filters are those of searches.

    Examples:
      qmd grep 'rate.?limit'
      qmd grep -F 'kubectl apply' -c notes
      qmd grep -i 'todo|fixme' --tag work --vimgrep
    """
    from qmd.text.filters import from_options

    limit = None if arguments["everything"] else arguments["limit"] or _LINES
    response = session.index.grep(
        pattern,
        collections=arguments["collections"],
        where=from_options(options.filters_of(arguments)),
        fixed=arguments["fixed"],
        ignore_case=arguments["ignore_case"],
        limit=limit,
        timeout=arguments["timeout"] or _SECONDS,
        cancelled=session.cancelled,
    )
    session.note(*(stage.reason for stage in response.stages if stage.reason))
    name, hits = options.chosen_format(), response.hits
    if name in _OF_DOCUMENTS:
        hits = tuple({hit.file: hit for hit in reversed(hits)}.values())[::-1]
    view = view_for(session, arguments)
    write(_lines(hits, view) if name == "cli" else writer(name).hits(hits, view))
    note_missing(session, view)
    if response.more:
        session.note("more lines match: -n N prints N, and --all all of them")


def _lines(hits: Sequence[Hit], view: View) -> str:
    """Return a line for each hit: the place, and the text."""
    if not hits:
        return "No lines match.\n"
    lines = []
    for hit in hits:
        place = view.styled(clean_name(view.file(hit)), BOLD, MAGENTA)
        number = hit.anchor.address if hit.anchor else str(hit.line)
        lines.append(f"{place}:{view.styled(number, GREEN)}: {view.shown(hit.snippet.text.strip())}\n")
    return "".join(lines)
