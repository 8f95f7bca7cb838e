"""The user's decisions about the permissions that projects request: `trusted.json`, by project.

The file is in the user's configuration folder, never in a project. A decision is stored under the digest of
the permission, so a changed permission needs a new decision. Every public function raises `ConfigError` if
the file is broken or cannot be read or written; nothing is approved then.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any, Literal, get_args

from msgspec import Struct, ValidationError, convert, to_builtins
from msgspec.structs import astuple

from qmd.config.atomic import locked, replace_file
from qmd.config.index_yml import read_bytes
from qmd.errors import ConfigError
from qmd.text.digest import sha256

Kind = Literal["update", "pull", "path", "model", "store", "context", "marks", "hook"]
KINDS: frozenset[Kind] = frozenset(get_args(Kind))
#: The file contains the full text of the approved permissions of all projects.
_MAX_BYTES = 20_000_000


class Permission(Struct, frozen=True, eq=False):
    """A permission that a project requests.

    `update` runs the command `value` in the folder `where`; `pull` runs git pull in the folder `value`;
    `path` reads the folder `value`; `model` uses the model `value` in the role `where`; `store` keeps the
    index at the address `value`; `context` sends `value` to connected agents; `marks` applies the pins and
    marks whose number and digest are `value`; `hook` gives agents passages of the project in the folder
    `value` without being asked.
    """

    kind: Kind
    value: str
    where: str = ""
    #: The collection or role, for display. Not compared, so a collection can be renamed.
    name: str = ""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Permission) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    @property
    def digest(self) -> str:
        """The SHA-256 of kind, value and where, in hexadecimal."""
        return sha256(json.dumps([self.kind, self.value, self.where]).encode())


class _Answer(Permission, frozen=True, eq=False, kw_only=True):
    """A permission as it is stored, by project and digest."""

    approved: bool
    when: str


class Decision(Struct, frozen=True):
    """The user's decision about a permission."""

    project: str  # the folder that contains `.qmd`
    permission: Permission
    approved: bool
    when: str  # ISO 8601 in UTC


def decisions(path: str) -> list[Decision]:
    """Return all decisions in the file at `path`, oldest first by project; [] if there is no file."""
    return _decisions(_content(path), path)


def decide(
    path: str, project: str, permissions: Iterable[Permission], *, approved: bool, asked: Iterable[Permission]
) -> None:
    """Store a decision about some permissions of a project.

    `asked` are all permissions that the project requests now. Decisions about others are removed.
    """
    when = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    new = {permission: Decision(project, permission, approved, when) for permission in permissions}
    unchanged = set(asked) - set(new)

    def change(existing: list[Decision]) -> list[Decision]:
        remaining = [item for item in existing if item.project != project or item.permission in unchanged]
        return [*remaining, *new.values()]

    _change(path, change)


def forget(path: str, project: str) -> list[Decision]:
    """Remove the decisions about a project and return them."""
    removed = [decision for decision in decisions(path) if decision.project == project]
    _change(path, lambda existing: [decision for decision in existing if decision.project != project])
    return removed


def _change(path: str, change: Callable[[list[Decision]], list[Decision]]) -> None:
    if change(before := decisions(path)) == before:
        return
    with locked(path) as target:
        content = _content(path)
        projects: dict[str, dict[str, Any]] = {}
        for decision in change(_decisions(content, path)):
            permission = decision.permission
            answer = _Answer(*astuple(permission), approved=decision.approved, when=decision.when)
            projects.setdefault(decision.project, {})[permission.digest] = to_builtins(answer)
        # Other keys of the file may belong to another program, so they stay.
        replace_file(target, json.dumps({**content, "projects": projects}, indent=2).encode() + b"\n")


def _content(path: str) -> dict[str, Any]:
    data = read_bytes(path, _MAX_BYTES)
    try:
        content = json.loads(data) if data.strip() else {}
    except (ValueError, RecursionError) as error:
        raise _broken(path, f"not valid JSON: {error}") from error
    if not isinstance(content, dict):
        raise _broken(path, "not a JSON object")
    return content


def _decisions(content: dict[str, Any], path: str) -> list[Decision]:
    try:
        projects = convert(content.get("projects", {}), dict[str, dict[str, _Answer]])
    except ValidationError as error:
        raise _broken(path, str(error)) from error
    found = []
    for project, answers in projects.items():
        for digest, answer in answers.items():
            permission = Permission(answer.kind, answer.value, answer.where, answer.name)
            # If they differ, the permission displayed to the user is not the approved one.
            if permission.digest != digest:
                raise _broken(path, f"the entry {digest[:12]} of {project} has been modified")
            found.append(Decision(project, permission, answer.approved, answer.when))
    return found


def _broken(path: str, reason: str) -> ConfigError:
    return ConfigError(
        f"{path}: {reason}.",
        "nothing is approved while the file is broken: correct or remove it",
    )
