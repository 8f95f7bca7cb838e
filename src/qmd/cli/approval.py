"""Ask on the terminal whether to approve the wishes of a project's configuration."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import IO, TYPE_CHECKING

from qmd.cli.console import current
from qmd.cli.terminal import BOLD, can_ask, clean_name, columns, painted, write
from qmd.text.wording import exact

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
    "marks": "let its pins and marks change what searches show first: {value}",
    "hook": "give agents passages of its documents by 'qmd hook'",
}


def review(trust: Trust, uses: Collection[Kind], note: Callable[[str], None], *, agent: bool) -> bool:
    """Ask a person to approve what this command would use of a project, or note what it does without.

    A person is asked once per permission, and an agent is never told how to approve it. The result says
    whether anything was approved.
    """
    unapproved = trust.unapproved(uses)
    if not unapproved:
        return False
    undecided = [permission for permission, approved in trust.asked() if approved is None]
    if can_ask() and not agent and not set(unapproved).isdisjoint(undecided):
        show(trust, undecided, current().stderr)
        if ask(trust, undecided):
            return True
    # Pulls are mentioned in the report of the scan.
    skipped = [permission for permission in unapproved if permission.kind != "pull"]
    if skipped:
        from qmd.engine.access import project_trust

        note(project_trust.skipped(skipped, told=not agent))
    return False


def ask(trust: Trust, permissions: Sequence[Permission]) -> bool:
    """Ask whether to approve the permissions, and remember the answer."""
    approved = confirm("Approve this?")
    if approved is not None:
        trust.decide(permissions, approved=approved)
    return bool(approved)


def confirm(question: str) -> bool | None:
    """Ask a question on stderr; the answer is None at the end of input, which is no answer."""
    write(f"{question} [y/N] ", current().stderr)
    current().stderr.flush()
    answer = current().stdin.readline()
    if not answer:
        write("\n", current().stderr)
        return None
    return answer.strip().lower() in ("y", "yes")


def show(trust: Trust, permissions: Sequence[Permission], stream: IO[str]) -> None:
    """Write the project's name and the permissions it asks for."""
    title = painted(f"{clean_name(trust.project or '')}/.qmd asks to", BOLD, stream=stream)
    write("".join(f"{line}\n" for line in [title, *described(permissions)]), stream)


def described(permissions: Sequence[Permission]) -> list[str]:
    """Describe each permission completely in one line."""
    rows = []
    for permission in permissions:
        names = {"value": exact(permission.value), "folder": exact(permission.where)}
        rows.append((f"{exact(permission.name)}:", _REQUESTS[permission.kind].format_map(names)))
    return [f"  {line}" for line in columns(rows)]
