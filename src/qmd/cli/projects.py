"""`init` and `trust`: projects with their own `index.yml`, and what that file may do."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from qmd.cli import approval
from qmd.cli.command import command, group
from qmd.cli.options import all_formats, argument, flag
from qmd.cli.render.rows import Column
from qmd.cli.session import Session
from qmd.cli.show import show_listing, show_steps
from qmd.cli.terminal import can_ask, clean_name, say
from qmd.cli.usage import fail
from qmd.errors import NotFoundError
from qmd.text.wording import exact, local_time, plural

if TYPE_CHECKING:
    from qmd.engine.access.project_trust import Trust


@group("project")
def project(_: Session) -> None:
    """Make a project with its own index, and approve what a project asks for.

    Examples:
      cd ~/code/app && qmd project init
      qmd project trust list
    """


@command()
def init(session: Session) -> None:
    """Make the current folder a project with its own index in .qmd/.

    Commands use that index when they run in the project or a folder below. Nothing is indexed yet. Edit
    .qmd/index.yml to choose the folders; you can commit it, because git ignores the index itself.

    Example:
      cd ~/code/app && qmd project init && qmd update
    """
    from qmd.engine.indexing.project import create_project

    if session.index_name is not None:
        fail("a project's index has no name: run 'qmd project init' without --index")
    collection = create_project(session.folder(), os.environ)
    name, path = clean_name(collection.name), clean_name(collection.path)
    say(f"Created .qmd/index.yml: collection '{name}' is {path} ({collection.selection})")
    show_steps(
        session,
        ("qmd update", "index it and make its vectors"),
        ("qmd add PATH", "add another folder"),
    )


@group("trust", acts_alone=True)
@flag("-y", "--yes", help="Approve without asking.")
def trust(session: Session, subcommand: str | None, yes: bool) -> None:
    """Show what this project's .qmd/index.yml asks for, and approve it.

    The file may come from someone else, with a git checkout. Until you approve it, its update commands and
    'git pull' are not run, its folders outside the project are not read, its models and its store are not
    used, and its contexts are not shown. Everything else works. A setting that changes needs approval
    again. QMD_TRUST_LOCAL_CONFIG=1 approves everything for one run.

    Examples:
      qmd project trust
      qmd project trust --yes
      qmd project trust list
    """
    session.uses = frozenset()
    if subcommand is None:
        _review(session.index.trust, yes=yes)
    elif yes:
        fail("--yes is an option of 'qmd project trust' itself, not of its subcommands")


@trust.command("list")
@all_formats
def list_(session: Session) -> None:
    """List what you approved or declined, for which project and when.

    Examples:
      qmd project trust list
      qmd project trust list --json
    """
    rows = [
        {
            "project": decision.project,
            "kind": decision.permission.kind,
            "name": decision.permission.name,
            "value": decision.permission.value,
            "approved": decision.approved,
            "when": decision.when,
        }
        for decision in session.index.trust.decisions()
    ]
    table = (
        Column("project"),
        Column("kind"),
        Column("name", "For"),
        Column("value", "What", exact),
        Column("approved"),
        Column("when", shown=local_time),
    )
    show_listing("approvals", "approval", table, rows, "Nothing was approved yet.")


@trust.command()
@argument("folder", "[FOLDER]", "folders")
def revoke(session: Session, folder: str | None) -> None:
    """Revoke the approvals of a project: this one, or the one in FOLDER.

    Examples:
      qmd project trust revoke
      qmd project trust revoke ~/code/app
    """
    project, approvals = session.index.trust.revoke(folder)
    say(f"Revoked {plural(approvals, 'approval')} for {clean_name(project)}")


def _review(trust: Trust, *, yes: bool) -> None:
    """Show the permissions that a project still waits for, and ask to approve them."""
    if trust.project is None:
        raise NotFoundError(
            "there is no project here: no .qmd/index.yml in this folder or above it",
            "your own configuration needs no approval; 'qmd project init' makes a project",
        )
    from qmd.config.approvals import KINDS

    requests = trust.asked(KINDS)
    waiting = [permission for permission, approved in requests if not approved]
    if not waiting:
        say(f"{clean_name(trust.project)} asks for nothing that is not approved.")
        say(*approval.described([permission for permission, _ in requests]))
        return
    approval.show(trust, waiting, sys.stdout)
    if yes:
        trust.decide(waiting, approved=True)
    elif not can_ask():
        fail("cannot ask for approval without a terminal: read the above, then run 'qmd project trust --yes'")
    elif not approval.ask(trust, waiting):
        say("Nothing was approved.")
        return
    say("Approved. To take it back, run 'qmd project trust revoke'.")
