"""`keys`: manage the keys of the server of this index."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from qmd.cli.command import group
from qmd.cli.options import all_formats, argument, collection_option, flag
from qmd.cli.render.rows import Column
from qmd.cli.session import Session
from qmd.cli.show import show_listing
from qmd.cli.terminal import say
from qmd.text.wording import local_time

if TYPE_CHECKING:
    from qmd.server.keys import Keys


@group("keys")
def keys() -> None:
    """Manage the keys of the server of this index, and what each key may do.

    Without keys the server answers your programs on this machine. If there is a key, it answers only requests
    with a key (Authorization: Bearer KEY), at /mcp too. Your own commands need no key.

    Examples:
      qmd server keys add laptop
      qmd server keys add agent --agent --collection notes --read-only
      qmd server keys remove agent
    """


@keys.command("add")
@argument("name", "NAME")
@collection_option("Allow only this collection (may be repeated).")
@flag("--read-only", help="Allow no changes.")
@flag("--agent", help="For an agent: mask secrets, and keep away what agents may not see.")
def add(session: Session, name: str, collections: tuple[str, ...], read_only: bool, agent: bool) -> None:
    """Make a key and print it. Save it now: only its digest is stored, so it cannot be shown again.

    A key that is limited to collections, or for an agent, can neither add nor rename collections. At /mcp
    every key is one for an agent. The audit log shows NAME.

    Examples:
      qmd server keys add laptop
      qmd server keys add agent --agent --collection notes --collection work --read-only
      KEY=$(qmd server keys add ci --read-only)
    """
    for collection in collections:
        session.index.collection(collection)
    token = keys_of(session).add(name, collections, read_only=read_only, agent=agent)
    say(token)
    sys.stdout.flush()
    session.note("the key is shown only this once; a client sends it as 'Authorization: Bearer KEY'")


@keys.command("list")
@all_formats
def list_(session: Session) -> None:
    """List the keys of this index and what each may do.

    Examples:
      qmd server keys list
      qmd server keys list --json
    """
    table = (
        Column("name"),
        Column("collections", "Limited to", ", ".join),
        Column("read_only"),
        Column("agent"),
        Column("created", shown=local_time),
    )
    nothing = "No keys: the server of this index answers without one."
    show_listing("keys", "key", table, keys_of(session).all(), nothing)


@keys.command("remove")
@argument("name", "NAME")
def remove(session: Session, name: str) -> None:
    """Remove a key. A running server refuses it from then on.

    Example:
      qmd server keys remove agent
    """
    keys_of(session).remove(name)
    say(f"Removed the key '{name}'")


def keys_of(session: Session) -> Keys:
    """Return the keys of the index."""
    from qmd.server.keys import Keys, keys_path

    return Keys(keys_path(os.environ), session.index_file())
