"""Apply the configuration of a project as far as the user has approved it.

A project's `.qmd/index.yml` comes with a checkout, so somebody else may have written it. Some of its fields
have effects outside the folder of the project, so they need approval: update commands, collections in other
folders, models, the store, contexts, which agents read, and pins and marks, which change what searches find.
`git pull` needs it too, because a clone has a configuration of its own that can run commands.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import get_args

from msgspec.structs import replace

from qmd.config import approvals, contexts, marks_file
from qmd.config.approvals import KINDS, Decision, Kind, Permission
from qmd.config.index_yml import digest
from qmd.config.paths import marks_path, trust_path
from qmd.errors import ConfigError, NotFoundError
from qmd.models.catalog import DEFAULTS, Role, find_card
from qmd.sources.clone import work_tree
from qmd.sources.paths import is_inside
from qmd.types import Config

#: If this environment variable is 1, everything that the current project asks for is approved for this run.
VARIABLE = "QMD_TRUST_LOCAL_CONFIG"

_DESCRIPTIONS: Mapping[Kind, str] = {
    "update": "the update command of '{name}'",
    "path": "'{name}', which is outside the project",
    "model": "the {name} model '{value}'",
    "store": "the store '{value}'",
    "pull": "git pull for '{name}'",
    "context": "the context of {name}",
    "marks": "its pins and marks",
    "hook": "its documents, for the hooks of agents",
}
#: Removed from the configuration unless approved. The other kinds are checked when they are used.
_CONFIGURED: frozenset[Kind] = frozenset({"update", "path", "model", "store", "context"})
#: What commands use of a project. Hooks, which every project may ask for, are approved by
#: `qmd project trust` alone.
USED: frozenset[Kind] = KINDS - {"hook"}


class Trust:
    """The approvals of one project, and of all others.

    `project` is its folder; None for the user's own configuration, which needs no approval. `written` is the
    content of the configuration file. What it asks for is found at each call, because links may have changed.
    """

    def __init__(self, project: str | None, written: Config, environ: Mapping[str, str]) -> None:
        self.project = None if project is None else os.path.realpath(project)
        self._written = written
        self._environ = environ

    def permitted(self) -> Config:
        """Return the configuration without its unapproved parts."""
        return _without(_without_personal(self._written), self.unapproved(_CONFIGURED))

    def asked(self, kinds: Collection[Kind] = USED) -> list[tuple[Permission, bool | None]]:
        """List the permissions that the project asks for, and whether each is approved; None if undecided."""
        if self.project is None:
            return []
        requested = _requested_by(self._written, self.project, kinds)
        permissions = [permission for permission in requested if permission.kind in kinds]
        if not permissions:
            return []  # so do most projects, and the file of approvals need not be read
        decisions = {
            decision.permission: decision.approved
            for decision in self.decisions()
            if decision.project == self.project
        }
        return [(permission, decisions.get(permission)) for permission in permissions]

    def unapproved(self, kinds: Collection[Kind] = USED) -> list[Permission]:
        """List the permissions that are not approved. Raises `ConfigError` if approvals cannot be read."""
        if self.approves_all:
            return []
        return [permission for permission, approved in self.asked(kinds) if not approved]

    def approved(self, permission: Permission) -> bool:
        """Tell whether the user has approved a permission. Ignores the environment."""
        return any(
            decision.approved and decision.project == self.project and decision.permission == permission
            for decision in self.decisions()
        )

    @property
    def approves_all(self) -> bool:
        """True if everything is approved for this run, or because the configuration is the user's own."""
        return self.project is None or self._environ.get(VARIABLE, "").strip() == "1"

    def unpulled(self, *, told: bool) -> dict[str, str]:
        """Return the collections that may not be pulled, with a message for each, as of `skipped`."""
        return {each.name: skipped([each], told=told) for each in self.unapproved({"pull"})}

    def notes(self) -> list[str]:
        """Return a message about the parts that are left out of the configuration, if there are any."""
        left_out = self.unapproved(_CONFIGURED)
        return [skipped(left_out)] if left_out else []

    def decide(self, permissions: Iterable[Permission], *, approved: bool) -> None:
        """Store the decision of the user about some permissions."""
        if self.project is not None:
            path, asked = trust_path(self._environ), _requested_by(self._written, self.project, KINDS)
            approvals.decide(path, self.project, permissions, approved=approved, asked=asked)

    def approve_typed(self, name: str, kind: Kind) -> None:
        """Approve only the folder, command or context that the user has just typed."""
        typed = [permission for permission, _ in self.asked({kind}) if permission.name == name]
        # Removing the command also decides about the previous one.
        if typed or kind == "update":
            self.decide(typed, approved=True)

    def decisions(self) -> list[Decision]:
        """List the decisions about all projects."""
        return approvals.decisions(trust_path(self._environ))

    def revoke(self, folder: str | None = None) -> tuple[str, int]:
        """Forget the decisions about a project, by default this one; return its folder and the approvals.

        Raises `NotFoundError` if there are none.
        """
        project = self.project if folder is None else os.path.realpath(os.path.expanduser(folder))
        if project is None:
            raise NotFoundError(
                "there is no project here: no .qmd/index.yml in this folder or above it",
                "name the project's folder; 'qmd project trust list' shows those that were approved",
            )
        removed = approvals.forget(trust_path(self._environ), project)
        if not removed:
            raise NotFoundError(
                f"nothing is approved for {project}", "'qmd project trust list' shows what is approved"
            )
        return project, sum(decision.approved for decision in removed)


