"""The resources of an open index, which everything in the engine works with."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from math import inf
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field
from msgspec.structs import replace

from qmd.config.index_yml import digest, parse, read_bytes
from qmd.config.locations import Locations
from qmd.config.paths import cache_dir, check_project
from qmd.config.settings import Settings, busy_timeout_ms, resolve
from qmd.config.validate import require_file_name
from qmd.engine.access.masks import masker_of, store_for_agents
from qmd.engine.access.permissions import Permissions
from qmd.engine.models.provider import ModelProvider
from qmd.engine.opening import beside_foreign, read_store_url, require_place, unknown_keys
from qmd.store.base import Store
from qmd.store.opening import open_store
from qmd.system import lower_priority
from qmd.types import Config

if TYPE_CHECKING:
    from qmd.engine.access.masks import Masker
    from qmd.engine.access.project_trust import Trust


class Configuration:
    """The configuration file of an index, parsed again only if its content has changed.

    `written` is the content when it was last read or edited, including what is not approved.
    """

    def __init__(self, locations: Locations, written: Config, environ: Mapping[str, str]) -> None:
        self._locations = locations
        self.written = written
        self._environ = environ
        self._lock = threading.RLock()

    def read(self) -> Config:
        """Return the content of the file as it is now. Raises `ConfigError` if the file is broken."""
        if self._locations.project is not None:
            # A pull may have brought a link since the index was opened.
            check_project(self._locations.project)
        data = read_bytes(self._locations.config)
        with self._lock:
            if digest(data) != self.written.digest:
                self.written = parse(data, self._locations.config)
            return self.written

    def adopt(self, written: Config) -> None:
        """Use the content that the file has after an edit."""
        with self._lock:
            self.written = written

    @property
    def trust(self) -> Trust:
        """The requests of a project's file, and those that the user has approved."""
        from qmd.engine.access.project_trust import Trust

        return Trust(self._locations.project, self.written, self._environ)

    def permitted(self) -> Config:
        """Return the content of the file as last read, without the requests that are not approved."""
        return self.written if self._locations.project is None else self.trust.permitted()


class Traffic:
    """When the index was last searched here: what runs in the background lets searches go first."""

    def __init__(self) -> None:
        self._last = -inf

    def note(self) -> None:
        """Note that there is a search now."""
        self._last = time.monotonic()

    def rest(self) -> float:
        """Return the seconds since the last one."""
        return time.monotonic() - self._last


class Workspace(Struct, frozen=True):
    """The files, store, settings and models of an open index, and the permissions of the caller."""

    locations: Locations  #: The files of the index
    environ: Mapping[str, str]
    configuration: Configuration
    store: Store
    settings: Settings  #: The settings from the configuration and the environment
    models: ModelProvider  #: The models that the settings name
    notes: list[str] = field(default_factory=list)  #: Messages for the user, a line each
    permissions: Permissions = field(default_factory=Permissions)  #: What the caller may see and change
    traffic: Traffic = field(default_factory=Traffic)

    @property
    def config(self) -> Config:
        """The permitted part of the configuration, read again if the file has changed."""
        self.configuration.read()
        return self.permissions.visible(self.configuration.permitted())

    @property
    def masker(self) -> Masker:
        """The masks of secrets, by the configuration as last read."""
        return masker_of(self.configuration.written)

    @property
    def cache_dir(self) -> str:
        """The folder of models and other files that can be made again."""
        return cache_dir(self.environ)

    def seen_with(self, permissions: Permissions) -> Workspace:
        """Return the workspace of a caller with these permissions."""
        if not permissions.agent or self.permissions.agent:
            return replace(self, permissions=permissions)
        store = store_for_agents(self.store, lambda: self.masker)
        return replace(self, permissions=permissions, store=store)

    def edit(self, edit: Callable[..., Config], *values: Any) -> Config:
        """Edit the configuration by a function of `editing`, also in the store, and return it."""
        with self.editing(edit, *values) as written:
            self.sync()
        return written

    @contextmanager
    def editing(self, edit: Callable[..., Config], *values: Any) -> Iterator[Config]:
        """Edit the configuration, and yield it. If the block fails, the file stays as it was."""
        from qmd.config.editing import undone_on_error

        path, before = self.locations.config, self.configuration.written
        with undone_on_error(path):
            self.configuration.adopt(edit(path, *values))
            try:
                yield self.configuration.written
            except BaseException:
                self.configuration.adopt(before)
                raise

    def sync(self, *, drop: bool = False) -> None:
        """Make the collections of the store those of the configuration; see `Collections.sync`."""
        with self.permissions.hide_names("the configuration does not fit the index"):
            self.store.collections.sync(self.configuration.written, drop=drop)


def open_workspace(
    locations: Locations, environ: Mapping[str, str], progress: Callable[[str], None] | None = None
) -> Workspace:
    """Open an index; raises as `open_index`. Its file is made at the first write."""
    for path in (locations.index, locations.config):
        require_file_name(path)
    require_place(locations.index)
    default = locations.index
    locations = beside_foreign(locations)
    data = read_bytes(locations.config)
    url, written = read_store_url(locations, data, environ)
    store = open_store(locations.index, url, environ, busy_timeout_ms=busy_timeout_ms(environ))
    notes = []
    if store.location == locations.index != default and not os.path.exists(locations.index):
        notes.append(f"{default} belongs to another program and is left alone; using {locations.index}")
    # Parsing the file takes longer than a search, so the index keeps a copy of the last parsed content.
    written = (
        written
        or store.collections.config_copy(locations.config, digest(data))
        or parse(data, locations.config)
    )
    notes += unknown_keys(written)
    configuration = Configuration(locations, written, environ)
    settings = resolve(configuration.permitted(), environ)
    models = ModelProvider(
        settings, cache_dir(environ), progress, foreign_index=locations.project is not None
    )
    return Workspace(locations, environ, configuration, store, settings, models, notes)


@contextmanager
def opened_in_child(locations: Locations, environ: Mapping[str, str], nice: int) -> Iterator[Workspace]:
    """Open an index in a process that another one has started. `nice` lowers its priority."""
    import signal

    lower_priority(nice)
    # Ctrl-C goes to all processes of a terminal; the first process ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    workspace = open_workspace(locations, environ)
    with closing(workspace.store):
        yield workspace
