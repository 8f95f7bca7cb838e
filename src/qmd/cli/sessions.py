"""`add --sessions`: the sessions of coding agents as collections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qmd.cli.indexing import show_report
from qmd.cli.progress import Bar
from qmd.cli.session import Session
from qmd.cli.terminal import clean_name, say
from qmd.cli.usage import fail

if TYPE_CHECKING:
    from qmd.engine.indexing.scan import ScanReport


def index_sessions(
    session: Session, path: str, name: str | None, options: dict[str, Any]
) -> list[ScanReport]:
    """Add the folders of sessions that exist, and say which; return the scans of those that are new."""
    if path != "." or name is not None or any(options.values()):
        fail("--sessions finds the folders itself: it takes no folder and no other options")
    with Bar("Indexing", session) as bar:
        folders = session.index.add_sessions(bar.files)
    for folder in folders:
        place = f"{folder.agent}: {clean_name(folder.path)}"
        if not folder.collection:
            say(f"Not found: {place}")
        elif folder.report is None:
            say(f"Unchanged: collection '{clean_name(folder.collection)}' has {place}")
        else:
            say(f"Added collection '{clean_name(folder.collection)}': {place}")
            show_report(folder.report)
    reports = [folder.report for folder in folders if folder.report is not None]
    if not reports:
        say("Every folder of sessions that exists is a collection already: nothing was added.")
    return reports