def skipped(permissions: Sequence[Permission], *, told: bool = True) -> str:
    """Return a message that names unapproved permissions, and, if it is `told`, what approves them."""
    named = ", ".join(
        _DESCRIPTIONS[permission.kind].format(name=permission.name, value=permission.value)
        for permission in permissions
    )
    how = "'qmd project trust' approves it, without a terminal 'qmd project trust --yes'"
    return f"not approved, so skipped: {named}" + (f"; {how}" if told else "")


def _requested_by(config: Config, project: str, kinds: Collection[Kind]) -> Iterator[Permission]:
    """Yield the permissions that a project asks for: all of these kinds, and cheap ones."""
    # Names are the keys, because `_without` removes by key: a checked-in index may contain a copy of the
    # configuration in which a collection has another name than its key.
    for name, collection in config.collections.items():
        folder = os.path.realpath(collection.path)
        if not is_inside(folder, project):
            yield Permission("path", folder, name=name)
        if collection.update:
            yield Permission("update", collection.update, folder, name)
        if "pull" in kinds and (clone := work_tree(folder)) is not None:
            yield Permission("pull", clone, name=name)
    for role in get_args(Role):
        model = getattr(config.models, role)
        if model is not None and not _is_default(model, role):
            yield Permission("model", model, role, role)
    if config.store is not None:
        yield Permission("store", config.store, name="index")
    for place, text in contexts.list_contexts(config):
        yield Permission("context", text, name=place)
    if "marks" in kinds and (marks := _marks(config)) is not None:
        yield marks
    if "hook" in kinds and config.collections:
        yield Permission("hook", project, name="hooks")


def marks_permission(data: bytes, entries: Sequence[marks_file.MarkEntry]) -> Permission:
    """Return the permission to use the pins and marks in the bytes of a file."""
    pins = sum(len(entry.files.get("pin", ())) for entry in entries)
    others = sum(len(files) for entry in entries for files in entry.files.values()) - pins
    value = f"{pins} pinned and {others} marked documents, SHA-256 {digest(data)}"
    return Permission("marks", value, name="pins and marks")


def _marks(config: Config) -> Permission | None:
    """Return the permission that a project's pins and marks need; None if there are none to use."""
    path = marks_path(config.path)
    try:
        data = marks_file.read(path)
        entries = marks_file.parse(data, path)
    except ConfigError:
        return None  # searches do not use a broken file, and say so
    return marks_permission(data, entries) if entries else None


def _without(config: Config, refused: Iterable[Permission]) -> Config:
    collections = dict(config.collections)
    models, store = config.models, config.store
    described = {place for place, _ in contexts.list_contexts(config)}
    for permission in refused:
        match permission.kind:
            case "path":
                del collections[permission.name]
            case "update" if permission.name in collections:
                collections[permission.name] = replace(collections[permission.name], update=None)
            case "model":
                models = replace(models, **{permission.name: None})
            case "store":
                store = None
            case "context":
                described.discard(permission.name)
    return contexts.only(replace(config, collections=collections, models=models, store=store), described)


def _without_personal(config: Config) -> Config:
    """Return the configuration without settings that only the user's own file may make.

    The content of the key file is sent to servers, and the address of the editor is the link of every result.
    """
    return replace(config, editor_uri=None, models=replace(config.models, openai_api_key_file=None))


def _is_default(model: str, role: Role) -> bool:
    if model.casefold() == "default":
        return True
    if model.casefold().startswith("openai:"):
        return False  # it may be malformed; using it raises the error
    card = find_card(model, role)
    return card is not None and card == DEFAULTS.get(role)
