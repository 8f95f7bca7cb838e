"""The parts of `Index`: classes of its methods, each imported when one of its methods is first used.

Features and other packages add parts by the group `qmd.parts`, by the names of their methods.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Protocol

from qmd.engine.calls import call
from qmd.engine.workspace import Workspace
from qmd.plugins import Table

if TYPE_CHECKING:
    from qmd.engine.access.rules import Rule
    from qmd.engine.requests import SearchRequest
    from qmd.types import SearchResponse
    from qmd.types.cancelling import Cancelled

    class Searches(Protocol):
        """The methods of the index that a part outside the core uses, beside the workspace."""

        def run(
            self, kind: str, request: SearchRequest, *, cancelled: Cancelled | None = None
        ) -> SearchResponse: ...


class Part:
    """Methods that are those of `Index` as well. They use its workspace, and no other state.

    No two parts have a member of the same name, including names that begin with `_`.

    Attributes:
        _rules: The permissions that its methods ask of a restricted caller. A restricted index lacks methods
            without a rule.
        _calls: What a call of a method is inside of; for an index that counts the calls that run.
    """

    _rules: Mapping[str, Rule] = {}
    _calls: AbstractContextManager[None] = nullcontext()

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def __init_subclass__(cls, *, rule: Rule | None = None) -> None:
        """Let the public methods of a part have a `rule`, unless they have their own in `_rules`."""
        if rule is not None:
            cls._rules = {name: rule for name in vars(cls) if name[0] != "_"} | {**cls._rules}

    @staticmethod
    def _rule_of_part(name: str) -> Rule | None:
        """Return the rule of a method of a part; None if there is no such method."""
        part = None if name.startswith("_") else PARTS.load(name)
        return None if part is None else part._rules.get(name)

    def __getattr__(self, name: str) -> Any:
        """Look a method up in the parts of other packages."""
        part = None if name.startswith("_") else PARTS.load(name)
        if part is None:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        _add_members(type(self), part)
        return getattr(self, name)


#: The methods of `Index` that a search does not need, by their classes.
_PARTS = {
    "collections:CollectionMethods": "collection contexts undescribed",
    "configuring:ConfigurationMethods": """
        add_collection add_context change_collection configure include_collection remove_collection
        remove_context rename_collection set_agents set_gitignore set_pattern set_recency
        set_update_command set_weight
    """,
    "documents.library:DocumentMethods": """
        authors documents explain_no_documents file_on_disk get history multi_get outline recent
        refresh titles_of viewable_file
    """,
    "documents.freshness:FreshnessMethods": "changed_on_disk",
    "documents.fields:FieldMethods": "field_values fields fields_of tags",
    "documents.links:LinkMethods": "backlinks link_lists links orphans unresolved_links",
    "documents.lookup:AbsenceMethods": "absence",
    "marking:MarkMethods": "mark marks marks_digest pin unmark unpin",
    "indexing.update:UpdateMethods": "lacking_vectors rescan update",
    "embedding.embed:EmbeddingMethods": "embed embed_texts missing_vectors",
    "upkeep.status:StatusMethods": "collection_statuses indexed_at status",
    "upkeep.models:ModelMethods": "model_loaded models pull pullable release_models",
    "upkeep.cleanup:CleanupMethods": "cleanup",
    "upkeep.backup:BackupMethods": "backup",
}
PARTS = Table(
    "qmd.parts",
    {name: f"qmd.engine.{part}" for part, names in _PARTS.items() for name in names.split()},
    type,
)


class _Method:
    """Stands for a method of a part. When it is looked up, the part gives all its methods."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._owner, self._name = owner, name

    def __get__(self, instance: object, owner: type) -> Any:
        part = PARTS.load(self._name)
        assert part is not None
        _add_members(self._owner, part)
        return vars(self._owner)[self._name].__get__(instance, owner)


#: A class with the methods of all parts, which are imported on use.
Parts = type("Parts", (Part,), {name: _Method() for name in PARTS.builtin})


def _add_members(owner: type, part: type) -> None:
    for name, member in vars(part).items():
        if not name.startswith("__") and name != "_rules":
            setattr(owner, name, member if name[0] == "_" else call(member))
