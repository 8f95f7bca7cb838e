"""`lint`: report the faults of documents as pages of a wiki."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from qmd.cli import options
from qmd.cli.command import command
from qmd.cli.progress import Bar
from qmd.cli.show import show_listing
from qmd.cli.terminal import BOLD, clean_name, painted
from qmd.cli.usage import Exit
from qmd.text.wording import plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from qmd.cli.session import Session
    from qmd.features.lint.fault import Fault


#: How often the same link is listed for people, and how many of those that are left out are named.
_REPEATED, _LISTED = 3, 10


@command("lint", agents=True)
@options.collections_argument
@options.collection_option("Only check documents in this collection (may be repeated).")
@options.option("--only KINDS", None, "Only report these kinds, such as broken,ambiguous.  [default: all]")
@options.all_formats
def lint(session: Session, names: tuple[str, ...], collections: tuple[str, ...], only: str | None) -> None:
    """Report what is wrong with the documents as pages of a wiki.

    The kinds are: broken (links to no document or section), ambiguous (links to one of several), orphan (no
    other document links to it), stub (hardly any text), twin (says the same as another), stale (expired, or
    a link to a superseded document), contradiction and unclear (of what documents say of their state). The
    exit code is 1 if anything is found. Nothing is changed.

    Examples:
      qmd lint
      qmd lint notes --only broken,ambiguous
      qmd lint --json
    """
    kinds = tuple(filter(None, (kind.strip() for kind in (only or "").split(","))))
    with Bar("Checking", session) as bar:
        faults = session.index.lint((*names, *collections), only=kinds, on_step=bar.step)
    columns = ("kind", "file", "line", "message", "hint")
    nothing = "Nothing is wrong with these documents."
    show_listing("faults", "fault", columns, faults, nothing, names=("file",), lines=_lines(faults))
    if faults:
        raise Exit(1)


def _lines(faults: Sequence[Fault]) -> Iterator[str]:
    """Yield a line for each fault, below the document, and the numbers of each kind."""
    file = ""
    messages: Counter[str] = Counter()
    for fault in faults:
        # Hundreds of links to one page that nobody has written are one fault for people.
        messages[fault.message] += fault.kind == "broken"
        if messages[fault.message] > _REPEATED:
            continue
        if fault.file != file:
            yield from ["", painted(clean_name(fault.file), BOLD)][not file :]
            file = fault.file
        yield f"{fault.line or '':>6}  {fault.kind}: {clean_name(fault.message)}"
    more = [(message, number - _REPEATED) for message, number in messages.most_common() if number > _REPEATED]
    yield from [""] * bool(more)
    for message, number in more[:_LISTED]:
        yield f"{number:>6} more  broken: {clean_name(message)}"
    if rest := sum(number for _, number in more[_LISTED:]):
        yield f"{rest:>6,} more  broken: other links that are listed {_REPEATED} times above"
    counts = Counter(fault.kind for fault in faults)
    numbers = ", ".join(f"{number:,} {kind}" for kind, number in counts.items())
    yield from ["", f"{plural(len(faults), 'fault')}: {numbers}."]
