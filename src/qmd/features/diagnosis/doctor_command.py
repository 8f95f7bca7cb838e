"""`doctor`: look for problems."""

from __future__ import annotations

import os
from itertools import chain
from typing import TYPE_CHECKING

from qmd.cli.command import command
from qmd.cli.options import all_formats, chosen_format, flag
from qmd.cli.progress import Bar
from qmd.cli.render.rows import Column
from qmd.cli.session import Session
from qmd.cli.show import FINDING, show_listing
from qmd.cli.terminal import GREEN, RED, YELLOW, one_line, painted, say
from qmd.cli.usage import Exit
from qmd.text.wording import plural

if TYPE_CHECKING:
    from qmd.engine.finding import Finding

_COLOURS = {"ok": GREEN, "warning": YELLOW, "problem": RED}


@command()
@flag("--stale", help="Only list what is out of date in the documents.")
@flag("--secrets", help="List where documents have secrets, which agents see masked; never the secrets.")
@all_formats
def doctor(session: Session, stale: bool, secrets: bool) -> None:
    """Check the program, configuration, index, models and server, and suggest how to fix problems.

    Nothing is changed. The exit code is 1 if there is a problem, and 0 if there are only warnings. --stale
    lists documents that have expired, links to superseded ones, and what contradicts itself.

    Examples:
      qmd doctor
      qmd doctor --json
      qmd doctor --stale
      qmd doctor --secrets
    """
    if secrets:
        _secrets(session)
        return
    from qmd.features.diagnosis.doctor import diagnose
    from qmd.server import health

    session.folder()
    live = chosen_format() == "cli"
    findings: list[Finding] = []
    with Bar("Checking", session) as bar:
        engine = diagnose(session.index_name, store=session.store, on_step=bar.step)
        all_checks = chain(engine, health.diagnose(session.index_name, os.environ))
        for finding in session.index.stale() if stale else all_checks:
            findings.append(finding)
            if live:
                bar.close()
                hint = f" ({one_line(finding.hint)})" if finding.hint else ""
                level = painted(f"{finding.level:<7}", _COLOURS[finding.level])
                say(session.addressed(f"{level}  {one_line(finding.message)}{hint}"))
    if live:
        levels = [finding.level for finding in findings]
        counts = [plural(levels.count(name), name) for name in ("problem", "warning") if name in levels]
        say("", f"{' and '.join(counts)}." if counts else "No problems found.")
    else:
        show_listing("findings", "finding", FINDING, findings)
    if any(finding.level == "problem" for finding in findings):
        raise Exit(1)


def _secrets(session: Session) -> None:
    """List the places of secrets, and for people how many documents have some."""
    with Bar("Looking", session) as bar:
        places = session.index.secrets(on_step=bar.step)
    table = (Column("file"), Column("line"), Column("kind"))
    files = len({place.file for place in places})
    lines = [one_line(f"{place.file}:{place.line}  {place.kind}") for place in places]
    lines += ["", f"{plural(files, 'document')} with {plural(len(places), 'secret')}."]
    show_listing("secrets", "secret", table, places, "No secrets found.", lines=lines)
