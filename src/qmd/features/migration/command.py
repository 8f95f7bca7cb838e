"""`migrate`: take over the collections of tobi/qmd."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from qmd.cli import approval
from qmd.cli.command import command
from qmd.cli.console import current
from qmd.cli.options import argument, chosen_format, flag, json_option, option
from qmd.cli.session import Session
from qmd.cli.show import show_json, show_steps
from qmd.cli.terminal import can_ask, clean_name, columns, one_line, say, write
from qmd.cli.usage import fail
from qmd.text.wording import exact, plural

#: Collections that a question lists.
_SHOWN = 20

if TYPE_CHECKING:
    from qmd.features.migration.migration import MigratedCollection, Migration


@command()
@argument("file", "[INDEX]", "files")
@option("--config FILE", None, "The index.yml of tobi/qmd.", complete="files")
@flag("--with-commands", help="Take over update commands without asking.")
@flag("-y", "--yes", help="Take over all collections without asking.")
@flag("--dry-run", help="Show what would be done, and change nothing.")
@json_option
def migrate(
    session: Session,
    file: str | None,
    config: str | None,
    with_commands: bool,
    yes: bool,
    dry_run: bool,
) -> None:
    """Take over collections, contexts and ignore patterns of tobi/qmd, and show what differs.

    INDEX is an index.sqlite of tobi/qmd, by default that in its usual place. Its files are never changed, and
    collections and contexts that are here already stay as they are. Usually both programs read the same
    index.yml, and there is nothing to copy. Update commands are taken over only if you agree, because
    'qmd update' runs them; without a terminal, --with-commands agrees. Hidden folders, folders that are not
    below your own, and more than 100 collections are taken over only if you agree, or with --yes.

    Examples:
      qmd store migrate --dry-run
      qmd store migrate
      qmd store migrate /mnt/old/index.sqlite --config /mnt/old/index.yml
    """
    from qmd.features.migration.migration import migrate

    session.folder()
    if session.store is not None:
        fail("migrate goes without --store: it changes index.yml only")

    def run(*, dry_run: bool, with_commands: bool) -> Migration:
        return migrate(session.index_name, file, config, dry_run=dry_run, with_commands=with_commands)

    if not (dry_run or yes):
        _require_agreement(run(dry_run=True, with_commands=False))
    if not (dry_run or with_commands) and can_ask():
        with_commands = _agreed(run(dry_run=True, with_commands=True))
    done = run(dry_run=dry_run, with_commands=with_commands)
    if chosen_format() == "json":
        show_json(done)
        return
    for label, path in (("Index:", done.index), ("Config:", done.config), ("Here:", done.target)):
        if path is not None:
            say(f"{label:<9}{clean_name(path)}")
    say("")
    for collection in done.collections:
        say(*_lines(collection, dry_run))
    if not done.collections:
        say("There are no collections.")
    say("", *(one_line(session.addressed(note)) for note in done.notes), _outcome(done, dry_run))
    if not dry_run and (done.changed or done.shared):
        show_steps(session, ("qmd update", "index the collections and make their vectors"))


def _require_agreement(plan: Migration) -> None:
    """Ask whether to take over collections that the user may not want; fail without a yes."""
    from qmd.features.migration.migration import doubtful

    found = doubtful(plan, current().environ)
    if not found:
        return
    rows = [(f"{exact(each.name)}:", exact(each.path)) for each in found[:_SHOWN]]
    more = len(found) - len(rows)
    lines = [f"{plural(len(found), 'collection')} to take over that you may not want to be read:"]
    lines += [f"  {line}" for line in columns(rows)] + ([f"  ... and {more:,} more"] if more else [])
    write("".join(f"{line}\n" for line in lines), sys.stderr)
    if not can_ask():
        fail("cannot ask without a terminal: read the above, then add --yes; nothing was taken over")
    if not approval.confirm("Take them over?"):
        fail("nothing was taken over")


def _agreed(plan: Migration) -> bool:
    """Show the update commands of a plan, and ask whether to take them over."""
    commands = [
        (
            f"{exact(each.name)}:",
            f"in {exact(each.path)}: {exact(each.update)}",
        )
        for each in plan.collections
        if each.update_added and each.update is not None
    ]
    if not commands:
        return False
    lines = ["These commands would run at 'qmd update':", *(f"  {line}" for line in columns(commands))]
    write("".join(f"{line}\n" for line in lines), sys.stderr)
    return bool(approval.confirm("Take them over?"))


def _lines(collection: MigratedCollection, dry_run: bool) -> list[str]:
    words = {
        "shared": "in the index.yml of both",
        "added": "to be added" if dry_run else "added",
        "same": "is here already",
        "differs": "is here already and stays as it is",
        "conflict": "not added",
    }
    place = f"{clean_name(collection.path)} ({clean_name(collection.pattern)})"
    details = [f"differs: {text}" for text in collection.differences]
    if collection.update_added:
        details.append(f"update command: {exact(collection.update or '')}")
    elif collection.action == "added" and collection.update:
        command = exact(collection.update)
        details.append(f"without its update command, which --with-commands takes over: {command}")
    if collection.contexts:
        details.append(f"contexts: {', '.join(collection.contexts)}")
    head = f"{clean_name(collection.name)}: {words[collection.action]}: {place}"
    return [head, *(f"  {one_line(text)}" for text in details)]


def _outcome(done: Migration, dry_run: bool) -> str:
    if done.shared:
        return "Both programs read the same index.yml, so there is nothing to take over."
    if not done.changed:
        return "Nothing to take over."
    would = "would be" if dry_run else "was"
    return f"{clean_name(done.target)} {would} changed; the old files stay as they are."
