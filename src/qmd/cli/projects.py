"""`init` and `trust`: projects with an `index.yml` of their own, and what such a file may do."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import IO, TYPE_CHECKING

import click

from qmd.cli import candidates
from qmd.cli.command import Command, Group, fail
from qmd.cli.options import FORMATS, format_options
from qmd.cli.session import Session, pass_session
from qmd.cli.sizes import counted
from qmd.cli.terminal import BOLD, clean_name, columns, has_colours, is_terminal, say, styled, write
from qmd.errors import NotFoundError

if TYPE_CHECKING:
    from qmd.config.approvals import Permission
    from qmd.engine.access.project_trust import Trust


@click.command(cls=Command)
@pass_session
def init(session: Session) -> None:
    """Make the current folder a project, with an index of its own in .qmd/.

    Commands that run in it or below use that index. Nothing is indexed yet; .qmd/index.yml says what will be,
    and may be checked in: the index itself stays out of git.

    \b
    Example:
      cd ~/code/app && qmd init && qmd update
    """
    from qmd.engine.indexing.collections import create_project

    if session.index_name is not None:
        fail("a project's index has no name: leave --index out")
    made = create_project(session.folder(), os.environ)
    name, path = clean_name(made.name), clean_name(made.path)
    say(f"Made .qmd/index.yml: collection '{name}' is {path} ({made.pattern})")
    if session.quiet:
        return
    steps = [
        ("qmd update", "index it"),
        ("qmd embed", "then vsearch and query find by meaning too"),
        ("qmd collection add PATH", "add another folder"),
    ]
    say("\nNext:")
    for line in columns(steps):
        say(f"  {line}")


@click.group("trust", cls=Group)
@click.option("-y", "--yes", is_flag=True, help="Approve without asking.")
@click.pass_context
def trust(ctx: click.Context, yes: bool) -> None:
    """Show what this project's .qmd/index.yml asks for, and approve it.

    Such a file comes with a checkout. Until you approve them, its update commands and 'git pull' are not run,
    its folders outside the project are not read, its models and its store are not used, and agents that
    connect are not told its contexts; all else works. If one of these changes, it has to be approved again.
    QMD_TRUST_LOCAL_CONFIG=1 approves everything for one run.

    \b
    Examples:
      qmd trust
      qmd trust --yes
      qmd trust list
    """
    session = ctx.ensure_object(Session)
    session.uses = frozenset()
    if ctx.invoked_subcommand is None:
        _review(session.index.trust, yes=yes)
    elif yes:
        fail("--yes stands for 'qmd trust' alone")


@trust.command("list")
@format_options(*FORMATS)
@pass_session
def list_(session: Session) -> None:
    """List what was approved, or declined, for which project and when.

    \b
    Examples:
      qmd trust list
      qmd trust list --json
    """
    from qmd.cli.render.rows import Column, Listing
    from qmd.cli.show import show_listing
    from qmd.cli.sizes import local_time

    rows = [
        {
            "project": each.project,
            "kind": each.permission.kind,
            "name": each.permission.name,
            "value": each.permission.value,
            "approved": each.approved,
            "when": each.when,
        }
        for each in session.index.trust.decisions()
    ]
    table = (
        Column("project"),
        Column("kind"),
        Column("name", "For"),
        Column("value", "What", _visible),
        Column("approved"),
        Column("when", shown=local_time),
    )
    show_listing(Listing("approvals", "approval", table, rows, "Nothing was approved yet."))


@trust.command()
@click.argument("folder", required=False, metavar="[FOLDER]", shell_complete=candidates.folders)
@pass_session
def revoke(session: Session, folder: str | None) -> None:
    """Take back what was approved for a project: this one, or the one in FOLDER.

    \b
    Examples:
      qmd trust revoke
      qmd trust revoke ~/code/app
    """
    project, approvals = session.index.trust.revoke(folder)
    say(f"Revoked {counted(approvals, 'approval')} for {clean_name(project)}")


def settle(session: Session, trust: Trust) -> bool:
    """See to what this command would use of a project and may not: ask a person, once, or else say so.

    Returns whether anything was approved.
    """
    left_out = trust.unapproved(session.uses)
    if not left_out or session.quiet:
        return False
    new = [each for each, approved in trust.asked() if approved is None]
    if _can_ask() and not set(left_out).isdisjoint(new):
        _show(trust, new, sys.stderr)
        if _ask(trust, new):
            return True
    # The report of a scan tells of pulls.
    told = [each for each in left_out if each.kind != "pull"]
    if told:
        from qmd.engine.access.project_trust import skipped

        session.note(skipped(told))
    return False


def _review(trust: Trust, *, yes: bool) -> None:
    """Show what a project asks for, and have the rest of it approved."""
    if trust.project is None:
        raise NotFoundError(
            "there is no project here: no .qmd/index.yml in this folder or above it",
            "your own configuration needs no approval; 'qmd init' makes a project",
        )
    asked = trust.asked()
    waiting = [each for each, approved in asked if not approved]
    if not waiting:
        say(f"{clean_name(trust.project)} asks for nothing that is not approved.")
        for line in _described([each for each, _ in asked]):
            say(line)
        return
    _show(trust, waiting, sys.stdout)
    if yes:
        trust.decide(waiting, approved=True)
    elif not _can_ask():
        fail("there is no terminal to ask on: read the above, then approve it with 'qmd trust --yes'")
    elif not _ask(trust, waiting):
        say("Nothing was approved.")
        return
    say("Approved. 'qmd trust revoke' takes it back.")


def _can_ask() -> bool:
    return is_terminal(sys.stdin) and is_terminal(sys.stderr)


def _ask(trust: Trust, permissions: Sequence[Permission]) -> bool:
    """Ask whether to approve; keeps the answer, whichever it is."""
    write("Approve this? [y/N] ", sys.stderr)
    sys.stderr.flush()
    answer = sys.stdin.readline()
    if not answer:  # the input has ended: that is no answer
        write("\n", sys.stderr)
        return False
    approved = answer.strip().lower() in ("y", "yes")
    trust.decide(permissions, approved=approved)
    return approved


def _show(trust: Trust, permissions: Sequence[Permission], stream: IO[str]) -> None:
    title = f"{clean_name(trust.project or '')}/.qmd asks to"
    lines = [styled(title, BOLD) if has_colours(stream) else title, *_described(permissions)]
    write("\n".join(lines) + "\n", stream)


def _described(permissions: Sequence[Permission]) -> list[str]:
    """What is asked for, a line each and complete."""
    lines = []
    for each in permissions:
        match each.kind:
            case "update":
                what = f"run at 'qmd update', in {_visible(each.where)}: {_visible(each.value)}"
            case "path":
                what = f"read the documents in {_visible(each.value)}"
            case "model":
                what = f"use the model {_visible(each.value)}"
            case "store":
                what = f"keep the index, with the documents' texts, at {_visible(each.value)}"
            case "pull":
                what = f"run 'git pull' at 'qmd update --pull', in {_visible(each.value)}"
            case "context":
                what = f"tell agents that connect: {_visible(each.value)}"
        lines.append((f"{_visible(each.name)}:", what))
    return [f"  {line}" for line in columns(lines)]


def _visible(text: str) -> str:
    """The text with everything in it that would not be seen, line breaks too, as escape sequences."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
