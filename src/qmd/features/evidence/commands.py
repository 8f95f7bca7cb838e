"""The rows of the commands of evidence: `pack` and `cite`."""

from __future__ import annotations

from qmd.cli import options
from qmd.cli.command import command, group
from qmd.search_options import OF_HITS

_TOKENS = 4_000


@command(
    "pack",
    if_unknown="text that begins with '-' goes after '--'",
    runs="qmd.features.evidence.pack:pack",
    agents=True,
)
@options.argument("text", "GOAL... | verify FILE", "typed")
@options.option(
    "--tokens N",
    options.whole(1, 1_000_000),
    f"Print at most N tokens of language models.  [default: {_TOKENS}]",
    default=_TOKENS,
)
@options.collection_option("Search only this collection (may be repeated).")
@options.options_of("query", without=(*OF_HITS, "tokens"))
@options.option("--since PACK", None, "Give only what is new or changed since this pack, a file or its id.")
@options.option("--session ID", None, "Name passages that this session was given before in one line each.")
@options.flag("--again", help="Repeat what the session was given before.")
@options.flag("--secrets", help="For people: show secrets, and what is kept from agents.", agents=False)
@options.mode_option
@options.json_option
def pack() -> None:
    """Collect the passages for a question or a task in one text, for a language model.

    Passages stand in the order of their documents, each with its address, the hash of its text, the date and
    the section of its document. Copies are shown once. A goal may ask several things, in several lines or
    with several question marks. At the end stands what was not found. Secrets are masked.

    verify FILE checks the passages of a pack: whether each still holds, has moved, has changed or is gone.
    The exit code is 1 unless all hold. A goal of these two words goes in quotes.

    Examples:
      qmd pack how do we deploy the service --tokens 2000
      qmd pack 'who approves a release? how is it rolled back?' -c work > release.md
      qmd pack verify release.md
      qmd pack 'who approves a release?' --since release.md
      qmd pack how do we deploy --session 7f3a --json
    """


@group("cite")
def cite() -> None:
    """Check the citations of a text against the indexed documents.

    Example:
      qmd cite check draft.md
    """


@cite.command("check", runs="qmd.features.evidence.cite:check", agents=True)
@options.argument("draft", "DRAFT", "files")
@options.flag(
    "--fix", help="Rewrite citations whose passage has moved; nothing else in DRAFT changes.", agents=False
)
@options.all_formats
def check() -> None:
    """Check that what DRAFT, a file or - for stdin, cites and quotes stands where it says.

    Citations are paths with lines or a heading (notes/a.md:12-14, notes/a.md#Heading), pages
    (report.pdf:p12), docids, qmd:// addresses, wikilinks, and links to documents. A quotation belongs to the
    citation beside it: its words, numbers and negations must be those of the document, and typography may
    differ. The exit code is 1 if a citation does not hold.

    Examples:
      qmd cite check draft.md
      qmd cite check draft.md --fix
      echo '"Load the nightly dump" (notes/ops.md:11)' | qmd cite check - --json
    """
