"""`init` and `trust`: projects with an `index.yml` of their own, and what such a file may do."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from qmd.cli import approval, candidates
from qmd.cli.command import Command, Group, fail
from qmd.cli.options import all_formats
from qmd.cli.render.rows import Column, Listing
from qmd.cli.session import Session, pass_session
from qmd.cli.show import show_listing
from qmd.cli.sizes import local_time
from qmd.cli.terminal import clean_name, columns, say
from qmd.errors import NotFoundError
from qmd.text.wording import plural

if TYPE_CHECKING:
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
@all_formats
@pass_session
def list_(session: Session) -> None:
    """List what was approved, or declined, for which project and when.

    \b
    Examples:
      qmd trust list
      qmd trust list --json
    """

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
        Column("value", "What", approval.visible),
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
    say(f"Revoked {plural(approvals, 'approval')} for {clean_name(project)}")


def _review(trust: Trust, *, yes: bool) -> None:
    """Show the permissions that a project still waits for, and ask to approve them."""
    if trust.project is None:
        raise NotFoundError(
            "there is no project here: no .qmd/index.yml in this folder or above it",
            "your own configuration needs no approval; 'qmd init' makes a project",
        )
    requests = trust.asked()
    waiting = [permission for permission, approved in requests if not approved]
    if not waiting:
        say(f"{clean_name(trust.project)} asks for nothing that is not approved.")
        for line in approval.described([permission for permission, _ in requests]):
            say(line)
        return
    approval.show(trust, waiting, sys.stdout)
    if yes:
        trust.decide(waiting, approved=True)
    elif not approval.can_ask():
        fail("cannot ask for approval without a terminal: read the above, then run 'qmd trust --yes'")
    elif not approval.ask(trust, waiting):
        say("Nothing was approved.")
        return
    say("Approved. To take it back, run 'qmd trust revoke'.")
