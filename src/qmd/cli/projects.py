"""`init` and `trust`: projects with their own `index.yml`, and the approval of what that file asks for."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict
from typing import IO, TYPE_CHECKING

import click

from qmd.cli import candidates
from qmd.cli.command import Group, command, fail
from qmd.cli.options import all_formats, flag
from qmd.cli.render.rows import Column, Listing
from qmd.cli.session import Session
from qmd.cli.show import show_listing, show_steps
from qmd.cli.sizes import local_time
from qmd.cli.terminal import BOLD, clean_name, columns, is_terminal, painted, say, write
from qmd.errors import NotFoundError
from qmd.text.wording import plural

if TYPE_CHECKING:
    from qmd.config.approvals import Kind, Permission
    from qmd.engine.access.project_trust import Trust

_REQUESTS: dict[Kind, str] = {
    "update": "run at 'qmd update', in {folder}: {value}",
    "path": "read the documents in {value}",
    "model": "use the model {value}",
    "store": "keep the index, including the documents' text, at {value}",
    "pull": "run 'git pull' at 'qmd update --pull', in {value}",
    "context": "show this context to agents that connect: {value}",
}


@command()
def init(session: Session) -> None:
    """Make the current folder a project with its own index in .qmd/.

    Commands use that index when they run in the project or a folder below. Nothing is indexed yet. Edit
    .qmd/index.yml to choose the folders; you can commit it, because git ignores the index itself.

    Example:
      cd ~/code/app && qmd init && qmd update
    """
    from qmd.engine.indexing.collections import create_project

    if session.index_name is not None:
        fail("a project's index has no name: run init without --index")
    collection = create_project(session.folder(), os.environ)
    name, path = clean_name(collection.name), clean_name(collection.path)
    say(f"Created .qmd/index.yml: collection '{name}' is {path} ({collection.pattern})")
    steps = [
        ("qmd update", "index it"),
        ("qmd embed", "make vectors, so that vsearch and query work"),
        ("qmd collection add PATH", "add another folder"),
    ]
    show_steps(session, steps)


@click.group("trust", cls=Group, acts_alone=True)
@flag("-y", "--yes", help="Approve without asking.")
@click.pass_context
def trust(ctx: click.Context, yes: bool) -> None:
    """Show what this project's .qmd/index.yml asks for, and approve it.

    The file may come from someone else, with a git checkout. Until you approve it, its update commands and
    'git pull' are not run, its folders outside the project are not read, its models and its store are not
    used, and agents do not see its contexts. Everything else works. A setting that changes needs approval
    again. QMD_TRUST_LOCAL_CONFIG=1 approves everything for one run.

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
        fail("--yes is an option of 'qmd trust' itself, not of its subcommands")


@trust.subcommand("list")
@all_formats
def list_(session: Session) -> None:
    """List what you approved or declined, for which project and when.

    Examples:
      qmd trust list
      qmd trust list --json
    """
    decisions = session.index.trust.decisions()
    rows = [asdict(decision) | asdict(decision.permission) for decision in decisions]
    fields = (
        Column("project"),
        Column("kind"),
        Column("name", "For"),
        Column("value", "What", visible),
        Column("approved"),
        Column("when", shown=local_time),
    )
    show_listing(Listing("approvals", "approval", fields, rows, "Nothing was approved yet."))


@trust.subcommand()
@click.argument("folder", required=False, metavar="[FOLDER]", shell_complete=candidates.folders)
def revoke(session: Session, folder: str | None) -> None:
    """Revoke the approvals of a project: this one, or the one in FOLDER.

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
        say(*_described([permission for permission, _ in requests]))
        return
    _show(trust, waiting, sys.stdout)
    if yes:
        trust.decide(waiting, approved=True)
    elif not _can_ask():
        fail("cannot ask for approval without a terminal: read the above, then run 'qmd trust --yes'")
    elif not _ask(trust, waiting):
        say("Nothing was approved.")
        return
    say("Approved. To take it back, run 'qmd trust revoke'.")


def review(trust: Trust, uses: Collection[Kind], note: Callable[[str], None]) -> bool:
    """Ask a person to approve what this command would use of a project, or note what it does without.

    A person is asked once per permission. The result says whether anything was approved.
    """
    unapproved = trust.unapproved(uses)
    if not unapproved:
        return False
    undecided = [permission for permission, approved in trust.asked() if approved is None]
    if _can_ask() and not set(unapproved).isdisjoint(undecided):
        _show(trust, undecided, sys.stderr)
        if _ask(trust, undecided):
            return True
    # Pulls are mentioned in the report of the scan.
    skipped = [permission for permission in unapproved if permission.kind != "pull"]
    if skipped:
        from qmd.engine.access import project_trust

        note(project_trust.skipped(skipped))
    return False


def _can_ask() -> bool:
    """Whether a person can read a question and answer it."""
    return is_terminal(sys.stdin) and is_terminal(sys.stderr)


def _ask(trust: Trust, permissions: Sequence[Permission]) -> bool:
    """Ask whether to approve the permissions, and remember the answer."""
    write("Approve this? [y/N] ", sys.stderr)
    sys.stderr.flush()
    answer = sys.stdin.readline()
    if not answer:  # end of input: not an answer, so nothing is remembered
        write("\n", sys.stderr)
        return False
    approved = answer.strip().lower() in ("y", "yes")
    trust.decide(permissions, approved=approved)
    return approved


def _show(trust: Trust, permissions: Sequence[Permission], stream: IO[str]) -> None:
    """Write the project's name and the permissions it asks for."""
    title = painted(f"{clean_name(trust.project or '')}/.qmd asks to", BOLD, stream=stream)
    write("".join(f"{line}\n" for line in [title, *_described(permissions)]), stream)


def _described(permissions: Sequence[Permission]) -> list[str]:
    """Describe each permission completely in one line."""
    rows = []
    for permission in permissions:
        names = {"value": visible(permission.value), "folder": visible(permission.where)}
        rows.append((f"{visible(permission.name)}:", _REQUESTS[permission.kind].format_map(names)))
    return [f"  {line}" for line in columns(rows)]


def visible(text: str) -> str:
    """Return the text with unprintable characters, line breaks included, as escape sequences."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
