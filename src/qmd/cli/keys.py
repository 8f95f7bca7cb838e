"""`keys`: who may use the server of this index, and what they may see."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from qmd.cli.command import Command, Group, help_alone
from qmd.cli.options import all_formats, collection_option
from qmd.cli.render.rows import Column, Listing
from qmd.cli.session import Session, pass_session
from qmd.cli.show import show_listing
from qmd.cli.sizes import local_time
from qmd.cli.terminal import say

if TYPE_CHECKING:
    from qmd.server.keys import Keys


@click.group("keys", cls=Group)
@click.pass_context
def keys(ctx: click.Context) -> None:
    """Say who may use the server of this index, and what they may see.

    Without keys the server answers whoever reaches it on this machine. Once there is a key, it answers only
    those who show one (Authorization: Bearer KEY), at /mcp too; your own commands need none.

    \b
    Examples:
      qmd keys add laptop
      qmd keys add agent --collection notes --read-only
      qmd keys remove agent
    """
    help_alone(ctx)


@keys.command("add", cls=Command)
@click.argument("name", metavar="NAME")
@collection_option("Let it see only this collection (may be repeated).")
@click.option("--read-only", is_flag=True, help="Let it change nothing.")
@pass_session
def add(session: Session, name: str, collections: tuple[str, ...], read_only: bool) -> None:
    """Make a key, and print it: only now, since only its digest is kept.

    One that is limited to collections can neither add nor rename any. NAME stands in the audit log.

    \b
    Examples:
      qmd keys add laptop
      qmd keys add agent --collection notes --collection work --read-only
      KEY=$(qmd keys add ci --read-only)
    """
    for each in collections:
        session.index.collection(each)
    token = _keys(session).add(name, collections, read_only=read_only)
    say(token)
    sys.stdout.flush()
    session.note(
        "this is the only time that the key is shown; a client sends it as 'Authorization: Bearer KEY'"
    )


@keys.command("list", cls=Command)
@all_formats
@pass_session
def list_(session: Session) -> None:
    """List the keys of this index, and what each may do.

    \b
    Examples:
      qmd keys list
      qmd keys list --json
    """

    rows = [
        {
            "name": each.name,
            "collections": None if each.collections is None else list(each.collections),
            "read_only": each.read_only,
            "created": each.created,
        }
        for each in _keys(session).all()
    ]
    shown = (
        Column("name"),
        Column("collections", "Limited to", ", ".join),
        Column("read_only"),
        Column("created", shown=local_time),
    )
    show_listing(Listing("keys", "key", shown, rows, "No keys: the server of this index needs none."))


@keys.command("remove", cls=Command)
@click.argument("name", metavar="NAME")
@pass_session
def remove(session: Session, name: str) -> None:
    """Forget a key: a running server lets it in no more.

    \b
    Example:
      qmd keys remove agent
    """
    _keys(session).remove(name)
    say(f"Removed the key '{name}'")


def _keys(session: Session) -> Keys:
    from qmd.server.keys import Keys, keys_path

    return Keys(keys_path(os.environ), session.index_file())
