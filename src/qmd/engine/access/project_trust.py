"""What a project's own `.qmd/index.yml` may do: all within its folder, the rest as the user approved it.

Such a file comes with a checkout: it is not the user who wrote it. Five of its fields reach further than the
documents beside it: update commands, collections outside the project's folder, models, the store, and
contexts, which agents are told. `git pull` reaches further as well, by the clone's own configuration.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import get_args

from qmd.config import approvals, contexts
from qmd.config.approvals import KINDS, Decision, Kind, Permission
from qmd.config.paths import trust_path
from qmd.errors import NotFoundError
from qmd.models.catalog import DEFAULTS, Role, find_card
from qmd.sources.git import work_tree
from qmd.types import Config

#: Set to 1, it approves whatever the project at hand asks for, for this run.
VARIABLE = "QMD_TRUST_LOCAL_CONFIG"

#: What is taken out of the configuration unless it is approved. The other kinds are asked about when used.
_CONFIGURED: frozenset[Kind] = frozenset({"update", "path", "model", "store"})


class Trust:
    """The user's trust in one project, and in all others that were asked about.

    `written` is what the project's file says; `project` is None where the file in use is the user's own,
    which may do everything. What is asked for is found anew at each call: links may lead elsewhere by now.
    """

    def __init__(self, project: str | None, written: Config, environ: Mapping[str, str]) -> None:
        self.project = None if project is None else os.path.realpath(project)
        self._written = written
        self._environ = environ

    def permitted(self) -> Config:
        """The configuration without what is not approved."""
        return _without(_without_personal(self._written), self.unapproved(_CONFIGURED))

    def asked(self, kinds: Collection[Kind] = KINDS) -> list[tuple[Permission, bool | None]]:
        """What the project asks for, and whether that is approved; None: there is no answer yet."""
        if self.project is None:
            return []
        permissions = [each for each in _asked_by(self._written, self.project, kinds) if each.kind in kinds]
        # Most projects ask for nothing: then no other file is read.
        answers = self._answers() if permissions else {}
        return [(each, answers.get(each)) for each in permissions]

    def unapproved(self, kinds: Collection[Kind] = KINDS) -> list[Permission]:
        """What is asked for and left out. Raises `ConfigError` where the answers cannot be read."""
        if self._environ.get(VARIABLE, "").strip() == "1":
            return []
        return [each for each, approved in self.asked(kinds) if not approved]

    def unpulled(self) -> dict[str, str]:
        """Collections that may not be pulled, and the notice for each."""
        return {each.name: skipped([each]) for each in self.unapproved({"pull"})}

    def notes(self) -> list[str]:
        """What the user should know of what is left out, in a line."""
        left_out = self.unapproved(_CONFIGURED)
        return [skipped(left_out)] if left_out else []

    def decide(self, permissions: Iterable[Permission], *, approved: bool) -> None:
        """Keep the user's answer to some of what the project asks for."""
        if self.project is not None:
            asked = _asked_by(self._written, self.project, KINDS)
            approvals.decide(
                trust_path(self._environ), self.project, permissions, approved=approved, asked=asked
            )

    def approve_typed(self, name: str, kind: Kind) -> None:
        """Approve what the user has just typed, and nothing else: a folder, a command, or a context."""
        typed = [each for each, _ in self.asked({kind}) if each.name == name]
        # No command is an answer too: to the one that was there.
        if typed or kind == "update":
            self.decide(typed, approved=True)

    def decisions(self) -> list[Decision]:
        """The answers to all projects."""
        return approvals.decisions(trust_path(self._environ))

    def revoke(self, folder: str | None = None) -> tuple[str, int]:
        """Forget the answers to a project, this one where no folder is given: (folder, number of approvals).

        Raises `NotFoundError` where there are none.
        """
        project = self.project if folder is None else os.path.realpath(os.path.expanduser(folder))
        if project is None:
            raise NotFoundError(
                "there is no project here: no .qmd/index.yml in this folder or above it",
                "name the project's folder; 'qmd trust list' shows those that were approved",
            )
        forgotten = approvals.forget(trust_path(self._environ), project)
        if not forgotten:
            raise NotFoundError(
                f"nothing is approved for {project}", "'qmd trust list' shows what is approved"
            )
        return project, sum(each.approved for each in forgotten)

    def _answers(self) -> dict[Permission, bool]:
        return {each.permission: each.approved for each in self.decisions() if each.project == self.project}


def skipped(permissions: Sequence[Permission]) -> str:
    """What is left out, in a line."""
    named = ", ".join(map(_named, permissions))
    return f"not approved, so skipped: {named}; 'qmd trust' approves it, without a terminal 'qmd trust --yes'"


def _named(permission: Permission) -> str:
    match permission.kind:
        case "update":
            return f"the update command of '{permission.name}'"
        case "path":
            return f"'{permission.name}', which is outside the project"
        case "model":
            return f"the {permission.name} model '{permission.value}'"
        case "store":
            return f"the store '{permission.value}'"
        case "pull":
            return f"git pull for '{permission.name}'"
        case "context":
            return f"the context of {permission.name}"


def _asked_by(config: Config, project: str, kinds: Collection[Kind]) -> Iterator[Permission]:
    """Everything of these kinds that a project asks for; of the others only what costs nothing to find."""
    # By key, as they are taken out: the copy of the file in a checked-in index may call them anything else.
    for name, collection in config.collections.items():
        folder = os.path.realpath(collection.path)
        if not _is_within(folder, project):
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


def _without(config: Config, refused: Iterable[Permission]) -> Config:
    collections = dict(config.collections)
    models, store = config.models, config.store
    for each in refused:
        match each.kind:
            case "path":
                del collections[each.name]
            case "update" if each.name in collections:
                collections[each.name] = replace(collections[each.name], update=None)
            case "model":
                models = replace(models, **{each.name: None})
            case "store":
                store = None
    return replace(config, collections=collections, models=models, store=store)


def _without_personal(config: Config) -> Config:
    """Return the configuration without settings that only the user's own file may make.

    The content of the key file goes to servers, and the editor's address stands behind every result.
    """
    return replace(config, editor_uri=None, models=replace(config.models, openai_api_key_file=None))


def _is_within(folder: str, project: str) -> bool:
    return folder == project or folder.startswith(os.path.join(project, ""))


def _is_default(model: str, role: Role) -> bool:
    if model.casefold() == "default":
        return True
    if model.casefold().startswith("openai:"):
        return False  # it may be written wrong: whoever uses it says so
    card = find_card(model, role)
    return card is not None and card == DEFAULTS.get(role)
