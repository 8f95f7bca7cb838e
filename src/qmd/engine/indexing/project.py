"""Projects: folders that have an index of their own, in `.qmd`."""

from __future__ import annotations

import os
from collections.abc import Mapping

from qmd.config import editing
from qmd.config.atomic import replace_file
from qmd.config.paths import PROJECT_FOLDER, check_project, is_home, project_file
from qmd.config.validate import MAX_COLLECTION_NAME, nfc, validate_collection_name
from qmd.errors import ConflictError, SourceError, UsageError
from qmd.types import Collection

# Ignores everything except the configuration, so that the index and lock files stay out of version control.
_GITIGNORE = b"*\n!.gitignore\n!index.yml\n!index.yaml\n"


def create_project(folder: str, environ: Mapping[str, str]) -> Collection:
    """Create `.qmd/index.yml` in a folder, an absolute path, and return its only collection, the folder.

    Nothing is indexed. Raises `UsageError` for the home folder, `ConflictError` if the folder is a project
    already, and `SourceError` or `ConfigError` if the files cannot be written.
    """
    if is_home(environ, folder):
        raise UsageError(
            "the home folder cannot be a project",
            "change to a folder inside it, or use 'qmd add', which accepts any folder",
        )
    existing = project_file(folder)
    if existing is not None:
        raise ConflictError(f"{existing} exists already", "add folders to it with 'qmd add PATH'")
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
    collection = Collection(_name(folder), folder)
    editing.create_project(os.path.join(project, "index.yml"), collection)
    return collection


def _name(folder: str) -> str:
    """Return the folder's name made valid for a collection, or "project" if that is not possible."""
    name = nfc(os.path.basename(folder)).lstrip(". ")[:MAX_COLLECTION_NAME].strip()
    try:
        validate_collection_name(name)
    except UsageError:
        return "project"
    return name
