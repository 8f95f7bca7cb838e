"""Check everything that a search depends on, and suggest repairs.

The doctor changes nothing. If a check fails, only the checks that depend on it are skipped.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress

from qmd.config.locations import Locations
from qmd.config.paths import cache_dir
from qmd.config.settings import resolve
from qmd.engine.access.project_trust import Trust
from qmd.engine.access.rules import Rule
from qmd.engine.finding import Finding, attempt
from qmd.engine.models.provider import ModelProvider
from qmd.engine.opening import beside_foreign, find_locations
from qmd.engine.parts import Part
from qmd.errors import ForbiddenError, PluginError
from qmd.features.diagnosis.doctor import configuration, index_file, models, program
from qmd.plugins import Table
from qmd.store.values import OnStep

#: Checks that features and other packages add: functions of the environment variables and the current folder.
CHECKS = Table("qmd.checks", {}, Callable)


def diagnose(
    name: str | None = None,
    *,
    store: str | None = None,
    environ: Mapping[str, str] | None = None,
    on_step: OnStep = lambda _: None,
) -> Iterator[Finding]:
    """Check the index and configuration that a command with `--index name` and `--store store` uses.

    Raises `UsageError` if the name is not valid, and `ConfigError` if the home folder is unknown.
    """
    variables = os.environ if environ is None else environ
    return examine(find_locations(variables, name, store=store), variables, on_step)


def examine(
    locations: Locations, environ: Mapping[str, str], on_step: OnStep = lambda _: None
) -> Iterator[Finding]:
    """Run all checks and yield their findings; `on_step` is called before each slow step."""
    yield from program.versions()
    yield from program.readers()
    yield from program.variables(environ)
    yield from program.plugins()
    for name in CHECKS.names():
        check = None
        with suppress(PluginError):  # reported by now
            check = CHECKS.load(name)
        if check is not None:
            yield from check(environ, os.getcwd())
    written = yield from configuration.read(locations.config)
    config = None
    if written is not None:
        config = yield from attempt("config", Trust(locations.project, written, environ).permitted)
    if config is not None:
        yield from configuration.collections(config, on_step)
        yield from configuration.contexts(config)
    chosen = yield from attempt("index", lambda: beside_foreign(locations))
    if chosen is None:
        return
    url = chosen.store or (config.store if config else None)
    if url is None:
        yield from index_file.space(chosen.index)
    store = yield from index_file.opened(chosen.index, url, environ)
    try:
        intact = (yield from index_file.contents(store, on_step)) if store else False
        if written is None or config is None:
            return
        settings = yield from attempt("environment", lambda: resolve(config, environ))
        if settings is None:
            return
        cache = cache_dir(environ)
        provider = ModelProvider(settings, cache)
        embeds = yield from models.installed(settings, cache, provider, on_step)
        if store is not None and intact:
            yield from index_file.scans(store, config)
            yield from index_file.watching(chosen.index)
            yield from models.vectors(store, config, provider, embeds, on_step)
            yield from index_file.reclaimable(store, written, provider, cache)
    finally:
        if store is not None:
            store.close()


class DoctorMethods(Part):
    """Examine an index."""

    _rules: Mapping[str, Rule] = {"doctor": Rule(action="examine the index")}

    def doctor(self, *, on_step: OnStep = lambda _: None) -> tuple[Finding, ...]:
        """Check the program, the configuration, the index and the models. Changes nothing.

        `on_step` is called before a check that takes long. If the index cannot be opened, use
        `qmd.features.diagnosis.doctor.diagnose`. Raises `ForbiddenError` for a portable file.
        """
        if self._workspace.locations.portable:
            raise ForbiddenError("a portable index file cannot be examined: its checks write beside an index")
        return tuple(examine(self._workspace.locations, self._workspace.environ, on_step))
