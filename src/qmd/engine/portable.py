"""Opening a portable index file, which may come from anybody."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import cast

from msgspec.structs import replace

from qmd.config.index_yml import digest, load, parse
from qmd.config.paths import DEFAULT_INDEX, Locations, cache_dir, config_dir
from qmd.config.settings import resolve
from qmd.config.validate import require_file_name
from qmd.engine.access.permissions import Permissions
from qmd.engine.access.restricted import RestrictedIndex
from qmd.engine.index import Index
from qmd.engine.models.provider import ModelProvider
from qmd.engine.workspace import Configuration, Workspace
from qmd.store.sqlite.encryption import Key, needs_passphrase, no_key
from qmd.store.sqlite.portable import PortableStore
from qmd.text.editors import NO_EDITOR
from qmd.types import Collection, Config, Models


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
    variables = os.environ if environ is None else environ
    workspace = _open_workspace(os.fspath(path), passphrase, ask, variables, progress)
    return cast("Index", RestrictedIndex(Index(workspace), workspace.permissions))


def _open_workspace(
    path: str,
    passphrase: str | None,
    ask: Callable[[str], str] | None,
    environ: Mapping[str, str],
    progress: Callable[[str], None] | None = None,
) -> Workspace:
    """Return the workspace of a portable index file.

    The models and servers are those of the user, and there are no files that an editor could open.
    """

    def key(file: str) -> Key:
        identities = environ.get("QMD_IDENTITY", "").strip()
        if not needs_passphrase(file):
            return Key(identities=identities) if identities else no_key(file)
        given = passphrase or environ.get("QMD_PASSPHRASE") or (ask(file) if ask is not None else None)
        return Key(given) if given else no_key(file)

    require_file_name(path)
    path = os.path.abspath(path)
    store = PortableStore(path, key)
    # No file can have this path.
    locations = Locations(path, os.path.join(path, "index.yml"), is_default_index=False, portable=True)
    written = _config_of(store, locations.config)
    own = load(os.path.join(config_dir(environ), f"{DEFAULT_INDEX}.yml"))
    settings = replace(resolve(replace(written, models=own.models), environ), editor_uri=NO_EDITOR)
    return Workspace(
        locations,
        environ,
        PortableConfiguration(locations, written, environ),
        store,
        settings,
        ModelProvider(settings, cache_dir(environ), progress, portable=True),
        permissions=Permissions(read_only=True),
    )


def _config_of(store: PortableStore, path: str) -> Config:
    """Return the configuration of a portable file: what its collections are called and how they are ranked.

    It names no folder, command, model or server. The folders of its collections are below the file itself, so
    no path of a document leads to a file on this machine. Raises `ConfigError` if it is broken.
    """
    data = store.config_text.encode("utf-8", "replace")
    written = parse(data, path)
    collections = {
        name: Collection(
            name,
            os.path.join(store.location, name),
            pattern=item.pattern,
            formats=item.formats,
            context=item.context,
            include_by_default=item.include_by_default,
            remote=item.remote,
            weight=item.weight,
            recency=item.recency,
            watch=False,
        )
        for name, item in written.collections.items()
    }
    return Config(
        path,
        digest(data),
        collections,
        global_context=written.global_context,
        ranking=written.ranking,
        scores=written.scores,
        recency=written.recency,
        fold=written.fold,
        models=Models(),
    )
