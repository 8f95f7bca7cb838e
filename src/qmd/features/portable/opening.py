"""Opening a portable index file, which may come from anybody."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import cast

from msgspec.structs import replace

from qmd.config.index_yml import digest, load, parse
from qmd.config.locations import Locations
from qmd.config.paths import DEFAULT_INDEX, cache_dir, config_dir
from qmd.config.settings import resolve
from qmd.config.validate import require_file_name
from qmd.engine.access.permissions import Permissions
from qmd.engine.access.restricted import RestrictedIndex
from qmd.engine.calls import check_values
from qmd.engine.index import Index
from qmd.engine.models.provider import ModelProvider
from qmd.engine.workspace import Configuration, Workspace
from qmd.features.portable.exporting import portable_part
from qmd.features.portable.store import PortableStore
from qmd.store.sqlite.encryption import EncryptionKey, needs_passphrase, no_key
from qmd.text.uris import NO_EDITOR
from qmd.types import Config


class PortableConfiguration(Configuration):
    """The configuration in a portable file, which never changes."""

    def read(self) -> Config:
        return self.written


def open_index_file(
    path: str | os.PathLike[str],
    *,
    passphrase: str | None = None,
    environ: Mapping[str, str] | None = None,
    progress: Callable[[str], None] | None = None,
    ask: Callable[[str], str] | None = None,
) -> Index:
    """Open a portable index file, which `Index.export` made, to read it. Nothing is written beside it.

    The file may come from anybody: only words, vectors, texts and the names of collections are taken from it,
    and the models are those of the user.

    Args:
        path: The file.
        passphrase: Decrypts the file if it is encrypted; by default `QMD_PASSPHRASE`. A file that is
            encrypted for recipients needs `QMD_IDENTITY`, a file with an age identity or a private SSH key.
        environ: Environment variables; by default those of the process.
        progress: Called with a line of text about work that takes long.
        ask: Returns the passphrase if none is given; called with the path.

    Raises:
        ForeignIndexError: The file is no index, or a newer version made it.
        StoreError: The file is missing, damaged, not portable, or cannot be decrypted.
    """
    check_values(open_index_file.__annotations__, {"path": path, "passphrase": passphrase})
    variables = os.environ if environ is None else environ

    def key(file: str) -> EncryptionKey:
        identities = variables.get("QMD_IDENTITY", "").strip()
        if not needs_passphrase(file):
            return EncryptionKey(identities=identities) if identities else no_key(file)
        given = passphrase or variables.get("QMD_PASSPHRASE") or (ask(file) if ask is not None else None)
        return EncryptionKey(given) if given else no_key(file)

    require_file_name(os.fspath(path))
    file = os.path.abspath(os.fspath(path))
    store = PortableStore(file, key)
    # No file can have this path.
    locations = Locations(file, os.path.join(file, "index.yml"), is_default_index=False, portable=True)
    data = store.config_text.encode("utf-8", "replace")
    stated = parse(data, locations.config)
    # The folders of its collections are below the file itself, so no path leads to a file on this machine.
    written = replace(
        portable_part(stated, stated.collections, store.location), path=stated.path, digest=digest(data)
    )
    own = load(os.path.join(config_dir(variables), f"{DEFAULT_INDEX}.yml"))
    settings = replace(resolve(replace(written, models=own.models), variables), editor_uri=NO_EDITOR)
    permissions = Permissions(read_only=True)
    workspace = Workspace(
        locations,
        variables,
        PortableConfiguration(locations, written, variables),
        store,
        settings,
        ModelProvider(settings, cache_dir(variables), progress, portable=True),
        permissions=permissions,
    )
    return cast("Index", RestrictedIndex(Index(workspace), permissions))
