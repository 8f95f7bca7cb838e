"""`doctor` and `cleanup`: keeping an index whole and small."""

from __future__ import annotations

import os
import sys
from itertools import chain
from typing import TYPE_CHECKING

import click

from qmd.cli.command import Command
from qmd.cli.options import FORMATS, chosen_format, format_options, json_option
from qmd.cli.progress import Bar
from qmd.cli.session import Session, pass_session
from qmd.cli.sizes import counted, human_size
from qmd.cli.terminal import GREEN, RED, YELLOW, columns, has_colours, one_line, say, styled, write_plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qmd.engine.doctor import Finding
    from qmd.engine.upkeep.cleanup import CleanupReport

_COLOURS = {"ok": GREEN, "warning": YELLOW, "problem": RED}


@click.command(cls=Command)
@format_options(*FORMATS)
@pass_session
def doctor(session: Session) -> None:
    """Check the program, configuration, index, models and server, and say how to mend what is wrong.

    Nothing is changed. The exit code is 1 where there is a problem; a warning alone is none.

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
@click.option("--dry-run", is_flag=True, help="Show what would go, and change nothing.")
@json_option
@pass_session
def cleanup(session: Session, dry_run: bool, as_json: bool) -> None:
    """Throw away what nothing uses any more, and make the index file small.

    That is: old answers of models, texts and vectors without documents, vectors by models that are not used,
    models prepared by other versions, unused space. Your files are not touched.

    \b
    Examples:
      qmd cleanup --dry-run
      qmd cleanup
    """
    with Bar("Cleaning", quiet=session.quiet) as bar:
        report = session.index.cleanup(dry_run=dry_run, on_step=lambda step: bar.update(0, None, label=step))
    if as_json:
        from dataclasses import asdict

        from qmd.cli.render.json import dumps

        write_plain(dumps(asdict(report)))
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
        counted(number, level)
        for level in ("problem", "warning")
        if (number := sum(finding.level == level for finding in findings))
    ]
    return f"{' and '.join(counts)}." if counts else "All is well."


def _list(findings: Sequence[Finding]) -> None:
    from dataclasses import asdict

    from qmd.cli.render.rows import Column, Listing
    from qmd.cli.show import show_listing

    shown = tuple(Column(name) for name in ("level", "check", "message", "hint"))
    show_listing(Listing("findings", "finding", shown, [asdict(finding) for finding in findings]))


def _outcome(report: CleanupReport) -> str:
    if not report.items:
        return "Nothing to clean."
    if report.dry_run:
        return f"Nothing was changed. 'qmd cleanup' frees about {human_size(report.freed)}."
    return f"Freed {human_size(report.freed)}; the index takes {human_size(report.size)}."
