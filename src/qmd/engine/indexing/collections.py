"""Adding, changing and removing collections, and the contexts that describe them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping

from qmd.config import contexts, editing
from qmd.config.paths import PROJECT_FOLDER, check_project, is_home, project_file
from qmd.config.validate import MAX_COLLECTION_NAME, nfc, require_unicode, validate_collection_name
from qmd.engine.indexing import scan
from qmd.engine.indexing.update import refuse_to_empty
from qmd.engine.requests import collections_of
from qmd.engine.workspace import Workspace
from qmd.errors import ConflictError, NotFoundError, QmdError, SourceError, UsageError
from qmd.types import Collection, Config, Document

# Ignores everything except the configuration, so that the index and lock files stay out of version control.
_GITIGNORE = b"*\n!.gitignore\n!index.yml\n!index.yaml\n"


def create_project(folder: str, environ: Mapping[str, str]) -> Collection:
    """Create `.qmd/index.yml` in a folder, with the folder as its only collection. Nothing is indexed.

    Args:
        folder: An absolute path.
        environ: Environment variables, which name the home folder.

    Returns:
        The collection.

    Raises:
        UsageError: If the folder is the home folder.
        ConflictError: If the folder is already a project.
        SourceError: If `.qmd` cannot be created.
        ConfigError: If `index.yml` cannot be written.
    """
    from qmd.config.atomic import replace_file

    if is_home(environ, folder):
        raise UsageError(
            "the home folder cannot be a project",
            "change to a folder inside it, or use 'qmd collection add', which accepts any folder",
        )
    existing = project_file(folder)
    if existing is not None:
        raise ConflictError(f"{existing} exists already", "add folders to it with 'qmd collection add PATH'")
    project = os.path.join(folder, PROJECT_FOLDER)
    try:
        os.makedirs(project, exist_ok=True)
    except OSError as error:
        raise SourceError(
            f"{project} cannot be created: {error.strerror}",
            "check that you can write to the folder, and that no file has this name",
        ) from error
    check_project(folder)
    gitignore = os.path.join(project, ".gitignore")
    if not os.path.lexists(gitignore):
        replace_file(gitignore, _GITIGNORE)
    collection = Collection(_project_name(folder), folder)
    editing.create_project(os.path.join(project, "index.yml"), collection)
    return collection


def new_collection(
    path: str, name: str | None, pattern: str, ignore: tuple[str, ...], encoding: str | None
) -> Collection:
    """Return a collection of a folder. Its name defaults to the folder's name.

    Raises `SourceError` if the folder is missing or cannot be listed.
    """
    require_unicode(path)
    folder = os.path.abspath(os.path.expanduser(path))
    if not os.path.isdir(folder):
        state = "is not a folder" if os.path.exists(folder) else "does not exist"
        raise SourceError(f"{path} {state}", "give the path of a folder that contains documents")
    if not os.access(folder, os.R_OK | os.X_OK):
        raise SourceError(f"{path} cannot be read: permission denied", "check the folder's permissions")
    name = name if name is not None else os.path.basename(folder)
    return Collection(nfc(name), folder, pattern, ignore, encoding=encoding)


def add(workspace: Workspace, collection: Collection, on_progress: scan.OnProgress | None) -> scan.ScanReport:
    """Add a collection to the configuration and index it. On an error nothing has changed."""
    # Refuse an unusable pattern before anything is written.
    scan.check(collection)
    refuse_to_empty(workspace)
    path, store = workspace.locations.config, workspace.store
    written = editing.add_collection(path, collection)
    try:
        workspace.edited(written)
    except QmdError:
        workspace.configuration.adopt(editing.remove_collection(path, collection.name))
        raise
    workspace.configuration.trust.approve_typed(collection.name, "path")
    report = scan.scan(store, written.collections[collection.name], on_progress, owner=path)
    store.documents.refresh_statistics()
    return report


def remove(workspace: Workspace, name: str) -> int:
    """Remove a collection from the configuration and the index; return the number of its documents."""
    collections_of(workspace.configuration.read(), [name])
    workspace.configuration.adopt(editing.remove_collection(workspace.locations.config, name))
    removed = workspace.store.collections.remove(name)
    workspace.sync()
    return removed


def rename(workspace: Workspace, old: str, new: str) -> None:
    """Rename a collection in the configuration and the index."""
    collections_of(workspace.configuration.read(), [old])
    workspace.configuration.adopt(editing.rename_collection(workspace.locations.config, old, nfc(new)))
    workspace.store.collections.rename(old, nfc(new))
    workspace.sync()


def include(workspace: Workspace, name: str, included: bool) -> None:
    """Say whether searches that name no collection cover this one."""
    workspace.edited(editing.set_include(workspace.locations.config, name, included))


def set_update_command(workspace: Workspace, name: str, command: str | None) -> None:
    """Set the shell command that `update` runs first, and approve it."""
    workspace.edited(editing.set_update_command(workspace.locations.config, name, command))
    workspace.configuration.trust.approve_typed(nfc(name), "update")


def add_context(workspace: Workspace, target: str, text: str) -> str:
    """Describe a place and approve the text; return the place as a `qmd://` URI."""
    collection, prefix = context_target(workspace.config, target)
    workspace.edited(editing.set_context(workspace.locations.config, collection, prefix, text))
    uri = contexts.context_uri(collection, prefix)
    workspace.configuration.trust.approve_typed(uri, "context")
    return uri


def remove_context(workspace: Workspace, target: str) -> str:
    """Remove the description of a place; return the place as a `qmd://` URI."""
    collection, prefix = context_target(workspace.config, target)
    workspace.edited(editing.remove_context(workspace.locations.config, collection, prefix))
    return contexts.context_uri(collection, prefix)


def context_target(config: Config, target: str) -> tuple[str | None, str]:
    """Resolve the target of a context: `/`, a `qmd://` URI, or a path on disk.

    Returns:
        The collection, or None for all collections, and the path prefix in it.

    Raises:
        NotFoundError: If the path is in no collection.
        CollectionNotFoundError: If the URI names an unknown collection.
    """
    require_unicode(target)
    if target == "/" or target.startswith("qmd://"):
        collection, prefix = contexts.parse_context_target(target)
        if collection is not None:
            collections_of(config, [collection])
        return collection, prefix
    # `realpath` raises for a path with a NUL, which can be in no collection.
    path = os.path.realpath(os.path.expanduser(target)) if "\0" not in target else target
    roots = {os.path.realpath(collection.path): collection.name for collection in config.collections.values()}
    for root in sorted(roots, key=len, reverse=True):
        if path == root or path.startswith(root.rstrip(os.sep) + os.sep):
            return roots[root], nfc(path[len(root) :].strip(os.sep).replace(os.sep, "/"))
    raise NotFoundError(
        f"{target} is in no collection",
        "add its folder with 'qmd collection add', or give an address such as qmd://collection/path",
    )


def undescribed(config: Config, documents: Iterable[Document]) -> list[tuple[str, int]]:
    """Return (`qmd://` URI, number of documents) of collections and top-level folders without a context."""
    counts: Counter[tuple[str, str]] = Counter()
    for document in documents:
        counts[document.collection, ""] += 1
        folder, slash, _ = document.path.partition("/")
        if slash:
            counts[document.collection, folder] += 1
    return [
        (contexts.context_uri(collection, folder), count)
        for (collection, folder), count in counts.items()
        if folder not in config.collections[collection].context
    ]


def _project_name(folder: str) -> str:
    """Return the folder's name made valid for a collection, or "project" if that is not possible."""
    name = nfc(os.path.basename(folder)).lstrip(". ")[:MAX_COLLECTION_NAME].strip()
    try:
        validate_collection_name(name)
    except UsageError:
        return "project"
    return name
