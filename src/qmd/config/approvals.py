"""What the user said of the things that projects ask for: `trusted.json`, by project.

The file lies in the user's own configuration folder, never in a project. An answer is kept under the digest
of exactly what was asked for, so that it holds for nothing else. Every function raises `ConfigError` for a
file that is broken or cannot be used: then nothing is approved.
"""

# os.path throughout, see `paths`.

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from qmd.config.atomic import locked, replace_file
from qmd.config.index_yml import read_bytes
from qmd.errors import ConfigError

Kind = Literal["update", "pull", "path", "model", "store", "context"]
KINDS: frozenset[Kind] = frozenset(get_args(Kind))
#: It holds what was approved in full, of every project.
_MAX_BYTES = 20_000_000


@dataclass(frozen=True, slots=True)
class Permission:
    """Something that a project asks for.

    `update`: to run the command `value` in the folder `where`. `pull`: to pull with git in `value`.
    `path`: to read the folder `value`. `model`: to use the model `value` in the role `where`. `store`: to
    keep the index at the address `value`. `context`: to tell agents that connect `value`. `name` is the
    collection, the role or the place that it is for; it is shown, and is no part of what is approved, so that
    a collection may change its name.
    """

    kind: Kind
    value: str
    where: str = ""
    name: str = field(default="", compare=False)

    @property
    def digest(self) -> str:
        """The SHA-256 of what is asked for, in hexadecimal."""
        import hashlib
        import json

        return hashlib.sha256(json.dumps([self.kind, self.value, self.where]).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Decision:
    """The user's answer to a project, the folder that holds `.qmd`. `when` is ISO 8601 in UTC."""

    project: str
    permission: Permission
    approved: bool
    when: str


def decisions(path: str) -> list[Decision]:
    """All answers in the file at `path`, oldest first within a project; none where there is no file."""
    return _decisions(_content(path), path)


def decide(
    path: str,
    project: str,
    permissions: Iterable[Permission],
    *,
    approved: bool,
    asked: Iterable[Permission],
) -> None:
    """Keep an answer to some of what is `asked`; answers to what the project asks no more are dropped."""
    when = _now()
    given = {each: Decision(project, each, approved, when) for each in permissions}
    others = set(asked) - set(given)

    def change(known: list[Decision]) -> list[Decision]:
        kept = [each for each in known if each.project != project or each.permission in others]
        return [*kept, *given.values()]

    _change(path, change)


def forget(path: str, project: str) -> list[Decision]:
    """Forget the answers to a project; returns them."""
    gone = [each for each in decisions(path) if each.project == project]
    _change(path, lambda known: [each for each in known if each.project != project])
    return gone


def _change(path: str, change: Callable[[list[Decision]], list[Decision]]) -> None:
    import json

    if change(before := decisions(path)) == before:
        return
    with locked(path) as target:
        content = _content(path)
        projects: dict[str, dict[str, Any]] = {}
        for each in change(_decisions(content, path)):
            projects.setdefault(each.project, {})[each.permission.digest] = {
                "kind": each.permission.kind,
                "value": each.permission.value,
                "where": each.permission.where,
                "name": each.permission.name,
                "approved": each.approved,
                "when": each.when,
            }
        # What else the file holds is another program's.
        replace_file(target, json.dumps({**content, "projects": projects}, indent=2).encode() + b"\n")


def _content(path: str) -> dict[str, Any]:
    import json

    data = read_bytes(path, _MAX_BYTES)
    try:
        content = json.loads(data) if data.strip() else {}
    except (ValueError, RecursionError) as error:
        raise _broken(path, f"not readable as JSON: {error}") from error
    if not isinstance(content, dict):
        raise _broken(path, "not a JSON object")
    return content


def _decisions(content: dict[str, Any], path: str) -> list[Decision]:
    projects = content.get("projects", {})
    if not isinstance(projects, dict) or not all(isinstance(each, dict) for each in projects.values()):
        raise _broken(path, "'projects' is not an object of objects")
    return [
        _decision(project, digest, entry, path)
        for project, entries in projects.items()
        for digest, entry in entries.items()
    ]


def _decision(project: str, digest: str, entry: object, path: str) -> Decision:
    match entry:
        case {
            "kind": "update" | "pull" | "path" | "model" | "store" | "context" as kind,
            "value": str(value),
            "where": str(where),
            "name": str(name),
            "approved": bool(approved),
            "when": str(when),
        }:
            permission = Permission(kind, value, where, name)
            # Where they differ, what is shown would not be what is approved.
            if permission.digest == digest:
                return Decision(project, permission, approved, when)
    raise _broken(path, f"the entry {digest[:12]} of {project} is not as it was written")


def _broken(path: str, reason: str) -> ConfigError:
    return ConfigError(
        f"{path}: {reason}.",
        "Mend the file or remove it, then see 'qmd trust'; until then nothing is approved.",
    )


def _now() -> str:
    from datetime import UTC, datetime

    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
