"""`doctor` and `cleanup`: find problems, delete unused data."""

from __future__ import annotations

import os
import sys
from itertools import chain
from typing import TYPE_CHECKING

import click

from qmd.cli.command import Command
from qmd.cli.options import all_formats, chosen_format, json_option
from qmd.cli.progress import Bar
from qmd.cli.render.rows import Column, Listing
from qmd.cli.session import Session, pass_session
from qmd.cli.show import show_json, show_listing
from qmd.cli.sizes import human_size
from qmd.cli.terminal import GREEN, RED, YELLOW, columns, has_colours, one_line, say, styled
from qmd.text.wording import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qmd.engine.doctor import Finding
    from qmd.engine.upkeep.cleanup import CleanupReport

_COLOURS = {"ok": GREEN, "warning": YELLOW, "problem": RED}


@click.command(cls=Command)
@all_formats
@pass_session
def doctor(session: Session) -> None:
    """Check the program, configuration, index, models and server, and suggest how to fix problems.

    Nothing is changed. The exit code is 1 if there is a problem, and 0 if there are only warnings.

    \b
    Examples:
      qmd doctor
      qmd doctor --json
    """
    from qmd.engine.doctor import diagnose
    from qmd.server import health

    session.folder()
    live = chosen_format() == "cli"
    findings: list[Finding] = []
    with Bar("Checking", quiet=session.quiet) as bar:
        engine = diagnose(
            session.index_name, store=session.store, on_step=lambda step: bar.update(0, None, label=step)
        )
        for finding in chain(engine, health.diagnose(session.index_name, os.environ)):
            findings.append(finding)
            if live:
                bar.close()
                say(session.addressed(_line(finding)))
    if live:
        say(f"\n{_summary(findings)}")
    else:
        _list(findings)
    if any(finding.level == "problem" for finding in findings):
        raise click.exceptions.Exit(1)


@click.command(cls=Command)
@click.option("--dry-run", is_flag=True, help="Show what would be deleted, and change nothing.")
@json_option
@pass_session
def cleanup(session: Session, dry_run: bool, as_json: bool) -> None:
    """Delete unused data and shrink the index file.

    This deletes cached model results, texts and vectors without documents, vectors by unused models, models
    prepared by other versions, and free space. Your files are not changed.

    \b
    Examples:
      qmd cleanup --dry-run
      qmd cleanup
    """
    with Bar("Cleaning", quiet=session.quiet) as bar:
        report = session.index.cleanup(dry_run=dry_run, on_step=lambda step: bar.update(0, None, label=step))
    if as_json:
        from dataclasses import asdict

        show_json(asdict(report))
        return
    rows = [
        (f"{item.count:,}", item.description, human_size(item.bytes) if item.bytes else "")
        for item in report.items
    ]
    for line in columns(rows, right=frozenset({0, 2})):
        say(line)
    say(session.addressed(_outcome(report)))
    for note in report.notes:
        session.note(note)


def _line(finding: Finding) -> str:
    level = f"{finding.level:<7}"
    if has_colours(sys.stdout):
        level = styled(level, _COLOURS[finding.level])
    hint = f" ({one_line(finding.hint)})" if finding.hint else ""
    return f"{level}  {one_line(finding.message)}{hint}"


def _summary(findings: Sequence[Finding]) -> str:
    counts = [
        plural(number, level)
        for level in ("problem", "warning")
        if (number := sum(finding.level == level for finding in findings))
    ]
    return f"{' and '.join(counts)}." if counts else "No problems found."


def _list(findings: Sequence[Finding]) -> None:
    from dataclasses import asdict

    fields = tuple(Column(name) for name in ("level", "check", "message", "hint"))
    show_listing(Listing("findings", "finding", fields, [asdict(finding) for finding in findings]))


def _outcome(report: CleanupReport) -> str:
    if not report.items:
        return "Nothing to clean."
    if report.dry_run:
        return f"Nothing was changed. 'qmd cleanup' would free about {human_size(report.freed)}."
    return f"Freed {human_size(report.freed)}; the index takes {human_size(report.size)}."
